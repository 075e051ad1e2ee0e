"""Features far from 0: closer and closer at the cells that hold nearly all of their values."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from ...private_data import PrivateData
from .octaves import (
    EDGES,
    LENGTHS,
    OCTAVES,
    VALUES,
    ZERO,
    CellCounts,
    Share,
    ask_cells,
    best_windows,
    moments,
    neighbours,
    seen_sds,
    shares_of,
    windows_of,
)

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

    # Cost of a round about all features; the most rounds; the most intervals within each other.
    round: Share = Share(14.0, 0.01, 0.1)
    most_rounds: int = 14
    most_levels: int = 7
    # Two neighbouring cells are looked at closer if all others that stand out add less to the
    # variance than values within a cell do; and if less than a share of the values, or than the
    # given sds of that, are seen nowhere. Noise alone reaches 5 sds once in 3 million times.
    most_nowhere: float = 0.03
    nowhere_sds: float = 5.0
    # Cells are asked about again, up to this number of looks, if values beyond these sds are seen
    # nowhere. By as many, two cells must have ceased to hold what they had held, if two cells still
    # hold nearly all values at the last level.
    unclear_sds: float = 2.5
    most_looks: int = 4
    # A finding of a round counts if it stands out, and is at least this share of the values.
    least_found: float = 0.6
    # Values that are seen nowhere are taken to be fewer than they seem by this number of sds, and
    # this number of half intervals from the mean.
    fewer_sds: float = 1.0
    beyond: float = 1.3
    # Where an interval holds a value of a flag, what is seen must spread over this number of
    # cells, or more, to be taken for something else; or two octaves must hold more than any cell by
    # this number of sds.
    least_spread: int = 3
    differ_sds: float = 4.0


ZOOM = ZoomConstants()


@dataclass(frozen=True)
class Intervals:
    """Where nearly all values of the features `which` lie, and how they are known to spread.

    Parameters
    ----------
    which : ndarray of int
    low, high : ndarray
    others : ndarray
        The share of values that are seen elsewhere.
    variance : ndarray
        What those add to the variance.
    level : ndarray of int
        How many other intervals each is within.
    counts : ndarray of shape (n_features, 16)
        Means of what was answered about its cells.
    sd : ndarray
        Standard deviation of the noise in `counts`; infinite before the first answer.
    looks : ndarray of int
        How many answers there were.
    """

    which: np.ndarray
    low: np.ndarray
    high: np.ndarray
    others: np.ndarray
    variance: np.ndarray
    level: np.ndarray
    counts: np.ndarray
    sd: np.ndarray
    looks: np.ndarray

    @classmethod
    def unseen(cls, which: np.ndarray, **known: np.ndarray) -> Intervals:
        """Before any look; the other fields as in the constructor."""
        d = len(which)
        counts, looks = np.zeros((d, N_CELLS)), np.zeros(d, int)
        return cls(which=which, counts=counts, sd=np.full(d, np.inf), looks=looks, **known)

    @property
    def even(self) -> np.ndarray:
        """Means and variances of values that spread evenly; of shape (2, n_features)."""
        variance = self.variance + (self.high - self.low) ** 2 / 12
        return np.array([(self.low + self.high) / 2, variance])

    @property
    def unit(self) -> np.ndarray:
        """Width of the cells of a closer look."""
        return (self.high - self.low) / N_CELLS

    def of(self, chosen: np.ndarray) -> Intervals:
        """Return the intervals of the chosen features only."""
        return Intervals(*(getattr(self, field.name)[chosen] for field in fields(self)))

    def looked(self, counts: np.ndarray, sd: float) -> Intervals:
        """With one more answer, which is averaged with earlier ones by inverse variance."""
        weight = 1 / (1 + (self.sd / sd) ** 2)  # of the earlier ones
        return replace(
            self,
            counts=counts + weight[:, None] * (self.counts - counts),
            sd=sd * np.sqrt(1 - weight),
            looks=self.looks + 1,
        )


def far_from_zero(octaves: CellCounts) -> Intervals:
    """The features of which two octaves hold nearly all values; see `read_octaves`."""
    d = len(octaves.n)
    nothing, whole = np.zeros(d), np.full(d, float(N_CELLS))
    where = {"low": nothing, "high": whole, "others": nothing, "variance": nothing}
    every = Intervals.unseen(np.arange(d), **where, level=np.full(d, -1))
    pair, _, closer, again = _narrowed(every, octaves, EDGES, OCTAVE_PAIRS)
    return pair.of(closer | again)


def zoom(
    data: PrivateData,
    columns: np.ndarray,
    octaves: CellCounts,
    mean: np.ndarray,
    variance: np.ndarray,
    kappa: float,
    most: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances of all features, read closer of those far from 0.

    Those that two cells still hold at the last level stay as they were: nearly all values may be
    equal, and others, which are not seen, anywhere. But where all looks together show a level at
    which values were lost, the feature is read there.

    Parameters
    ----------
    columns : ndarray of shape (d,)
        The features, as the data number them.
    octaves : CellCounts
        Noisy counts of all these.
    mean, variance : ndarray of shape (d,)
        Estimates read off the octaves.
    kappa : float
        See `Share.of`.
    most : float
        Share of mu^2 for all rounds.
    """
    d, intervals = len(mean), far_from_zero(octaves)
    before = np.array([mean, variance])
    reading, ended = before.copy(), np.zeros(d, bool)
    # what was read at every level; the shares that two cells held there, those of octaves first
    readings = np.empty((ZOOM.most_levels, *reading.shape))
    held, sd = np.zeros((ZOOM.most_levels + 1, d)), np.full((ZOOM.most_levels + 1, d), np.inf)
    held[0], sd[0] = (
        (octaves.counts @ OCTAVE_PAIRS.T).max(axis=1) / octaves.n,
        octaves.sd / octaves.n,
    )
    for _ in range(ZOOM.most_rounds):
        which, level = intervals.which, intervals.level
        share = ZOOM.round.of(kappa) * len(which) / d
        if not len(which) or share > most:
            break
        most -= share
        asked = (columns[which], intervals.low, intervals.unit, EDGES_WITHIN, share, "closer cells")
        intervals = intervals.looked(*ask_cells(data, *asked))
        cells = CellCounts(intervals.counts, intervals.sd, octaves.n[which], octaves.n_sd[which])
        noise = np.hypot(cells.sd / cells.n, np.sqrt(2) * sd[0, which])
        differ = held[0, which] - cells.counts.max(axis=1) / cells.n > ZOOM.differ_sds * noise
        found, sure, within = _read_cells(intervals, cells, differ)
        reading[:, which[sure]] = within[:, sure]
        readings[level, :, which] = reading[:, which].T
        pair, share_held, closer, again = _narrowed(intervals, cells, EDGES_WITHIN, PAIRS)
        held[level + 1, which], sd[level + 1, which] = share_held, cells.sd / cells.n
        # where two cells hold all; where values spread over more of them than can be seen
        hidden = differ & ~(found | closer | again) & (level > 0)
        reading[:, which[hidden]] = intervals.of(hidden).even
        intervals = _chosen(pair, intervals, again).of(closer | again)
        last = intervals.level == ZOOM.most_levels
        ended[intervals.which[last]] = True
        intervals = intervals.of(~last)
    reading[:, ended] = before[:, ended]
    lost = np.where(ended, _lost(held, sd), -1)
    back = np.flatnonzero(lost >= 0)
    reading[:, back] = readings[lost[back], :, back].T
    return reading[0], reading[1]


