"""Residuals and cross products that a block of records is asked for.

Every number here that belongs to one record (a distance, a mean, a Gram norm, a residual) is a
bitwise function of that record alone: it does not change when other records come, go or move. BLAS
rounds a row differently at different places of a block, so they are summed in a fixed order, or
BLAS is given nothing to round (`_sums`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ._numbers import row_squares
from ._sums import rounded_directions

# Numbers or truths, of values and of the features that they belong to: indices, or a slice for all.
ColumnFunction = Callable[[np.ndarray, Any], np.ndarray]


@dataclass(frozen=True)
class Residual:
    """``A_i W - C`` of every record, ``A_i`` the Gram matrix of its rows less the centre.

    All of it is public or was released.

    Parameters
    ----------
    directions : ndarray of shape (p, d)
        The columns of W.
    prediction : ndarray of shape (p, d)
        The columns of C.
    centre : ndarray of shape (d,) or None
    removed : ndarray of shape (q, d) or None
        Orthonormal rows: every row of a record is projected off them first. The directions and the
        prediction must be orthogonal to them.
    core : ndarray of shape (p,) or None
        ``prediction = core[:, None] * directions``, if it is that: then it costs no products of its
        own, and the prediction is that of the rounded directions.
    rounded : bool
        Whether dense rows less the centre, the directions and the prediction are rounded to grids,
        on which products are exact (`_sums`). Without noise nothing is.
    """

    directions: np.ndarray
    prediction: np.ndarray
    centre: np.ndarray | None = None
    removed: np.ndarray | None = None
    core: np.ndarray | None = None
    rounded: bool = True

    def __post_init__(self) -> None:
        if not self.rounded:
            return
        directions = rounded_directions(self.directions)
        if self.core is None:
            prediction = rounded_directions(self.prediction)
        else:
            prediction = self.core[:, None] * directions
        object.__setattr__(self, "directions", directions)
        object.__setattr__(self, "prediction", prediction)

    @cached_property
    def predicts(self) -> bool:
        """Whether C is anything but 0."""
        return bool(self.prediction.any())

    @cached_property
    def square(self) -> float:
        """``||C||^2``."""
        return float(row_squares(self.prediction).sum())


@dataclass(frozen=True)
class Cross:
    """``W^T A_i (I - W W^T)`` of every record: what of its Gram matrix leads out of the span of W.

    Of a row y less the centre, with scores ``s = W^T y`` and the rest ``e = y - W s``, that is
    ``s e^T``; of a group it is the sum over its rows. All of it is public or was released.

    Parameters
    ----------
    directions : ndarray of shape (p, d)
        The columns of W: orthonormal, and rounded to one grid here.
    centre : ndarray of shape (d,) or None
    spherical : bool
        Rows count as ``y / ||y||``; one of norm 0 as 0.

    Notes
    -----
    Every number is a bitwise function of the record. y is on its grid and W on that of norm 1, so
    the products s are exact (`_sums`). Then s is put on a grid of its own. All directions are on
    one grid, of multiples of 2^-24, and the columns of ``W^T`` are shorter than 1.9, so ``W s`` is
    exact for the same reason; and the difference from y is rounded entry by entry.

    Raises
    ------
    ValueError
        Directions that are not orthonormal, before they are rounded.
    """

    directions: np.ndarray
    centre: np.ndarray | None = None
    spherical: bool = False

    def __post_init__(self) -> None:
        W = self.directions
        if np.abs(W @ W.T - np.eye(len(W))).max(initial=0.0) > 1e-6:
            raise ValueError("directions must be orthonormal rows; orthonormalise them first")
        object.__setattr__(self, "directions", rounded_directions(W))

    @cached_property
    def transposed(self) -> np.ndarray:
        """W, a row a feature."""
        return np.ascontiguousarray(self.directions.T)
