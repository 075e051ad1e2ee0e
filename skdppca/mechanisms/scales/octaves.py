"""Where the values of a feature lie and how far they spread, read off noisy counts of octaves."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np
from scipy.special import ndtri

from ...private_data import LARGEST_EXPONENT, PrivateData
from ...statistics import ColumnCells
from .. import norm_histogram

# The most features that one question is about.
MOST_FEATURES = 2**16


@dataclass(frozen=True)
class CellCounts:
    """Noisy counts of the values in every cell of every feature.

    Parameters
    ----------
    counts : ndarray of shape (d, n_cells)
        Noisy.
    sd : ndarray of shape (d,)
        Standard deviation of the noise.
    n, n_sd : ndarray of shape (d,)
        How many values every feature has, in these cells or not; the sd of the noise in that.
    """

    counts: np.ndarray
    sd: np.ndarray
    n: np.ndarray
    n_sd: np.ndarray

    def of(self, chosen: np.ndarray) -> CellCounts:
        """Return the counts of the chosen features only."""
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
        See `ColumnCells`.
    share : float
        Share of mu^2, for all of them.
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


# The cells: one around 0, and to either side one around every power of 2 from 2^-40 to 2^40.
N_OCTAVES = 81
ZERO = N_OCTAVES  # the number of its cell: all those below 0 come before it
POWERS = 2.0 ** np.arange(-40, 41)
EDGES = np.r_[-(2.0 ** (np.arange(41, -41, -1) - 0.5)), 2.0 ** (np.arange(-40, 42) - 0.5)]
VALUES = np.r_[-POWERS[::-1], 0.0, POWERS]
WIDTHS = np.abs(VALUES) * (np.sqrt(2.0) - np.sqrt(0.5))
ONES = np.flatnonzero(np.abs(VALUES) == 1.0)

# Wide cells of a first look at features that octaves do not show, and the exponents of the middles
# of those to one side.
WIDE_EDGES = np.r_[-norm_histogram.WIDE_EDGES[::-1], norm_histogram.WIDE_EDGES]
WIDE_MIDDLES = np.log2(norm_histogram.WIDE_EDGES[:-1]) + 10

# The numbers of neighbouring cells that are looked at together.
LENGTHS = (1, 2, 3, 4, 6, 8)

# Lengths of the runs of cells that are read elsewhere than near the best ones.
RUNS = (1, 2, 3)


@dataclass(frozen=True)
class OctaveConstants:
    """Thresholds for reading a feature's cells, in sds of noise. Tuned with `ScaleConstants`."""

    # A feature is seen if its best cells stand out by this number of sds, and by what noise exceeds
    # in one window with a probability that falls with the square of the number of features. Else it
    # gets the largest scale, which hides it: one of d features. A scale that is too small hides all
    # others, and any of d features may get one. With 3.5 sds for all, normal rows of 100 features
    # had such a scale in most fits from epsilon .7 to 1.5 at n = 1000.
    seen: float = 3.5
    mistaken: float = 0.02
    # Sds by which others must stand out to be read as well: cells next to those that are read, or
    # at most `octaves_above` them; cells, and runs of cells, elsewhere.
    next_seen: float = 2.5
    octaves_above: int = 2
    surely_seen: float = 6.0
    # A feature is clear if its best cells stand out surely, and if what was not read is less than a
    # share of its values, or than `unread_sds` of a cell.
    most_unread: float = 0.25
    unread_sds: float = 3.0
    # If only zeros of a feature were read: sds by which what is not 0 must stand out; logarithms of
    # the odds of 1 or -1 before a look at the counts, and of those by which it is clear.
    nonzero_seen: float = 4.0
    one_odds: float = 6.0
    clear_odds: float = 10.0
    # Where what is not 0 does not stand out: sds by which values of 1 or -1 must. If these do not
    # either: the share of values that are taken to be 1 or -1, and the most of them in sds.
    one_seen: float = 1.5
    rare: float = 0.05
    rare_sds: float = 2.0
    # Values lie outside of all cells if they are more than this share, and than these sds.
    most_outside: float = 0.5
    outside_sds: float = 5.0
    # Octaves that the values may be away from 1, at most, to be left where they are: those show.
    near: float = 30.0


OCTAVES = OctaveConstants()


@dataclass(frozen=True)
class Reading:
    """Estimates for every feature, read off its noisy counts; arrays of shape (d,).

    Parameters
    ----------
    mean, variance : ndarray
    z : ndarray
        Sds of the noise by which the best cells stand out.
    clear : ndarray of bool
        Whether another look would hardly tell more.
    mostly_zero : ndarray of bool
        Whether most values are 0.
    hidden : ndarray of bool
        Whether nothing was seen of it, or nothing but zeros.
    """

    mean: np.ndarray
    variance: np.ndarray
    z: np.ndarray
    clear: np.ndarray
    mostly_zero: np.ndarray
    hidden: np.ndarray


