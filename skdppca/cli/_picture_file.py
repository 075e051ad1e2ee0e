"""Pictures that a command writes to a file: with settings of our own, and without a time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ..plotting._display import figure
from ..report._pictures import METADATA, settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# In inches.
SIZE = (7.2, 4.4)
DOTS_PER_INCH = 150


def draw(path: Path, picture: Callable[[Axes], object]) -> None:
    """Write what is drawn in axes to a file, without a time in it."""
    with settings():
        canvas = figure(*SIZE)
        picture(canvas.subplots())
        kind = path.suffix.lower()
        canvas.savefig(path, format=kind[1:], dpi=DOTS_PER_INCH, metadata=METADATA[kind])


def check_picture(path: Path) -> None:
    """Refuse a file that cannot be written; raise if matplotlib is missing."""
    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise ValueError(f"--plot {path} must end in .png, .pdf or .svg; choose such a name")
    if not path.parent.is_dir():
        raise ValueError(f"--plot {path} is in a directory that does not exist; make it first")
    with settings():
        pass
