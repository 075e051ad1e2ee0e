"""``skdppca declare``."""

from __future__ import annotations

import argparse

from ..report import verify
from ..report._contents import SIGNATURE
from ..report._declare import copied
from ..report._sections import claim
from ._context_file import context_of, template
from ._out_directory import replaced, spare


def declare(options: argparse.Namespace) -> None:
    """Write a copy of a release with another title or more answers; or print a file for these."""
    if options.template:
        print(template())
        return
    source, out = options.directory, options.out
    if options.title is None and options.context is None:
        raise ValueError("there is nothing to state; give --title TEXT, or --context FILE")
    context = context_of(options.context)
    spare(out, options.context)
    gone = replaced(out) if options.force else []
    written = copied(source, out, options.title, context, options.force, "--force")
    signed = (source / SIGNATURE).exists()
    lines = [
        f"Written to {out}/: {', '.join(written)}",
        f"{source}/ is as it was; publish one of the two.",
        *claim(verify(out).document),
        *[f"The signature in {source}/ is not of the copy; sign that, too."] * signed,
        *gone,
    ]
    print("\n".join(lines))
