"""Records brought together in memory, with the numbers that they have in their table."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from ._members import Members

if TYPE_CHECKING:
    from ._records import Records

# Copies of rows as the table has them, before any scale, in their order; and which of them are
# which record, with the records' numbers in the whole table, from which random labels follow.
Gathered = tuple[Any, Members]


def gathered(records: Records) -> Gathered:
    """Copy the rows of some records of a table."""
    X, members = records.rows.X, records.members
    rows: Any = X.copy() if members.order is None else X[members.order]
    if not sparse.issparse(rows):
        rows = np.ascontiguousarray(rows)
    numbers = members.first + members.all_numbers
    return rows, Members(rows.shape[0], members.sizes, numbers=numbers)


def joined(found: Iterable[Gathered]) -> Gathered:
    """Join dense rows, one after the other; parts are let go, so that rows are in memory once."""
    parts = deque(found)
    numbers = np.concatenate([members.all_numbers for _, members in parts])
    sizes = [members.sizes for _, members in parts if members.sizes is not None]
    dtype = np.result_type(*{rows.dtype for rows, _ in parts})
    n_rows, start = sum(len(rows) for rows, _ in parts), 0
    X = np.empty((n_rows, parts[0][0].shape[1]), dtype)
    while parts:
        rows, _ = parts.popleft()
        X[start : start + len(rows)] = rows
        start += len(rows)
    return X, Members(n_rows, np.concatenate(sizes) if sizes else None, numbers=numbers)
