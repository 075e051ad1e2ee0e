"""``skdppca completion``: what a shell needs to complete commands and options."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from contextlib import suppress
from shlex import quote

SHELLS = ("bash", "zsh")

# zsh runs the function of bash; files complete where no word does.
ZSH = "autoload -Uz bashcompinit && bashcompinit"
FUNCTION = """\
_skdppca() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" words
  case "${{COMP_WORDS[*]:1:COMP_CWORD-1}} " in
{cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _skdppca skdppca"""


def completion(options: argparse.Namespace) -> None:
    """Print the function that completes commands; the shell that reads it needs no Python."""
    from ._parser import COMMANDS, parser_of

    found: dict[str, list[str]] = {}
    for name in COMMANDS:
        with suppress(ImportError):  # what needs an extra completes to its name alone
            found |= leaves(parser_of(name), (), name)
    cases = [f"    {quote(path)}*) {_words(words)}" for path, words in found.items()]
    cases.append(f"    ' ') {_words(COMMANDS)}")
    text = FUNCTION.format(cases="\n".join(cases))
    print(f"{ZSH}\n{text}" if options.shell == "zsh" else text)


def _words(words: Iterable[str]) -> str:
    return f"words={quote(' '.join(words))} ;;"


def leaves(
    parser: argparse.ArgumentParser, before: tuple[str, ...], called: str
) -> dict[str, list[str]]:
    """The words that may follow a command, longest commands first."""
    found: dict[str, list[str]] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, one in action.choices.items():
                if before or name == called:
                    found |= leaves(one, (*before, name), called)
    if before:
        words = [flag for action in parser._actions for flag in action.option_strings]
        for action in parser._actions:
            words += [] if action.option_strings else map(str, action.choices or ())
        found[" ".join(before) + " "] = words
    return found
