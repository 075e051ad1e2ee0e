"""Private locations and scales of all features at once, by noisy counts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..private_data import PrivateData
from ..records import ColumnFunction
from ..statistics import Above, Beyond, Present
from .column_search import ColumnSearch
from .mean_squares import SMALLEST, root_mean_squares

__all__ = ["Scales", "exact_scales", "private_scales"]

# Shares of mu^2: of the number of records; of each step of a search (15), of its last fine ones (2)
# and the check of what was found (1), and of how many values a feature has, if entries may be
# absent; of each about features of which many values are far from the rest (7). With all
# refinements, at most 3.1 % (below), 16 % at most; where the noise of a step would be more than
# the records over CERTAINTY, up to MOST times that. The mean squares take 5 % more. What is not
# used is left to the method.
COUNT_SHARE, STEP_SHARE, RARE_SHARE = 0.004, 0.0055, 0.002
MOST = 2.5

# Public grids: medians between signed powers of 2, median deviations between powers.
POWERS = 2.0 ** np.arange(-40, 41)
SIGNED = np.r_[-POWERS[::-1], 0.0, POWERS]

# Records over the sd of a step's noise that a search should have, and those below which it would
# run off: then nothing is standardised.
CERTAINTY, HOPELESS = 4.5, 2.0

# Sds by which the number of values of a feature must exceed that, where it is noisy itself.
TOLD_APART = 3.0

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


def exact_scales(data: PrivateData, located: bool) -> Scales:
    """Means and standard deviations of the rows' values, not private; 1 for a constant feature.

    Parameters
    ----------
    located : bool
        Deviations are from the means; else from `data.centre`, and so are root mean squares.

    Raises
    ------
    ValueError
        Where squares overflow.
    """
    rows, d = data.unprotected_records("exact scales").ungrouped(), data.n_features
    absent = np.full(d, np.nan)

    def total(f: ColumnFunction) -> np.ndarray:
        """The sum of a function of the values that are there."""
        return rows.fold(
            lambda out, block, _: block.add_columns(
                out, lambda x, j: np.where(np.isnan(x), 0.0, f(x, j))
            ),
            (d,),
            fill=absent,
        )

    n = np.maximum(total(lambda x, j: np.ones_like(x)), 1.0)
    location = total(lambda x, j: x) / n if located else data.centre
    variance = total(lambda x, j: (x - location[j]) ** 2) / n
    if not np.isfinite(variance).all():
        raise ValueError("X holds values too large to be squared; scale it down")
    # What rounding leaves of no variance at all, as in scikit-learn's StandardScaler.
    u = np.finfo(np.float64).eps
    constant = variance <= n * u * variance + (n * u * location) ** 2
    return Scales(location, np.where(constant, 1.0, np.sqrt(variance)))


def private_scales(data: PrivateData, located: bool) -> Scales:
    """Rough medians, and spreads of the values about them or about `data.centre`.

    Median absolute deviations; where records are many enough, root mean squares in units of those.

    Parameters
    ----------
    located : bool
        Medians are sought.

    Notes
    -----
    A step of a binary search asks one Gaussian query: for every feature, how many records lie above
    a point less how many do not, which is negative exactly if the median lies below. A record adds
    d numbers between -1 and 1 to it. Points are on public grids, and follow from earlier answers.

    Absent entries add nothing. A feature of which too few are there is treated as one of which
    hardly any value differs.
    """
    d = data.n_features
    # 1. how many values every feature has, and so how much noise the searches bear
    present, present_sd = _present(data.counted(data.share(COUNT_SHARE)))
    ask = ColumnSearch(data)
    certainty = float(np.median(present)) / ask.sd(STEP_SHARE)
    ask = replace(ask, factor=min(max(1.0, (CERTAINTY / certainty) ** 2), MOST))
    lost = present < HOPELESS * ask.sd(STEP_SHARE) + TOLD_APART * present_sd
    if lost.all():
        return Scales(data.centre, np.ones(d))
    # 2. locations, to a power of 2
    location, half = data.centre, np.zeros(d)
    if located:
        found = ask.search(lambda k: Above(SIGNED[k]), len(SIGNED), STEP_SHARE, "medians")
        low, high = SIGNED[np.maximum(found - 1, 0)], SIGNED[found]
        nothing = (low == 0) | (high == 0) | lost
        location = np.where(nothing, 0.0, (low + high) / 2)
        half = np.where(nothing, 0.0, (high - low) / 2)
    # 3. deviations from them
    found = ask.search(
        lambda k: Beyond.about(location, POWERS[k]),
        len(POWERS),
        STEP_SHARE,
        "median deviations",
    )
    # 4. both anew where the location's error may be most of the deviation
    same = (found == 0) | lost
    half[same] = 0.0
    location, deviation = _refine(ask, present, location, half, POWERS[found])
    # 5. the deviations to a quarter of a power
    fine = ask.search(
        lambda k: Beyond.about(location, deviation * 2.0 ** ((k - 3) / 4)),
        4,
        STEP_SHARE,
        "median deviations",
    )
    scale = np.where(same, 1.0, 2.0 ** ((fine - 3.5) / 4)) * deviation / NORMAL_MAD
    # 6. features of which many values are far from the others
    far = Beyond.about(location, FAR * deviation)
    count, sd = ask.counts(far, STEP_SHARE, "far values")
    seen = (count > VISIBLE * sd) & ~lost
    if seen.any():
        which = np.flatnonzero(seen)
        wide = _far_scales(ask, location, which, present[seen], count[seen])
        scale[seen] = np.maximum(scale[seen], wide)
    scale = _in_units_of_others(scale, same & ~seen)
    # 7. tails, which median deviations do not see, and values too rare to be seen above
    roots = root_mean_squares(data, location, scale, present)
    unseen = same & ~seen & (lost | (roots == SMALLEST))
    return Scales(location, _in_units_of_others(scale * roots, unseen))


def _present(data: PrivateData) -> tuple[np.ndarray, float]:
    """About how many records have every feature: all of them, unless entries may be absent.

    Also the sd of the noise in that; 0 where nothing was asked besides the number of records.
    """
    n = np.full(data.n_features, data.n)
    if not data.source.layout.may_miss:
        return n, 0.0
    count, sd = ColumnSearch(data).counts(Present(), STEP_SHARE, "present values")
    return np.clip(count, 1.0, n), sd


def _in_units_of_others(scale: np.ndarray, same: np.ndarray) -> np.ndarray:
    """Of features of which hardly any value differs: rows with one that does will be clipped."""
    return np.where(same, 1.0 if same.all() else np.median(scale[~same]), scale)


def _refine(
    ask: ColumnSearch,
    present: np.ndarray,
    location: np.ndarray,
    half: np.ndarray,
    deviation: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Locations and median deviations from them, anew where the location's error outweighs them.

    A median is no farther from a point than the median deviation from that point. What is found is
    taken only if it is seen to hold for nearly all values: half of them may be equal.

    Parameters
    ----------
    present : ndarray of shape (d,)
        How many values there are.
    half : ndarray of shape (d,)
        How far the median may be from its location.
    deviation : ndarray of shape (d,)
        Upper ends of their intervals.
    """
    location, half, deviation = location.copy(), half.copy(), deviation.copy()
    many = np.median(present) > SURE * ask.sd(MANY_RECORDS[2])
    rounds, parts, share = MANY_RECORDS if many else FEW_RECORDS
    for _ in range(rounds):
        which = np.flatnonzero(ENOUGH * half >= deviation)
        if not len(which):
            break
        reach = np.minimum(half, deviation)
        # 1. about the part of what the location may be in which it is
        centre, spread = _narrow(ask, location, reach, deviation, which, parts, share)
        # 2. whether that holds for most
        count, sd = ask.counts(Beyond.about(centre, FAR * spread), share, "far values", which)
        good = which[count + sd <= MOST_FAR * present[which]]
        half[which] = 0.0
        half[good] = reach[good] / parts
        location[good], deviation[good] = centre[good], spread[good]
    return location, np.maximum(deviation, POWERS[0])


