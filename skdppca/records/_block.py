"""What can be computed on one block of records.

Every number here that belongs to one record (a distance, a mean, a Gram norm, a residual) is a
bitwise function of that record alone: it does not change when other records come, go or move. BLAS
rounds a row differently at different places of a block, so they are summed in a fixed order, or
BLAS is given nothing to round (`_sums`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

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


class Block(Protocol):
    """A block of records, with one weight a record in the sums."""

    def mean_rows(self) -> np.ndarray:
        """Every record's (mean) row, dense."""

    def distances(self, centre: np.ndarray | None) -> np.ndarray:
        """Distance of every record's (mean) row from the centre."""

    def gram_norms(self, centre: np.ndarray | None, constant: float) -> np.ndarray:
        """Root of the Frobenius norm of every record's Gram matrix."""

    def spreads(self, centre: np.ndarray | None) -> np.ndarray:
        """Root of the summed squared distances of every record's rows from the centre."""

    def residual_norms(self, residual: Residual, known: np.ndarray | None) -> np.ndarray:
        """Frobenius norm of every record's residual, and then what `add_residuals` can reuse.

        `known` is what `squares` said of these records, if they are not explicit.
        """

    def add_moment(
        self, out: np.ndarray, weights: np.ndarray | None, centre: np.ndarray | None
    ) -> None:
        """Add the weighted sum of the records' (mean) rows less the centre."""

    def add_columns(self, out: np.ndarray, f: ColumnFunction) -> None:
        """Add, feature by feature, the sum of ``f`` of the records' values.

        A group counts by the mean over its rows.
        """

    def add_cells(self, out: np.ndarray, which: np.ndarray, cell: ColumnFunction) -> None:
        """Add how much of the records lies in every cell of some features.

        A group counts by the shares of its rows. `out` has a row for each of the features `which`,
        and ``cell(values, k)`` numbers the cells of values of the k-th of them from 1; 0 and
        numbers beyond the last one are no cells.
        """

    def add_residuals(self, out: np.ndarray, weighted: np.ndarray, residual: Residual) -> None:
        """Add the weighted sum of the records' residuals, of shape (p, d).

        `weighted` has a weight a record, and then what `residual_norms` handed on, times that.
        """

    def cross_norms(self, cross: Cross) -> np.ndarray:
        """Frobenius norm of what of every record leads out of the span."""

    def add_cross(self, out: np.ndarray, weights: np.ndarray, cross: Cross) -> None:
        """Add the weighted sum of that, of shape (p, d)."""

    def add_products(
        self,
        out: np.ndarray,
        weights: np.ndarray | None,
        centre: np.ndarray | None,
        directions: np.ndarray,
    ) -> None:
        """Add ``sum_i w_i^2 W X_i^T X_i``, of shape (p, d), X_i a record's rows less the centre.

        By BLAS: a row's products may have other last digits in another block. The sum's rounding
        error is bounded for any order, and nothing else is made of them.
        """

    def add_gram(
        self,
        out: np.ndarray,
        weights: np.ndarray | None,
        centre: np.ndarray | None,
        constant: float,
    ) -> None:
        """Add the Gram matrix (its upper triangle) of weighted rows ``[weight (x - c), constant]``.

        ``out`` has one row and column more than there are features if ``constant`` is not 0.
        """


class RowBlock(Block, Protocol):
    """A block whose records are single rows."""

    def scores(self, directions: np.ndarray, centre: np.ndarray | None) -> np.ndarray:
        """Products of every row less the centre with the directions."""

    def rounded_scores(
        self, directions: np.ndarray, centre: np.ndarray | None, out: np.ndarray
    ) -> None:
        """The same of rounded rows with directions on their grids, if that is quicker."""

    def squares(self, residual: Residual) -> np.ndarray:
        """The square of every row, and a bound on the squared terms that it came from."""
