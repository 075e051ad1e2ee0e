"""Blocks of groups of rows, every group a record."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ._dense import DenseRows
from ._residuals import (
    ColumnFunction,
    Cross,
    ExplicitResiduals,
    Residual,
    add_matrices,
    matrix_norms,
)
from ._sums import (
    add_upper_gram,
    aligned_empty,
    exact_shares,
    row_dots,
    row_norms,
    row_squares,
    safe_root,
    tally_groups,
)


class _Groups(ExplicitResiduals):
    """A group counts by its mean row where a row would count by itself."""

    def mean_rows(self) -> np.ndarray:
        raise NotImplementedError

    def cross_columns(self, cross: Cross) -> Iterator[np.ndarray]:
        """Column after column of what leads out of the span, each of shape (number of groups, d).

        Formed, so that the norm by which a group is clipped is that of what is added.
        """
        raise NotImplementedError

    def cross_norms(self, cross: Cross) -> np.ndarray:
        return matrix_norms(self.cross_columns(cross))

    def add_cross(self, out: np.ndarray, weights: np.ndarray, cross: Cross) -> None:
        add_matrices(out, weights, self.cross_columns(cross))

    def distances(self, centre: np.ndarray | None) -> np.ndarray:
        means = self.mean_rows()
        return row_norms(means if centre is None else means - centre)

    def add_moment(
        self, out: np.ndarray, weights: np.ndarray | None, centre: np.ndarray | None
    ) -> None:
        means = self.mean_rows()
        DenseRows(means, np.empty_like(means)).add_moment(out, weights, centre)


class DenseGroups(_Groups):
    """Consecutive rows of one group are a record; no group is cut by a block."""

    def __init__(self, rows: np.ndarray, sizes: np.ndarray, scratch: np.ndarray) -> None:
        self.rows = rows
        self.sizes = sizes
        self._rows = DenseRows(rows, scratch)

    def mean_rows(self) -> np.ndarray:
        return self._sums(self.rows) / self.sizes[:, None]

    def _sums(self, rows: np.ndarray) -> np.ndarray:
        """Sum of every group's rows, added in their order whatever the other groups are."""
        starts = np.cumsum(self.sizes) - self.sizes
        out = rows[starts]
        for rank in range(1, self.sizes.max()):
            more = self.sizes > rank
            if more.all():
                out += rows[starts + rank]
            else:
                out[more] += rows[starts[more] + rank]
        return out

    def add_columns(self, out: np.ndarray, f: ColumnFunction) -> None:
        sums = self._sums(f(self.rows, slice(None)).astype(np.float64))
        out += (sums / self.sizes[:, None]).sum(axis=0)

    def add_cells(self, out: np.ndarray, which: np.ndarray, cell: ColumnFunction) -> None:
        out += tally_groups(cell(self.rows[:, which], slice(None)), self.sizes, out.shape)

    def spreads(self, centre: np.ndarray | None) -> np.ndarray:
        squares = row_squares(self._rows.weighted(None, centre, 0.0))
        return safe_root(self._sums(squares))

    def columns(self, residual: Residual) -> Iterator[np.ndarray]:
        rows = self._rows.projected(residual)
        products = np.empty_like(rows)
        for w, c in zip(residual.directions, residual.prediction, strict=True):
            np.multiply(rows, row_dots(rows, w)[:, None], out=products)
            column = self._sums(products)
            column -= c
            yield column

    def cross_columns(self, cross: Cross) -> Iterator[np.ndarray]:
        scores, rest, _ = self._rows.crossed(cross)
        products = np.empty_like(rest)
        for score in scores.T:
            yield self._sums(np.multiply(rest, score[:, None], out=products))

    def gram_norms(self, centre: np.ndarray | None, constant: float) -> np.ndarray:
        rows = self._rows.weighted(None, centre, constant)
        stops = np.cumsum(self.sizes)
        alone = aligned_empty(int(self.sizes.max()), rows.shape[1])
        squares = np.empty(len(self.sizes))
        for i, (stop, size) in enumerate(zip(stops, self.sizes, strict=True)):
            alone[:size] = rows[stop - size : stop]
            squares[i] = _gram_square(alone[:size])
        return np.sqrt(safe_root(squares))

    def add_products(
        self,
        out: np.ndarray,
        weights: np.ndarray | None,
        centre: np.ndarray | None,
        directions: np.ndarray,
    ) -> None:
        spread = None if weights is None else np.repeat(weights, self.sizes)
        self._rows.add_products(out, spread, centre, directions)

    def add_gram(
        self,
        out: np.ndarray,
        weights: np.ndarray | None,
        centre: np.ndarray | None,
        constant: float,
    ) -> None:
        rows = self._rows.weighted(None, centre, constant)
        if weights is not None:
            spread = np.repeat(weights, self.sizes)
            rows *= spread[:, None]
            rows[spread == 0] = 0.0  # inf * 0
        add_upper_gram(out, rows)


