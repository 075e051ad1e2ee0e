"""What can be computed on one block of records.

Every number here that belongs to one record (a distance, a mean, a Gram norm) is a bitwise
function of that record alone: it does not change when other records come, go or move. That rules
BLAS out for them, which rounds a row differently at different places of a block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np
from scipy import sparse
from scipy.linalg.blas import dsyrk

# A record this far from the centre, or this near to it, would over- or underflow when squared.
FARTHEST = 2.0**450
NEAREST = 2.0**-450

# A squared distance below this share of the terms it is the difference of is computed anew.
CANCELLATION = 1e-7

# Below the buffer of einsum (8192), within which every row is summed in the same order.
NORM_COLUMNS = 4096

# Sparse rows that are made dense at a time.
DENSE_ENTRIES = 2**20


class Block(Protocol):
    """A block of records, with one weight a record in the sums."""

    def distances(self, centre: np.ndarray | None) -> np.ndarray:
        """Distance of every record's (mean) row from the centre."""

    def gram_norms(self, centre: np.ndarray | None, constant: float) -> np.ndarray:
        """Root of the Frobenius norm of every record's Gram matrix."""

    def add_moment(
        self, out: np.ndarray, weights: np.ndarray | None, centre: np.ndarray | None
    ) -> None:
        """Add the weighted sum of the records' (mean) rows less the centre."""

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


class DenseRows:
    """Every row a record. ``rows`` is float64, C-contiguous and only read."""

    def __init__(self, rows: np.ndarray, scratch: np.ndarray) -> None:
        self.rows = rows
        self.scratch = scratch[: len(rows)]

    def _centred(self, centre: np.ndarray | None) -> np.ndarray:
        if centre is None:
            return self.rows
        return np.subtract(self.rows, centre, out=self.scratch[:, : self.rows.shape[1]])

    def distances(self, centre: np.ndarray | None) -> np.ndarray:
        return row_norms(self._centred(centre))

    def gram_norms(self, centre: np.ndarray | None, constant: float) -> np.ndarray:
        return self.distances(centre)

    def _weighted(
        self, weights: np.ndarray | None, centre: np.ndarray | None, constant: float
    ) -> np.ndarray:
        """Write the rows of the Gram matrix into the scratch array."""
        d = self.rows.shape[1]
        out = self.scratch[:, : d + (constant != 0)]
        rows = self._centred(centre)
        if weights is None:
            out[:, :d] = rows
        else:
            np.multiply(rows, weights[:, None], out=out[:, :d])
            if not weights.all():
                out[weights == 0, :d] = 0.0  # inf * 0
        if constant:
            out[:, d] = constant
        return out

    def add_moment(
        self, out: np.ndarray, weights: np.ndarray | None, centre: np.ndarray | None
    ) -> None:
        rows = self._centred(centre)
        if weights is None:
            out += rows.sum(axis=0)
        elif weights.all():
            out += weights @ rows
        else:
            out += self._weighted(weights, centre, 0.0).sum(axis=0)

    def add_gram(
        self,
        out: np.ndarray,
        weights: np.ndarray | None,
        centre: np.ndarray | None,
        constant: float,
    ) -> None:
        add_upper_gram(out, self._weighted(weights, centre, constant))


