"""How much of the records lies in every cell of every feature, free of rounding errors.

The cells of a feature are numbered from 1; 0 and numbers beyond the last one are no cells.
"""

from __future__ import annotations

import numpy as np

# Shares of a group are multiples of 2^-20, so that 2^30 of them are summed exactly in float64.
STEPS = 2**20


def exact_shares(counts: np.ndarray, sizes: np.ndarray | int) -> np.ndarray:
    """Counts over sizes, rounded down to multiples of 1 / `STEPS`: they add up to at most 1."""
    return counts * STEPS // sizes / STEPS


def tally(
    cells: np.ndarray,
    features: np.ndarray,
    shape: tuple[int, ...],
    times: np.ndarray | None = None,
) -> np.ndarray:
    """How many values lie in every cell.

    Parameters
    ----------
    cells, features : ndarray of int
        Of every value, in shapes that broadcast.
    shape : tuple of int
        How many features and cells.
    times : ndarray of int, optional
        How often every value counts; once by default.
    """
    places = _places(cells, features, shape).ravel()
    return _table(np.bincount(places, weights=times, minlength=_size(shape)), shape)


def tally_groups(cells: np.ndarray, sizes: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The same for groups of consecutive rows; every group adds the shares of its rows.

    Parameters
    ----------
    cells : ndarray of int of shape (n_rows, n_features)
    sizes : ndarray of int of shape (n_groups,)
        Number of rows of every group.
    shape : tuple of int
    """
    groups = np.repeat(np.arange(len(sizes)), sizes)[:, None]
    places = groups * _size(shape) + _places(cells, np.arange(shape[0]), shape)
    places, counts = np.unique(places, return_counts=True)
    group, place = np.divmod(places, _size(shape))
    shares = exact_shares(counts, sizes[group])
    return _table(np.bincount(place, weights=shares, minlength=_size(shape)), shape)


# A table has two columns more than there are cells, for values that lie in none.


def _size(shape: tuple[int, ...]) -> int:
    return shape[0] * (shape[1] + 2)


def _places(cells: np.ndarray, features: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return features * (shape[1] + 2) + cells


def _table(counts: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return counts.reshape(shape[0], shape[1] + 2)[:, 1:-1]
