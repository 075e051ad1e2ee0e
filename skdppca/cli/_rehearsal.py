"""A made-up release, written to memory: what fails with it would fail after the charge."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np

from ..decomposition import DPGauss
from ..privacy import PrivacyAccountant
from ..report import Context, ReleaseReport

__all__ = ["rehearse"]

# A made-up release has this many features.
MADE_UP = 8

# Characters of a library's error that are quoted.
LONGEST = 200


def rehearse(
    names: Sequence[str],
    unit: str,
    adjacency: str,
    *,
    title: str | None = None,
    context: Context | None = None,
    pictures: bool = True,
) -> int:
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
    report = ReleaseReport(
        pca, title=title, context=context, feature_names=names[:d], pictures=pictures
    )
    if pictures and report.failed_to_draw is not None:
        error = report.failed_to_draw
        raise ValueError(
            f"matplotlib cannot draw pictures here ({_short(error)}); nothing was charged; "
            "repair it (pip install --force-reinstall matplotlib), or pass --no-pictures"
        )
    size = 0
    for content in report._files().values():
        content(file := io.BytesIO())
        size += len(file.getbuffer())
    return size


def _short(error: Exception) -> str:
    """The first line of an error, with its kind."""
    lines = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:LONGEST]}"
