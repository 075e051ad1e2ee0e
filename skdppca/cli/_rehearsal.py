"""A made-up release, written to memory: what fails with it would fail after the charge."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from typing import Literal

import numpy as np

from ..decomposition import DPGauss
from ..exceptions import CentreNotSeenWarning, NoiseOnlyWarning
from ..privacy import PrivacyAccountant
from ..report import Context, ReleaseReport

# A made-up release has this many features and components, as many as pictures show at most.
MADE_UP = 20

# Charges of the made-up account: as many as a report lists. More of them add only marks to a
# picture, A_MARK bytes each, and a third more of these in the page.
MOST_LISTED = 13
A_MARK = 2**8

# Characters of a library's error that are quoted.
LONGEST = 200


def rehearse(
    names: Sequence[str],
    unit: str,
    adjacency: Literal["add-remove", "replace-one"],
    *,
    labels: Sequence[str] = (),
    charged: Sequence[str] = (),
    cohorts: Sequence[str] = (),
    title: str | None = None,
    context: Context | None = None,
    pictures: bool = True,
) -> list[int]:
    """Write a made-up release to memory, by the code that writes the real one.

    Parameters
    ----------
    names : sequence of str
        Of the features.
    unit, adjacency : str
    labels : sequence of str, default=()
        Of the charges that the ledger has.
    charged, cohorts : sequence of str, default=()
        Names of the cohorts that the ledger has, and of those that are read.
    title, context, pictures
        As `ReleaseReport` has them.

    Returns
    -------
    list of int
        How many bytes each file took, and at the end what marks of more charges will take.

    Raises
    ------
    ValueError
        If a file cannot be made; nothing of it depends on the data.
    """
    d = min(len(names), MADE_UP)
    budget = PrivacyAccountant(1.0, 1e-6, adjacency=adjacency, unit=unit)
    for label in labels[-MOST_LISTED:]:
        budget.charge_external(label or "a fit", mu=1e-3, adjacency=adjacency)
    for name in charged[-MOST_LISTED:]:
        budget.charge_external("a fit", mu=1e-3, adjacency=adjacency, cohort=name)
    # all of them, so variances are released, and drawn, however few the rows are
    pca = DPGauss(None, epsilon=0.5, adjacency=adjacency, unit=unit, accountant=budget)
    groups = None if unit == "row" else np.arange(MADE_UP)
    with warnings.catch_warnings():
        for category in (CentreNotSeenWarning, NoiseOnlyWarning):  # of what is made up
            warnings.simplefilter("ignore", category)
        pca.fit(np.eye(MADE_UP, d), groups=groups, cohorts=cohorts or None)
    report = ReleaseReport(
        pca, title=title, context=context, feature_names=names[:d], pictures=pictures
    )
    if pictures and report.failed_to_draw is not None:
        error = report.failed_to_draw
        raise ValueError(
            f"matplotlib cannot draw pictures here ({_short(error)}); nothing was charged; "
            "repair it (pip install --force-reinstall matplotlib), or pass --no-pictures"
        )
    sizes = []
    for content in report._files().values():
        content(file := io.BytesIO())
        sizes.append(len(file.getbuffer()))
    return [*sizes, 3 * A_MARK * len(labels)]


def _short(error: Exception) -> str:
    """The first line of an error, with its kind."""
    lines = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:LONGEST]}"
