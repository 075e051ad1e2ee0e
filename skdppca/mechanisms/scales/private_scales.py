"""Private locations and scales of all features at once, by noisy histograms."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ...privacy import GaussianEvent, NonPrivateEvent, PrivacyEvent
from ...private_data import PrivateData
from ...records import ColumnFunction
from ...statistics import Count, MeanSquares
from ...statistics.fields import LARGEST
from ...statistics.lemmas import psd_sum
from ..base import BUDGET, Mechanism, Release
from .octaves import (
    EDGES,
    WIDE_EDGES,
    CellCounts,
    Reading,
    Share,
    ask_cells,
    lie_outside,
    magnitudes_of,
    read_octaves,
    seen_sds,
)
from .zoom import zoom


@dataclass(frozen=True)
class SquareConstants:
    """Budget and clipping norms of the features' mean squares; tuned with `ScaleConstants`."""

    # Share of mu^2.
    share: float = 0.05
    # A record's squares are clipped to a norm, over sqrt(d), at which the noise of a mean square
    # is this, where about 1 is expected; and to no less and no more than two bounds. Rows of normal
    # values have sqrt(3).
    noise: float = 0.1
    least_norm: float = 3.0
    most_norm: float = 16.0
    # Nothing is asked where even the least norm makes more noise than that.
    most_noise: float = 0.25
    # Half of the values are beyond .67 units: a root that is seen to be less than this is noise.
    least_root: float = 0.5


SQUARES = SquareConstants()

# Divisor of features whose squares are not asked about: the largest number that a question holds.
OTHERS = LARGEST


def replaced(every: np.ndarray, columns: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return a copy of an array, with other values at some places."""
    every = every.copy()
    every[columns] = values
    return every


def root_mean_squares(
    data: PrivateData,
    columns: np.ndarray,
    centre: np.ndarray,
    unit: np.ndarray,
    present: np.ndarray,
    mean: np.ndarray,
) -> np.ndarray:
    """Mean squares of the deviations from `mean`, in units of `unit`; 1 if noise would hide them.

    Squares of all other features are divided by `OTHERS`, which leaves nothing of them: the norm
    that a record is clipped by, and so the noise, are those of these features alone.

    Parameters
    ----------
    columns : ndarray of shape (d,)
        The features.
    centre, unit : ndarray of shape (d,)
        Public or released: what they are asked about, and a rough scale.
    present : ndarray of shape (d,)
        The (noisy) number of records that have the feature.
    mean : ndarray of shape (d,)
        Rough; where it is not the centre, its part of the mean square is taken off: by what `unit`
        is to the root mean square about the centre, whatever both are off by.

    Returns
    -------
    ndarray of shape (d,)
        At least `SQUARES.least_root`.
    """
    d = len(columns)
    mu = data.fraction(SQUARES.share)
    # The bound, over sqrt(d), at which a mean square's noise would be 1.
    reach = present * data.effective(mu) / (math.sqrt(d) * psd_sum(1.0, data.public.adjacency))
    bound = min(max(SQUARES.noise * float(np.median(reach)), SQUARES.least_norm), SQUARES.most_norm)
    hidden = SQUARES.most_noise * reach < bound
    if hidden.all():
        return np.ones(d)
    wide = replaced(np.full(data.n_features, OTHERS), columns, unit)
    squares = MeanSquares(replaced(data.centre, columns, centre), wide, bound * math.sqrt(d))
    total = data.ask(squares, mu, "mean squares").value[columns]
    about_mean = total / present / (1 + ((mean - centre) / unit) ** 2)
    roots = np.sqrt(np.maximum(about_mean, SQUARES.least_root**2))
    return np.where(hidden, 1.0, roots)


@dataclass(frozen=True)
class ScaleConstants:
    """Budget of private scales, in shares of mu^2.

    These and the constants of `octaves`, `zoom` and of mean squares were tuned on synthetic tables:
    normal, skewed, heavy-tailed, 0/1, one-hot and count columns in many units, near to 0 and far.
    """

    # The largest share of all scales together; round.
    most_share: float = 0.4
    # The first look at all features gets the larger of the first two; the second look, at features
    # that are not clear, the third; a look at the magnitude of those that are not seen, the last.
    first_look: Share = Share(90.0, 0.02, 0.06)
    few_records: Share = Share(12.0, 0.02, 0.14)
    second_look: Share = Share(250.0, 0.01, 0.1)
    magnitude: Share = Share(12.0, 0.002, 0.06)
    # Least share of the features that must be seen, or nothing is standardised; round. Nothing is
    # asked where none would be seen.
    least_seen: float = 0.5


SCALES = ScaleConstants()


@dataclass(frozen=True)
class Scales:
    """Where the values of every feature lie, and how far they spread.

    Parameters
    ----------
    location : ndarray of shape (d,)
    scale : ndarray of shape (d,)
        Positive; about the standard deviation of normal values.
    """

    location: np.ndarray
    scale: np.ndarray


def exact_scales(data: PrivateData, located: bool, private: np.ndarray) -> Scales:
    """Means and standard deviations of the rows' values, not private; 1 for a constant feature.

    Parameters
    ----------
    located : bool
        Deviations are from the means; else from `data.centre`, and so are root mean squares.
    private : ndarray of bool of shape (d,)
        The features that are sought; the others stay at `data.centre`, with 1.

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
            imputed=absent,
        )

    n = np.maximum(total(lambda x, j: np.ones_like(x)), 1.0)
    location = total(lambda x, j: x) / n if located else data.centre
    variance = total(lambda x, j: (x - location[j]) ** 2) / n
    if not np.isfinite(variance[private]).all():
        raise ValueError("X holds values too large to be squared; scale it down")
    # Rounding leaves this much of no variance at all, as in scikit-learn's StandardScaler.
    u = np.finfo(np.float64).eps
    constant = variance <= n * u * variance + (n * u * location) ** 2
    return Scales(
        np.where(private, location, data.centre),
        np.where(constant | ~private, 1.0, np.sqrt(variance)),
    )