def _lost(held: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """The levels at which two cells ceased to hold what they had held; -1 if none is clear.

    An interval holds no more than one that it is within, so a sequence of noisy shares is cut in
    two where the means of both parts differ most for their noise.

    Parameters
    ----------
    held, sd : ndarray of shape (n_levels + 1, d)
        The shares of two octaves, and of two cells of every level; the sd of the noise in a cell,
        infinite where there was no look.
    """
    weight = sd**-2.0
    before, total = np.cumsum(weight, axis=0)[:-1], np.cumsum(weight * held, axis=0)[:-1]
    after, rest = weight.sum(axis=0) - before, (weight * held).sum(axis=0) - total
    looked = np.isfinite(sd[1:])  # at this level, or a deeper one
    noise = np.sqrt(2 / before + np.divide(2, after, out=np.ones_like(after), where=looked))
    fell = total / before - np.divide(rest, after, out=np.zeros_like(after), where=looked)
    z = np.where(looked, fell / noise, 0.0)
    return np.where(z.max(axis=0) > ZOOM.unclear_sds, np.argmax(z, axis=0), -1)


def _chosen(first: Intervals, second: Intervals, where: np.ndarray) -> Intervals:
    """Take the second interval of every feature `where` it is true, else the first."""

    def choose(name: str) -> np.ndarray:
        a, b = getattr(first, name), getattr(second, name)
        return np.where(where if a.ndim == 1 else where[:, None], b, a)

    return Intervals(*(choose(field.name) for field in fields(first)))


def _narrowed(
    intervals: Intervals, cells: CellCounts, edges: np.ndarray, pairs: np.ndarray
) -> tuple[Intervals, np.ndarray, np.ndarray, np.ndarray]:
    """The best pairs of cells within intervals.

    Parameters
    ----------
    edges : ndarray
        Edges of the cells, in their units.
    pairs : ndarray of bool
        Those to choose from, as rows.

    Returns
    -------
    Intervals
    held : ndarray
        The share of values that they hold.
    closer, again : ndarray of bool
        Whether the feature is to be looked at closer, or the same cells again.
    """
    counts, sd, n = cells.counts, cells.sd, cells.n
    held = counts @ pairs.T
    inside = pairs[np.argmax(held, axis=1)]
    held = held.max(axis=1) / n
    first = np.argmax(inside, axis=1)
    # what is seen outside, of what is left, and what that adds to the variance
    outside = ~inside & (counts > OCTAVES.surely_seen * sd[:, None])
    others = np.where(outside, counts, 0.0) / n[:, None]
    left = np.maximum(1 - held - intervals.others, 0.0)
    seen = others.sum(axis=1)
    others *= np.divide(left, seen, out=np.ones_like(left), where=seen > left)[:, None]
    distances = (edges[:-1] + edges[1:]) / 2 - edges[first + 1][:, None]
    unit = intervals.unit
    variance = intervals.variance + (others * distances**2).sum(axis=1) * unit**2
    width = np.maximum(edges[first + 2] - edges[first + 1], edges[first + 1] - edges[first]) * unit
    found = Intervals.unseen(
        which=intervals.which,
        low=intervals.low + edges[first] * unit,
        high=intervals.low + edges[first + 2] * unit,
        others=intervals.others + others.sum(axis=1),
        variance=variance,
        level=intervals.level + 1,
    )
    unsure = np.hypot(np.sqrt(2) * sd, cells.n_sd) / n
    most = np.maximum(ZOOM.most_nowhere, ZOOM.nowhere_sds * unsure)
    nowhere = 1 - held - found.others
    closer = (variance < width**2 / 12) & (nowhere < most)
    unclear = nowhere > ZOOM.unclear_sds * unsure
    again = closer & unclear & (intervals.looks < ZOOM.most_looks)
    return found, held, closer & ~again, again


def _read_cells(
    intervals: Intervals, cells: CellCounts, differ: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return whether values lie within the intervals and are no flags, with means and variances.

    Parameters
    ----------
    differ : ndarray of bool
        Whether not nearly all values are equal.
    """
    # 1. the cells that stand out
    best, z = best_windows(cells, WINDOWS)
    counts, sd = cells.counts, cells.sd[:, None]
    read = best | (counts > OCTAVES.surely_seen * sd)
    before = -1
    while read.sum() > before:
        before = read.sum()
        read |= neighbours(read) & (counts > OCTAVES.next_seen * sd)
    share = (counts * read).sum(axis=1) / cells.n
    found = (z >= seen_sds(len(z))) & (share >= ZOOM.least_found)
    n_spread = N_CELLS - np.argmax(read, axis=1) - np.argmax(read[:, ::-1], axis=1)
    flag = np.any([(intervals.low <= x) & (x < intervals.high) for x in FLAGS], axis=0)
    # 2. of their values, of those seen elsewhere, and of those seen nowhere
    mean, variance = moments(shares_of(counts, read), MIDDLES, np.ones(N_CELLS), located=True)
    fewer = ZOOM.fewer_sds * np.sqrt(read.sum(axis=1)) * cells.sd / cells.n
    nowhere = np.clip(1 - share - intervals.others - fewer, 0.0, 1.0)
    variance = (variance + nowhere * (ZOOM.beyond * N_CELLS / 2) ** 2) * intervals.unit**2
    mean = intervals.low + mean * intervals.unit
    sure = found & (~flag | differ | (n_spread >= ZOOM.least_spread))
    return found, sure, np.array([mean, variance + intervals.variance])
