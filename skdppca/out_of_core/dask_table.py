"""Arrays and data frames of dask: workers read them to fit, and transform them lazily."""

from __future__ import annotations

import copy
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from .._sklearn import output_container
from .._text import listed
from ..decomposition.containers import declared, index_names
from ..decomposition.validation import (
    Table,
    check_row_count,
    check_rows,
    check_unit,
    number_groups,
    read_labels,
)
from ..records import Collection, collection_of
from .cluster import ClusterRecords

if TYPE_CHECKING:
    from ..decomposition import BasePrivatePCA
    from ..decomposition.fitted import FittedPCA

LENGTHS = (
    "groups must have the partitions of X, with one label for every row. dask may read a column "
    "alone in other partitions: leave the labels in the data frame, as a column or as its index, "
    "and give the name, for example fit(X, groups='patient'). For an array give "
    "dask.array.from_array(labels, chunks=X.chunks[0], name=False)"
)
DIFFER = "partitions of X differ in their columns; X.compute() shows how"


# Attributes of a fitted estimator that stay here when it goes to the workers.
HERE = ("privacy_", "_sklearn_output_config")


@dataclass(frozen=True)
class DaskCollection(Collection):
    """An array, a data frame or another collection of dask, which has lazy methods.

    Parameters
    ----------
    X : dask array, dask DataFrame or another one, which is refused
    """

    X: Any = None

    def apply(self, estimator: FittedPCA, method: str) -> Any:
        """Return a dask array of what a method gives, row by row; nothing is computed."""
        X, of_rows = as_dask_rows(self.X), partial(_of_rows, _without_account(estimator), method)
        like = of_rows(made_up_row(X))  # also checks names and types
        if is_frame(X):
            import pandas as pd

            shown = X.map_partitions(
                partial(_as_frame, of_rows), meta=pd.DataFrame(np.atleast_2d(like)[:0])
            )
            out = shown.to_dask_array(meta=np.atleast_2d(like)[:0])
            return out if like.ndim == 2 else out[:, 0]
        return X.map_blocks(
            of_rows,
            name=f"{method}-{secrets.token_hex(16)}",
            chunks=(X.chunks[0], like.shape[1:])[: like.ndim],
            drop_axis=[1] if like.ndim == 1 else [],
            dtype=like.dtype,
            meta=like[:0],
        )

    def check_output(self, estimator: FittedPCA) -> None:
        """Refuse scores that scikit-learn would compute to fill a data frame."""
        container = output_container(estimator)
        if container != "default":
            raise ValueError(
                f"transform_output={container!r} asks for a data frame, but the scores of a dask X "
                "are a dask array, which is not computed yet; set "
                "pca.set_output(transform='default'), and make a data frame of what "
                "transform(X).compute() returns"
            )

    def check_readable(self) -> None:
        """Allow it: whoever asks for an array of X wants it computed."""


def open_collection(X: Any) -> DaskCollection:
    """Return a collection of dask for `fit` and for lazy methods."""
    return DaskCollection(partial(_table, X), X=X)


def _table(X: Any, estimator: BasePrivatePCA, groups: Any) -> Table:
    """Return the table of rows in the partitions.

    Parameters
    ----------
    X : dask array or dask DataFrame
    estimator : estimator
    groups : dask array, dask Series, str or None
        A str is the name of a column of X, which is no feature then, or of its index.
    """
    check_unit(groups, estimator.unit)
    index = index_names(X._meta) if is_frame(X) else ()
    label = groups if is_frame(X) and isinstance(groups, str) else None
    features = as_dask_rows(X if label is None else _features(X, label, index))
    row = check_rows(estimator, made_up_row(features))
    missing, may_be_empty = estimator.missing, estimator._may_be_empty

    def read(scale: np.ndarray | None, n_jobs: int | None) -> ClusterRecords:
        # a column alone has a graph of its own, which dask may cut into other partitions
        parts = np.ravel((features if label is None else X).to_delayed()).tolist()
        labels = parts if label is not None else _labels(features, groups, len(parts))
        reader = _Reader(missing, row[:0], tuple(X.columns) if is_frame(X) else None, label)
        may_miss = missing == "mean"
        records = ClusterRecords.of(parts, labels, reader, row[:0], scale, may_miss)
        check_row_count(records.n_rows, may_be_empty)
        return records

    return Table(
        n_features=row.shape[1],
        read=read,
        is_sparse=bool(sparse.issparse(row)),
        is_single=row.dtype == np.float32,
        index=index,
    )


