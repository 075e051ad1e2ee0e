"""Which rows of a table are which record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..noise import keyed_labels


@dataclass(frozen=True, eq=False, repr=False)
class Members:
    """The rows of every record; nothing of what is in them.

    Parameters
    ----------
    n_rows : int
        Of the table.
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
        """The same records, of a table that has their rows in their order, and no others."""
        return replace(self, n_rows=self.n_taken, order=None)

    def ungrouped(self) -> Members:
        """Every row that is taken as a record, in the order in which they stand."""
        order = self.order  # numbers are of records, and rows are not put into parts
        if order is not None:
            order = None if len(order) == self.n_rows else np.sort(order)
        return replace(self, sizes=None, order=order, numbers=None)

    def subset(self, keep: np.ndarray) -> Members:
        """Those records that a mask keeps."""
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
