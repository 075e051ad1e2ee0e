"""Features far from 0: closer and closer at the cells that hold nearly all of their values."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from ..private_data import PrivateData
from .column_cells import CellCounts, ask_cells, share_of
from .octaves import (
    EDGES,
    LENGTHS,
    NEXT_SEEN,
    SEEN,
    VALUES,
    ZERO,
    best_windows,
    moments,
    neighbours,
    shares_of,
    windows_of,
)

__all__ = ["Intervals", "far_from_zero", "zoom"]

# Share of mu^2 of a round about all features: factor, least and most (`share_of`). Most rounds.
ROUND, ROUNDS = (14.0, 0.01, 0.1), 7

# Cells of an interval, all of one width.
N_CELLS = 16
EDGES_WITHIN, MIDDLES = np.arange(N_CELLS + 1.0), np.arange(N_CELLS) + 0.5
WINDOWS, PAIRS = windows_of(N_CELLS, LENGTHS), windows_of(N_CELLS, (2,))
OCTAVE_PAIRS = windows_of(len(VALUES), (2,))
OCTAVE_PAIRS = OCTAVE_PAIRS[~OCTAVE_PAIRS[:, ZERO]]  # of one sign

# Two neighbouring cells are looked at closer if they hold more than MOST of what was within before;
# if all others that stand out by OTHERS_SEEN sds add less to the variance than values within a cell
# do; and if less than NOWHERE of the values, or than NOWHERE_SDS sds of that, are seen nowhere.
MOST, OTHERS_SEEN, NOWHERE, NOWHERE_SDS = 0.7, 5.0, 0.03, 4.0

# What a round shows counts if it stands out, and is at least FOUND of what was within before.
# Values that are seen nowhere are taken to be BEYOND halves of the interval from the mean.
FOUND, BEYOND = 0.6, 1.3

# Values of a flag are 1 or -1, and some others. Where an interval holds one of these, what is seen
# must spread over at least SPREAD cells to be taken for something else.
FLAGS, SPREAD = (-1.0, 1.0), 3


@dataclass(frozen=True)
class Intervals:
    """Of the features `which`, where nearly all values lie, and how they are known to spread.

    Parameters
    ----------
    which : ndarray of int
    low, high : ndarray
    share : ndarray
        Of the values that are within.
    others : ndarray
        The share of values that are seen elsewhere.
    variance : ndarray
        What those add to the variance.
    """

    which: np.ndarray
    low: np.ndarray
    high: np.ndarray
    share: np.ndarray
    others: np.ndarray
    variance: np.ndarray

    @property
    def unit(self) -> np.ndarray:
        """How wide the cells of a closer look are."""
        return (self.high - self.low) / N_CELLS

    def of(self, chosen: np.ndarray) -> Intervals:
        """Those of some of the features."""
        return Intervals(*(getattr(self, field.name)[chosen] for field in fields(self)))


def far_from_zero(octaves: CellCounts) -> Intervals:
    """The features of which two octaves hold nearly all values; see `read_octaves`."""
    nothing, whole = np.zeros(len(octaves.n)), np.ones(len(octaves.n))
    every = Intervals(np.arange(len(whole)), nothing, N_CELLS * whole, whole, nothing, nothing)
    return _narrowed(every, octaves, EDGES, OCTAVE_PAIRS)


def zoom(
    data: PrivateData,
    octaves: CellCounts,
    mean: np.ndarray,
    variance: np.ndarray,
    kappa: float,
    most: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances of all features, read closer of those far from 0.

    Those that two cells still hold at the end stay as they were: nearly all values may be equal,
    and others, which are not seen, anywhere.

    Parameters
    ----------
    octaves : CellCounts
        Of all features.
    mean, variance : ndarray of shape (d,)
        As they were read.
    kappa : float
        See `share_of`.
    most : float
        Share of mu^2 for all rounds.
    """
    means, variances, intervals = mean.copy(), variance.copy(), far_from_zero(octaves)
    for _ in range(ROUNDS):
        which = intervals.which
        share = share_of(kappa, ROUND) * len(which) / len(mean)
        if not len(which) or share > most:
            break
        most -= share
        asked = (which, intervals.low, intervals.unit, EDGES_WITHIN, share, "closer cells")
        counts, sd = ask_cells(data, *asked)
        cells = CellCounts(counts, np.full(len(which), sd), octaves.n[which], octaves.n_sd[which])
        found, sure, mean_within, variance_within = _read_cells(intervals, cells)
        means[which[sure]], variances[which[sure]] = mean_within[sure], variance_within[sure]
        intervals = _narrowed(intervals.of(found), cells.of(found), EDGES_WITHIN, PAIRS)
    which = intervals.which
    means[which], variances[which] = mean[which], variance[which]
    return means, variances


