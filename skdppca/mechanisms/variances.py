"""Private variances along directions that were released, and the private total."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..linalg import decreasing_eigh
from ..private_data import PrivateData
from ..statistics import (
    BoundedTotal,
    Measure,
    MeasureHistogram,
    ResidualNorms,
    ResidualSum,
    RowCounts,
    Spreads,
    Statistic,
)
from .block_mean import BlockMean, combine
from .clipping import count_rows, expected_norms, find_radius, group_bound, radius_mu
from .norm_histogram import ClippingFactor, NormHistogram, edges_of, unclipped


@dataclass(frozen=True)
class VarianceConstants:
    """Shares of mu^2 for variances along directions; round numbers."""

    # The Rayleigh matrix. The total gets the rest; of groups, the number of rows gets half of that.
    rayleigh_share: float = 0.6
    # The share of each of these that finds its radius: usual and largest.
    radius_share: float = 0.25
    most_radius_share: float = 0.5
    # Sds of its clipping factor by which an answer must be below what was predicted; round.
    clearly: float = 3.0


VARIANCE = VarianceConstants()


@dataclass(frozen=True)
class Variances:
    """Variances along a few directions, and the mean variance of all others.

    Parameters
    ----------
    rotation : ndarray of shape (k, k)
        Orthonormal rows: ``rotation @ directions`` are ordered by decreasing variance.
    clipped : ndarray of shape (k,)
        Variances of clipped records.
    error : float
        The sd of the noise in each of them.
    others : ndarray of shape (d - k,)
        Variances of clipped records along all other directions, if the factor is of these as well;
        else empty.
    clipped_rest : float
        Mean variance of all other directions; 0 if there are none.
    n_rows : float
        What they were divided by, plus 1.
    factor : ClippingFactor or None
        What clipping took of `clipped`; None if no histogram tells.
    explained : ndarray of shape (k,)
        Variances corrected for clipping, as far as histograms tell.
    errors : ndarray of shape (k,)
        The sd of the noise in each of these.
    rest : float
        Value of `clipped_rest`, corrected for clipping.
    """

    rotation: np.ndarray
    clipped: np.ndarray
    others: np.ndarray
    error: float
    clipped_rest: float
    n_rows: float
    factor: ClippingFactor | None
    explained: np.ndarray
    errors: np.ndarray
    rest: float


def release_variances(
    data: PrivateData,
    directions: np.ndarray,
    core: np.ndarray,
    core_variance: float = math.inf,
    core_factor: ClippingFactor | None = None,
) -> Variances:
    """Spend all on the k x k Rayleigh matrix of k orthonormal directions, and on the total.

    Parameters
    ----------
    directions : ndarray of shape (k, d)
    core : ndarray of shape (k, k)
        The Rayleigh matrix as it is predicted; the noise follows how far the records are from it.
    core_variance : float
        Variance of its entries, at least; the prediction is weighted by that.
    core_factor : ClippingFactor, optional
        What clipping took of the prediction, if it counts.
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
    R, residuals = within.look(np.eye(k), core, mu_radius, mu_rayleigh)
    mu_radius, mu_total = _divide(others, data)
    r, lengths = _longest(data, spreads, mu_radius, mu_total)
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
    clipped = np.clip(values, min(math.sqrt(variance), whole), whole)

    def rest(total: float, along: np.ndarray) -> float:
        return max(total - float(along.sum()), total_sd) / (d - k) if k < d else 0.0

    # 4. what clipping took of both
    weight = variance / gradient.noise_sd**2 if variance else 1.0
    factor = _taken(residuals, R, core, float(clipped.sum()), data.n)
    factor = factor if weight == 1 else _mixed(core_factor, factor, weight)
    explained, errors = unclipped(clipped, factor)
    # clipping takes only: what was predicted stands where it is larger, beyond the factor's noise
    beyond = np.empty(0)
    if core_factor is not None and core_factor.sees_tail and math.isfinite(core_variance):
        predicted = np.sort(np.diag(rotation @ core @ rotation.T))[::-1]
        predicted = np.clip(predicted, min(math.sqrt(core_variance), whole), whole)
        beside = np.full(d - k, rest(whole, predicted))
        whole_ones, noise = unclipped(np.append(predicted, beside), core_factor)
        if whole_ones[:k].sum() > explained.sum() + VARIANCE.clearly * errors.sum():
            clipped, factor, variance, beyond = predicted, core_factor, core_variance, beside
            explained, errors = whole_ones[:k], noise[:k]
    of_total = factor if lengths is None else lengths.factor(r, data.n)
    longer, larger = (1.0 if found is None else found.value for found in (of_total, factor))
    errors = np.hypot(errors, larger * math.sqrt(variance))
    # 5. all per row
    n_rows = count_rows(data, bound, mu_rows) if grouped else data.n
    per_row = data.n / max(n_rows - 1, 1.0)
    return Variances(
        rotation=rotation,
        clipped=clipped * per_row,
        others=beyond * per_row,
        error=math.sqrt(variance) * per_row,
        clipped_rest=rest(whole, clipped) * per_row,
        n_rows=n_rows,
        factor=factor,
        explained=explained * per_row,
        errors=errors * per_row,
        rest=rest(longer * whole, explained) * per_row,
    )