def seen_sds(n_features: int) -> float:
    """Return the sds of the noise by which the best cells of one of the features must stand out."""
    return max(OCTAVES.seen, float(-ndtri(OCTAVES.mistaken / n_features**2)))


def read_octaves(cells: CellCounts, located: bool) -> Reading:
    """Return the estimates that noisy counts of the cells between `EDGES` give.

    Parameters
    ----------
    cells : CellCounts
    located : bool
        Variances are about the means; else means are 0.
    """
    # 1. the cells that stand out most, and what stands out beside them
    best, z = best_windows(cells, WINDOWS)
    read = _grown(cells.counts / cells.sd[:, None], best)
    mass = (cells.counts * read).sum(axis=1) / cells.n
    unread = np.maximum(OCTAVES.most_unread, OCTAVES.unread_sds * cells.sd / cells.n)
    clear = (z > OCTAVES.surely_seen) & (mass > 1 - unread)
    # 2. how the values are shared out among them
    shares = shares_of(cells.counts, read)
    zeros = ~np.any(read & (VALUES != 0), axis=1)
    shares[zeros], clear[zeros], differ = _rare_values(cells.of(zeros))
    mean, variance = moments(shares, VALUES, WIDTHS, located)
    unseen = z <= seen_sds(len(z))
    mean[unseen], variance[unseen] = 0.0, EDGES[-1] ** 2
    hidden = unseen.copy()
    hidden[zeros] |= ~differ
    return Reading(mean, variance, z, clear, shares[:, ZERO] > 0.5, hidden)


def lie_outside(cells: CellCounts) -> np.ndarray:
    """Find the features most of whose values lie in no cell between `EDGES`."""
    outside = cells.n - cells.counts.sum(axis=1)
    sd = np.hypot(cells.sd * np.sqrt(cells.counts.shape[1]), cells.n_sd)
    return outside > np.maximum(OCTAVES.most_outside * cells.n, OCTAVES.outside_sds * sd)


def magnitudes_of(counts: np.ndarray, sd: float) -> np.ndarray:
    """Powers of 2 near the values of every feature; 1 where these are near to it, or not seen.

    Parameters
    ----------
    counts : ndarray of shape (d, 29)
        Noisy, of the cells between `WIDE_EDGES`.
    sd : float
        Standard deviation of the noise.
    """
    n_wide = len(WIDE_MIDDLES)
    below, above = counts[:, n_wide - 1 :: -1], counts[:, n_wide + 1 :]
    found, best = np.zeros(len(counts)), np.full(len(counts), OCTAVES.surely_seen * sd)
    for side, cells in ((below, 1), (above, 1), (below + above, 2)):
        for length in (1, 2):
            runs = np.lib.stride_tricks.sliding_window_view(side, length, axis=1).sum(axis=2)
            z = runs.max(axis=1) / np.sqrt(cells * length)
            middle = WIDE_MIDDLES[np.argmax(runs, axis=1)] + 10.0 * (length - 1)
            found, best = np.where(z > best, middle, found), np.maximum(z, best)
    found = np.clip(found, -LARGEST_EXPONENT, LARGEST_EXPONENT)
    return np.where(np.abs(found) > OCTAVES.near, 2.0**found, 1.0)


def windows_of(n_cells: int, lengths: tuple[int, ...]) -> np.ndarray:
    """All runs of neighbouring cells of such lengths, as rows of truths."""
    cells = np.arange(n_cells)
    runs = [(first, length) for length in lengths for first in range(n_cells - length + 1)]
    return np.array([(cells >= first) & (cells < first + length) for first, length in runs])


