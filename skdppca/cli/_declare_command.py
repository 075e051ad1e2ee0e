"""``skdppca declare``: a copy of a release with another title or more answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..report import declare, verify
from ..report._contents import SIGNATURE
from ..report._sections import claim
from ._context_file import context_of, template
from ._out_directory import replaced, spare
from ._parameter_options import Command, Frees, argument, flag, option


@dataclass(kw_only=True)
class DeclareCommand(Command):
    """Copy a release, with another title or with answers that it did not have.

    Parameters
    ----------
    template : bool
        Print a file for --context with the ten questions; needs no DIR and no --out.

    Examples
    --------
    skdppca declare --template > context.toml
    skdppca declare release/ --context context.toml --out stated/
    """

    directory: Path = argument(metavar="DIR")
    title: str | None = option(metavar="TEXT")
    context: Path | None = option(metavar="FILE")
    out: Path = option(metavar="DIR", required=True)
    force: bool = flag()
    template: bool = option(action=Frees, nargs=0, frees=("directory", "out"))

    def run(self) -> None:
        """Write the copy; or print a file for the answers."""
        if self.template:
            print(template())
            return
        source, out = self.directory, self.out
        if self.title is None and self.context is None:
            raise ValueError("there is nothing to state; give --title TEXT, or --context FILE")
        context = context_of(self.context)
        spare(out, self.context)
        gone = replaced(out) if self.force else []
        written = declare(source, out, title=self.title, context=context, force=self.force)
        signed = (source / SIGNATURE).exists()
        lines = [
            f"Written to {out}/: {', '.join(written)}",
            f"{source}/ is as it was; publish one of the two.",
            *claim(verify(out).document),
            *[f"The signature in {source}/ is not of the copy; sign that, too."] * signed,
            *gone,
        ]
        print("\n".join(lines))
