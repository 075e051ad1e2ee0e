"""Noisy histograms of features, and shares of the budget that follow from what can be seen."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from ..private_data import PrivateData
from ..statistics import ColumnCells

__all__ = ["CellCounts", "ask_cells", "share_of"]

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


def share_of(kappa: float, bounds: tuple[float, float, float], part: float = 1.0) -> float:
    """A share of mu^2 for so large a part of the features: ``part (factor / kappa)^2``, within two.

    Parameters
    ----------
    kappa : float
        How many records there are over the noise that all of mu would leave in every cell.
    bounds : tuple of float
        The factor; the least and the most share.
    part : float
    """
    factor, least, most = bounds
    return min(max(part * (factor / kappa) ** 2, least), most)


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
