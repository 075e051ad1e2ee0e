"""Noisy counts, and a clipping radius found with them (METHODS 3)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..noise import NoiseSource
from .base import Public, Spender
from .sensitivity import count

__all__ = [
    "COUNT_SLACK",
    "excess_records",
    "is_hopeless",
    "noisy_count",
    "private_radius",
    "search_mu",
]

# The public grid of radii, 2^-40 .. 2^40 in quarter powers: 9 halvings find one of 321.
GRID = 2.0 ** np.arange(-40, 40.125, 0.25)
GRID_STEPS = 9

# Clip at least this share of the records, so that the largest ones do not set the noise.
MIN_EXCESS = 0.03

# Clip at least so many records, over mu of the search: 3.3 sd of the noise of one step. With less,
# a step far above all records is too often taken for one that clips some, and the search runs off.
COUNT_SLACK = 10.0

# Records over the sd of one step that a search should have: 3 sd on either side of the median.
CERTAINTY = 6.0


def noisy_count(n: int, spender: Spender, mu: float, public: Public, noise: NoiseSource) -> float:
    """The number of records: exact if it is public, else a Gaussian count of at least 1."""
    if public.n_records is not None:
        return float(public.n_records)
    query = spender.take("number of records", mu, count(public.adjacency))
    return max(1.0, float(query.release(n, noise)))


def excess_records(n: float, dim: int, mu: float, mu_radius: float, weight: float) -> float:
    """How many records to clip: more when the noise dominates, a vanishing share as n grows.

    Parameters
    ----------
    n : float
        The noisy number of records.
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


def search_mu(n: float, spender: Spender, least: float, most: float) -> float:
    """What a search among n records is worth: its steps' noise below a sixth of the records.

    Parameters
    ----------
    least, most : float
        Shares of mu^2 between which it stays.
    """
    if math.isinf(spender.mu):
        return math.inf
    precise = CERTAINTY * math.sqrt(GRID_STEPS) / n
    return min(max(precise, spender.share(least)), spender.share(most))


def is_hopeless(n: float, mu_radius: float) -> bool:
    """Whether the noise of a step is a quarter of the records or more: it would run off."""
    return n * mu_radius < 4 * math.sqrt(GRID_STEPS)


def private_radius(
    norms: np.ndarray | Callable[[], np.ndarray],
    excess: float,
    name: str,
    spender: Spender,
    mu: float,
    public: Public,
    noise: NoiseSource,
    grid: np.ndarray = GRID,
    sensitivity: float = 1.0,
) -> float:
    """A radius that about `excess` of the records exceed: binary search with noisy counts.

    Costs `mu` in all. Infinite without noise. Other `norms` than one a record come with the
    `sensitivity` of counting them.
    """
    if math.isinf(mu):
        return math.inf
    norms = norms() if callable(norms) else norms
    low, high = -1, len(grid) - 1  # the radius lies in grid[low + 1 : high + 1]
    steps = math.ceil(math.log2(len(grid)))
    while high - low > 1:
        middle = (low + high) // 2
        moved = sensitivity * count(public.adjacency)
        query = spender.take(name, mu / math.sqrt(steps), moved)
        if query.release(np.count_nonzero(norms > grid[middle]), noise) <= excess:
            high = middle
        else:
            low = middle
    return float(grid[high])
