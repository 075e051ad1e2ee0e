"""Blocks of dense rows, every row a record."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ._block import ColumnFunction, Residual
from ._cells import tally
from ._numbers import add_upper_gram, row_dots, row_norms, row_squares, rows_dots
from ._residuals import ExplicitResiduals, ProductResiduals

__all__ = ["DenseRows", "ExplicitRows"]

# If no more than this share of a block's rows are clipped, they are scaled one by one.
FEW = 0.25


class DenseRows(ProductResiduals):
    """Every row a record. ``rows`` is float64, C-contiguous and only read."""

    def __init__(self, rows: np.ndarray, scratch: np.ndarray) -> None:
        self.rows = rows
        self.scratch = scratch[: len(rows)]
        # as long as scratch holds them: what is projected; the rows less that centre
        self._projected: tuple[Residual, np.ndarray] | None = None
        self._centre: np.ndarray | None = None

    def centred(self, centre: np.ndarray | None) -> np.ndarray:
        """The rows less the centre, in the scratch array; the rows themselves without one."""
        self._projected = None
        if centre is None:
            return self.rows
        out = self.scratch[:, : self.rows.shape[1]]
        if self._centre is not centre:
            np.subtract(self.rows, centre, out=out)
            self._centre = centre
        return out

    def mean_rows(self) -> np.ndarray:
        return self.rows

    def distances(self, centre: np.ndarray | None) -> np.ndarray:
        return row_norms(self.centred(centre))

    def gram_norms(self, centre: np.ndarray | None, constant: float) -> np.ndarray:
        return self.distances(centre)

    def spreads(self, centre: np.ndarray | None) -> np.ndarray:
        return self.distances(centre)

    def scores(self, directions: np.ndarray, centre: np.ndarray | None) -> np.ndarray:
        """Products of every row less the centre with the directions."""
        return rows_dots(self.centred(centre), directions)

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

    def squares(self, residual: Residual) -> np.ndarray:
        squares = row_squares(self.projected(residual))
        return np.column_stack([squares, squares])

    def products(self, vectors: np.ndarray, residual: Residual) -> np.ndarray:
        return rows_dots(self.projected(residual), vectors)

    def some_rows(self, which: np.ndarray, residual: Residual) -> np.ndarray:
        return self.projected(residual)[which]

    def add_scored(
        self, out: np.ndarray, scores: np.ndarray, kept: np.ndarray, residual: Residual
    ) -> None:
        rows = self.projected(residual)
        out += scores.T @ (rows if kept.all() else rows[kept])

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
        rows = self.centred(centre)
        if weights is None:
            out += rows.sum(axis=0)
        elif weights.all():
            out += weights @ rows
        else:
            out += self.weighted(weights, centre, 0.0).sum(axis=0)

    def add_columns(self, out: np.ndarray, f: ColumnFunction) -> None:
        out += np.ones(len(self.rows)) @ f(self.rows, slice(None))

    def add_cells(self, out: np.ndarray, which: np.ndarray, cell: ColumnFunction) -> None:
        cells = cell(self.rows[:, which], slice(None))
        out += tally(cells, np.arange(len(which)), out.shape)

    def add_products(
        self,
        out: np.ndarray,
        weights: np.ndarray | None,
        centre: np.ndarray | None,
        directions: np.ndarray,
    ) -> None:
        # Without weights the rows themselves do, and need no copy.
        rows = self.centred(centre) if weights is None else self.weighted(weights, centre, 0.0)
        out += (rows @ directions.T).T @ rows

    def add_gram(
        self,
        out: np.ndarray,
        weights: np.ndarray | None,
        centre: np.ndarray | None,
        constant: float,
    ) -> None:
        add_upper_gram(out, self.weighted(weights, centre, constant))


class ExplicitRows(ExplicitResiduals, DenseRows):
    """The same with residuals that are formed record by record."""

    def columns(self, residual: Residual) -> Iterator[np.ndarray]:
        rows = self.projected(residual)
        out = np.empty_like(rows)
        for w, c in zip(residual.directions, residual.prediction, strict=True):
            np.multiply(rows, row_dots(rows, w)[:, None], out=out)
            out -= c
            yield out
