"""A made-up release, written to memory: what fails with it would fail after the charge."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np

from ..decomposition import DPGauss
from ..privacy import PrivacyAccountant
from ._pictures import draw
from ._write import files

__all__ = ["rehearse"]

# A made-up release has this many features.
MADE_UP = 8

# Characters of a library's error that are quoted.
LONGEST = 200


def rehearse(names: Sequence[str], unit: str, adjacency: str, pictures: bool) -> int:
    """Write a made-up release to memory, by the code that writes the real one.

    Returns
    -------
    int
        How many bytes that took.

    Raises
    ------
    ValueError
        If a file cannot be made; nothing of it depends on the data.
    """
    d = min(len(names), MADE_UP)
    budget = PrivacyAccountant(1.0, 1e-6, adjacency=adjacency, unit=unit)
    # "mle" reads off the spectrum, so variances are released, and drawn, however few the rows are
    pca = DPGauss("mle", adjacency=adjacency, unit=unit, accountant=budget)
    groups = None if unit == "row" else np.arange(MADE_UP)
    pca.fit(np.eye(MADE_UP, d), groups=groups)
    drawn: dict[str, bytes] = {}
    if pictures:
        try:
            drawn = draw(pca)
        except ImportError:
            pass  # without matplotlib there are no pictures
        except Exception as error:
            raise ValueError(
                f"matplotlib cannot draw pictures here ({_short(error)}); nothing was charged; "
                "repair it (pip install --force-reinstall matplotlib), or pass --no-pictures"
            ) from None
    size = 0
    for content in files(pca, names[:d], drawn).values():
        content(file := io.BytesIO())
        size += len(file.getbuffer())
    return size


def _short(error: Exception) -> str:
    """The first line of an error, with its kind."""
    lines = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:LONGEST]}"
