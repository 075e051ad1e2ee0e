"""A private location that gross outliers hardly move."""

from __future__ import annotations

import math

import numpy as np

from ..noise import NoiseSource
from ..records import Records
from .base import Public, Spender
from .centre import clip_weights, norm_error, precise_records, shrink_to_signal
from .gaussian import summation_error
from .radius import is_hopeless, private_radius
from .sensitivity import ball_sum

__all__ = ["location_error", "robust_location"]

# Shares of what is paid, of each round's radius and mean: the last mean is the one that counts.
ROUNDS = ((0.08, 0.10), (0.10, 0.20), (0.12, 0.40))

# With fewer records than so many times the least, a location far from the origin is too often lost
# (d = 5, Gaussian rows around 100, of 100 fits: 2 at 1.5 times, none at 1.7 times).
SURE = 1.4


def location_error(n: float, d: int, mu: float, public: Public) -> float:
    """Noise of `robust_location` in all directions, over the spread in one: what misleads signs.

    Its norm is about ``sqrt(d)`` times the noise of one entry, for a radius of 1, and so long are
    rows of which one entry spreads over ``1 / sqrt(d)``. Infinite where no distance would be found.
    From public numbers and the noisy n.
    """
    if math.isinf(mu):
        return 0.0
    if is_hopeless(n / SURE, mu * math.sqrt(ROUNDS[0][0])):
        return math.inf
    return d * ball_sum(1.0, public.adjacency) / (mu * math.sqrt(ROUNDS[-1][1]) * n)


def robust_location(
    records: Records,
    n: float,
    mu: float,
    spender: Spender,
    public: Public,
    noise: NoiseSource,
    start: np.ndarray | None = None,
) -> np.ndarray:
    """Three steps of a Huber mean: clipped to the median distance, each around the last.

    Costs at most `mu`; nothing if that is too little to find a distance, when it stays at the
    start. A record
    moves a step by no more than the radius over n, wherever it lies.

    Parameters
    ----------
    n : float
        The (noisy) number of records.
    start : ndarray of shape (d,) or None
        Public or released; 0 by default.

    Returns
    -------
    ndarray of shape (d,)
    """
    d = records.n_features
    centre = np.zeros(d) if start is None else start
    if is_hopeless(n, mu * math.sqrt(ROUNDS[0][0])):
        return centre
    for radius_share, mean_share in ROUNDS:
        # 1. the median distance from the centre so far
        around = centre if centre.any() else None
        distances = records.map(lambda block, c=around: block.distances(c))
        radius = _median(distances, n, mu * math.sqrt(radius_share), spender, public, noise)
        if not radius:  # never with noise
            return centre
        # 2. the mean of the records clipped to it
        precise, terms = precise_records(records, centre, radius)
        total = precise.fold(
            lambda out, block, w, c=around: block.add_moment(out, w, c),
            (d,),
            clip_weights(distances, radius),
        )
        query = spender.take(
            "location",
            mu * math.sqrt(mean_share),
            ball_sum(radius, public.adjacency),
            size=d,
            norm_error=norm_error(records),
            rounding=summation_error(terms, records.span_rows, d),
        )
        step = shrink_to_signal(query.release(total, noise) / n, query.noise_sd / n)
        # 3. move, never further than the median distance
        length = float(np.linalg.norm(step))
        centre = centre + step * min(1.0, radius / length if length else 1.0)
    return centre


def _median(
    distances: np.ndarray,
    n: float,
    mu: float,
    spender: Spender,
    public: Public,
    noise: NoiseSource,
) -> float:
    if math.isinf(mu):
        median = float(np.median(distances))
        return median if math.isfinite(median) else 0.0
    return private_radius(distances, n / 2, "median distance", spender, mu, public, noise)
