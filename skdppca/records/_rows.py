"""Rows of a table: which belong to which record, and how they are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy import sparse

from ..noise import keyed_labels
from ._sparse import canonical_rows
from ._sums import on_row_grids


@dataclass(frozen=True, eq=False, repr=False)
class Rows:
    """Rows of a table, and the changes made as they are read; the table is never written.

    Parameters
    ----------
    X : ndarray, memmap or CSR array of shape (n_rows, n_features)
    scale : ndarray of shape (n_features,) or None
        Every feature is divided by it.
    may_be_absent : bool
        NaN in X is an absent entry.
    change : Change or None
    shift : ndarray of shape (n_features,) or None
        Subtracted from every row, and what absent entries are read as.
    is_shifted : bool
        Whether the rows are less a centre; X itself may be, and then there is no shift.
    most, floor : int or None
        See `Layout`.
    is_finite : bool
        X is float64, C-contiguous and finite, and read as it is.
    are_rounded : bool
        Every dense row that is read is on its grid (`_sums`).
    """

    X: np.ndarray | sparse.csr_array
    scale: np.ndarray | None = None
    may_be_absent: bool = False
    change: Change | None = None
    shift: np.ndarray | None = None
    is_shifted: bool = False
    most: int | None = None
    floor: int | None = None
    is_finite: bool = False
    are_rounded: bool = False

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return int(self.X.shape[1])

    @property
    def may_miss(self) -> bool:
        """True if absent entries are still read as the centre's entries."""
        return self.may_be_absent and self.shift is None

    @property
    def is_held(self) -> bool:
        """True if the rows are less a centre and in memory, for many passes."""
        return self.is_shifted and self.shift is None

    @property
    def are_as_given(self) -> bool:
        """True if the rows are read without a look at any number."""
        return self.scale is None and self.shift is None

    def scaled(self, scale: np.ndarray) -> Rows:
        """Return the rows with every feature divided by one more scale."""
        self._check_not_shifted()
        scale = scale if self.scale is None else self.scale * scale
        return replace(self, scale=scale, is_finite=False)

    def changed(self, change: Change, scale: np.ndarray | None) -> Rows:
        """Return the rows with every row changed before it is divided by the scale."""
        if self.change is not None:
            raise TypeError(
                f"{type(change).__name__} of {type(self.change).__name__} would read the rows "
                "without the inner change, of which what is known of them may follow; change them "
                "once"
            )
        self._check_not_shifted()
        most, floor = change.most, change.floor
        return replace(self, change=change, scale=scale, most=most, floor=floor, is_finite=False)

    def shifted(self, centre: np.ndarray, held: np.ndarray | None, rounded: bool) -> Rows:
        """Return the rows less a centre; `held` are these rows, if they were read into memory."""
        self._check_not_shifted()
        floor = None if centre.any() else self.floor
        if held is not None:
            return Rows(held, is_shifted=True, floor=floor, are_rounded=rounded)
        seen = replace(self, is_shifted=True, floor=floor, are_rounded=rounded)
        return replace(seen, shift=centre, most=None, is_finite=False)

    def _check_not_shifted(self) -> None:
        if self.is_shifted:
            raise TypeError("rows are scaled or changed before they are shifted, never after")

    def given(
        self, where: slice | np.ndarray, imputed: np.ndarray | None
    ) -> np.ndarray | sparse.csr_array:
        """Rows in units of X, before any scale; absent entries are read as those of `imputed`."""
        rows = self.X[where]
        if self.may_be_absent:
            _, values = self._imputed(imputed)
            if self.change is not None and self.change.imputes:
                values = np.full(self.n_features, np.nan)
            if sparse.issparse(rows):
                rows = canonical_rows(rows)
                absent = np.isnan(rows.data)
                rows.data[absent] = values[rows.indices[absent]]
            else:
                rows = np.where(np.isnan(rows), values, rows)
        return rows if self.change is None else self.change.of(rows, self.scale)

    def _imputed(self, imputed: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the value that replaces an absent entry, and that value in units of X."""
        imputed = imputed if self.shift is None else self.shift
        values = np.zeros(self.n_features) if imputed is None else imputed
        return values, values if self.scale is None else values * self.scale

    def read_dense(
        self, where: slice | np.ndarray, out: np.ndarray, imputed: np.ndarray | None = None
    ) -> np.ndarray:
        """Rows as C-contiguous float64, divided by the scale; X's own memory if it can be."""
        plain = not self.may_be_absent and self.change is None
        rows = self.X[where] if plain else self.given(where, imputed)
        if sparse.issparse(rows):
            rows = canonical_rows(rows).toarray()
        if self.are_as_given and rows.dtype == np.float64 and rows.flags.c_contiguous:
            return np.asarray(rows)
        out = out.ravel()[: rows.size].reshape(rows.shape)
        if self.shift is not None and self.scale is None and rows.dtype == np.float64:
            np.subtract(rows, self.shift, out=out)
            return on_row_grids(out) if self.are_rounded else out
        out[...] = rows
        if self.scale is not None:
            out /= self.scale
            if self.may_be_absent:  # exactly, or a blank row would point along rounding errors
                values, given = self._imputed(imputed)
                np.copyto(out, values, where=rows == given)
        if self.shift is not None:
            out -= self.shift
        return on_row_grids(out) if self.are_rounded else out

    def read_sparse(
        self, where: slice | np.ndarray, imputed: np.ndarray | None = None
    ) -> sparse.csr_array:
        """Rows as a canonical CSR array, divided by the scale."""
        rows = canonical_rows(self.given(where, imputed))
        if self.scale is not None:
            given, at = rows.data.copy(), rows.indices
            rows.data /= self.scale[at]
            if self.may_be_absent:  # likewise
                values, filled = self._imputed(imputed)
                np.copyto(rows.data, values[at], where=given == filled[at])
        return rows


@dataclass(frozen=True, eq=False)
class KeepLargest:
    """Sparse rows without all but their `most` largest entries in absolute value, once scaled.

    Among equal entries, those of the first columns stay.
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


@dataclass(frozen=True, eq=False, repr=False)
class Members:
    """The rows of every record; nothing of what is in them.

    Parameters
    ----------
    n_rows : int
        Number of rows of the table.
    sizes : ndarray of int or None
        Rows per record; None for one each.
    order : ndarray of int or None
        The rows in the order of the records; None as they stand.
    first : int
        The number of the first record in the whole table, of which this may be one piece.
    numbers : ndarray of int or None
        The records' numbers less `first`; increasing, and None for all from 0 on.
    """

    n_rows: int
    sizes: np.ndarray | None = None
    order: np.ndarray | None = None
    first: int = 0
    numbers: np.ndarray | None = None

    @classmethod
    def of(cls, n_rows: int, groups: np.ndarray | None, first: int) -> Members:
        """Every row by itself, or the rows of every group, which keep their order."""
        if groups is None:
            return cls(n_rows, first=first)
        is_sorted = not np.any(groups[1:] < groups[:-1])
        order = None if is_sorted else np.argsort(groups, kind="stable")
        return cls(n_rows, np.bincount(groups), order, first)

    @property
    def n_taken(self) -> int:
        """The rows that are in a record."""
        return self.n_rows if self.order is None else len(self.order)

    @property
    def n(self) -> int:
        """The exact number of records."""
        return self.n_taken if self.sizes is None else len(self.sizes)

    @property
    def all_numbers(self) -> np.ndarray:
        """The records' numbers less that of the first."""
        return np.arange(self.n) if self.numbers is None else self.numbers

    def rows(self, where: slice) -> slice | np.ndarray:
        """The places in the table of some rows in the order of the records."""
        return where if self.order is None else self.order[where]

    def in_order(self) -> Members:
        """Return the records as members of a table that holds only their rows, in their order."""
        return replace(self, n_rows=self.n_taken, order=None)

    def ungrouped(self) -> Members:
        """Every row that is taken as a record, in the order in which they stand."""
        order = self.order  # numbers are of records, and rows are not put into parts
        if order is not None:
            order = None if len(order) == self.n_rows else np.sort(order)
        return replace(self, sizes=None, order=order, numbers=None)

    def subset(self, keep: np.ndarray) -> Members:
        """Return the records that a mask keeps."""
        rows = keep if self.sizes is None else np.repeat(keep, self.sizes)
        return replace(
            self,
            sizes=None if self.sizes is None else self.sizes[keep],
            order=np.flatnonzero(rows) if self.order is None else self.order[rows],
            numbers=self.all_numbers[keep],
        )

    def parts(self, key: bytes, shares: Sequence[int]) -> np.ndarray:
        """The part of every record: a function of the key and of the record's number."""
        numbers = self.numbers
        if numbers is None:
            labels = keyed_labels(key, self.first, self.n, sum(shares))
        else:
            last = int(numbers[-1]) + 1 if len(numbers) else 0
            labels = keyed_labels(key, self.first, last, sum(shares))[numbers]
        return np.searchsorted(np.cumsum(shares), labels, side="right")

    def spans(self, n_rows: int) -> list[slice]:
        """Slices of records (not rows) of about that number of rows each."""
        if not self.n:
            return []
        if self.sizes is None:
            edges = np.arange(0, self.n, n_rows)
        else:
            stops = np.cumsum(self.sizes)
            edges = np.unique(np.searchsorted(stops, np.arange(0, stops[-1], n_rows), "right"))
        return [slice(int(a), int(b)) for a, b in zip(edges, [*edges[1:], self.n], strict=True)]
