"""Rows with other entries: changes of each row by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse

from ._sparse import canonical_rows


@dataclass(frozen=True, eq=False)
class KeepLargest:
    """Sparse rows without all but their `most` largest entries in absolute value, once scaled.

    Of equal ones those of the first columns stay.
    """

    most: int

    floor: ClassVar[None] = None
    imputes: ClassVar[bool] = False

    def of(self, rows: np.ndarray | sparse.csr_array, scale: np.ndarray | None) -> sparse.csr_array:
        rows = canonical_rows(rows)
        lengths = np.diff(rows.indptr)
        if not np.any(lengths > self.most):
            return rows
        number = np.repeat(np.arange(len(lengths)), lengths)
        sizes = np.abs(rows.data)
        if scale is not None:  # the caller divides by it
            sizes = sizes / scale[rows.indices]
        order = np.lexsort((rows.indices, -sizes, number))
        rank = np.arange(len(order)) - np.repeat(rows.indptr[:-1], lengths)
        kept = np.sort(order[rank < self.most])
        indptr = np.concatenate([[0], np.cumsum(np.minimum(lengths, self.most))])
        return sparse.csr_array((rows.data[kept], rows.indices[kept], indptr), rows.shape)


@dataclass(frozen=True, eq=False)
class OnesByDegree:
    """Every non-zero entry counts 1, and a row is divided by ``sqrt(max(its number, floor))``.

    So a row r is one term of ``A = sum r r^T / max(deg r, floor)``, of norm at most 1.
    """

    floor: int

    most: ClassVar[None] = None
    imputes: ClassVar[bool] = False

    def of(
        self, rows: np.ndarray | sparse.csr_array, scale: np.ndarray | None
    ) -> np.ndarray | sparse.csr_array:
        if not sparse.issparse(rows):
            ones = (rows != 0).astype(np.float64)
            return ones / np.sqrt(np.maximum(ones.sum(axis=1), self.floor))[:, None]
        rows = canonical_rows(rows)
        rows.eliminate_zeros()
        degrees = np.diff(rows.indptr)
        rows.data = np.repeat(1 / np.sqrt(np.maximum(degrees, self.floor)), degrees)
        return rows


@dataclass(frozen=True, eq=False)
class SquaredDeviations:
    """``((x / scale - centre) / unit)^2`` of every entry; sparse about 0, else dense.

    All of it is public or was released. An absent entry is read as the centre's: 0.
    """

    centre: np.ndarray
    unit: np.ndarray
    scale: np.ndarray
    is_dense: bool
    may_miss: bool

    most: ClassVar[None] = None
    floor: ClassVar[None] = None
    imputes: ClassVar[bool] = True

    def of(
        self, rows: np.ndarray | sparse.csr_array, scale: np.ndarray | None
    ) -> np.ndarray | sparse.csr_array:
        with np.errstate(all="ignore"):  # a row that overflows weighs nothing
            if sparse.issparse(rows):
                rows = canonical_rows(rows)
                if not self.is_dense:
                    at = rows.indices
                    units = rows.data / self.scale[at] / self.unit[at]
                    rows.data = self._known(units**2)
                    return rows
                rows = rows.toarray()
            dense = np.asarray(rows, dtype=np.float64)
            return self._known(((dense / self.scale - self.centre) / self.unit) ** 2)

    def _known(self, squares: np.ndarray) -> np.ndarray:
        if self.may_miss:
            squares[np.isnan(squares)] = 0.0
        return squares


# A function of each row by itself, taken as it is read: `of` gets the scale that the rows are
# divided by afterwards. `most` and `floor` are those of `Layout`; `imputes` says whether it takes
# absent entries as NaN.
Change = KeepLargest | OnesByDegree | SquaredDeviations
