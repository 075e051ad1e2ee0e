"""A private centre, however far away the records are; outliers hardly move it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..private_data import PrivateData
from ..statistics import ClippedSum, Distances
from ..statistics.lemmas import ball_sum, psd_sum
from .missing import noise_inflation
from .norm_histogram import (
    SEEN,
    SEEN_NEAR,
    NormHistogram,
    histogram_mu,
    norm_histogram,
)

__all__ = ["Centred", "location_error", "robust_location", "rough_centre", "shrink_to_signal"]

# All constants were tuned on normal rows of 10 to 100 features, whose variances follow power laws
# and whose mean is up to 1e5 spreads away. Shares are of mu^2 of what is left at the start.

# A histogram of distances, usually and at most; and what all records in one cell should at least be
# in the first and in later ones, in sds of the noise.
LOOK_SHARE, MAX_LOOK_SHARE = 0.002, 0.04
CERTAIN, CERTAIN_LATER = 16.0, 8.0

# The noise of a round of a rough centre is as long as the distance over FAR, if that costs no more
# than its share. Rounds go on as long as they bring the distance below SHRINKAGE of the last one,
# and all of the centre costs no more than MAX_SHARE.
FAR, MAX_FAR_SHARE, SHRINKAGE, MOST_ROUNDS, MAX_SHARE = 2.5, 0.08, 0.75, 20, 0.5

# The last rounds together cost POLISHING / reach (`_reach`), within these shares. It is kept for
# them. A location, of which the last rounds are most of the cost, has more of them.
POLISHING, POLISHING_SHARES, POLISHING_ROUNDS = 1.2, (0.01, 0.16), 3
LOCATION_ROUNDS = 6

# The least share of the last rounds with a public norm bound, which may be loose.
BOUNDED = 0.08

# A first mean is noise unless its square exceeds that of the noise by GUARD sds of the latter.
# Without this guard a window that is noise sends the centre away in about 1 of 500 fits.
GUARD = 3.0


@dataclass(frozen=True)
class Centred:
    """Records about a private centre.

    Parameters
    ----------
    data : PrivateData
    radius : float or None
        About the median distance from the centre. None if the centre is still where it was: no
        distance was seen in the noise, or no mean.
    """

    data: PrivateData
    radius: float | None


def rough_centre(data: PrivateData) -> Centred:
    """The records about a private centre; at most half of what is left goes into it.

    A round asks for the mean of the records, clipped to their median distance from the centre so
    far: at first that is what they are seen from. Rounds go on as long as the distance shrinks, so
    the centre is found however far away it is; the last ones make it precise. A public norm bound
    takes the place of the distances, which are not asked for then, and leaves only those.
    """
    if data.exact:
        total = data.ask(ClippedSum(np.zeros(data.n_features), math.inf), name="centre").value
        return Centred(data.centred_at(total / (data.n * _present(data))), None)
    least, most = POLISHING_SHARES
    least = least if data.norm_bound is None else BOUNDED
    polishing = min(max(POLISHING / _reach(data, data.remaining), least), most)
    return _centred(data, data.remaining, polishing, data.norm_bound)


def robust_location(data: PrivateData, mu: float) -> PrivateData:
    """The records about a Huber mean: of the records clipped to their median distance from it.

    Found as `rough_centre` is, but all of `mu` goes into it if a distance is seen. A record moves a
    mean by no more than the distance over n, wherever the record lies.
    """
    if data.exact:
        return _clipped_mean(data)
    return _centred(data, mu, 1 - MAX_SHARE, None, thorough=True).data


def location_error(data: PrivateData, mu: float) -> float:
    """Noise of `robust_location` in all directions, over the spread in one: what misleads signs.

    Its norm is about ``sqrt(d)`` times the noise of one entry, for a radius of 1, and so long are
    rows of which one entry spreads over ``1 / sqrt(d)``. Infinite where no distance may be seen.
    From public numbers and the noisy n.
    """
    if math.isinf(mu):
        return 0.0
    seen = _look_mu(data, mu) * data.n / psd_sum(1.0, data.public.adjacency)
    if seen < CERTAIN * (1 - 1e-12):
        return math.inf
    return math.sqrt(data.n_features) / _reach(data, mu * math.sqrt(1 - MAX_SHARE))


def shrink_to_signal(vector: np.ndarray, noise_sd: float) -> np.ndarray:
    """James and Stein's positive-part estimate: 0 if the vector is no longer than its noise."""
    square = float(vector @ vector)
    if not square:
        return vector
    return vector * max(0.0, 1 - len(vector) * noise_sd**2 / square)


