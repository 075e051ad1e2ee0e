"""Clipping norms of the records: smaller where noise dominates, larger as records grow many.

See the page "Clipping" of the theory. All that is decided here follows from public numbers and
private answers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from ..private_data import PrivateData
from ..records import MAX_ROWS
from ..statistics import BoundedTotal, Distances, Measure, RowCounts, clip_measure
from ..statistics.lemmas import psd_sum
from .base import BUDGET, ample
from .norm_histogram import (
    HISTOGRAM,
    LEAST_NORM,
    ClippingFactor,
    NormHistogram,
    histogram_mu,
    norm_histogram,
    seen_norms,
)


@dataclass(frozen=True)
class ClippingConstants:
    """Shares of records to clip, and shares of the budget for a private clipping norm.

    Shares are of mu^2. What has no origin here is a guess.
    """

    # The least share of records clipped, so that the largest ones do not set the noise; round.
    least_clipped: float = 0.03
    # The largest share of records clipped, where the scale of a sum matters, and elsewhere; round.
    most_clipped: float = 0.5
    most_clipped_unscaled: float = 0.9
    # Weight of the noise against the clipping bias in the number of clipped records. 8 was best or
    # equal among 1, 2, 4 and 8 on digits, breast cancer, MNIST and models of groups.
    noise_weight: float = 8.0
    # The fewest records that clipping leaves as they are, in sds of the noise in a histogram's
    # cell; else rows are scaled to norm 1. With 6, 1 search in 10 failed.
    least_inside: float = 10.0
    # A bound on most norms, over the typical norm; on norms of products, over its square.
    far_above: float = 16.0
    # Products with a few directions are clipped to this share of that square, if they are not seen.
    unseen_product: float = 1 / 16
    # The clipping norm: share for rows, largest share for groups, whose norms scatter more.
    radius_share: float = 0.03
    most_radius_share: float = 0.06


CLIPPING = ClippingConstants()


@dataclass(frozen=True)
class Clip:
    """Clipping norm of the records, and the effect of clipping on their second moments.

    Parameters
    ----------
    radius : float
        Rows: ``||x - c||``. Groups: the root of the Frobenius norm of their Gram matrix. Infinite
        for no clipping.
    spherical : bool
        Every row is scaled to the radius, up or down.
    factor : ClippingFactor or None
        What it took of the records' second moments; None if no histogram tells.
    unseen : bool
        The noise hid how long the records are.
    median : float or None
        Median of the distances from the centre, where rows are scaled to norm 1; None if not asked
        for.
    constant : float
        What every row is augmented with in a Gram matrix; 0 if that does not correct the centre.
    """

    radius: float
    spherical: bool = False
    factor: ClippingFactor | None = None
    unseen: bool = False
    median: float | None = None
    constant: float = 0.0


@dataclass(frozen=True)
class ExpectedNorms:
    """Prior range of some norms before they are queried; public or released.

    Parameters
    ----------
    typical : float
        What records are clipped to if their norms are not seen. By default a norm that nearly all
        exceed: directions are kept then, but not the scale.
    longest : float
        Most norms do not exceed it.
    """

    typical: float = LEAST_NORM
    longest: float = math.inf


def excess_records(n: float, dim: int, mu: float, weight: float = CLIPPING.noise_weight) -> float:
    """Return how many records to clip: more when the noise dominates, and at least 3 % of them.

    With an ample mu the least share falls with its square, as the variance of the noise does.

    Parameters
    ----------
    n : float
        The (noisy) number of records.
    dim : int
        Free entries of the sum that the radius serves.
    mu : float
        What that sum costs, as far as its noise tells (`PrivateData.effective`).
    weight : float, optional
        Weight of the noise against the clipping bias; by default that of `CLIPPING`.
    """
    return max(CLIPPING.least_clipped * n / ample(mu) ** 2, weight * math.sqrt(dim) / mu)


def radius_mu(data: PrivateData, usual: float, most: float) -> float:
    """Return the mu to spend on a clipping norm, from its usual and its largest mu."""
    return histogram_mu(data, usual, most, HISTOGRAM.certain)


def radius_share(data: PrivateData, usual: float, most: float) -> float:
    """Return the mu to spend on a clipping norm, between two shares of mu^2."""
    return radius_mu(data, data.fraction(usual), data.fraction(most))


def find_radius(
    data: PrivateData,
    measure: Measure,
    dim: int,
    mu: float,
    mu_radius: float,
    name: str,
    weight: float = CLIPPING.noise_weight,
    most: float = CLIPPING.most_clipped,
    expected: ExpectedNorms = ExpectedNorms(),
) -> tuple[float, NormHistogram | None]:
    """A norm to clip records to, for a sum that is released at `mu`; infinite without noise.

    Also the histogram that it was read off; None if it was not.

    Parameters
    ----------
    measure : Measure
        The norm.
    dim, weight
        See `excess_records`.
    mu, mu_radius : float
        What the sum and the histogram cost.
    name : str
        For the report.
    most : float, optional
        The largest share of the records that is clipped; by default that of `CLIPPING`.
    expected : ExpectedNorms, optional
        What is known of the norms already.
    """
    if data.exact or math.isinf(mu):
        return math.inf, None
    excess = min(excess_records(data.n, dim, data.effective(mu), weight), most * data.n)
    found = norm_histogram(data, measure, mu_radius, name).up_to(expected.longest)
    if found.z <= HISTOGRAM.seen:
        return expected.typical, None
    return found.exceeded_by(excess), found


def searches(data: PrivateData) -> bool:
    """Return whether a clipping norm is estimated: not without noise or with a public bound."""
    return not data.exact and data.norm_bound is None


def with_typical_norm(data: PrivateData) -> PrivateData:
    """Return the data with the records' median norm, if a noisy histogram shows it."""
    if data.exact or data.norm_bound is not None or data.typical_norm is not None:
        return data
    measure = clip_measure(data.centre, 0.0, data.public.grouped)
    mu = radius_share(data, BUDGET.rough_look_share, BUDGET.most_look_share)
    data, found = seen_norms(data, measure, mu, "length of the records")
    return data if data.unseen else replace(data.near(found.median), typical_norm=found.median)


