"""Checks of the data before anything is charged. They say "valid" and nothing more.

An error message, or a warning, that quotes a value, a shape or a row would release it.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from ..records import MAX_ROWS

__all__ = [
    "check_domain",
    "check_groups",
    "check_reach",
    "check_rows",
    "check_vector",
    "number_groups",
    "read_labels",
]

CONSTANTS = (
    "Fill in public constants, or drop the column for all; an imputer that is fitted on the same "
    "data voids the guarantee."
)

# scikit-learn's messages, each with what may be said instead: all of it, or our words for it.
SAFE_MESSAGES = {
    r".*contains NaN": "Input X contains NaN. " + CONSTANTS,
    r".*contains infinity": "Input X contains infinity or a value too large. " + CONSTANTS,
    r"Found array with dim \d+[\s\S]*": None,
    r"\w+\(\) argument must be [\w ]*string[\w ]*number.*": None,
    r"Feature names are only supported[\s\S]*": None,
    r"Complex data not supported": None,
    r"X has \d+ features, but \w+ is expecting \d+ features as input": None,
    r"The feature names should match": "The columns of X are not those that pca was fitted on.",
    r".*0 sample\(s\)": "Found array with 0 sample(s) while a minimum of 1 is required.",
    r".*0 feature\(s\)": "X has 0 feature(s) (shape=(, 0)) while a minimum of 1 is required.",
    r"Expected 2D array, got 1D array": "Expected 2D array, got 1D array. Reshape your data.",
    r"Expected 2D array, got scalar": "Expected 2D array, got scalar array. Reshape your data.",
    r"Expected a 2-dimensional": "Expected a 2-dimensional container. Reshape your data.",
    r".*(string|bytes)": "X holds text or strings; encode them as numbers.",
    r"setting an array element|.*inhomogeneous": "X has rows that are not of the same length.",
}

# The fourth power of a public number beyond this would overflow.
LARGEST = 1e60


def check_rows(estimator: Any, X: Any, reset: bool = True) -> np.ndarray | sparse.csr_array:
    """Two-dimensional finite real rows, without a copy where none is needed.

    Parameters
    ----------
    estimator : estimator
    X : array-like or sparse matrix
    reset : bool
        Set the estimator's number of features, and their names, or check that they are the same.

    Raises
    ------
    ValueError, TypeError
        With scikit-learn's text where that quotes nothing of the data.
    """
    if getattr(X, "ndim", 0) == 2 and X.shape[1] == 0:
        raise ValueError("X has 0 feature(s) (shape=(, 0)) while a minimum of 1 is required.")
    if sparse.issparse(X) and getattr(X, "format", "") not in ("csr", "csc"):
        X = _by_rows(X)
    refused: ValueError | TypeError | None = None
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            X = validate_data(
                estimator, X, reset=reset, accept_sparse="csr", dtype="numeric", copy=False
            )
    except (ValueError, TypeError, OverflowError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        refused = kind(_without_data(str(error)))
    if refused is not None:  # out here, where it has no context: that would quote data
        raise refused
    if X.dtype.kind not in "fiub":
        raise ValueError(f"X has dtype {X.dtype}; give real numbers")
    if X.shape[0] > MAX_ROWS:
        raise ValueError(f"X has more than {MAX_ROWS} rows; the guarantee is proven up to there")
    return X


def check_domain(estimator: Any, n_records: int) -> None:
    """Refuse more records than the estimator's declared domain has: no private output."""
    most = estimator._max_records
    if n_records > most:
        raise ValueError(
            f"X has more than {most} {'rows' if estimator.unit == 'row' else 'groups'}; the "
            f"guarantee is proven up to there; {estimator._more_records}"
        )


def _by_rows(X: Any) -> sparse.csr_array:
    """CSR with the entries of a row in an order that depends on that row alone.

    scipy's conversion adds entries that are stored in parts, and sorts them only if some row needs
    it: so that one row decided in which order another's are added.
    """
    X = X.tocoo()
    order = np.lexsort((X.col, X.row))  # stable
    starts = np.searchsorted(X.row[order], np.arange(X.shape[0] + 1))
    return sparse.csr_array((X.data[order], X.col[order], starts), shape=X.shape)


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
            "unit='patient' (or whatever a group stands for), or neither. In a Pipeline pass "
            "fit(X, <step>__groups=...); a search needs set_config(enable_metadata_routing=True)."
        )
    if groups is None:
        return None
    return number_groups(groups, n_rows)


def read_labels(values: Any, n_rows: int, name: str) -> np.ndarray:
    """Labels as they are, one a row: none decides how another one is read."""
    try:
        labels = np.asarray(values, dtype=None if hasattr(values, "__array__") else object)
    except (ValueError, TypeError):
        labels = np.empty(())
    if labels.ndim != 1 or len(labels) != n_rows:
        raise ValueError(f"{name} must be one-dimensional, with one label for every row of X")
    return labels


def number_groups(groups: Any, n_rows: int) -> np.ndarray:
    """Integers from 0 for the labels, one a row. Labels that differ stay apart: 1 is not "1"."""
    labels = read_labels(groups, n_rows, "groups")
    is_object = labels.dtype == object
    if any(map(_is_missing, labels)) if is_object else np.any(labels != labels):
        raise ValueError("groups has missing labels; give every row the label of its record")
    if not is_object:
        return np.unique(labels, return_inverse=True)[1].reshape(-1)
    if not all(isinstance(label, Hashable) for label in labels):
        raise ValueError("groups must hold numbers or strings, one a row")
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels], np.intp)


def check_vector(value: Any, n_features: int, name: str, positive: bool = False) -> np.ndarray:
    """A public vector with one finite entry a feature."""
    try:
        vector = np.asarray(value)
        valid = vector.dtype.kind in "fiub" and vector.shape == (n_features,)
    except (ValueError, TypeError):
        valid = False
    if not valid or not np.isfinite(vector).all():
        raise ValueError(f"{name} must hold {n_features} finite numbers, one a feature")
    if positive and not (vector > 0).all():
        raise ValueError(f"{name} must be positive; set it to 1 for features to leave as they are")
    return vector.astype(np.float64)


def check_reach(
    mean: np.ndarray | None, scale: np.ndarray | None, norm_bound: float | None
) -> None:
    """Refuse public numbers that are so large, or so small, that they would overflow."""
    if norm_bound is not None and not 1 / LARGEST <= norm_bound <= LARGEST:
        raise ValueError(
            f"norm_bound={norm_bound} is out of range; choose units in which it lies between "
            f"{1 / LARGEST} and {LARGEST}"
        )
    with np.errstate(over="ignore"):
        reach = 0.0 if mean is None else np.abs(mean / (1.0 if scale is None else scale)).max()
    if reach > LARGEST:
        raise ValueError(f"mean / scale exceeds {LARGEST}; choose units in which it does not")


def _is_missing(label: Any) -> bool:
    """None, NaN, NaT, or a label that does not know whether it equals itself."""
    try:
        return label is None or bool(label != label)
    except (TypeError, ValueError):
        return not isinstance(label, list | dict | set | np.ndarray)


def _without_data(message: str) -> str:
    """scikit-learn's message if it is harmless, and ours if not."""
    for pattern, ours in SAFE_MESSAGES.items():
        found = re.match(pattern, message)
        if found:
            return ours or found.group()
    return "X cannot be read as a table of real numbers; give an array of them."
