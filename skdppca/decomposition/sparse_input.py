"""Sparse matrices of any format: checked before anything reads them, and put into rows.

scipy's compiled code believes what a matrix says of itself: an index out of range makes it read, or
write, memory that is not the matrix's. scipy's own `check_format` knows two formats only, and it
changes the matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

MALFORMED = (
    "X is a malformed sparse matrix: its indices do not fit each other or its shape. Build it "
    "anew, for example as scipy.sparse.csr_array((data, (row, column)), shape=shape)"
)


def as_compressed(X: Any) -> Any:
    """A CSR or CSC matrix as it is, and one of another format as CSR.

    Raises
    ------
    ValueError
        If the matrix is malformed, or not of two dimensions. Other exceptions may pass where its
        parts are of wrong types.
    """
    if X.ndim != 2:
        raise ValueError("Expected a 2-dimensional container")
    if not FORMATS[X.format](X):
        raise ValueError(MALFORMED)
    if X.format in ("csr", "csc"):
        return X
    X = X.tocoo(copy=False)
    if not _is_coo(X):
        raise ValueError(MALFORMED)
    return _by_rows(X)


def _is_csr(X: Any) -> bool:
    return _are_pointers(X, *X.shape)


def _is_csc(X: Any) -> bool:
    return _are_pointers(X, *X.shape[::-1])


def _is_bsr(X: Any) -> bool:
    height, width = X.data.shape[1:]
    n_major, n_minor = X.shape[0] // height, X.shape[1] // width
    return (n_major * height, n_minor * width) == X.shape and _are_pointers(X, n_major, n_minor)


def _is_lil(X: Any) -> bool:
    if not len(X.rows) == len(X.data) == X.shape[0]:
        return False
    both = zip(X.rows, X.data, strict=True)
    return all(type(r) is type(x) is list and len(r) == len(x) for r, x in both)


def _is_dia(X: Any) -> bool:
    offsets, n_rows = X.offsets, X.shape[0]
    if not _is_flat(offsets) or X.data.ndim != 2 or len(X.data) != len(offsets):
        return False
    inside = _are_between(offsets, 1 - n_rows, X.shape[1])
    return inside and len(np.unique(offsets)) == len(offsets)


def _is_coo(X: Any) -> bool:
    if not all(_is_flat(part) and part.shape == X.data.shape for part in (X.row, X.col)):
        return False
    return _are_between(X.row, 0, X.shape[0]) and _are_between(X.col, 0, X.shape[1])


# By format, whether the parts of a matrix fit each other and its shape.
FORMATS: dict[str, Callable[[Any], bool]] = {
    "csr": _is_csr,
    "csc": _is_csc,
    "bsr": _is_bsr,
    "coo": _is_coo,
    "dia": _is_dia,
    "dok": lambda X: True,  # Python's own dict: its keys are checked as coordinates
    "lil": _is_lil,
}


def _are_pointers(X: Any, n_major: int, n_minor: int) -> bool:
    """Whether pointers begin at 0, never fall, and end within the entries; one index an entry."""
    if not (_is_flat(X.indptr) and _is_flat(X.indices)):
        return False
    if len(X.indices) != len(X.data) or len(X.indptr) != n_major + 1:
        return False
    pointers, n_entries = X.indptr, int(X.indptr[-1])
    if pointers[0] != 0 or n_entries > len(X.indices) or np.any(pointers[1:] < pointers[:-1]):
        return False
    return _are_between(X.indices[:n_entries], 0, n_minor)


def _is_flat(part: Any) -> bool:
    return isinstance(part, np.ndarray) and part.ndim == 1 and part.dtype.kind == "i"


def _are_between(numbers: np.ndarray, first: int, stop: int) -> bool:
    return not len(numbers) or bool(numbers.min() >= first and numbers.max() < stop)


def _by_rows(X: Any) -> sparse.csr_array:
    """CSR with the entries of a row in an order that depends on that row alone.

    scipy's conversion adds entries that are stored in parts, and sorts them only if some row needs
    it: so that one row decided in which order another's are added.
    """
    order = np.lexsort((X.col, X.row))  # stable
    starts = np.searchsorted(X.row[order], np.arange(X.shape[0] + 1))
    return sparse.csr_array((X.data[order], X.col[order], starts), shape=X.shape)