def private_scales(data: PrivateData, located: bool, private: np.ndarray) -> Scales:
    """Rough means, and spreads of the values about them or about `data.centre`.

    Parameters
    ----------
    located : bool
        Means are sought.
    private : ndarray of bool of shape (d,)
        The features that are sought, one or more; public. The others stay at `data.centre`, with 1.

    Notes
    -----
    A question is one Gaussian query about the histograms of many features. Which features, and
    where their cells are, follows from earlier answers; all else is made of the answers alone.
    Absent entries lie in no cell.

    With p of the features, the histograms are those of a table of p features, and so are their
    sensitivity ``sqrt(p)`` and their noise: see the proof of `ColumnCells`, which names its
    features. `MeanSquares` is asked of all features, and its bound on a record, which is its
    sensitivity, is ``sqrt(p)`` times a number; its proof holds for any positive units.
    """
    nothing = Scales(data.centre, np.ones(data.n_features))
    columns = np.flatnonzero(private)
    d = len(columns)
    # 1. how many values every feature has, and so what can be seen
    n, n_sd = _values(data, columns)
    mu = data.effective(data.fraction(1.0))
    noise = psd_sum(math.sqrt(d), data.public.adjacency) / mu
    kappa = float(np.median(n)) / noise
    seen = seen_sds(d)
    if kappa * math.sqrt(SCALES.few_records.most) < seen:
        return nothing
    # 2. in which octaves about the centre they lie
    unit, octaves, reading = _looks(data, columns, n, n_sd, kappa, located)
    if np.mean(reading.z > seen) < SCALES.least_seen:
        return nothing
    if (unit != 1).any():
        data = data.scaled(replaced(nothing.scale, columns, unit))
    # 3. closer at features far from 0
    centre = data.centre[columns]
    mean, variance = centre + reading.mean, reading.variance
    if located:
        spent = 1 - (data.remaining / data.fraction(1.0)) ** 2
        most = SCALES.most_share - SQUARES.share - spent
        mean, variance = zoom(data, columns, octaves, mean, variance, kappa, most)
    # 4. tails, which a reading does not see; about the centre where most values are there, so that
    # sparse rows stay sparse
    location, scale = np.where(reading.mostly_zero, centre, mean), np.sqrt(variance)
    scale = scale * root_mean_squares(data, columns, location, scale, n, mean)
    return Scales(
        replaced(nothing.location, columns, location * unit),
        replaced(nothing.scale, columns, scale * unit),
    )