def best_windows(cells: CellCounts, windows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The cells of every feature that stand out most, and by how many sds of their noise."""
    z = cells.counts @ (windows / np.sqrt(windows.sum(axis=1, keepdims=True))).T
    best = np.argmax(z, axis=1)
    return windows[best], z[np.arange(len(z)), best] / cells.sd


def neighbours(read: np.ndarray) -> np.ndarray:
    """The cells next to some that are read, along the last axis."""
    beside = np.zeros_like(read)
    beside[..., 1:] |= read[..., :-1]
    beside[..., :-1] |= read[..., 1:]
    return beside


def shares_of(counts: np.ndarray, read: np.ndarray) -> np.ndarray:
    """Return each cell's share of the counts that were read; no share is negative."""
    positive = np.maximum(counts, 0.0) * read
    total = positive.sum(axis=1, keepdims=True)
    even = read / read.sum(axis=1, keepdims=True)
    return np.divide(positive, total, out=even, where=total > 0)


def moments(
    shares: np.ndarray, values: np.ndarray, widths: np.ndarray, located: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances of values that are spread evenly over their cells.

    If they are not located, the means are 0.
    """
    mean = (shares * values).sum(axis=1) if located else np.zeros(len(shares))
    squares = (values - mean[:, None]) ** 2 + widths**2 / 12
    return mean, (shares * squares).sum(axis=1)


def _whole(below: np.ndarray, above: np.ndarray) -> np.ndarray:
    """Rows of cells from those to either side of 0, the nearest first; the zero cell is empty."""
    return np.hstack([below[:, ::-1], np.zeros((len(below), 1), below.dtype), above])


def _sides(cells: np.ndarray) -> np.ndarray:
    """The cells to either side of 0, the nearest first: of shape (d, 2, 81)."""
    return np.stack([cells[:, ZERO - 1 :: -1], cells[:, ZERO + 1 :]], axis=1)


def _octave_windows() -> np.ndarray:
    """Runs below 0, above 0, and on both sides at equal distances; and last the zero cell."""
    runs = windows_of(N_OCTAVES, LENGTHS)
    none = np.zeros_like(runs)
    sided = [_whole(*pair) for pair in ((runs, none), (none, runs), (runs, runs))]
    return np.vstack([*sided, np.arange(len(VALUES)) == ZERO])


WINDOWS = _octave_windows()


def _grown(z: np.ndarray, best: np.ndarray) -> np.ndarray:
    """The best cells and all others that stand out, each by its own `z` sds."""
    sides, read, cells = _sides(z), _sides(best), np.arange(N_OCTAVES)
    before = -1
    while read.sum() > before:
        before = read.sum()
        # next to what is read, or not far above
        top = np.where(read, cells, -N_OCTAVES).max(axis=2, keepdims=True)
        near = neighbours(read) | ((cells > top) & (cells <= top + OCTAVES.octaves_above))
        read |= near & (sides > OCTAVES.next_seen)
        # elsewhere
        for length in RUNS:
            cut = np.lib.stride_tricks.sliding_window_view
            seen = cut(sides, length, axis=2).sum(axis=3) > OCTAVES.surely_seen * np.sqrt(length)
            seen &= ~cut(read, length, axis=2).any(axis=3)
            for k in range(length):
                read[:, :, k : N_OCTAVES - length + 1 + k] |= seen
    whole = _whole(read[:, 0], read[:, 1])
    whole[:, ZERO] = best[:, ZERO] | (z[:, ZERO] > OCTAVES.surely_seen)
    return whole


def _rare_values(cells: CellCounts) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the shares of features where only zeros stand out, and whether these are clear.

    Also whether some are seen to differ from 0.

    Notes
    -----
    If it is known that h values are not 0, and that they are spread evenly over L cells, counts of
    those cells that add up to s have the likelihood ``exp(h (s - h / 2) / (L sd^2))`` over noise.
    """
    counts, sd, n = cells.counts, cells.sd, cells.n
    every, windows = np.arange(len(counts)), WINDOWS[:-1]
    # 1. where values are seen to differ: in the cells that hold them most likely
    sizes = windows.sum(axis=1)
    differ = np.clip(n - counts[:, ZERO], 0.0, n)
    odds = differ[:, None] * (counts @ windows.T - differ[:, None] / 2) / sizes  # times sd^2
    odds += np.outer(sd**2, OCTAVES.one_odds * ((sizes == 1) & windows[:, ONES].any(axis=1)))
    likely = np.argmax(odds, axis=1)
    seen = differ > OCTAVES.nonzero_seen * np.hypot(sd, cells.n_sd)
    # 2. elsewhere, if at all, in that of 1 or -1
    one = ONES[np.argmax(counts[:, ONES], axis=1)]
    ones = counts[every, one]
    rare = np.minimum(OCTAVES.rare * n, OCTAVES.rare_sds * sd)
    ones = np.where(ones > OCTAVES.one_seen * sd, ones, rare)
    read = np.where(seen[:, None], windows[likely], one[:, None] == np.arange(len(VALUES)))
    share = np.clip(np.where(seen, differ, ones) / n, 0.0, 1.0)
    shares = share[:, None] * shares_of(counts, read)
    shares[:, ZERO] = 1 - share
    return shares, ~seen | (odds[every, likely] > OCTAVES.clear_odds * sd**2), seen
