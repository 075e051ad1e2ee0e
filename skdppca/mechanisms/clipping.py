"""How far to clip the records: more the more the noise dominates, less as records grow many.

See the page "Clipping" of the theory. All that is decided here follows from public numbers and
private answers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..private_data import GRID, PrivateData, steps_of
from ..records import MAX_ROWS
from ..statistics import BoundedTotal, RowCounts, clip_measure

__all__ = [
    "COUNT_SLACK",
    "MIN_EXCESS",
    "NOISE_WEIGHT",
    "Clip",
    "clip_records",
    "count_rows",
    "excess_records",
    "is_hopeless",
    "search_mu",
]

# Clip at least this share of the records, so that the largest ones do not set the noise.
MIN_EXCESS = 0.03

# Clip at least so many records, over mu of the search: 3.3 sd of the noise of one step. With less,
# a step far above all records is too often taken for one that clips some, and the search runs off.
COUNT_SLACK = 10.0

# Weight of the noise against the clipping bias in the number of clipped records.
NOISE_WEIGHT = 8.0

# Records over the sd of one step that a search should have: 3 sd on either side of the median.
CERTAINTY = 6.0

# Shares of mu^2 of the clipping norm: of rows, and of groups at most, whose norms scatter more.
RADIUS_SHARE, MAX_RADIUS_SHARE = 0.03, 0.06


@dataclass(frozen=True)
class Clip:
    """What records are clipped to.

    Parameters
    ----------
    radius : float
        Rows: ``||x - c||``. Groups: the root of the Frobenius norm of their Gram matrix. Infinite
        for no clipping.
    spherical : bool
        Every row is scaled to the radius, up or down.
    """

    radius: float
    spherical: bool = False


def excess_records(
    n: float, dim: int, mu: float, mu_radius: float, weight: float = NOISE_WEIGHT
) -> float:
    """How many records to clip: more when the noise dominates, and at least 3 % of them.

    Parameters
    ----------
    n : float
        The (noisy) number of records.
    dim : int
        Free entries of the sum that the radius serves.
    mu, mu_radius : float
        Budgets of that sum and of the search.
    weight : float
        Of the noise against the clipping bias.
    """
    if math.isinf(mu):
        return 0.0
    return max(MIN_EXCESS * n, weight * math.sqrt(dim) / mu, COUNT_SLACK / mu_radius)


def search_mu(data: PrivateData, least: float, most: float) -> float:
    """What a search among the records is worth: its steps' noise below a sixth of the records.

    Parameters
    ----------
    least, most : float
        Shares of mu^2 between which it stays.
    """
    if data.exact:
        return math.inf
    precise = CERTAINTY * math.sqrt(steps_of(GRID)) / data.n
    return min(max(precise, data.share(least)), data.share(most))


def is_hopeless(n: float, mu_radius: float) -> bool:
    """Whether the noise of a step is a quarter of the records or more: it would run off."""
    return n * mu_radius < 4 * math.sqrt(steps_of(GRID))


def clip_records(data: PrivateData, dim: int, mu: float, spherical: bool = False) -> Clip:
    """A clipping norm of the records about the centre, for a sum that is released at `mu`.

    Where it would leave out all rows, they are scaled to norm 1 instead, which needs no search.
    Groups are never scaled so; half of them at least are left as they are.

    Parameters
    ----------
    dim : int
        Free entries of that sum.
    spherical : bool
        Scale every row to norm 1, whatever the noise.
    """
    if data.exact:
        return Clip(math.inf)
    grouped = data.public.grouped
    if grouped:
        mu_radius = search_mu(data, RADIUS_SHARE, MAX_RADIUS_SHARE)
    else:
        mu_radius = data.share(RADIUS_SHARE)
    excess = excess_records(data.n, dim, mu, mu_radius)
    too_few_inside = excess >= data.n - COUNT_SLACK / mu_radius
    if spherical or (not grouped and data.norm_bound is None and too_few_inside):
        return Clip(1.0, spherical=True)
    if data.norm_bound is not None:
        return Clip(data.norm_bound)
    measure = clip_measure(data.centre, 0.0, grouped)
    excess = min(excess, data.n / 2) if grouped else excess
    return Clip(data.radius(measure, excess, mu_radius, "clipping norm"))


def count_rows(data: PrivateData, mu_size: float, mu_rows: float) -> float:
    """The sum of the groups' sizes, none counted beyond a private bound; at least n."""
    bound = math.inf
    if not math.isinf(mu_rows):
        excess = min(excess_records(data.n, 1, mu_size, mu_size), data.n / 2)
        largest = data.radius(RowCounts(), excess, mu_size, "rows of a group")
        bound = math.ceil(min(largest, MAX_ROWS))
    rows = data.ask(BoundedTotal(RowCounts(), bound), mu_rows, "number of rows")
    return max(data.n, float(rows.value))
