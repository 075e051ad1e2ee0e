"""The parser of the command line. Only the command that is called is imported."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

from .._text import meant
from .._version import __version__

# The first arguments there are, with each command's summary. Its module has a class of its name, or
# a dict of the classes of its actions.
COMMANDS = {
    "completion": "print a script that lets a shell complete commands",
    "demo": "release private components of public digits, with a ledger and a page",
    "fit": "release private components of a table",
    "plan": "predict what each method finds; reads no data",
    "sample": "draw synthetic rows from a release, at no privacy cost",
    "declare": "copy a release, with another title or with answers that it did not have",
    "ledger": "open, charge, list or check a ledger: a file with a budget and its charges",
    "merge": "combine several releases into one, at no privacy cost",
    "report": "print what a release found and what it cost",
    "site": "run one site of a study whose sites hold different people",
    "verify": "check a report against its files, a ledger and a signature; status 1 if they differ",
}


class Parser(argparse.ArgumentParser):
    """A parser that prints an error as one line, of the command that was called."""

    called: argparse.ArgumentParser | None = None

    def __init__(self, **own: Any) -> None:
        super().__init__(**own, formatter_class=argparse.RawDescriptionHelpFormatter)

    def error(self, message: str) -> NoReturn:
        of = self.called or self
        wrong = re.findall(
            r"(?:unrecognized arguments|invalid choice|ambiguous option): '?([^\s'=]+)", message
        )
        raise SystemExit(f"{message}{meant(wrong, _words(of), str)}; see {of.prog} --help")


def parser_of(called: str | None) -> argparse.ArgumentParser:
    """Return the parser, with the options of the command that is called, or of all (None).

    Among all, a command whose libraries are missing has no options.
    """
    parser = Parser(prog="skdppca", description="Differentially private PCA.")
    parser.add_argument("--version", action="version", version=f"skdppca {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, summary in COMMANDS.items():
        one = commands.add_parser(name, help=summary)
        if name == called:
            parser.called = one
            _fill(one, name)
        elif called is None:
            with suppress(ImportError):
                _fill(one, name)
    return parser


def _fill(parser: argparse.ArgumentParser, name: str) -> None:
    """Add the options of a command, or its actions."""
    from ._parameter_options import add_options

    module = import_module(f"._{name}_command", __package__)
    if not hasattr(module, "ACTIONS"):
        add_options(parser, getattr(module, f"{name.capitalize()}Command"))
        return
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    for action, command in module.ACTIONS.items():
        summary = (command.__doc__ or "").partition("\n")[0].removesuffix(".")
        add_options(actions.add_parser(action, help=summary[:1].lower() + summary[1:]), command)


def _words(parser: argparse.ArgumentParser) -> Iterator[str]:
    """All options and choices of a parser, and of the commands below it."""
    for action in parser._actions:
        yield from action.option_strings
        yield from map(str, action.choices or ())
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                yield from _words(one)
