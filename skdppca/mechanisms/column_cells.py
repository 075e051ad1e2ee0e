"""Noisy histograms of features, and shares of the budget that follow from what can be seen."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from ..private_data import PrivateData
from ..statistics import ColumnCells

# The most features that one question is about.
MOST_FEATURES = 2**16


@dataclass(frozen=True)
class CellCounts:
    """What is known of the cells of features.

    Parameters
    ----------
    counts : ndarray of shape (d, n_cells)
        Noisy.
    sd : ndarray of shape (d,)
        Of the noise.
    n, n_sd : ndarray of shape (d,)
        How many values every feature has, in these cells or not; the sd of the noise in that.
    """

    counts: np.ndarray
    sd: np.ndarray
    n: np.ndarray
    n_sd: np.ndarray

    def of(self, chosen: np.ndarray) -> CellCounts:
        """Those of some of the features."""
        return CellCounts(*(getattr(self, field.name)[chosen] for field in fields(self)))


@dataclass(frozen=True)
class Share:
    """A share of mu^2 for a histogram of some features, which follows from what can be seen.

    Parameters
    ----------
    factor : float
        The sds of the noise that all records in one cell are, if no bound is met.
    least, most : float
    """

    factor: float
    least: float
    most: float

    def of(self, kappa: float, part: float = 1.0) -> float:
        """The share for a part of the features: ``part (factor / kappa)^2``, within two bounds.

        Parameters
        ----------
        kappa : float
            The number of records over the noise that all of mu would leave in every cell.
        part : float
        """
        return min(max(part * (self.factor / kappa) ** 2, self.least), self.most)


def ask_cells(
    data: PrivateData,
    which: np.ndarray,
    centre: np.ndarray,
    unit: np.ndarray,
    edges: np.ndarray,
    share: float,
    name: str,
) -> tuple[np.ndarray, float]:
    """Noisy counts of the cells of the features `which`, and the sd of their noise.

    Many features are asked about in parts, each at its part of the share: the noise is the same,
    for the sensitivity is the root of their number, and so is mu.

    Parameters
    ----------
    which, centre, unit, edges : ndarray
        As of `ColumnCells`.
    share : float
        Of mu^2, for all of them.
    name : str
        For the report.
    """
    answers = []
    for some in np.array_split(np.arange(len(which)), math.ceil(len(which) / MOST_FEATURES)):
        cells = ColumnCells(which[some], centre[some], unit[some], edges, data.public.grouped)
        mu = data.fraction(share * len(some) / len(which))
        answers.append(data.ask(cells, mu, name))
    counts = np.vstack([answer.value for answer in answers])
    return counts, max(answer.noise_sd for answer in answers)
