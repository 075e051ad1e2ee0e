"""Private variances along directions that were released, and the private total."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..linalg import decreasing_eigh
from ..private_data import PrivateData
from ..statistics import (
    BoundedTotal,
    MeasureHistogram,
    ResidualNorms,
    ResidualSum,
    RowCounts,
    Spreads,
    Statistic,
)
from .block_mean import BlockMean, combine
from .clipping import clip_radius, count_rows, expected_norms, group_bound, radius_mu
from .norm_histogram import EDGES

__all__ = ["Variances", "release_variances"]


@dataclass(frozen=True)
class VarianceConstants:
    """How variances along directions divide their mu^2; round numbers."""

    # The Rayleigh matrix. The total gets the rest; of groups, the number of rows gets half of that.
    rayleigh_share: float = 0.6
    # Of each of these, what finds its radius: usual and largest share.
    radius_share: float = 0.25
    most_radius_share: float = 0.5


VARIANCE = VarianceConstants()


@dataclass(frozen=True)
class Variances:
    """What a few directions explain.

    Parameters
    ----------
    rotation : ndarray of shape (k, k)
        Orthonormal rows: ``rotation @ directions`` are ordered by decreasing variance.
    explained : ndarray of shape (k,)
    error : float
        The sd of the noise in each of them.
    rest : float
        Mean variance of all other directions; 0 if there are none.
    n_rows : float
        What they were divided by, plus 1.
    """

    rotation: np.ndarray
    explained: np.ndarray
    error: float
    rest: float
    n_rows: float


def release_variances(
    data: PrivateData, directions: np.ndarray, core: np.ndarray, core_variance: float = math.inf
) -> Variances:
    """Spend all on the k x k Rayleigh matrix of k orthonormal directions, and on the total.

    Parameters
    ----------
    directions : ndarray of shape (k, d)
    core : ndarray of shape (k, k)
        The Rayleigh matrix as it is predicted; the noise follows how far the records are from it.
    core_variance : float
        Of its entries, at least; what is predicted counts by that.
    """
    k, d = directions.shape
    grouped = data.public.grouped
    mu = data.remaining
    rayleigh = mu * math.sqrt(VARIANCE.rayleigh_share)
    others = mu * math.sqrt((1 - VARIANCE.rayleigh_share) / (1 + grouped))
    within = BlockMean(data.projected(directions), name="variances")
    norms, spreads = within.norms(np.eye(k), core), Spreads(data.centre)
    # 1. R, r: what the scores' products and the rows' distances are clipped to; of groups, sizes
    _look_at_once(data, within, norms, spreads)
    mu_radius, mu_rayleigh = _divide(rayleigh, data)
    R = within.radius(np.eye(k), core, mu_radius, mu_rayleigh)
    mu_radius, mu_total = _divide(others, data)
    r = _longest(data, spreads, mu_radius, mu_total)
    total = BoundedTotal(spreads, r, power=2)
    asked: list[tuple[PrivateData, Statistic]] = [(data, total)]
    if grouped:
        mu_size, mu_rows = _divide(others, data, searched=True)
        bound = group_bound(data, mu_size)
        asked.append((data, BoundedTotal(RowCounts(), bound)))
    data.together((within.data, ResidualSum(norms, R)), *asked)
    # 2. the Rayleigh matrix: the mean product of the records' scores with the unit vectors
    gradient = within(np.eye(k), core, 0.0, mu_rayleigh, R)
    rayleigh_matrix, variance = combine(core, core_variance, gradient)
    values, rotation = decreasing_eigh((rayleigh_matrix + rayleigh_matrix.T) / 2)
    # 3. the total, and what it leaves to the other directions: no less than its noise
    answer = data.ask(total, mu_total, "total variance")
    whole, total_sd = max(float(answer.value), answer.noise_sd) / data.n, answer.noise_sd / data.n
    explained = np.clip(values, min(math.sqrt(variance), whole), whole)
    left = d - k
    rest = max(whole - float(explained.sum()), total_sd) / left if left else 0.0
    # 4. both per row
    n_rows = count_rows(data, bound, mu_rows) if grouped else data.n
    per_row = data.n / max(n_rows - 1, 1.0)
    error = math.sqrt(variance) * per_row
    return Variances(rotation, explained * per_row, error, rest * per_row, n_rows)


def _look_at_once(
    data: PrivateData, within: BlockMean, norms: ResidualNorms, spreads: Spreads
) -> None:
    """One pass for the histograms that come next, if all records are asked for them."""
    if data.exact or data.sample is not None:
        return
    asked = [(data, MeasureHistogram(RowCounts(), EDGES))] if data.public.grouped else []
    if data.norm_bound is None:
        asked.append((within.data, MeasureHistogram(norms, EDGES)))
        asked.append((data, MeasureHistogram(spreads, EDGES)))
    data.together(*asked)


def _divide(mu: float, data: PrivateData, searched: bool = False) -> tuple[float, float]:
    """The parts of a radius, which a norm bound saves, and of the sum that it clips."""
    if data.exact or (data.norm_bound is not None and not searched):
        return 0.0, mu
    usual, most = VARIANCE.radius_share, VARIANCE.most_radius_share
    mu_radius = radius_mu(data, mu * math.sqrt(usual), mu * math.sqrt(most))
    return mu_radius, math.sqrt(mu**2 - mu_radius**2)


def _longest(data: PrivateData, spreads: Spreads, mu_radius: float, mu: float) -> float:
    """What the distances of a record's rows, squared and summed, are clipped to the root of."""
    if data.norm_bound is not None and not data.exact:
        return data.norm_bound
    name, expected = "radius of the total", expected_norms(data)
    return clip_radius(data, spreads, 1, mu, mu_radius, name, expected=expected)
