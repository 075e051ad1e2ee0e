"""All records as single rows, for what looks at pairs of them."""

from __future__ import annotations

from typing import cast

import numpy as np
from scipy import sparse

from ._block import Block
from ._dense import DenseRows
from ._groups import DenseGroups, LargeGroup
from ._records import Records
from ._sparse import SparseRows

__all__ = ["MeanRows"]


class MeanRows(Records):
    """Every record's row, or its mean row if it is a group, as a record; dense, all at once.

    Rows that are infinite, or whose squared norms are, are left out.

    Parameters
    ----------
    records : Records
    fill : ndarray of shape (n_features,), optional
        What absent entries are read as, here and from now on; 0 by default.
    """

    def __init__(self, records: Records, fill: np.ndarray | None = None) -> None:
        rows, jobs = _all_rows(records, fill), records._n_jobs
        inside = np.isfinite(Records(rows, n_jobs=jobs).map(lambda block: block.distances(None)))
        self._finite: np.ndarray = rows if inside.all() else rows[inside]
        super().__init__(self._finite, n_jobs=jobs, first=records._first)
        numbers = np.arange(len(rows)) if records._numbers is None else records._numbers
        self._numbers = numbers if inside.all() else numbers[inside]

    @property
    def private_rows(self) -> np.ndarray:
        """All of them: float64, finite, and only to be read."""
        if self._X is not self._finite or self._scale is not None or self._shift is not None:
            raise TypeError("these rows were changed after MeanRows; look through MeanRows last")
        return self._finite if self._order is None else self._finite[self._order]


def _all_rows(records: Records, fill: np.ndarray | None) -> np.ndarray:
    """Each a bitwise function of its record alone; X's own memory, if it can be."""
    as_given = records._sizes is None and records._scale is None and records._shift is None
    if as_given and not sparse.issparse(records._X):
        rows = records._rows(slice(0, records.private_n), fill)
        dense = np.asarray(rows)  # X may be a memmap
        if dense.dtype == np.float64 and dense.flags.c_contiguous:
            return dense
    return records.map(_rows, width=records.n_features, fill=fill)


def _rows(block: Block) -> np.ndarray:
    if isinstance(block, SparseRows):
        return block.rows.toarray()
    if isinstance(block, DenseGroups | LargeGroup):
        return block._means()
    return cast(DenseRows, block).rows