def _narrow(
    ask: ColumnSearch,
    location: np.ndarray,
    reach: np.ndarray,
    deviation: np.ndarray,
    which: np.ndarray,
    parts: int,
    share: float,
) -> tuple[np.ndarray, np.ndarray]:
    """The middle of that of so many parts of ``location +- reach`` in which the median lies.

    Besides, the median deviations from there, to a power of 2. Only for the features `which`.
    """
    centre, spread = location.copy(), deviation.copy()
    found = ask.search(
        lambda k: Above(location + reach * (2 * (k + 1) / parts - 1)),
        parts,
        share,
        "medians",
        which,
    )
    centre[which] += reach[which] * ((2 * found + 1) / parts - 1)
    found = ask.search(
        lambda k: Beyond.about(centre, deviation * 2.0 ** (k - parts + 1)),
        parts,
        share,
        "median deviations",
        which,
    )
    spread[which] *= 2.0 ** (found - parts + 1)
    return centre, spread


def _far_scales(
    ask: ColumnSearch,
    location: np.ndarray,
    which: np.ndarray,
    present: np.ndarray,
    counts: np.ndarray,
) -> np.ndarray:
    """Root mean squares of features of which so many values are far: ``a sqrt(p)``.

    p is their share, and a the median of their distances.
    """
    k = ask.search(
        lambda k: Beyond.about(location, POWERS[k]),
        len(POWERS),
        RARE_SHARE,
        "distances of far values",
        which,
        counts / 2,
    )
    return POWERS[k] / math.sqrt(2) * np.sqrt(np.minimum(counts / present, 1.0))
