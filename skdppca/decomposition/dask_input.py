"""Arrays and data frames of dask: what is seen of them without computing, and lazy methods."""

from __future__ import annotations

import copy
import secrets
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .._sklearn import output_container
from .._text import listed

if TYPE_CHECKING:
    from .fitted import FittedPCA

# What of a fitted estimator stays here when it goes to the workers.
HERE = ("privacy_", "_sklearn_output_config")


def is_dask(X: Any) -> bool:
    """Whether X is one of dask's collections; dask is not imported."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


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
    """Whether X is a data frame rather than an array."""
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
    from .declared import declared

    wrong = declared(X._meta).without_numbers
    if wrong:
        raise ValueError(
            f"by their dtype these columns of X hold no numbers: {listed(wrong)}; encode them as "
            f"real numbers or leave them out, for example X.drop(columns=[{wrong[0]!r}])"
        )


def check_lazy_output(estimator: FittedPCA) -> None:
    """Refuse a dask collection whose scores scikit-learn would compute to fill a data frame."""
    container = output_container(estimator)
    if container != "default":
        raise ValueError(
            f"transform_output={container!r} asks for a data frame, but the scores of a dask X are "
            "a dask array, which is not computed yet; set pca.set_output(transform='default'), and "
            "make a data frame of what transform(X).compute() returns"
        )


def apply_lazily(estimator: FittedPCA, method: str, X: Any) -> Any:
    """A dask array of what a method gives for the rows of X; nothing is computed.

    Parameters
    ----------
    estimator : FittedPCA
    method : str
        Its name; row by row.
    X : dask array or dask DataFrame
    """
    X, of_rows = as_dask_rows(X), partial(_of_rows, _without_account(estimator), method)
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
