"""Private locations and scales of all features at once, by noisy counts (METHODS 4)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..noise import NoiseSource
from ..records import Records
from .base import Public, Spender
from .column_counts import ColumnCounts, above, beyond
from .mean_squares import SMALLEST, root_mean_squares
from .radius import noisy_count

__all__ = ["Scales", "exact_scales", "private_scales"]

# Shares of mu^2: of the number of records; of each step of a search (15), of its last fine ones (2)
# and the check of what was found (1); of each about features of which many values are far from the
# rest (7). With all refinements, at most 3.1 % (below), 15 % at most; where the noise of a step
# would be more than the records over CERTAINTY, up to MOST times that. The mean squares take 5 %
# more. What is not used is left to the method.
COUNT_SHARE, STEP_SHARE, RARE_SHARE = 0.004, 0.0055, 0.002
MOST = 2.5

# Public grids: medians between signed powers of 2, median deviations between powers.
POWERS = 2.0 ** np.arange(-40, 41)
SIGNED = np.r_[-POWERS[::-1], 0.0, POWERS]

# Records over the sd of a step's noise that a search should have, and those below which it would
# run off: then nothing is standardised.
CERTAINTY, HOPELESS = 4.5, 2.0

# A location is known to half of its interval. It is narrowed as long as the deviations about it are
# not more than ENOUGH times as large: it may be most of them. So many rounds at most, to one of so
# many parts each, at such a share a question: to 1/64 with few records; with many, which allow of
# more noise, to 1/4096. Many are SURE times its sd.
ENOUGH = 2.0
FEW_RECORDS, MANY_RECORDS, SURE = (3, 4, 0.002), (4, 8, 0.0011), 25.0

# Values farther than so many median deviations are few (.7 % of normal ones). If they may be more
# than this share, half of the values may be equal, and a refinement is not taken.
FAR, MOST_FAR = 4.0, 0.1

# Sds by which the number of far values must stand out.
VISIBLE = 6.0

# Median absolute deviation of a standard normal variable.
NORMAL_MAD = 0.6744897501960817


@dataclass(frozen=True)
class Scales:
    """Of every feature: where its values lie, and how far they spread.

    Parameters
    ----------
    location : ndarray of shape (d,)
    scale : ndarray of shape (d,)
        Positive; about the standard deviation of normal values.
    """

    location: np.ndarray
    scale: np.ndarray


def exact_scales(records: Records, around: np.ndarray | None) -> Scales:
    """Means and standard deviations of the rows, not private; 1 for a constant feature.

    Parameters
    ----------
    around : ndarray of shape (d,) or None
        Deviations are from these instead, and so are root mean squares.

    Raises
    ------
    ValueError
        Where squares overflow.
    """
    rows, d = records.ungrouped(), records.n_features
    n = rows.private_n
    location = around
    if around is None:
        location = rows.fold(lambda out, block, _: block.add_columns(out, lambda x, j: x), (d,)) / n
    squares = rows.fold(
        lambda out, block, _: block.add_columns(out, lambda x, j: (x - location[j]) ** 2), (d,)
    )
    variance = squares / n
    if not np.isfinite(variance).all():
        raise ValueError("X holds values too large to be squared; scale it down")
    # What rounding leaves of no variance at all, as in scikit-learn's StandardScaler.
    u = np.finfo(np.float64).eps
    constant = variance <= n * u * variance + (n * u * location) ** 2
    return Scales(location, np.where(constant, 1.0, np.sqrt(variance)))


def private_scales(
    records: Records,
    around: np.ndarray | None,
    spender: Spender,
    public: Public,
    noise: NoiseSource,
) -> Scales:
    """Rough medians, and spreads about them or about a public point.

    Median absolute deviations; where records are many enough, root mean squares in units of those.

    Parameters
    ----------
    around : ndarray of shape (d,) or None
        Public; it saves the search for the medians.

    Notes
    -----
    A step of a binary search asks one Gaussian query: for every feature, how many records lie above
    a point less how many do not, which is negative exactly if the median lies below. A record adds
    d numbers between -1 and 1 to it. Points are on public grids, and follow from earlier answers.
    """
    d = records.n_features
    n = noisy_count(records.private_n, spender, spender.share(COUNT_SHARE), public, noise)
    ask = ColumnCounts(records, spender, public, noise)
    certainty = n / ask.sd(STEP_SHARE)
    ask = replace(ask, factor=min(max(1.0, (CERTAINTY / certainty) ** 2), MOST))
    if n < HOPELESS * ask.sd(STEP_SHARE):
        return Scales(np.zeros(d) if around is None else around, np.ones(d))
    # 1. locations, to a power of 2
    half = np.zeros(d)
    location = around
    if around is None:
        found = ask.search(lambda k: above(SIGNED[k]), len(SIGNED), STEP_SHARE, "medians")
        low, high = SIGNED[np.maximum(found - 1, 0)], SIGNED[found]
        nothing = (low == 0) | (high == 0)
        location = np.where(nothing, 0.0, (low + high) / 2)
        half = np.where(nothing, 0.0, (high - low) / 2)
    # 2. deviations from them
    found = ask.search(
        lambda k, c=location: beyond(c, POWERS[k]), len(POWERS), STEP_SHARE, "median deviations"
    )
    # 3. both anew where the location's error may be most of the deviation
    same = found == 0
    location, deviation = _refine(ask, n, location, np.where(same, 0.0, half), POWERS[found])
    # 4. the deviations to a quarter of a power
    fine = ask.search(
        lambda k, c=location: beyond(c, deviation * 2.0 ** ((k - 3) / 4)),
        4,
        STEP_SHARE,
        "median deviations",
    )
    scale = np.where(same, 1.0, 2.0 ** ((fine - 3.5) / 4)) * deviation / NORMAL_MAD
    # 5. features of which many values are far from the others
    count, sd = ask.counts(beyond(location, FAR * deviation), STEP_SHARE, "far values")
    seen = count > VISIBLE * sd
    if seen.any():
        which = np.flatnonzero(seen)
        scale[seen] = np.maximum(scale[seen], _far_scales(ask, location, which, n, count[seen]))
    scale = _in_units_of_others(scale, same & ~seen)
    # 6. tails, which median deviations do not see, and values too rare to be seen above
    roots = root_mean_squares(records, location, scale, n, spender, public, noise)
    unseen = same & ~seen & (roots == SMALLEST)
    return Scales(location, _in_units_of_others(scale * roots, unseen))


def _in_units_of_others(scale: np.ndarray, same: np.ndarray) -> np.ndarray:
    """Of features of which hardly any value differs: rows with one that does will be clipped."""
    return np.where(same, 1.0 if same.all() else np.median(scale[~same]), scale)


def _refine(
    ask: ColumnCounts, n: float, location: np.ndarray, half: np.ndarray, deviation: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Locations and median deviations from them, anew where the location's error outweighs them.

    A median is no farther from a point than the median deviation from that point. What is found is
    taken only if it is seen to hold for nearly all values: half of them may be equal.

    Parameters
    ----------
    half : ndarray of shape (d,)
        How far the median may be from its location.
    deviation : ndarray of shape (d,)
        Upper ends of their intervals.
    """
    location, half, deviation = location.copy(), half.copy(), deviation.copy()
    many = n > SURE * ask.sd(MANY_RECORDS[2])
    rounds, parts, share = MANY_RECORDS if many else FEW_RECORDS
    for _ in range(rounds):
        which = np.flatnonzero(ENOUGH * half >= deviation)
        if not len(which):
            break
        # 1. in which of so many parts of what the location may be
        reach, centre, spread = np.minimum(half, deviation), location.copy(), deviation.copy()
        found = ask.search(
            lambda k, r=reach: above(location + r * (2 * (k + 1) / parts - 1)),
            parts,
            share,
            "medians",
            which,
        )
        centre[which] += reach[which] * ((2 * found + 1) / parts - 1)
        # 2. how far from there
        found = ask.search(
            lambda k, c=centre: beyond(c, deviation * 2.0 ** (k - parts + 1)),
            parts,
            share,
            "median deviations",
            which,
        )
        spread[which] *= 2.0 ** (found - parts + 1)
        # 3. whether that holds for most
        count, sd = ask.counts(beyond(centre, FAR * spread), share, "far values", which)
        good = which[count + sd <= MOST_FAR * n]
        half[which] = 0.0
        half[good] = reach[good] / parts
        location[good], deviation[good] = centre[good], spread[good]
    return location, np.maximum(deviation, POWERS[0])


def _far_scales(
    ask: ColumnCounts, location: np.ndarray, which: np.ndarray, n: float, counts: np.ndarray
) -> np.ndarray:
    """Root mean squares of features of which so many values are far: ``a sqrt(p)``.

    p is their share, and a the median of their distances.
    """
    k = ask.search(
        lambda k: beyond(location, POWERS[k]),
        len(POWERS),
        RARE_SHARE,
        "distances of far values",
        which,
        counts / 2,
    )
    return POWERS[k] / math.sqrt(2) * np.sqrt(np.minimum(counts / n, 1.0))