def _centred(
    start: PrivateData,
    budget: float,
    polishing: float,
    bound: float | None,
    thorough: bool = False,
) -> Centred:
    """The records about a centre that costs at most the budget.

    Parameters
    ----------
    polishing : float
        Share of the last rounds together.
    bound : float or None
        Public, on the distances; None to look for their median.
    thorough : bool
        The last rounds get all that is left.
    """
    spent, estimate = 0.0, _Estimate(start)
    last_rounds = LOCATION_ROUNDS if thorough else POLISHING_ROUNDS
    precise = polishing / last_rounds
    if bound is not None:
        radius = bound
    else:
        # 1. the median distance from where they are seen from
        mu = _look_mu(start, budget, CERTAIN)
        distances = _distances(start, mu)
        if distances.z <= SEEN:
            return Centred(start, None)
        radius, spent = distances.median, (mu / budget) ** 2
        if not start.public.grouped:
            start = replace(start, typical_norm=radius)
        # 2. means and distances in turn, as long as the mean may be far
        mu = _look_mu(start, budget, CERTAIN_LATER)
        far = (FAR / _reach(start, budget)) ** 2
        most = (1.0 if thorough else MAX_SHARE) - polishing - far - (mu / budget) ** 2
        last = math.inf
        for _ in range(MOST_ROUNDS if far <= MAX_FAR_SHARE else 0):
            if spent > most or radius >= SHRINKAGE * last:
                break
            better = estimate.improved(radius, budget * math.sqrt(far), "rough centre")
            spent += far
            if better.is_noise:  # or it is near: one of the last rounds will tell
                better = estimate.improved(radius, budget * math.sqrt(precise), "centre")
                spent, last_rounds = spent + precise, last_rounds - 1
                if better.is_noise:
                    return Centred(start, None)
            estimate, last = better, radius
            distances = _distances(estimate.data, mu).near(radius)
            spent += (mu / budget) ** 2
            if distances.z > SEEN_NEAR:
                radius = distances.median
    # 3. means that are precise; each shortens the distance by what it moves the centre
    if thorough:
        precise = (1 - spent) / last_rounds * (1 - 1e-12)
    for _ in range(last_rounds):
        estimate = estimate.improved(radius, budget * math.sqrt(precise), "centre")
        if estimate.is_noise:
            return Centred(start, None)
        radius = math.sqrt(max(radius**2 - estimate.signal, radius**2 / 4))
    length = None if start.typical_norm is None else radius
    return Centred(replace(estimate.data, typical_norm=length), radius)


@dataclass(frozen=True)
class _Estimate:
    """A centre so far.

    Parameters
    ----------
    data : PrivateData
        About it.
    variance : float or None
        Of an entry's error; None before the first mean.
    signal : float
        The square of how far the last mean was from the centre before, less that of its noise.
    is_noise : bool
        The first mean cannot be told from noise.
    """

    data: PrivateData
    variance: float | None = None
    signal: float = 0.0
    is_noise: bool = False

    def improved(self, radius: float, mu: float, name: str) -> _Estimate:
        """By the mean of the records clipped to a radius, weighted by inverse variance."""
        data, d = self.data, self.data.n_features
        answer = data.ask(ClippedSum(data.centre, radius), mu, name)
        # what is absent is where the centre is, so the mean is too near to it
        mean = answer.value / (data.n * _present(data))
        noise = (answer.noise_sd / data.n) ** 2 * noise_inflation(data.present)
        signal = float(mean @ mean) - d * noise
        is_noise = self.variance is None and signal <= GUARD * math.sqrt(2 * d) * noise
        # The mean tells how far off the centre is: James & Stein's estimate, where that is more.
        variance = max(self.variance or 0.0, signal / d)
        weight = variance / (variance + noise)
        centre = data.centre + weight * mean
        return _Estimate(data.centred_at(centre), weight * noise, signal, is_noise)


def _present(data: PrivateData) -> np.ndarray | float:
    """The share of every feature's entries that are there."""
    return 1.0 if data.present is None else data.present


def _distances(data: PrivateData, mu: float) -> NormHistogram:
    return norm_histogram(data, Distances(data.centre), mu, "distances from the centre")


def _reach(data: PrivateData, budget: float) -> float:
    """The distance that records are clipped to, over the length of the noise in their mean."""
    moved = ball_sum(1.0, data.public.adjacency) * math.sqrt(data.n_features)
    return budget * data.n / moved


def _look_mu(data: PrivateData, budget: float, certain: float = CERTAIN) -> float:
    """What a histogram of distances costs."""
    usual, most = (budget * math.sqrt(share) for share in (LOOK_SHARE, MAX_LOOK_SHARE))
    return histogram_mu(data, usual, most, certain)


def _clipped_mean(data: PrivateData) -> PrivateData:
    """Without noise: steps of means of the records, clipped to their median distance."""
    for _ in range(LOCATION_ROUNDS):
        distances = data.unprotected_records("a median").measured(Distances(data.centre))
        median = float(np.median(distances))
        if not 0 < median < math.inf:
            break
        total = data.ask(ClippedSum(data.centre, median), name="location").value
        data = data.centred_at(data.centre + total / data.n)
    return data
