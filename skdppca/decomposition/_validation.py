"""Checks of the data before anything is charged. They say "valid" and nothing more.

An error message that quotes a value, a shape or a row would release it.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from ..records import MAX_ROWS

__all__ = ["check_groups", "check_rows", "check_vector"]


def check_rows(estimator: Any, X: Any) -> np.ndarray | sparse.csr_array:
    """Two-dimensional finite real rows, without a copy where none is needed.

    Raises
    ------
    ValueError, TypeError
        With scikit-learn's text, less what it quotes of the data.
    """
    try:
        X = validate_data(estimator, X, accept_sparse="csr", dtype="numeric", copy=False)
    except (ValueError, TypeError) as error:
        raise type(error)(_without_data(str(error))) from None
    if X.dtype.kind not in "fiub":
        raise ValueError(f"X has dtype {X.dtype}; give real numbers")
    if X.shape[0] > MAX_ROWS:
        raise ValueError(f"X has more than {MAX_ROWS} rows; the guarantee is proven up to there")
    return X


def check_groups(groups: Any, n_rows: int, unit: str) -> np.ndarray | None:
    """Integers from 0 for the groups of the rows; None if the unit is a row.

    Raises
    ------
    ValueError
        If groups are given without a unit that names them, or the reverse; if there is not one
        label a row; if a label is missing.
    """
    if (groups is None) != (unit == "row"):
        given = "were not given" if groups is None else "were given"
        raise ValueError(
            f"unit={unit!r}, but groups {given}: pass fit(X, groups=...) together with "
            "unit='patient' (or whatever a group stands for), or neither. In a Pipeline or a "
            "search, enable_metadata_routing=True is needed for groups to arrive."
        )
    if groups is None:
        return None
    labels = np.asarray(groups)
    if labels.ndim != 1 or len(labels) != n_rows:
        raise ValueError("groups must be one-dimensional, with one label for every row of X")
    missing = labels != labels if labels.dtype.kind in "fcO" else np.zeros(len(labels), bool)
    if labels.dtype == object:
        missing = missing | np.array([label is None for label in labels], bool)
    if np.any(missing):
        raise ValueError("groups has missing labels; give every row the label of its record")
    if labels.dtype == object:
        numbers: dict[Any, int] = {}
        return np.array([numbers.setdefault(label, len(numbers)) for label in labels], np.intp)
    return np.unique(labels, return_inverse=True)[1].reshape(-1)


def check_vector(value: Any, n_features: int, name: str, positive: bool = False) -> np.ndarray:
    """A public vector with one finite entry a feature."""
    vector = np.asarray(value, dtype=np.float64)
    if vector.shape != (n_features,) or not np.isfinite(vector).all():
        raise ValueError(
            f"{name} must hold {n_features} finite numbers, one a feature; got shape {vector.shape}"
        )
    if positive and not (vector > 0).all():
        raise ValueError(f"{name} must be positive; set it to 1 for features to leave as they are")
    return vector


def _without_data(message: str) -> str:
    """scikit-learn's message without numbers of rows, values and arrays."""
    message = re.sub(r"could not convert string to float:.*", "X holds text", message, flags=re.S)
    message = re.sub(r"array=.*?(?=Reshape your data|\Z)", "", message, flags=re.S)
    message = re.sub(r"shape=\(\d+", "shape=(", message)
    return re.sub(r"(?<=Found array with )\d+(?= sample)", "0", message)
