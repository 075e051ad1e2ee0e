"""Private variances along directions that were released, and the private total."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..linalg import decreasing_eigh
from ..noise import NoiseSource
from .base import Spender
from .block_mean import NOISE_WEIGHT, BlockMean
from .clipping import count_rows
from .gaussian import summation_error
from .radius import excess_records, private_radius
from .sensitivity import bounded_sum

__all__ = ["Variances", "release_variances"]

# Shares of what is paid for all variances: of the Rayleigh matrix, of the total; a quarter of
# each goes to its radius, and of groups the number of rows takes as much as the total.
RAYLEIGH_SHARE, RADIUS_SHARE = 0.6, 0.25


@dataclass(frozen=True)
class Variances:
    """What a few directions explain.

    Parameters
    ----------
    rotation : ndarray of shape (k, k)
        Orthonormal rows: ``rotation @ directions`` are ordered by decreasing variance.
    explained : ndarray of shape (k,)
    rest : float
        Mean variance of all other directions; 0 if there are none.
    n_rows : float
        What they were divided by, plus 1.
    """

    rotation: np.ndarray
    explained: np.ndarray
    rest: float
    n_rows: float


def release_variances(
    mean: BlockMean,
    directions: np.ndarray,
    core: np.ndarray,
    spender: Spender,
    noise: NoiseSource,
) -> Variances:
    """Spend all on the k x k Rayleigh matrix of k orthonormal directions, and on the total.

    Parameters
    ----------
    directions : ndarray of shape (k, d)
    core : ndarray of shape (k, k)
        The Rayleigh matrix as it is predicted; the noise follows how far the records are from it.
    """
    k, d = directions.shape
    mu = spender.left
    rayleigh = mu * math.sqrt(RAYLEIGH_SHARE)
    others = mu * math.sqrt((1 - RAYLEIGH_SHARE) / (1 + mean.public.grouped))
    # 1. the Rayleigh matrix: the mean product of the records' scores with the unit vectors
    scores = mean.records.scores(directions, mean.centre)
    within = replace(mean, records=scores, centre=None, removed=None, name="variances")
    gradient = within(np.eye(k), core, spender, *_divide(rayleigh, mean), noise)
    values, rotation = decreasing_eigh((gradient.mean + gradient.mean.T) / 2)
    # 2. the total, and what it leaves to the other directions: no less than its noise
    total, total_sd = _total(mean, spender, *_divide(others, mean), noise)
    explained = np.clip(values, min(gradient.noise_sd, total), total)
    left = d - k
    rest = max(total - float(explained.sum()), total_sd) / left if left else 0.0
    # 3. both per row
    n_rows = mean.n
    if mean.public.grouped:
        mus = (others * math.sqrt(RADIUS_SHARE), others * math.sqrt(1 - RADIUS_SHARE))
        n_rows = count_rows(mean.records, mean.n, *mus, spender, mean.public, noise)
    per_row = mean.n / max(n_rows - 1, 1.0)
    return Variances(rotation, explained * per_row, rest * per_row, n_rows)


def _divide(mu: float, mean: BlockMean) -> tuple[float, float]:
    """The parts of a radius and of the sum that it clips."""
    share = RADIUS_SHARE if mean.norm_bound is None else 0.0
    return mu * math.sqrt(share), mu * math.sqrt(1 - share)


def _total(
    mean: BlockMean, spender: Spender, mu_radius: float, mu: float, noise: NoiseSource
) -> tuple[float, float]:
    """Mean summed squared distance of a record's rows from the centre, and its noise's sd."""
    norms = mean.records.map(lambda block: block.spreads(mean.centre))
    if math.isinf(mu):
        return float((norms**2).sum() / mean.n), 0.0
    radius = mean.norm_bound
    if radius is None:
        excess = min(excess_records(mean.n, 1, mu, mu_radius, NOISE_WEIGHT), mean.n / 2)
        name = "radius of the total"
        radius = private_radius(norms, excess, name, spender, mu_radius, mean.public, noise)
    query = spender.take(
        "total variance",
        mu,
        bounded_sum(radius**2, mean.public.adjacency),
        rounding=summation_error(radius**2, 256, 1),
    )
    clipped = np.where(np.isfinite(norms), np.minimum(norms, radius), 0.0)
    total = float(query.release((clipped**2).sum(), noise))
    return max(total, query.noise_sd) / mean.n, query.noise_sd / mean.n