def _taken(
    residuals: NormHistogram | None, radius: float, core: np.ndarray, trace: float, n: float
) -> ClippingFactor | None:
    """Return the clipping factor of the residuals, for the trace of their Rayleigh matrix.

    A record with scores z has the residual ``z z^T - core``. Of that long ones lose the share
    ``1 - R / r`` of their trace, which is ``r + u^T core u - tr(core)`` where the record is long:
    r is the norm and u the record's direction, as far along every axis as the core says.

    Parameters
    ----------
    trace : float
        Trace of the mean of the clipped ones.
    """
    if residuals is None or not trace > 0:
        return None
    own = float(np.trace(core))
    less = own - float(np.sum(core**2)) / own if own > 0 else 0.0
    return residuals.factor_of_products(radius, less, trace, n)


def _mixed(
    core: ClippingFactor | None, answer: ClippingFactor | None, weight: float
) -> ClippingFactor | None:
    """Return the clipping factor of a prediction mixed with an answer, which has a weight."""
    if core is None or answer is None:
        return None
    return ClippingFactor(
        (1 - weight) * core.value + weight * answer.value,
        math.hypot((1 - weight) * core.error, weight * answer.error),
        core.sees_tail and answer.sees_tail,
        weight * answer.kept,
    )


def _look_at_once(
    data: PrivateData, within: BlockMean, norms: ResidualNorms, spreads: Spreads
) -> None:
    """One pass for the histograms that come next, if all records are asked for them."""
    if data.exact or data.sample is not None:
        return
    measured: list[tuple[PrivateData, Measure]] = [(data, RowCounts())] * data.public.grouped
    if data.norm_bound is None:
        measured += [(within.data, norms), (data, spreads)]
    data.together(*((seen, MeasureHistogram(one, edges_of(seen, one))) for seen, one in measured))


def _divide(mu: float, data: PrivateData, searched: bool = False) -> tuple[float, float]:
    """The parts of a radius, which a norm bound saves, and of the sum that it clips."""
    if data.exact or (data.norm_bound is not None and not searched):
        return 0.0, mu
    usual, most = VARIANCE.radius_share, VARIANCE.most_radius_share
    mu_radius = radius_mu(data, mu * math.sqrt(usual), mu * math.sqrt(most))
    return mu_radius, math.sqrt(mu**2 - mu_radius**2)


def _longest(
    data: PrivateData, spreads: Spreads, mu_radius: float, mu: float
) -> tuple[float, NormHistogram | None]:
    """Return the clipping norm of a record: the root of its rows' squared distances, summed."""
    if data.norm_bound is not None and not data.exact:
        return data.norm_bound, None
    name, expected = "radius of the total", expected_norms(data)
    return find_radius(data, spreads, 1, mu, mu_radius, name, expected=expected)