def _looks(
    data: PrivateData,
    columns: np.ndarray,
    n: np.ndarray,
    n_sd: np.ndarray,
    kappa: float,
    located: bool,
) -> tuple[np.ndarray, CellCounts, Reading]:
    """Noisy counts of octaves of the features, and what they say; before these, their units.

    A unit is a power of 2: 1, unless the values are so large or small that octaves about 1 show
    nothing of them, or nothing but zeros.
    """
    d, centre = len(columns), data.centre[columns]
    unit = np.ones(d)

    def look(which: np.ndarray, share: float) -> tuple[np.ndarray, float]:
        asked = columns[which], centre[which], unit[which], EDGES
        return ask_cells(data, *asked, share, "octaves")

    # 1. all of them
    first = max(SCALES.first_look.of(kappa), SCALES.few_records.of(kappa))
    counts, sd = look(np.arange(d), first)
    octaves = CellCounts(counts, np.full(d, sd), n, n_sd)
    reading = read_octaves(octaves, located)
    # 2. of what magnitude those are that were not seen; and their octaves about that
    hidden = np.flatnonzero(reading.hidden | lie_outside(octaves))
    if len(hidden):
        share = SCALES.magnitude.of(kappa, len(hidden) / d)
        asked = columns[hidden], centre[hidden], unit[hidden], WIDE_EDGES
        unit[hidden] = magnitudes_of(*ask_cells(data, *asked, share, "magnitudes"))
    moved = np.flatnonzero(unit != 1)
    if len(moved):
        counts[moved], octaves.sd[moved] = look(moved, first * len(moved) / d)
        reading = read_octaves(octaves, located)
    again = np.flatnonzero(~reading.clear)
    if not len(again):
        return unit, octaves, reading
    # 3. once more those that are not clear; both answers are averaged by inverse variance
    more, sd = look(again, SCALES.second_look.of(kappa, len(again) / d))
    weight = 1 / (1 + (octaves.sd[again] / sd) ** 2)
    counts[again] += (1 - weight[:, None]) * (more - counts[again])
    octaves.sd[again] *= np.sqrt(weight)
    return unit, octaves, read_octaves(octaves, located)


def _values(data: PrivateData, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of values of every one of the features, and the sd of the noise in that.

    It has one of every record, unless entries may be absent.
    """
    mu = data.fraction(BUDGET.question_share)
    sd = data.noise_sd(Count(), mu) if data.public.n_records is None else 0.0
    n = np.full(len(columns), data.ask_count(mu).n)
    if data.present is not None:
        n = n * data.present[columns]
    return n, np.full_like(n, sd)


def standardised(
    method: Mechanism, event: PrivacyEvent, center: bool, private: np.ndarray
) -> Mechanism:
    """Return a method that finds rough private scales, and then is given features divided by them.

    It costs the same in all. All queries are Gaussian, so ``mu^2`` of the searches and of the
    method add up exactly. The method's share follows from which searches were needed: that is a
    private output, and the budget a Gaussian-DP filter.

    Parameters
    ----------
    method : Mechanism
    event : PrivacyEvent
        What it costs.
    center : bool
        Whether deviations are from private locations, which the method then starts from; else from
        the public mean or 0.
    private : ndarray of bool of shape (d,)
        The features whose scales are found; public.

    Raises
    ------
    ValueError
        If its cost is not that of Gaussian noise, of which alone a part can be split off.
    """
    if type(event) not in (GaussianEvent, NonPrivateEvent):
        raise ValueError(
            "scale='private' needs a part of the budget of Gaussian noise, but with these "
            f"parameters the method costs {event!r}; give public scales, or choose another "
            "noise"
        )
    return partial(_release_standardised, method, center, private)


def _release_standardised(
    method: Mechanism, center: bool, private: np.ndarray, data: PrivateData
) -> Release:
    """Release scales, and what the method releases of the scaled features."""
    # 1. where every feature lies and how far it spreads, in units of X
    find = exact_scales if data.exact else private_scales
    found = find(data, located=center, private=private)
    # 2. the method, with all that is left, on features divided by that
    located = data.centred_at(found.location) if center else data
    release = method(located.split(data.remaining).scaled(found.scale))
    # 3. one scale
    scale = found.scale if release.scale is None else found.scale * release.scale
    matrix = release.matrix and replace(release.matrix, units=np.asarray(found.scale))
    return replace(release, scale=np.asarray(scale), matrix=matrix)
