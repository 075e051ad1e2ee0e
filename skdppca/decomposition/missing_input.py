"""Entries that are not there, whatever marks them: NaN for all that reads numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["is_missing", "nan_for_missing"]


def nan_for_missing(X: Any) -> Any:
    """X with NaN in place of None, ``pandas.NA`` and NaT; as it is, unless it may hold such.

    Parameters
    ----------
    X : array-like or sparse matrix

    Raises
    ------
    ValueError
        If a list, or what holds Python objects, holds text.
    """
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):
        if not any(getattr(dtype, "kind", "") == "O" for dtype in X.dtypes):
            return X
        return type(X)(_numbers(X.to_numpy(dtype=object)), index=X.index, columns=X.columns)
    array = np.asarray(X) if isinstance(X, list | tuple) else X
    return _numbers(array) if getattr(getattr(array, "dtype", None), "kind", "") == "O" else X


def is_missing(entry: Any) -> bool:
    """None, NaN, NaT, or an entry that does not know whether it equals itself."""
    try:
        return entry is None or bool(entry != entry)
    except (TypeError, ValueError):
        return not isinstance(entry, list | dict | set | np.ndarray)


def _numbers(objects: np.ndarray) -> np.ndarray:
    entries = objects.ravel().tolist()
    if any(isinstance(entry, str | bytes) for entry in entries):
        raise ValueError("X holds strings")
    numbers = np.empty(objects.size, dtype=object)
    numbers[:] = [np.nan if is_missing(entry) else entry for entry in entries]
    return numbers.reshape(objects.shape)
