"""Blocks of dense rows, every row a record.

Sums are formed by ``np.dot``: where the result has no more than 500 entries, ``@`` keeps Python's
lock, and the threads of a pass wait for each other.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ._residuals import ColumnFunction, Cross, ExplicitResiduals, ProductResiduals, Residual
from ._sums import (
    add_upper_gram,
    exact_dots,
    on_row_grids,
    row_dots,
    row_norms,
    row_squares,
    rows_dots,
    safe_root,
    tally,
)

# If no more than this share of a block's rows are clipped, they are scaled one by one.
FEW = 0.25


class DenseRows(ProductResiduals):
    """Every row a record. ``rows`` is float64, C-contiguous and only read.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
    scratch : ndarray of at least n rows and d columns; of one more for rows with a constant
    are_rounded : bool
        Whether every row is on its grid already.
    """

    def __init__(self, rows: np.ndarray, scratch: np.ndarray, are_rounded: bool = False) -> None:
        self.rows = rows
        self.scratch = scratch[: len(rows)]
        self.are_rounded = are_rounded
        # as long as scratch holds them; at last, the centre that it holds the rows less of
        self._projected: tuple[Residual, np.ndarray] | None = None
        self._rounded: tuple[Residual, np.ndarray] | None = None
        self._crossed: tuple[Cross, np.ndarray, np.ndarray, np.ndarray] | None = None
        self._centre: np.ndarray | None = None

    def tiles(self, step: int) -> Iterator[tuple[slice, DenseRows]]:
        """Blocks of `step` of these rows, which share what was found of all of them."""
        for start in range(0, len(self.rows), step):
            where = slice(start, min(start + step, len(self.rows)))
            tile = DenseRows(self.rows[where], self.scratch[where], self.are_rounded)
            tile._centre = self._centre
            if self._projected is not None:
                tile._projected = self._projected[0], self._projected[1][where]
            if self._rounded is not None:
                tile._rounded = self._rounded[0], self._rounded[1][where]
            if self._crossed is not None:
                cross, scores, rest, norms = self._crossed
                tile._crossed = cross, scores[where], rest[where], norms[where]
            yield where, tile

    def centred(self, centre: np.ndarray | None) -> np.ndarray:
        """The rows less the centre, in the scratch array; the rows themselves without one."""
        self._projected = self._rounded = self._crossed = None
        if centre is None:
            return self.rows
        out = self.scratch[:, : self.rows.shape[1]]
        if self._centre is not centre:
            np.subtract(self.rows, centre, out=out)
            self._centre = centre
        return out

    def mean_rows(self) -> np.ndarray:
        """Every record's (mean) row, dense."""
        return self.rows

    def distances(self, centre: np.ndarray | None) -> np.ndarray:
        """Distance of every record's (mean) row from the centre."""
        return safe_root(row_squares(self.centred(centre)))

    def gram_norms(self, centre: np.ndarray | None, constant: float) -> np.ndarray:
        """Root of the Frobenius norm of every record's Gram matrix."""
        return self.distances(centre)

    def spreads(self, centre: np.ndarray | None) -> np.ndarray:
        """Root of the summed squared distances of every record's rows from the centre."""
        return self.distances(centre)

    def scores(self, directions: np.ndarray, centre: np.ndarray | None) -> np.ndarray:
        """Products of every row less the centre with the directions."""
        return rows_dots(self.centred(centre), directions)

    def rounded_scores(
        self, directions: np.ndarray, centre: np.ndarray | None, out: np.ndarray
    ) -> None:
        """Write the products of rounded rows with the directions to `out`, which is quicker."""
        exact_dots(self._on_grids(self.centred(centre)), directions, out)

    def _on_grids(self, rows: np.ndarray) -> np.ndarray:
        """Rows on their grids: in the scratch array, if they are not there already."""
        self._centre = None
        if rows is not self.rows:
            return on_row_grids(rows)
        if self.are_rounded:
            return rows
        self._projected = self._rounded = self._crossed = None
        out = self.scratch[:, : rows.shape[1]]
        out[...] = rows
        return on_row_grids(out)

    def projected(self, residual: Residual) -> np.ndarray:
        """The rows less the centre, without their parts along what is removed."""
        if self._projected is None or self._projected[0] is not residual:
            rows = self.centred(residual.centre)
            if residual.removed is not None:
                self._centre = None
            out = self.scratch[:, : rows.shape[1]]
            for u in () if residual.removed is None else residual.removed:
                rows = np.subtract(rows, row_dots(rows, u)[:, None] * u, out=out)
            self._projected = residual, rows
        return self._projected[1]

    def rounded(self, residual: Residual) -> np.ndarray:
        """Return the projected rows, on their grids if the residual asks for that."""
        if not residual.rounded:
            return self.projected(residual)
        if self._rounded is None or self._rounded[0] is not residual:
            rows = self._on_grids(self.projected(residual))
            self._projected, self._crossed, self._rounded = None, None, (residual, rows)
        return self._rounded[1]

    def squares(self, residual: Residual) -> np.ndarray:
        """The square of every row, and a bound on the squared terms that it came from."""
        squares = row_squares(self.rounded(residual))
        return np.column_stack([squares, squares])

    def products(self, vectors: np.ndarray, residual: Residual) -> np.ndarray:
        rows = self.rounded(residual)
        return exact_dots(rows, vectors) if residual.rounded else rows @ vectors.T

    def some_rows(self, which: np.ndarray, residual: Residual) -> np.ndarray:
        return self.rounded(residual)[which]

    def add_scored(
        self, out: np.ndarray, scores: np.ndarray, kept: np.ndarray, residual: Residual
    ) -> None:
        rows = self.rounded(residual)
        out += np.dot(scores.T, rows if kept.all() else rows[kept])

    def crossed(self, cross: Cross) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Scores of every row less the centre, the rest, and the product of their norms.

        Where one of these norms is 0, that is below 2^-450, all of it is 0; so it is of a row of
        norm 0 that were to be scaled to norm 1. Of an infinite row the product is infinite, and the
        rest may be no number: its weight is 0.
        """
        if self._crossed is None or self._crossed[0] is not cross:
            rows = self._on_grids(self.centred(cross.centre))
            lengths = row_norms(rows)[:, None] if cross.spherical else None
            scores = on_row_grids(np.array(exact_dots(rows, cross.directions), order="C"))
            inside = exact_dots(scores, cross.transposed)
            rest = np.subtract(rows, inside, out=self.scratch[:, : rows.shape[1]])
            if lengths is not None:
                scores /= lengths
                rest /= lengths
            along, across = row_norms(scores), row_norms(rest)
            nothing = (along == 0) | (across == 0)
            if lengths is not None:
                nothing |= lengths[:, 0] == 0
            scores[nothing] = rest[nothing] = along[nothing] = across[nothing] = 0.0
            self._projected = self._rounded = None
            self._crossed = cross, scores, rest, along * across
        return self._crossed[1:]

    def cross_norms(self, cross: Cross) -> np.ndarray:
        """Frobenius norm of what of every record leads out of the span."""
        return self.crossed(cross)[2]

    def add_cross(self, out: np.ndarray, weights: np.ndarray, cross: Cross) -> None:
        """Add the weighted sum of that, of shape (p, d)."""
        scores, rest, _ = self.crossed(cross)
        kept = weights != 0  # inf * 0
        if not kept.all():
            scores, rest, weights = scores[kept], rest[kept], weights[kept]
        out += np.dot((scores * weights[:, None]).T, rest)

    def weighted(
        self, weights: np.ndarray | None, centre: np.ndarray | None, constant: float
    ) -> np.ndarray:
        """The rows ``[weight (x - c), constant]``, in the scratch array."""
        d = self.rows.shape[1]
        out = self.scratch[:, : d + (constant != 0)]
        rows = self.centred(centre)
        self._centre = None
        if centre is None:
            out[:, :d] = rows
        if weights is not None:
            clipped = np.flatnonzero(weights != 1)
            if clipped.size > FEW * len(rows):
                out[:, :d] *= weights[:, None]
            else:
                out[clipped, :d] *= weights[clipped, None]
            if not weights.all():
                out[weights == 0, :d] = 0.0  # inf * 0
        if constant:
            out[:, d] = constant
        return out

    def add_moment(
        self, out: np.ndarray, weights: np.ndarray | None, centre: np.ndarray | None
    ) -> None:
        """Add the weighted sum of the records' (mean) rows less the centre."""
        rows = self.centred(centre)
        if weights is None:
            out += rows.sum(axis=0)
        elif weights.all():
            out += np.dot(weights, rows)
        else:
            out += self.weighted(weights, centre, 0.0).sum(axis=0)

    def add_columns(self, out: np.ndarray, f: ColumnFunction) -> None:
        """Add, feature by feature, the sum of ``f`` of the records' values.

        A group counts by the mean over its rows.
        """
        out += np.dot(np.ones(len(self.rows)), f(self.rows, slice(None)))

    def add_cells(self, out: np.ndarray, which: np.ndarray, cell: ColumnFunction) -> None:
        """Add how much of the records lies in every cell of some features.

        A group counts by the shares of its rows. `out` has a row for each of the features `which`,
        and ``cell(values, k)`` numbers the cells of values of the k-th of them from 1; 0 and
        numbers beyond the last one are no cells.
        """
        cells = cell(self.rows[:, which], slice(None))
        out += tally(cells, np.arange(len(which)), out.shape)

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
        # Without weights the rows themselves do, and need no copy.
        rows = self.centred(centre) if weights is None else self.weighted(weights, centre, 0.0)
        out += np.dot(np.dot(rows, directions.T).T, rows)

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
        add_upper_gram(out, self.weighted(weights, centre, constant))


class ExplicitRows(ExplicitResiduals, DenseRows):
    """Dense rows whose residuals are formed record by record."""

    def columns(self, residual: Residual) -> Iterator[np.ndarray]:
        rows = self.projected(residual)
        out = np.empty_like(rows)
        for w, c in zip(residual.directions, residual.prediction, strict=True):
            np.multiply(rows, row_dots(rows, w)[:, None], out=out)
            out -= c
            yield out
