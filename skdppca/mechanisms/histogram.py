"""A histogram of records over public cells, in one Gaussian query."""

from __future__ import annotations

import math

import numpy as np

from ..noise import NoiseSource
from .base import Public, Spender

__all__ = ["histogram_sum", "release_histogram", "weigh"]

# Shares of a group are multiples of 2^-20, so that 2^30 of them are summed exactly in float64.
STEPS = 2**20

# Of shares, which are summed exactly: any positive bound asks for a grid finer than whole numbers.
NO_ERROR = 2.0**-60


def histogram_sum(adjacency: str) -> float:
    """Sensitivity of a histogram in which a record weighs at least 0 a cell, and at most 1 in all.

    Proof. *Adding* a record of weights p >= 0 moves the histogram by
    ``||p||_2 <= ||p||_1 <= 1``. *Replacing* it by one of weights q >= 0 moves it by
    ``||p - q||^2 = ||p||^2 + ||q||^2 - 2 p.q <= 2``. Both are attained: by a record that lies in
    one cell, and by another that lies in another one. A histogram a class is one histogram over
    cells and classes, so a record may bring its class along.
    """
    return {"add-remove": 1.0, "replace-one": math.sqrt(2)}[adjacency]


def weigh(cells: np.ndarray, n_cells: int, groups: np.ndarray | None = None) -> np.ndarray:
    """The exact histogram.

    Parameters
    ----------
    cells : ndarray of int of shape (n_rows,)
        Of every row, from 0 to ``n_cells - 1``; negative for a row that counts nowhere.
    n_cells : int
    groups : ndarray of int of shape (n_rows,), optional
        A group weighs in a cell its share of rows there, of all its rows, rounded down to a
        multiple of 2^-20: a function of the group alone. Without groups a row weighs 1.

    Returns
    -------
    ndarray of shape (n_cells,)
        Free of rounding errors.
    """
    somewhere = cells >= 0
    if groups is None:
        return np.bincount(cells[somewhere], minlength=n_cells).astype(np.float64)
    places = groups[somewhere] * n_cells + cells[somewhere]
    places, counts = np.unique(places, return_counts=True)
    group, cell = np.divmod(places, n_cells)
    shares = counts * STEPS // np.bincount(groups)[group] / STEPS
    return np.bincount(cell, weights=shares, minlength=n_cells)


def release_histogram(
    cells: np.ndarray,
    n_cells: int,
    groups: np.ndarray | None,
    spender: Spender,
    public: Public,
    noise: NoiseSource,
) -> np.ndarray:
    """Spend what is left on a histogram; see `weigh` for the parameters."""
    query = spender.rest(
        "histogram",
        histogram_sum(public.adjacency),
        size=n_cells,
        rounding=NO_ERROR if public.grouped else 0.0,
    )
    return query.release(weigh(cells, n_cells, groups), noise)
