"""Rows and groups in a dask collection, as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from ..records.cluster import ClusterRecords
from .dask_input import as_dask_rows, is_dask, is_frame, made_up_row
from .tables import Table
from .validation import check_row_count, check_rows, check_unit, number_groups, read_labels

if TYPE_CHECKING:
    from .base import BasePrivatePCA

LENGTHS = (
    "groups must have the partitions of X, with one label for every row. Give a column of X by "
    "name, or of an array dask.array.from_array(labels, chunks=X.chunks[0], name=False)"
)


def on_cluster(estimator: BasePrivatePCA, X: Any, groups: Any) -> Table:
    """The table of rows in the partitions of a dask array or data frame.

    Parameters
    ----------
    estimator : estimator
    X : dask array or dask DataFrame
    groups : dask array, dask Series, str or None
        A str is the name of a column of X, which is no feature then.
    """
    check_unit(groups, estimator.unit)
    if is_frame(X) and isinstance(groups, str):
        if groups not in X.columns:
            raise ValueError(f"groups={groups!r} is no column of X; give one, or the labels")
        X, groups = X.drop(columns=[groups]), X[groups]
    X = as_dask_rows(X)
    row = check_rows(estimator, made_up_row(X))
    missing, may_be_empty = estimator.missing, estimator._may_be_empty

    def read(scale: np.ndarray | None, n_jobs: int | None) -> ClusterRecords:
        parts = np.ravel(X.to_delayed()).tolist()
        labels = None if groups is None else _labels(X, groups, len(parts))
        reader = _Reader(missing, row[:0], tuple(X.columns) if is_frame(X) else None)
        may_miss = missing == "mean"
        records = ClusterRecords.of(parts, labels, reader, row[:0], scale, may_miss)
        check_row_count(records.n_rows, may_be_empty)
        return records

    return Table(
        n_features=row.shape[1],
        read=read,
        is_sparse=bool(sparse.issparse(row)),
        is_single=row.dtype == np.float32,
    )


def _labels(X: Any, groups: Any, n_parts: int) -> list[Any]:
    """The labels, in the partitions of X; nothing is computed."""
    if not is_dask(groups) or getattr(groups, "ndim", 0) != 1:
        raise ValueError(LENGTHS)
    chunked = not is_frame(X) and hasattr(groups, "chunks")
    if chunked and groups.shape == X.shape[:1] and groups.chunks[0] != X.chunks[0]:
        groups = groups.rechunk((X.chunks[0],))
    labels = np.ravel(groups.to_delayed()).tolist()
    if len(labels) != n_parts:
        raise ValueError(LENGTHS)
    return labels


class _Rows(BaseEstimator):
    """Says how rows are checked: as those of an estimator with the same parameter."""

    def __init__(self, missing: str) -> None:
        self.missing = missing


@dataclass(frozen=True)
class _Reader:
    """Rows and labels of a partition, checked as those of an array are."""

    missing: str
    nothing: np.ndarray | sparse.csr_array
    names: tuple[Any, ...] | None

    def __call__(
        self, part: Any, labels: Any, known: bool
    ) -> tuple[np.ndarray | sparse.csr_array, np.ndarray | None]:
        if part.ndim != 2 or part.shape[1] != self.nothing.shape[1]:
            raise ValueError("partitions of X differ in their columns; X.compute() shows how")
        if self.names is not None and tuple(part.columns) != self.names:
            raise ValueError("partitions of X differ in their columns; X.compute() shows how")
        if part.shape[0]:
            rows = check_rows(_Rows(self.missing), part, is_finite=known)
        else:
            rows = self.nothing
        if sparse.issparse(rows) != sparse.issparse(self.nothing):
            raise TypeError(
                "X has other blocks than it declares: some are sparse and some are not. Declare "
                "what they are, for example dask.array.map_blocks(f, X, meta=scipy.sparse.csr_array"
                "((0, X.shape[1])))"
            )
        if labels is None:
            return rows, None
        if len(labels) != rows.shape[0]:
            raise ValueError(LENGTHS)
        found = read_labels(labels, rows.shape[0], "groups")
        if not known:
            number_groups(found, rows.shape[0])  # refuses labels that are missing
        return rows, found
