"""Features far from 0: closer and closer at the cells that hold nearly all of their values."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from ...private_data import PrivateData
from ..column_cells import CellCounts, Share, ask_cells
from .octaves import (
    EDGES,
    LENGTHS,
    OCTAVES,
    VALUES,
    ZERO,
    best_windows,
    moments,
    neighbours,
    shares_of,
    windows_of,
)

__all__ = ["Intervals", "far_from_zero", "zoom"]

# Cells of an interval, all of one width.
N_CELLS = 16
EDGES_WITHIN = np.arange(N_CELLS + 1.0)
MIDDLES = np.arange(N_CELLS) + 0.5
WINDOWS = windows_of(N_CELLS, LENGTHS)
PAIRS = windows_of(N_CELLS, (2,))
OCTAVE_PAIRS = windows_of(len(VALUES), (2,))
OCTAVE_PAIRS = OCTAVE_PAIRS[~OCTAVE_PAIRS[:, ZERO]]  # of one sign

# Values of a flag: 1 or -1, and some others.
FLAGS = (-1.0, 1.0)


@dataclass(frozen=True)
class ZoomConstants:
    """When cells are looked at closer, and what counts there. Tuned with `ScaleConstants`."""

    # What a round about all features costs, and the most rounds.
    round: Share = Share(14.0, 0.01, 0.1)
    most_rounds: int = 7
    # Two neighbouring cells are looked at closer if they hold more than this share of what was
    # within before; if all others that stand out add less to the variance than values within a cell
    # do; and if less than a share of the values, or than the given sds of that, are seen nowhere.
    least_held: float = 0.7
    most_nowhere: float = 0.03
    nowhere_sds: float = 4.0
    # What a round shows counts if it stands out, and is at least this share of what was within.
    least_found: float = 0.6
    # Values that are seen nowhere are taken to be this number of half intervals from the mean.
    beyond: float = 1.3
    # Where an interval holds a value of a flag, what is seen must spread over this number of
    # cells, or more, to be taken for something else.
    least_spread: int = 3


ZOOM = ZoomConstants()


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
        See `Share.of`.
    most : float
        Share of mu^2 for all rounds.
    """
    means, variances, intervals = mean.copy(), variance.copy(), far_from_zero(octaves)
    for _ in range(ZOOM.most_rounds):
        which = intervals.which
        share = ZOOM.round.of(kappa) * len(which) / len(mean)
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
    others = (
        np.where(~inside & (counts > OCTAVES.others_seen * sd[:, None]), counts, 0.0) / n[:, None]
    )
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
    most = np.maximum(ZOOM.most_nowhere, ZOOM.nowhere_sds * unsure)
    closer = (found.share > ZOOM.least_held * intervals.share) & (variance < width**2 / 12)
    return found.of(closer & (1 - found.share - found.others < most))


def _read_cells(intervals: Intervals, cells: CellCounts) -> tuple[np.ndarray, ...]:
    """Whether values are found within intervals, and are no flag's; means and variances of all."""
    # 1. the cells that stand out
    best, z = best_windows(cells, WINDOWS)
    counts, sd = cells.counts, cells.sd[:, None]
    read = best | (counts > OCTAVES.others_seen * sd)
    before = -1
    while read.sum() > before:
        before = read.sum()
        read |= neighbours(read) & (counts > OCTAVES.next_seen * sd)
    share = (counts * read).sum(axis=1) / cells.n
    found = (z >= OCTAVES.seen) & (share >= ZOOM.least_found * intervals.share)
    n_spread = N_CELLS - np.argmax(read, axis=1) - np.argmax(read[:, ::-1], axis=1)
    flag = np.any([(intervals.low <= x) & (x < intervals.high) for x in FLAGS], axis=0)
    # 2. of their values, of those seen elsewhere, and of those seen nowhere
    mean, variance = moments(shares_of(counts, read), MIDDLES, np.ones(N_CELLS), located=True)
    nowhere = np.clip(1 - share - intervals.others, 0.0, 1.0)
    variance = (variance + nowhere * (ZOOM.beyond * N_CELLS / 2) ** 2) * intervals.unit**2
    mean = intervals.low + mean * intervals.unit
    sure = found & (~flag | (n_spread >= ZOOM.least_spread))
    return found, sure, mean, variance + intervals.variance
