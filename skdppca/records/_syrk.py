"""BLAS's ``dsyrk`` without Python's lock, so that the threads of a pass run it side by side.

``scipy.linalg.blas.dsyrk`` is the same function; it keeps the lock, and copies rows that do not lie
next to each other.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from ctypes import byref, c_char_p, c_double, c_int, c_int64, c_void_p, py_object, pythonapi

import numpy as np
from scipy.linalg import cython_blas

ONE = c_double(1.0)

# A SciPy that was built with 64-bit integers reads all of it, and others the half that comes first.
Integer = c_int64 if sys.byteorder == "little" else c_int


def add_upper_gram(out: np.ndarray, rows: np.ndarray) -> None:
    """``out += rows.T @ rows`` in the upper triangle of a Fortran-ordered ``out``.

    Parameters
    ----------
    out : ndarray of float64 of shape (d, d)
    rows : ndarray of float64 of shape (n, d)
        Copied unless every row is contiguous and follows the one before it.
    """
    if out.dtype != np.float64 or not out.flags.f_contiguous or not out.flags.writeable:
        raise TypeError("out must be a Fortran-ordered float64 array")
    n, d = rows.shape
    if out.shape != (d, d):
        raise ValueError(f"out must be of shape {(d, d)}, got {out.shape}")
    between, within = rows.strides
    if rows.dtype != np.float64 or within != 8 or between < 8 * d or between % 8:
        rows = np.ascontiguousarray(rows, dtype=np.float64)
        between = 8 * d
    size, count, leading = Integer(d), Integer(n), Integer(between // 8)
    # rows are the columns of a Fortran-ordered d x n matrix A, and A A^T is added
    _dsyrk(
        b"U",
        b"N",
        byref(size),
        byref(count),
        byref(ONE),
        rows.ctypes.data,
        byref(leading),
        byref(ONE),
        out.ctypes.data,
        byref(size),
    )


def _called_from_c(capsule: object, *arguments: type) -> Callable[..., None]:
    """A function that Cython exports. While it runs, ctypes lets other threads run."""
    name_of = ctypes.PYFUNCTYPE(c_char_p, py_object)(("PyCapsule_GetName", pythonapi))
    pointer_of = ctypes.PYFUNCTYPE(c_void_p, py_object, c_char_p)(
        ("PyCapsule_GetPointer", pythonapi)
    )
    return ctypes.CFUNCTYPE(None, *arguments)(pointer_of(capsule, name_of(capsule)))


_dsyrk = _called_from_c(cython_blas.__pyx_capi__["dsyrk"], c_char_p, c_char_p, *[c_void_p] * 8)
