"""Residuals and cross products that a block of records is asked for.

Every number here that belongs to one record (a distance, a mean, a Gram norm, a residual) is a
bitwise function of that record alone: it does not change when other records come, go or move. BLAS
rounds a row differently at different places of a block, so they are summed in a fixed order, or
BLAS is given nothing to round (`_sums`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ._sums import CANCELLATION, NEAREST, rounded_directions, row_squares, safe_root

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
        """True if the prediction C is anything but 0."""
        return bool(self.prediction.any())

    @cached_property
    def square(self) -> float:
        """``||C||^2``."""
        return float(row_squares(self.prediction).sum())


@dataclass(frozen=True)
class Cross:
    """``W^T A_i (I - W W^T)`` of every record: what of its Gram matrix leads out of the span of W.

    For a row y less the centre, with scores ``s = W^T y`` and the rest ``e = y - W s``, that is ``s
    e^T``; for a group it is the sum over its rows. All of it is public or was released.

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


# Rows whose residuals are formed one by one at a time, in entries.
DENSE_ENTRIES = 2**20


def matrix_norms(columns: Iterable[np.ndarray]) -> np.ndarray:
    """Frobenius norms of the records' matrices, given column after column of all of them."""
    first, *others = (row_squares(column) for column in columns)
    return safe_root(sum(others, first))


def add_matrices(out: np.ndarray, weights: np.ndarray, columns: Iterable[np.ndarray]) -> None:
    """Add their weighted sum; the columns are overwritten."""
    for row, column in zip(out, columns, strict=True):
        column[weights == 0] = 0.0  # inf * 0
        row += weights @ column


class ExplicitResiduals(ABC):
    """Residuals are formed record by record, so that nothing cancels in their norms or sums."""

    @abstractmethod
    def columns(self, residual: Residual) -> Iterator[np.ndarray]:
        """Column after column of all residuals, each of shape (number of records, d)."""

    def residual_norms(self, residual: Residual, known: np.ndarray | None) -> np.ndarray:
        return matrix_norms(self.columns(residual))[:, None]

    def add_residuals(self, out: np.ndarray, weighted: np.ndarray, residual: Residual) -> None:
        add_matrices(out, weighted[:, 0], self.columns(residual))


class ProductResiduals(ABC):
    """Residuals ``y s^T - C`` of rows y less the centre and scores ``s = W^T y``, never formed.

    The scores are bitwise functions of the row; they are handed from the norms to the sums, so
    that both speak of one residual. Of dense rows y is on its grid, and W on its own: norms, scores
    and sums all read that y, so the record is that y.
    """

    @abstractmethod
    def squares(self, residual: Residual) -> np.ndarray:
        """``||y||^2`` of every row, and a bound on the squared terms that it came from."""

    @abstractmethod
    def products(self, vectors: np.ndarray, residual: Residual) -> np.ndarray:
        """Products of the rows y with a few vectors, each row's by itself."""

    @abstractmethod
    def some_rows(self, which: np.ndarray, residual: Residual) -> np.ndarray:
        """A few of the rows y, dense."""

    @abstractmethod
    def add_scored(
        self, out: np.ndarray, scores: np.ndarray, kept: np.ndarray, residual: Residual
    ) -> None:
        """Add ``sum s y^T`` over the rows that are kept, of which these are the scores."""

    def residual_norms(self, residual: Residual, known: np.ndarray | None) -> np.ndarray:
        """Frobenius norm of every record's residual, and then what `add_residuals` can reuse.

        By the expanded square, and from the residual itself wherever that cancels. `known` is what
        `squares` gave for these records, if they were asked.
        """
        squares, terms = (self.squares(residual) if known is None else known).T
        scores = self.products(residual.directions, residual)
        # the squares of a score of all records lie next to each other
        squared = np.square(scores.T)
        lengths = _sum(squared)
        if not residual.predicts:
            crossed = np.zeros(len(scores))
        elif residual.core is None:
            others = self.products(residual.prediction, residual)
            crossed = _sum(scores.T * others.T)
        else:
            crossed = _sum(residual.core[:, None] * squared)
        # ||y||^2 ||s||^2 - 2 <C^T y, s> + ||C||^2
        found = squares * lengths - 2 * crossed + residual.square
        norms = safe_root(found)
        lost = ~(found >= CANCELLATION * (terms * lengths + residual.square))
        lost |= (lengths < NEAREST**2) & (squares > 1)  # a long row whose scores underflow
        if lost.any():
            near = np.flatnonzero(lost)
            entries = near.size * residual.directions.shape[1]
            for some in np.array_split(near, 1 + entries // DENSE_ENTRIES):
                rows = self.some_rows(some, residual)
                squares = np.zeros(len(some))
                for s, c in zip(scores[some].T, residual.prediction, strict=True):
                    squares += row_squares(rows * s[:, None] - c)
                norms[some] = safe_root(squares)
        if np.isinf(norms.max(initial=0.0)):  # weight 0, and scores 0: none is not a number
            scores = np.where(np.isinf(norms)[:, None], 0.0, scores)
        return np.vstack([norms, scores.T]).T

    def add_residuals(self, out: np.ndarray, weighted: np.ndarray, residual: Residual) -> None:
        """Add the weighted sum of the records' residuals, of shape (p, d).

        `weighted` has a weight a record, and then what `residual_norms` handed on, times that.
        """
        weights, scores = weighted[:, 0], weighted[:, 1:]
        kept = weights != 0  # inf * 0
        self.add_scored(out, scores if kept.all() else scores[kept], kept, residual)
        if residual.predicts:
            out -= weights.sum() * residual.prediction


def _sum(columns: Iterable[np.ndarray]) -> np.ndarray:
    """Sum numbers of every record, column by column: the same bits wherever a record stands."""
    first, *others = columns
    total = first.copy()
    for column in others:
        total += column
    return total