class SparseRows:
    """Every row a record; the centre is subtracted in the products, never from the rows."""

    def __init__(self, rows: sparse.csr_array) -> None:
        self.rows = rows

    def distances(self, centre: np.ndarray | None) -> np.ndarray:
        squares = _row_sums(self.rows, self.rows.data)
        if centre is None:
            return _safe_root(squares)
        length = float(np.einsum("i,i->", centre, centre))
        cross = self.rows @ centre
        distances = squares - 2 * cross + length
        near = np.flatnonzero(~(distances > CANCELLATION * (squares + length)))
        roots = _safe_root(distances)
        for some in np.array_split(near, 1 + near.size * len(centre) // DENSE_ENTRIES):
            roots[some] = row_norms(self.rows[some].toarray() - centre)
        return roots

    def gram_norms(self, centre: np.ndarray | None, constant: float) -> np.ndarray:
        return self.distances(centre)

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


class _Groups:
    """A group counts by its mean row where a row would count by itself."""

    def _means(self) -> np.ndarray:
        raise NotImplementedError

    def distances(self, centre: np.ndarray | None) -> np.ndarray:
        means = self._means()
        return row_norms(means if centre is None else means - centre)

    def add_moment(
        self, out: np.ndarray, weights: np.ndarray | None, centre: np.ndarray | None
    ) -> None:
        means = self._means()
        DenseRows(means, np.empty_like(means)).add_moment(out, weights, centre)


class DenseGroups(_Groups):
    """Consecutive rows of one group are a record; no group is cut by a block."""

    def __init__(self, rows: np.ndarray, sizes: np.ndarray, scratch: np.ndarray) -> None:
        self.rows = rows
        self.sizes = sizes
        self._rows = DenseRows(rows, scratch)

    def _means(self) -> np.ndarray:
        starts = np.cumsum(self.sizes) - self.sizes
        return np.add.reduceat(self.rows, starts, axis=0) / self.sizes[:, None]

    def gram_norms(self, centre: np.ndarray | None, constant: float) -> np.ndarray:
        rows = self._rows._weighted(None, centre, constant)
        stops = np.cumsum(self.sizes)
        squares = [_gram_square(rows[b - m : b]) for b, m in zip(stops, self.sizes, strict=True)]
        return np.sqrt(_safe_root(np.array(squares)))

    def add_gram(
        self,
        out: np.ndarray,
        weights: np.ndarray | None,
        centre: np.ndarray | None,
        constant: float,
    ) -> None:
        rows = self._rows._weighted(None, centre, constant)
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

    def _means(self) -> np.ndarray:
        return sum(part.rows.sum(axis=0) for part in self.parts())[None, :] / self.size

    def _gram(self, centre: np.ndarray | None, constant: float, size: int) -> np.ndarray:
        gram = np.zeros((size, size), order="F")
        for part in self.parts():
            part.add_gram(gram, None, centre, constant)
        return gram

    def gram_norms(self, centre: np.ndarray | None, constant: float) -> np.ndarray:
        size = next(self.parts()).rows.shape[1] + (constant != 0)
        upper = self._gram(centre, constant, size)
        square = 2 * np.einsum("ij,ij->", upper, upper) - (np.diag(upper) ** 2).sum()
        return np.sqrt(_safe_root(np.array([square])))

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


def row_norms(rows: np.ndarray) -> np.ndarray:
    """Euclidean norm of every row, the same bits wherever the row stands."""
    squares = np.zeros(len(rows))
    for start in range(0, rows.shape[1], NORM_COLUMNS):
        part = rows[:, start : start + NORM_COLUMNS]
        squares += np.einsum("ij,ij->i", part, part)
    return _safe_root(squares)


def _safe_root(squares: np.ndarray) -> np.ndarray:
    roots = np.sqrt(squares, out=np.full_like(squares, np.inf), where=squares < FARTHEST**2)
    roots[squares < NEAREST**2] = 0.0
    return roots


def _row_sums(pattern: sparse.csr_array, data: np.ndarray) -> np.ndarray:
    squares = sparse.csr_array((data * data, pattern.indices, pattern.indptr), pattern.shape)
    return squares @ np.ones(pattern.shape[1])


def _gram_square(rows: np.ndarray) -> float:
    """Squared Frobenius norm of ``rows.T @ rows``, from the smaller of the two Gram matrices."""
    gram = rows @ rows.T if len(rows) <= rows.shape[1] else rows.T @ rows
    return float(np.einsum("ij,ij->", gram, gram))


def add_upper_gram(out: np.ndarray, rows: np.ndarray) -> None:
    """``out += rows.T @ rows`` in the upper triangle of a Fortran-ordered ``out``."""
    result = dsyrk(1.0, rows.T, beta=1.0, c=out, overwrite_c=1)
    if result is not out and not np.shares_memory(result, out):
        raise AssertionError("out must be a Fortran-ordered float64 array")