class LargeGroup(_Groups):
    """One group of more rows than a block holds, read part by part."""

    def __init__(self, parts: Callable[[], Iterator[DenseRows]], size: int) -> None:
        self.parts = parts
        self.size = size

    def mean_rows(self) -> np.ndarray:
        return sum(part.rows.sum(axis=0) for part in self.parts())[None, :] / self.size

    def add_columns(self, out: np.ndarray, f: ColumnFunction) -> None:
        out += sum(f(part.rows, slice(None)).sum(axis=0) for part in self.parts()) / self.size

    def add_cells(self, out: np.ndarray, which: np.ndarray, cell: ColumnFunction) -> None:
        counts = np.zeros(out.shape, np.int64)
        for part in self.parts():
            part.add_cells(counts, which, cell)
        out += exact_shares(counts, self.size)

    def spreads(self, centre: np.ndarray | None) -> np.ndarray:
        squares = [row_squares(part.weighted(None, centre, 0.0)).sum() for part in self.parts()]
        return safe_root(np.array([sum(squares)]))

    def columns(self, residual: Residual) -> Iterator[np.ndarray]:
        total = -residual.prediction
        for part in self.parts():
            rows = part.projected(residual)
            for column, w in zip(total, residual.directions, strict=True):
                column += (rows * row_dots(rows, w)[:, None]).sum(axis=0)
        yield from total[:, None, :]

    def cross_columns(self, cross: Cross) -> Iterator[np.ndarray]:
        total = np.zeros(cross.directions.shape)
        for part in self.parts():
            scores, rest, _ = part.crossed(cross)
            for column, score in zip(total, scores.T, strict=True):
                column += (rest * score[:, None]).sum(axis=0)
        yield from total[:, None, :]

    def _gram(self, centre: np.ndarray | None, constant: float, size: int) -> np.ndarray:
        gram = np.zeros((size, size), order="F")
        for part in self.parts():
            part.add_gram(gram, None, centre, constant)
        return gram

    def gram_norms(self, centre: np.ndarray | None, constant: float) -> np.ndarray:
        size = next(self.parts()).rows.shape[1] + (constant != 0)
        upper = self._gram(centre, constant, size)
        square = 2 * np.einsum("ij,ij->", upper, upper) - (np.diag(upper) ** 2).sum()
        return np.sqrt(safe_root(np.array([square])))

    def add_products(
        self,
        out: np.ndarray,
        weights: np.ndarray | None,
        centre: np.ndarray | None,
        directions: np.ndarray,
    ) -> None:
        weight = 1.0 if weights is None else weights[0]
        if weight:
            total = np.zeros_like(out)
            for part in self.parts():
                part.add_products(total, None, centre, directions)
            out += weight**2 * total

    def add_gram(
        self,
        out: np.ndarray,
        weights: np.ndarray | None,
        centre: np.ndarray | None,
        constant: float,
    ) -> None:
        weight = 1.0 if weights is None else weights[0]
        if weight:
            out += weight**2 * self._gram(centre, constant, len(out))


def _gram_square(rows: np.ndarray) -> float:
    """Squared Frobenius norm of ``rows.T @ rows``, from the smaller of the two Gram matrices."""
    gram = rows @ rows.T if len(rows) <= rows.shape[1] else rows.T @ rows
    return float(np.einsum("ij,ij->", gram, gram))
