"""How to clip the records for their Gram matrix: rows, groups, or all rows to one norm."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..noise import NoiseSource
from ..records import MAX_ROWS, Records
from .base import Public, Spender
from .radius import COUNT_SLACK, excess_records, private_radius, search_mu
from .sensitivity import bounded_sum

__all__ = ["Clipping", "clip_groups", "clip_rows", "count_rows"]

# Shares of mu^2, least and largest where a search takes what it needs: of the clipping norm, the
# median distance, the largest size of a group; and of the number of rows.
RADIUS_SHARE, MAX_RADIUS_SHARE = 0.03, 0.06
MEDIAN_SHARE, MAX_MEDIAN_SHARE = 0.02, 0.04
SIZE_SHARE, MAX_SIZE_SHARE = 0.01, 0.04
ROWS_SHARE = 0.02

# Weight of the noise in the number of clipped records (METHODS 3).
NOISE_WEIGHT = 8.0

# Every row is augmented with this share of the radius: enough for the last row of the Gram matrix
# to correct the mean, and it adds less than 2 % to the sensitivity.
AUGMENTATION = 1 / 8


@dataclass(frozen=True)
class Clipping:
    """What a record is clipped to.

    Parameters
    ----------
    radius : float
        Rows: every ``y = min(1, radius / ||x - c||) (x - c)``. Groups: the augmented Gram matrix
        of the group is scaled to a Frobenius norm of at most ``radius^2 + constant^2``.
    constant : float
        The entry t that every row is augmented with; 0 for none.
    norms : ndarray or None
        Of the records, private: distances of rows, roots of the Gram norms of (augmented) groups.
        None without clipping.
    median : float or None
        Set if every row is scaled to norm `radius`, up or down: their private median distance.
    n_rows : float or None
        The private number of rows in all groups; None for rows.
    """

    radius: float
    constant: float
    norms: np.ndarray | None = None
    median: float | None = None
    n_rows: float | None = None


def clip_rows(
    records: Records,
    centre: np.ndarray | None,
    n: float,
    norm_bound: float | None,
    distances: np.ndarray | None,
    spherical: bool,
    augment: bool,
    spender: Spender,
    public: Public,
    noise: NoiseSource,
) -> Clipping:
    """A clipping norm that leaves out more rows the more the noise dominates, up to all of them.

    Parameters
    ----------
    centre : ndarray of shape (d,) or None
    n : float
        The (noisy) number of rows.
    norm_bound : float or None
        Public; it saves the search.
    distances : ndarray or None
        Of the rows from the centre, if they are known already.
    spherical : bool
        Scale every row to norm 1, whatever the noise.
    augment : bool
        Whether the mean is to be corrected.
    """
    d = records.n_features
    norms = records.map(lambda b: b.distances(centre)) if distances is None else distances
    t = AUGMENTATION if augment else 0.0
    mu_radius = spender.share(RADIUS_SHARE)
    excess = excess_records(n, d * (d + 1) // 2, spender.left, mu_radius, NOISE_WEIGHT)
    too_few_inside = excess >= n - COUNT_SLACK / mu_radius
    if spherical or (norm_bound is None and too_few_inside):
        mu_median = search_mu(n, spender, MEDIAN_SHARE, MAX_MEDIAN_SHARE)
        median = private_radius(norms, n / 2, "median distance", spender, mu_median, public, noise)
        return Clipping(1.0, t, norms, median)
    radius = norm_bound or private_radius(
        norms, excess, "clipping norm", spender, mu_radius, public, noise
    )
    return Clipping(radius, t * radius, norms)


def clip_groups(
    records: Records,
    centre: np.ndarray | None,
    n: float,
    norm_bound: float | None,
    augment: bool,
    spender: Spender,
    public: Public,
    noise: NoiseSource,
) -> Clipping:
    """The number of rows, and a bound on the groups' Gram matrices; see `clip_rows`."""
    d = records.n_features
    # 1. how many rows
    mu_size = search_mu(n, spender, SIZE_SHARE, MAX_SIZE_SHARE)
    mu_rows = spender.share(ROWS_SHARE)
    n_rows = count_rows(records, n, mu_size, mu_rows, spender, public, noise)
    # 2. the clipping norm
    mu_radius = search_mu(n, spender, RADIUS_SHARE, MAX_RADIUS_SHARE)
    excess = excess_records(n, d * (d + 1) // 2, spender.left, mu_radius, NOISE_WEIGHT)
    radius = norm_bound or private_radius(
        lambda: records.map(lambda block: block.gram_norms(centre, 0.0)),
        min(excess, n / 2),
        "clipping norm",
        spender,
        mu_radius,
        public,
        noise,
    )
    # a typical group's rows together weigh as much as one row would
    t = AUGMENTATION * radius / math.sqrt(n_rows / n) if augment else 0.0
    norms = records.map(lambda block: block.gram_norms(centre, t))
    return Clipping(radius, t, norms, n_rows=n_rows)


def count_rows(
    records: Records,
    n: float,
    mu_size: float,
    mu_rows: float,
    spender: Spender,
    public: Public,
    noise: NoiseSource,
) -> float:
    """The sum of the groups' sizes, none counted beyond a private bound; at least n."""
    sizes = records.private_sizes
    if math.isinf(mu_rows):
        return float(sizes.sum())
    excess = min(excess_records(n, 1, mu_size, mu_size, NOISE_WEIGHT), n / 2)
    largest = private_radius(sizes, excess, "rows of a group", spender, mu_size, public, noise)
    bound = math.ceil(min(largest, MAX_ROWS))
    query = spender.take("number of rows", mu_rows, bounded_sum(bound, public.adjacency))
    return max(n, float(query.release(np.minimum(sizes, bound).sum(), noise)))
