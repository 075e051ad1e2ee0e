"""A rough private centre, for data however far from the origin (METHODS 4)."""

from __future__ import annotations

import math

import numpy as np

from ..noise import NoiseSource
from ..records import CANCELLATION, Records
from .base import Public, Spender
from .gaussian import summation_error
from .radius import excess_records, is_hopeless, private_radius, search_mu
from .sensitivity import ball_sum

__all__ = ["clip_weights", "norm_error", "precise_records", "rough_centre", "shrink_to_signal"]

# Shares of mu^2, of one round's radius and mean. They and the next two were tuned on synthetic
# spectra; the means' after the first also on the digits with 1000 added, a case of the benchmarks.
RADIUS_SHARE, MAX_RADIUS_SHARE = 0.02, 0.05
MEAN_SHARES = (0.05, 0.06, 0.08)  # of at most three rounds: only data far away need the last

# Weight of the noise in the number of clipped records: a centre errs less by noise than by bias.
NOISE_WEIGHT = 1.0

# A further round pays only if it brings the radius below this share of the last one.
SHRINKAGE = 0.8


def norm_error(records: Records) -> float:
    """Bound on the relative error of a record's norm, and so of its norm after clipping."""
    exact_rows = (2 * records.n_features + 16) * 2.0**-53
    # Sparse distances are differences of terms that may be so much larger.
    return exact_rows * 2 / CANCELLATION if records.is_sparse else exact_rows


def shrink_to_signal(vector: np.ndarray, noise_sd: float) -> np.ndarray:
    """James and Stein's positive-part estimate: 0 if the vector is no longer than its noise."""
    square = float(vector @ vector)
    if not square:
        return vector
    return vector * max(0.0, 1 - len(vector) * noise_sd**2 / square)


def rough_centre(
    records: Records,
    n: float,
    norm_bound: float | None,
    spender: Spender,
    public: Public,
    noise: NoiseSource,
    start: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray | None]:
    """At most three clipped noisy means of the records' (mean) rows, each around the last.

    The rounds stop when the centre does not move by more than its noise, or when the radius no
    longer shrinks; both are seen on private outputs.

    Parameters
    ----------
    n : float
        The (noisy) number of records.
    norm_bound : float or None
        Public bound on the rows' norms: then one round, and no search.
    start : ndarray of shape (d,) or None
        The first centre; public or released.

    Returns
    -------
    centre : ndarray of shape (d,)
    distances : ndarray or None
        The records' distances from it, private, if the last round has computed them.
    """
    d = records.n_features
    centre = np.zeros(d) if start is None else start
    if math.isinf(spender.mu):
        total = records.fold(lambda out, block, w: block.add_moment(out, w, None), (d,))
        return total / n, None
    mu_radius = search_mu(n, spender, RADIUS_SHARE, MAX_RADIUS_SHARE)
    if norm_bound is None and is_hopeless(n, mu_radius):
        return centre, None
    last_radius = math.inf
    for share in MEAN_SHARES if norm_bound is None else MEAN_SHARES[-1:]:
        mu = spender.share(share)
        excess = min(excess_records(n, d, mu, mu_radius, NOISE_WEIGHT), n / 2)
        # 1. the radius of the records around the centre so far
        around = centre if centre.any() else None
        distances = records.map(lambda block, c=around: block.distances(c))
        radius = norm_bound or private_radius(
            distances, excess, "radius of the centre", spender, mu_radius, public, noise
        )
        if radius >= SHRINKAGE * last_radius:
            return centre, distances
        # 2. the clipped mean around it
        weights = clip_weights(distances, radius)
        precise, terms = precise_records(records, centre, radius)
        total = precise.fold(
            lambda out, block, w, c=around: block.add_moment(out, w, c), (d,), weights
        )
        query = spender.take(
            "rough centre",
            mu,
            ball_sum(radius, public.adjacency),
            size=d,
            norm_error=norm_error(records),
            rounding=summation_error(terms, records.span_rows, d),
        )
        step = shrink_to_signal(query.release(total, noise) / n, query.noise_sd / n)
        # 3. move, never further than the records reach
        length = float(np.linalg.norm(step))
        centre = centre + step * min(1.0, radius / length if length else 1.0)
        last_radius = radius
        if length**2 <= d * (query.noise_sd / n) ** 2:
            break
    return centre, None


def clip_weights(distances: np.ndarray, radius: float) -> np.ndarray:
    """``min(1, radius / distance)``: a record at infinity gets 0."""
    if math.isinf(radius):
        return np.ones_like(distances)
    with np.errstate(divide="ignore"):
        return np.minimum(1.0, radius / distances)


def precise_records(records: Records, centre: np.ndarray, radius: float) -> tuple[Records, float]:
    """Records whose sums around `centre` are precise, and the norm of one record's terms.

    Sparse records subtract the centre in the products; where that would cancel too many digits
    (seen on the public radius and centre), their blocks are made dense instead.
    """
    if not records.is_sparse or math.isinf(radius) or not centre.any():
        return records, radius
    terms = radius + 2 * float(np.linalg.norm(centre))
    if summation_error(terms**2, records.span_rows, records.n_features) <= 0.01 * radius**2:
        return records, terms
    return records.explicit(), radius
