"""Pictures that a command writes to a file: with settings of our own, and without a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..report._drawing import METADATA, settings

__all__ = ["check_picture", "save", "settings"]

DOTS_PER_INCH = 150


def save(drawn: Any, path: Path) -> None:
    """Write a figure to a file, without a time in it."""
    drawn.savefig(path, **_options(path))


def check_picture(path: Path) -> None:
    """Refuse a file that cannot be written; raise if matplotlib is missing."""
    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise ValueError(f"--plot {path} must end in .png, .pdf or .svg; choose such a name")
    if not path.parent.is_dir():
        raise ValueError(f"--plot {path} is in no directory that exists; make it first")
    with settings():
        pass


def _options(path: Path) -> dict[str, Any]:
    kind = path.suffix.lower()
    return {"format": kind[1:], "dpi": DOTS_PER_INCH, "metadata": METADATA[kind]}
