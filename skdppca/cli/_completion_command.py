"""``skdppca completion``: a script that lets a shell complete commands, options and files."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from ..privacy.installing import how_to_install
from ._parameter_options import Command, argument


@dataclass(kw_only=True)
class CompletionCommand(Command):
    """Print a script that lets a shell complete commands.

    Parameters
    ----------
    shell : str
        The shell to write for.

    Examples
    --------
    eval "$(skdppca completion bash)"
    """

    shell: str = argument(choices=("bash", "zsh", "tcsh"))

    def run(self) -> None:
        """Print the script; the shell that reads it needs no Python."""
        try:
            import shtab
        except ImportError:
            raise ImportError(f"skdppca completion needs shtab; {how_to_install('cli')}") from None
        from ._parser import parser_of

        parser = parser_of(None)
        _complete_files(parser, shtab.FILE)
        print(shtab.complete(parser, self.shell))


def _complete_files(parser: argparse.ArgumentParser, files: object) -> None:
    """Let every option that takes a path complete files."""
    for action in parser._actions:
        if action.type is Path:
            action.complete = files  # type: ignore[attr-defined]
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                _complete_files(one, files)
