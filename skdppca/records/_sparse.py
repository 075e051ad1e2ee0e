"""Blocks of sparse rows, every row a record; most of what is done never makes them dense."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ._dense import DenseRows
from ._residuals import DENSE_ENTRIES, ColumnFunction, Cross, ProductResiduals, Residual
from ._sums import CANCELLATION, row_dots, safe_root, tally


class SparseRows(ProductResiduals):
    """Every row a record; the centre is subtracted in the products, never from the rows."""

    def __init__(self, rows: sparse.csr_array) -> None:
        self.rows = rows

    def mean_rows(self) -> np.ndarray:
        return self.rows.toarray()

    def distances(self, centre: np.ndarray | None) -> np.ndarray:
        squares = self._squares()
        if centre is None:
            return safe_root(squares)
        length = float(np.einsum("i,i->", centre, centre))
        cross = self.rows @ centre
        distances = squares - 2 * cross + length
        near = np.flatnonzero(~(distances > CANCELLATION * (squares + length)))
        roots = safe_root(distances)
        for some in np.array_split(near, 1 + near.size * len(centre) // DENSE_ENTRIES):
            roots[some] = self._dense(some).distances(centre)
        return roots

    def _squares(self) -> np.ndarray:
        """Squared norm of every row, before the centre is subtracted."""
        squares = sparse.csr_array(
            (self.rows.data**2, self.rows.indices, self.rows.indptr), self.rows.shape
        )
        return squares @ np.ones(self.rows.shape[1])

    def gram_norms(self, centre: np.ndarray | None, constant: float) -> np.ndarray:
        return self.distances(centre)

    def spreads(self, centre: np.ndarray | None) -> np.ndarray:
        return self.distances(centre)

    def scores(self, directions: np.ndarray, centre: np.ndarray | None) -> np.ndarray:
        """Products of every row less the centre with the directions."""
        products = self.rows @ directions.T
        return products if centre is None else products - row_dots(directions, centre)

    def rounded_scores(
        self, directions: np.ndarray, centre: np.ndarray | None, out: np.ndarray
    ) -> None:
        """Write the scores to `out`; every entry of a row is added in its order, without BLAS."""
        out[...] = self.scores(directions, centre)

    def squares(self, residual: Residual) -> np.ndarray:
        squares = self._squares()
        if residual.centre is None:
            return np.column_stack([squares, squares])
        reach = np.sqrt(squares) + np.linalg.norm(residual.centre)
        return np.column_stack([self.distances(residual.centre) ** 2, reach**2])

    def products(self, vectors: np.ndarray, residual: Residual) -> np.ndarray:
        return self.scores(vectors, residual.centre)

    def some_rows(self, which: np.ndarray, residual: Residual) -> np.ndarray:
        return self._dense(which).projected(residual)

    def add_scored(
        self, out: np.ndarray, scores: np.ndarray, kept: np.ndarray, residual: Residual
    ) -> None:
        rows = self.rows if kept.all() else self.rows[kept]
        out += (rows.T @ scores).T
        if residual.centre is not None:
            out -= np.outer(scores.sum(axis=0), residual.centre)

    def cross_norms(self, cross: Cross) -> np.ndarray:
        return np.concatenate([self._dense(some).cross_norms(cross) for some in self._few()])

    def add_cross(self, out: np.ndarray, weights: np.ndarray, cross: Cross) -> None:
        # products would be differences of terms that nothing bounds
        for some in self._few():
            self._dense(some).add_cross(out, weights[some], cross)

    def _few(self) -> list[np.ndarray]:
        """The numbers of all rows, a few at a time."""
        n, d = self.rows.shape
        return np.array_split(np.arange(n), 1 + n * d // DENSE_ENTRIES)

    def _dense(self, which: np.ndarray) -> DenseRows:
        rows = self.rows[which].toarray()
        return DenseRows(rows, np.empty_like(rows))

    def _weighted(self, weights: np.ndarray | None) -> tuple[sparse.csr_array, np.ndarray]:
        if weights is None:
            return self.rows, np.ones(self.rows.shape[0])
        spread = np.repeat(weights, np.diff(self.rows.indptr))
        data = np.where(spread == 0, 0.0, self.rows.data * spread)
        return sparse.csr_array((data, self.rows.indices, self.rows.indptr), self.rows.shape), (
            weights
        )

    def add_moment(
        self, out: np.ndarray, weights: np.ndarray | None, centre: np.ndarray | None
    ) -> None:
        rows, weights = self._weighted(weights)
        out += rows.T @ np.ones(rows.shape[0])
        if centre is not None:
            out -= weights.sum() * centre

    def add_columns(self, out: np.ndarray, f: ColumnFunction) -> None:
        rows, d = self.rows, self.rows.shape[1]
        stored = np.bincount(rows.indices, minlength=d)
        out += np.bincount(rows.indices, weights=f(rows.data, rows.indices), minlength=d)
        out += (rows.shape[0] - stored) * f(np.zeros(d), slice(None))

    def add_cells(self, out: np.ndarray, which: np.ndarray, cell: ColumnFunction) -> None:
        rows, every = self.rows, np.arange(len(which))
        place = np.full(rows.shape[1], -1)
        place[which] = every
        k = place[rows.indices]
        stored = k >= 0
        k, values = k[stored], rows.data[stored]
        out += tally(cell(values, k), k, out.shape)
        # all other entries are 0, and are counted without being there
        zeros = rows.shape[0] - np.bincount(k, minlength=len(which))
        out += tally(cell(np.zeros(len(which)), slice(None)), every, out.shape, zeros)

    def add_products(
        self,
        out: np.ndarray,
        weights: np.ndarray | None,
        centre: np.ndarray | None,
        directions: np.ndarray,
    ) -> None:
        rows, weights = self._weighted(weights)
        scores = rows @ directions.T
        if centre is not None:
            scores -= np.outer(weights, directions @ centre)
            out -= np.outer(weights @ scores, centre)
        out += (rows.T @ scores).T

    def add_gram(
        self,
        out: np.ndarray,
        weights: np.ndarray | None,
        centre: np.ndarray | None,
        constant: float,
    ) -> None:
        rows, weights = self._weighted(weights)
        d = rows.shape[1]
        out[:d, :d] += (rows.T @ rows).toarray()
        if centre is not None:
            cross = np.outer(rows.T @ weights, centre)
            out[:d, :d] += (weights @ weights) * np.outer(centre, centre) - cross - cross.T
        if constant:
            moment = rows.T @ np.ones(len(weights))
            if centre is not None:
                moment -= weights.sum() * centre
            out[:d, d] += constant * moment
            out[d, d] += constant**2 * len(weights)


def canonical_rows(rows: Any) -> sparse.csr_array:
    """A copy in float64 with sorted entries; what is stored in parts is one entry, their sum.

    Without the flag scipy would sort the rows only if one of them needs it, so that one row
    decided in which order another's parts are added.
    """
    parts = (rows.data.astype(np.float64), rows.indices.copy(), rows.indptr.copy())
    copied = sparse.csr_array(parts, shape=rows.shape)
    if not copied.has_canonical_format:
        copied.has_sorted_indices = False
        copied.sum_duplicates()
    return copied
