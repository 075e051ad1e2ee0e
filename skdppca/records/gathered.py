"""Records brought together in memory, with the numbers that they have in their table."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from ._members import Members

if TYPE_CHECKING:
    from ._records import Records


class Gathered(NamedTuple):
    """Some records of a table: copies of their rows, in their order.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n_rows, n_features)
        As the table has them, before any scale.
    sizes : ndarray of int or None
        Rows per record; None for one each.
    numbers : ndarray of int
        The records' numbers in the whole table, from which their random labels follow.
    """

    X: np.ndarray | sparse.csr_array
    sizes: np.ndarray | None
    numbers: np.ndarray

    @classmethod
    def of(cls, records: Records) -> Gathered:
        """Those records."""
        X, members = records.rows.X, records.members
        rows: Any = X.copy() if members.order is None else X[members.order]
        if not sparse.issparse(rows):
            rows = np.ascontiguousarray(rows)
        return cls(rows, members.sizes, members.first + members.all_numbers)

    @property
    def members(self) -> Members:
        """Which of the rows are which record."""
        return Members(self.X.shape[0], self.sizes, numbers=self.numbers)


def joined(found: Iterable[Gathered]) -> Gathered:
    """All of these, one after the other."""
    parts = deque(found)
    numbers = np.concatenate([part.numbers for part in parts])
    sizes = [part.sizes for part in parts if part.sizes is not None]
    return Gathered(_stacked(parts), np.concatenate(sizes) if sizes else None, numbers)


def _stacked(parts: deque[Gathered]) -> np.ndarray | sparse.csr_array:
    """The rows of all parts, which are let go one by one, so that rows are in memory once."""
    if sparse.issparse(parts[0].X):
        blocks: list[Any] = [part.X for part in parts]
        return sparse.vstack(blocks, format="csr")
    n_rows = sum(part.X.shape[0] for part in parts)
    dtype = np.result_type(*{part.X.dtype for part in parts})
    X, start = np.empty((n_rows, parts[0].X.shape[1]), dtype), 0
    while parts:
        rows = parts.popleft().X
        X[start : start + len(rows)] = rows
        start += len(rows)
    return X
