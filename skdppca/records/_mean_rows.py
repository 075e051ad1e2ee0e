"""All records as single rows, for what looks at pairs of them."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ._block import Block
from ._groups import DenseGroups, LargeGroup
from ._records import Records
from ._sparse import SparseRows

__all__ = ["mean_records"]


def mean_records(records: Records) -> tuple[Records, np.ndarray]:
    """Every record's row, or its mean row if it is a group, as a record; and all of them at once.

    The rows are dense float64, only to be read, in X's own memory if they can be. Each is a bitwise
    function of its record alone. Rows that are infinite, or whose squared norms are, are left out:
    each tells for itself, so neighbours stay neighbours, or differ less.
    """
    rows = _mean_rows(records)
    plain = Records(rows, n_jobs=records._n_jobs)
    inside = np.isfinite(plain.map(lambda block: block.distances(None)))
    if inside.all():
        return plain, rows
    rows = rows[inside]
    return Records(rows, n_jobs=records._n_jobs), rows


def _mean_rows(records: Records) -> np.ndarray:
    X = records._X
    as_it_stands = records._sizes is None and records._order is None and records._scale is None
    if as_it_stands and not sparse.issparse(X) and X.dtype == np.float64 and X.flags.c_contiguous:
        return np.asarray(X)
    return records.map(_rows, width=records.n_features)


def _rows(block: Block) -> np.ndarray:
    if isinstance(block, SparseRows):
        return block.rows.toarray()
    if isinstance(block, DenseGroups | LargeGroup):
        return block._means()
    return block.rows