def as_dask_rows(X: Any) -> Any:
    """A dask array with all columns in one chunk, or a data frame; nothing is computed.

    Raises
    ------
    ValueError, TypeError
        If it can be seen to be no table of real numbers.
    """
    if not hasattr(type(X), "ndim"):  # a Delayed has all attributes itself
        raise TypeError(
            f"X is a dask {type(X).__name__}; give a dask.array or a dask DataFrame, for example "
            "dask.array.from_delayed(X, shape, dtype)"
        )
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array. Reshape your data.")
    if is_frame(X):
        _check_columns(X)
        return X
    if not isinstance(X._meta, np.ndarray) and not sparse.issparse(X._meta):
        raise TypeError(
            f"X has blocks of type {type(X._meta).__name__}; give blocks that are numpy arrays or "
            "scipy sparse matrices, for example X.map_blocks(numpy.asarray)"
        )
    if X.dtype.kind not in "fiub":
        raise ValueError(f"X has dtype {X.dtype}; give real numbers, for example X.astype(float)")
    if np.isnan(X.shape[1]):
        raise ValueError("X has an unknown number of columns; call X.compute_chunk_sizes() first")
    return X if len(X.chunks[1]) == 1 else X.rechunk({1: -1})


def is_frame(X: Any) -> bool:
    """Return whether X is a data frame rather than an array."""
    return hasattr(type(X), "columns")


def made_up_row(X: Any) -> Any:
    """A row of zeros, of X's columns and types: it is checked as the rows of X will be."""
    if not is_frame(X):
        zeros = np.zeros((1, X.shape[1]), X.dtype)
        kind: Any = type(X._meta)
        return kind(zeros) if sparse.issparse(X._meta) else zeros
    import pandas as pd

    columns = {i: pd.Series([0]).astype(dtype) for i, dtype in enumerate(X._meta.dtypes)}
    return pd.DataFrame(columns).set_axis(X._meta.columns, axis=1)


def _check_columns(X: Any) -> None:
    wrong = declared(X._meta).without_numbers
    if wrong:
        raise ValueError(
            f"by their dtype these columns of X hold no numbers: {listed(wrong)}; encode them as "
            f"real numbers or leave them out, for example X.drop(columns=[{wrong[0]!r}])"
        )


def _without_account(estimator: FittedPCA) -> FittedPCA:
    """The estimator as it goes to the workers: its accountant works in one process.

    It has one thread: dask has threads of its own.
    """
    light: Any = copy.copy(estimator)
    for name in HERE:
        light.__dict__.pop(name, None)
    light.accountant, light.n_jobs = None, 1
    return light


def _of_rows(estimator: FittedPCA, method: str, rows: Any) -> np.ndarray:
    """Apply a method to a block of rows, which may be empty."""
    if rows.shape[0]:
        return np.asarray(getattr(estimator, method)(rows))
    return np.asarray(getattr(estimator, method)(np.zeros((1, rows.shape[1]))))[:0]


def _as_frame(of_rows: Callable[[Any], np.ndarray], rows: Any) -> Any:
    """Return what `of_rows` gives as a data frame."""
    import pandas as pd

    out = of_rows(rows)
    return pd.DataFrame(out[:, None] if out.ndim == 1 else out)


def _features(X: Any, label: str, index: tuple[str, ...]) -> Any:
    """The columns of a data frame without that of the labels, which may be its index."""
    if label in X.columns:
        return X.drop(columns=[label])
    if label in index:
        return X
    raise ValueError(
        f"groups={label!r} is no column of X, nor the name of its index; give one, or the labels"
    )


def _labels(X: Any, groups: Any, n_parts: int) -> list[Any] | None:
    """The labels, in the partitions of X; nothing is computed."""
    if groups is None:
        return None
    is_dask = isinstance(collection_of(groups), DaskCollection)
    if not is_dask or getattr(groups, "ndim", 0) != 1:
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
    """Rows and labels of a partition, checked as those of an array are.

    Parameters
    ----------
    missing : str
    nothing : ndarray or CSR array of shape (0, n_features)
    names : tuple or None
        All columns of a data frame.
    label : str or None
        Column or index of a data frame that has the labels; both are read from the same partition.
    """

    missing: str
    nothing: np.ndarray | sparse.csr_array
    names: tuple[Any, ...] | None
    label: str | None

    def __call__(
        self, part: Any, labels: Any, known: bool
    ) -> tuple[np.ndarray | sparse.csr_array, np.ndarray | None]:
        if part.ndim != 2 or (self.names is not None and tuple(part.columns) != self.names):
            raise ValueError(DIFFER)
        if self.label is not None:
            part, labels = _split(part, self.label)
        if part.shape[1] != self.nothing.shape[1]:
            raise ValueError(DIFFER)
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


def _split(part: Any, label: str) -> tuple[Any, Any]:
    """The features and the labels of a partition of a data frame."""
    if label in part.columns:
        return part.drop(columns=[label]), part[label]
    if label not in part.index.names:  # dask does not check what it declares of an index
        raise ValueError(f"a partition of X has no index {label!r}, which X declares; name it so")
    return part, part.index.get_level_values(label)
