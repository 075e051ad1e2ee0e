"""A private centre: a rough one for data however far away, and one that outliers hardly move."""

from __future__ import annotations

import math

import numpy as np

from ..private_data import PrivateData
from ..statistics import ClippedSum, Distances
from ..statistics.lemmas import ball_sum
from .clipping import excess_records, is_hopeless, search_mu

__all__ = ["location_error", "robust_location", "rough_centre", "shrink_to_signal"]

# Shares of mu^2, of one round's radius and mean. They and the next two were tuned on synthetic
# spectra; the means' after the first also on the digits with 1000 added, a case of the benchmarks.
RADIUS_SHARE, MAX_RADIUS_SHARE = 0.02, 0.05
MEAN_SHARES = (0.05, 0.06, 0.08)  # of at most three rounds: only data far away need the last

# Weight of the noise in the number of clipped records: a centre errs less by noise than by bias.
CENTRE_WEIGHT = 1.0

# A further round pays only if it brings the radius below this share of the last one.
SHRINKAGE = 0.8

# Shares of what a robust location costs, of each round's radius and mean: the last mean is the one
# that counts.
ROUNDS = ((0.08, 0.10), (0.10, 0.20), (0.12, 0.40))

# With fewer records than so many times the least, a location far from the origin is too often lost
# (d = 5, Gaussian rows around 100, of 100 fits: 2 at 1.5 times, none at 1.7 times).
SURE = 1.4


def shrink_to_signal(vector: np.ndarray, noise_sd: float) -> np.ndarray:
    """James and Stein's positive-part estimate: 0 if the vector is no longer than its noise."""
    square = float(vector @ vector)
    if not square:
        return vector
    return vector * max(0.0, 1 - len(vector) * noise_sd**2 / square)


def rough_centre(data: PrivateData) -> PrivateData:
    """The records about a private centre: at most three clipped noisy means, each about the last.

    The first is about the centre that the records are seen from. The rounds stop when the centre
    does not move by more than its noise, or when the radius no longer shrinks; both are seen on
    private outputs.
    """
    if data.exact:
        total = data.ask(ClippedSum(np.zeros(data.n_features), math.inf), name="centre").value
        return data.about(total / data.n)
    bound, d = data.norm_bound, data.n_features
    mu_radius = search_mu(data, RADIUS_SHARE, MAX_RADIUS_SHARE)
    if bound is None and is_hopeless(data.n, mu_radius):
        return data
    last_radius = math.inf
    for share in MEAN_SHARES if bound is None else MEAN_SHARES[-1:]:
        mu = data.share(share)
        # 1. the radius of the records around the centre so far
        excess = min(excess_records(data.n, d, mu, mu_radius, CENTRE_WEIGHT), data.n / 2)
        around = Distances(data.centre)
        radius = bound or data.radius(around, excess, mu_radius, "radius of the centre")
        if radius >= SHRINKAGE * last_radius:
            break
        # 2. the clipped mean around it
        data, is_noise = _moved(data, radius, mu, "rough centre")
        last_radius = radius
        if is_noise:
            break
    return data


def robust_location(data: PrivateData, mu: float) -> PrivateData:
    """The records about three steps of a Huber mean: clipped to the median distance, each.

    Costs at most `mu`; nothing if that is too little to find a distance, when it stays where it
    is. A record moves a step by no more than the radius over n, wherever it lies.
    """
    if is_hopeless(data.n, mu * math.sqrt(ROUNDS[0][0])):
        return data
    for radius_share, mean_share in ROUNDS:
        # 1. the median distance from the centre so far
        radius = _median_distance(data, mu * math.sqrt(radius_share))
        if not radius:  # never with noise
            break
        # 2. the mean of the records clipped to it
        data, _ = _moved(data, radius, mu * math.sqrt(mean_share), "location")
    return data


def location_error(data: PrivateData, mu: float) -> float:
    """Noise of `robust_location` in all directions, over the spread in one: what misleads signs.

    Its norm is about ``sqrt(d)`` times the noise of one entry, for a radius of 1, and so long are
    rows of which one entry spreads over ``1 / sqrt(d)``. Infinite where no distance would be found.
    From public numbers and the noisy n.
    """
    if math.isinf(mu):
        return 0.0
    if is_hopeless(data.n / SURE, mu * math.sqrt(ROUNDS[0][0])):
        return math.inf
    noise = ball_sum(1.0, data.public.adjacency) / (mu * math.sqrt(ROUNDS[-1][1]) * data.n)
    return data.n_features * noise


def _moved(data: PrivateData, radius: float, mu: float, name: str) -> tuple[PrivateData, bool]:
    """The records about the mean of what is clipped to the radius, and whether that is noise.

    It moves by what is not noise in the mean, and never further than the records reach.
    """
    answer = data.ask(ClippedSum(data.centre, radius), mu, name)
    noise_sd = answer.noise_sd / data.n
    step = shrink_to_signal(answer.value / data.n, noise_sd)
    length = float(np.linalg.norm(step))
    centre = data.centre + step * min(1.0, radius / length if length else 1.0)
    return data.about(centre), length**2 <= data.n_features * noise_sd**2


def _median_distance(data: PrivateData, mu: float) -> float:
    distances = Distances(data.centre)
    if data.exact:
        median = float(np.median(data.unprotected_records("a median").measured(distances)))
        return median if math.isfinite(median) else 0.0
    return data.radius(distances, data.n / 2, mu, "median distance")
