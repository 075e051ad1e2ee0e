"""Pictures with settings of our own: the user's matplotlib settings cannot break a fit."""

from __future__ import annotations

import io
import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .. import plotting
from ..decomposition import BasePrivatePCA
from ..plotting._common import figure

__all__ = ["IMAGES", "SCREE", "check_picture", "draw", "save", "settings"]

SCREE, IMAGES = "scree.png", "components.png"

DOTS_PER_INCH = 150

# matplotlib reads these when it is imported; a nonsense value ends the import.
VARIABLES = {"MPLBACKEND": "agg", "MATPLOTLIBRC": os.devnull}

# Left out of the files: matplotlib's version in a PNG, and the time in the others.
METADATA = {".png": {"Software": None}, ".pdf": {"CreationDate": None}, ".svg": {"Date": None}}


@contextmanager
def settings() -> Iterator[None]:
    """Draw with matplotlib's own defaults, whatever the user's files and environment say.

    Raises
    ------
    ImportError
        Without matplotlib.
    """
    before = {name: os.environ.get(name) for name in VARIABLES}
    logger = logging.getLogger("matplotlib")
    level = logger.level
    os.environ.update(VARIABLES)
    logger.setLevel(logging.CRITICAL)
    try:
        figure(1, 1)
        import matplotlib

        with warnings.catch_warnings(), matplotlib.rc_context():
            warnings.simplefilter("ignore")  # of letters that the font lacks
            matplotlib.rcdefaults()
            yield
    finally:
        logger.setLevel(level)
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def draw(pca: BasePrivatePCA, shape: tuple[int, int] | None = None) -> dict[str, bytes]:
    """Return the pictures of a release as PNG files, by name; no scree plot without variances.

    Parameters
    ----------
    pca : fitted private PCA
    shape : (int, int), optional
        Height and width, if a row is an image: the components are then drawn as images, too.
    """
    pictures = {}
    with settings():
        figures: dict[str, Any] = {}
        if hasattr(pca, "explained_variance_"):
            figures[SCREE] = plotting.scree(pca).figure
        if shape is not None:
            figures[IMAGES] = plotting.components_image(pca, shape)
        for name, drawn in figures.items():
            drawn.savefig(buffer := io.BytesIO(), **_options(Path(name)))
            pictures[name] = buffer.getvalue()
    return pictures


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