def median_distance(data: PrivateData, mu: float) -> Clip:
    """Scale rows to norm 1, and ask for their median distance; the expected one, if unseen.

    The factor is the mean of the squared distances over the median's square, if they are seen.
    """
    expected = expected_norms(data)
    data, found = seen_norms(data, Distances(data.centre), mu, "median distance")
    found = found.up_to(expected.longest)
    if found.z <= HISTOGRAM.seen:
        unseen = data.typical_norm is None
        return Clip(1.0, spherical=True, unseen=unseen, median=expected.typical)
    factor = found.factor(found.median, data.n, spherical=True)
    return Clip(1.0, spherical=True, factor=factor, median=found.median)


def expected_norms(data: PrivateData) -> ExpectedNorms:
    """Return the expected range of the norms of records, or of all their rows."""
    if data.typical_norm is None:
        return ExpectedNorms()
    return ExpectedNorms(data.typical_norm, CLIPPING.far_above * data.typical_norm)


def expected_products(data: PrivateData, last: float | None) -> ExpectedNorms:
    """Return the expected norms of the records' products with directions, from the last radius."""
    expected = ExpectedNorms()
    if data.typical_norm is not None:
        square = data.typical_norm**2
        expected = ExpectedNorms(CLIPPING.unseen_product * square, CLIPPING.far_above * square)
    return expected if last is None else replace(expected, typical=last)


def clip_records(
    data: PrivateData,
    dim: int,
    mu: float,
    spherical: bool = False,
    most: float = CLIPPING.most_clipped,
) -> Clip:
    """A clipping norm of the records about the centre, for a sum that is released at `mu`.

    Where it would leave out nearly all rows, or where no norm is seen in the noise, rows are scaled
    to norm 1 instead. Groups are never scaled so.

    Parameters
    ----------
    dim : int
        Free entries of that sum.
    spherical : bool
        Scale every row to norm 1, whatever the noise.
    most : float, optional
        The largest share of groups that is clipped; by default that of `CLIPPING`.
    """
    if data.exact:
        return Clip(math.inf)
    if spherical:
        return Clip(1.0, spherical=True)
    if data.norm_bound is not None:
        return Clip(data.norm_bound)
    measure, name = clip_measure(data.centre, 0.0, data.public.grouped), "clipping norm"
    grouped, expected = data.public.grouped, expected_norms(data)
    largest = CLIPPING.most_radius_share if grouped else CLIPPING.radius_share
    mu_radius = radius_share(data, CLIPPING.radius_share, largest)
    excess = excess_records(data.n, dim, data.effective(mu))
    if grouped:
        excess = min(excess, most * data.n)
    elif excess >= data.n - _inside(data, mu_radius):
        return Clip(1.0, spherical=True)
    data, found = seen_norms(data, measure, mu_radius, name)
    found = found.up_to(expected.longest)
    if found.z > HISTOGRAM.seen:
        radius = found.exceeded_by(excess)
        return Clip(radius, factor=found.factor(radius, data.n))
    if grouped:
        return Clip(expected.typical, unseen=data.unseen)
    return Clip(1.0, spherical=True)


def group_bound(data: PrivateData, mu: float) -> float:
    """A private bound on the sizes of groups, which few exceed; infinite without noise."""
    largest, _ = find_radius(data, RowCounts(), 1, mu, mu, "rows of a group")
    return math.ceil(min(largest, MAX_ROWS)) if math.isfinite(largest) else math.inf


def count_rows(data: PrivateData, bound: float, mu: float) -> float:
    """The sum of the groups' sizes, none counted beyond a bound; at least n."""
    rows = data.ask(BoundedTotal(RowCounts(), bound), mu, "number of rows")
    return max(data.n, float(rows.value))


def _inside(data: PrivateData, mu_radius: float) -> float:
    """The fewest records that should be left as they are."""
    noise_sd = psd_sum(1.0, data.public.adjacency) / (data.effective(mu_radius) * data.sample_share)
    return CLIPPING.least_inside * noise_sd