def _narrowed(
    intervals: Intervals, cells: CellCounts, edges: np.ndarray, pairs: np.ndarray
) -> Intervals:
    """The best pairs of cells within intervals, of features that are to be looked at closer.

    Parameters
    ----------
    edges : ndarray
        Of the cells, in their units.
    pairs : ndarray of bool
        Those to choose from, as rows.
    """
    counts, sd, n = cells.counts, cells.sd, cells.n
    held = counts @ pairs.T
    inside = pairs[np.argmax(held, axis=1)]
    first = np.argmax(inside, axis=1)
    # what is seen outside, and what that adds to the variance
    others = np.where(~inside & (counts > OTHERS_SEEN * sd[:, None]), counts, 0.0) / n[:, None]
    distances = (edges[:-1] + edges[1:]) / 2 - edges[first + 1][:, None]
    unit = intervals.unit
    variance = intervals.variance + (others * distances**2).sum(axis=1) * unit**2
    width = np.maximum(edges[first + 2] - edges[first + 1], edges[first + 1] - edges[first]) * unit
    found = Intervals(
        which=intervals.which,
        low=intervals.low + edges[first] * unit,
        high=intervals.low + edges[first + 2] * unit,
        share=held.max(axis=1) / n,
        others=intervals.others + others.sum(axis=1),
        variance=variance,
    )
    unsure = np.hypot(np.sqrt(2) * sd, cells.n_sd) / n
    nowhere = 1 - found.share - found.others < np.maximum(NOWHERE, NOWHERE_SDS * unsure)
    return found.of((found.share > MOST * intervals.share) & nowhere & (variance < width**2 / 12))


def _read_cells(intervals: Intervals, cells: CellCounts) -> tuple[np.ndarray, ...]:
    """Whether values are found within intervals, and are no flag's; means and variances of all."""
    # 1. the cells that stand out
    best, z = best_windows(cells, WINDOWS)
    counts, sd = cells.counts, cells.sd[:, None]
    read = best | (counts > OTHERS_SEEN * sd)
    before = -1
    while read.sum() > before:
        before = read.sum()
        read |= neighbours(read) & (counts > NEXT_SEEN * sd)
    share = (counts * read).sum(axis=1) / cells.n
    found = (z >= SEEN) & (share >= FOUND * intervals.share)
    n_spread = N_CELLS - np.argmax(read, axis=1) - np.argmax(read[:, ::-1], axis=1)
    flag = np.any([(intervals.low <= x) & (x < intervals.high) for x in FLAGS], axis=0)
    # 2. of their values, of those seen elsewhere, and of those seen nowhere
    mean, variance = moments(shares_of(counts, read), MIDDLES, np.ones(N_CELLS), located=True)
    nowhere = np.clip(1 - share - intervals.others, 0.0, 1.0)
    variance = (variance + nowhere * (BEYOND * N_CELLS / 2) ** 2) * intervals.unit**2
    mean = intervals.low + mean * intervals.unit
    return found, found & (~flag | (n_spread >= SPREAD)), mean, variance + intervals.variance
