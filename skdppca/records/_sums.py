"""Sums of products of rows: exact ones, those of a symmetric matrix, and compensated ones."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from ctypes import byref, c_char_p, c_double, c_int, c_int64, c_void_p, py_object, pythonapi
from functools import cache

import numpy as np
from scipy.linalg import cython_blas

from ._numbers import row_norms, row_squares, rows_dots, safe_root

# Bits of the grids below the powers of 2 above the norms; together 52.
ROW_BITS = 28
DIRECTION_BITS = 24

# Up to 64 directions products are quicker, and are read direction by direction, in this order.
FEW_DIRECTIONS = 64


def on_row_grids(rows: np.ndarray) -> np.ndarray:
    """Round every row to its grid, in place: a function of the row alone.

    Rows that are infinite, as `row_norms` has it, become infinite everywhere.
    """
    return _on_grids(rows, ROW_BITS)


def rounded_directions(vectors: np.ndarray) -> np.ndarray:
    """Directions, or other public vectors, on their grids."""
    return _on_grids(np.array(vectors, dtype=np.float64, order="C"), DIRECTION_BITS)


def exact_dots(
    rows: np.ndarray, directions: np.ndarray, out: np.ndarray | None = None
) -> np.ndarray:
    """Inner products of rows with directions, both on their grids, of shape (n, p).

    Also in `out`, if that is given: a copy of many takes half as long as they do.
    """
    exact = _products_are_exact()
    if exact and len(directions) > FEW_DIRECTIONS:
        return np.matmul(rows, directions.T, out=out)
    dots = np.matmul(directions, rows.T).T if exact else rows_dots(rows, directions)
    if out is not None:
        out[...] = dots
    return dots


def _on_grids(rows: np.ndarray, bits: int) -> np.ndarray:
    norms = safe_root(row_squares(rows))  # as `row_norms` has it
    far = np.isinf(norms)
    if far.any():
        rows[far], norms[far] = np.inf, 0.0
    # x + 1.5 * 2^(e - bits + 52) has its last bit at 2^(e - bits), for |x| up to 2^(e - bits + 51)
    large = np.ldexp(1.5, np.frexp(0.999 * norms)[1] + (52 - bits))[:, None]
    rows += large
    rows -= large
    return rows


@cache
def _products_are_exact() -> bool:
    """Whether BLAS gives what whole numbers do: tried once a process, on rows of mixed scales."""
    return all(
        _is_exact(*shape) for shape in ((17, 4097, 5), (1, 33, 1), (129, 3, 2), (5, 200, 40))
    )


def _is_exact(n: int, d: int, p: int) -> bool:
    i, j = np.arange(n * d).reshape(n, d), np.arange(p * d).reshape(p, d)
    # on the grids of rows and directions of norm 1; no noise, and nothing of the data
    unit = on_row_grids(np.sin(i + 1.0) * np.exp(9 * np.sin(7.0 * i)) / (9e3 * np.sqrt(d)))
    directions = rounded_directions(np.cos(3.0 * j) / np.sqrt(d))
    e = np.frexp(0.999 * row_norms(unit))[1] - ROW_BITS
    f = np.frexp(0.999 * row_norms(directions))[1] - DIRECTION_BITS
    whole = np.ldexp(unit, -e[:, None]).astype(np.int64)
    exact = whole @ np.ldexp(directions, -f[:, None]).astype(np.int64).T
    shift = 40 * (np.arange(n) % 5 - 2)
    found = np.matmul(directions, np.ldexp(unit, shift[:, None]).T).T
    return bool(np.array_equal(np.ldexp(found, -(e + shift)[:, None] - f), exact))


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


# Entries that are added at a time: with what is made of them they stay in the cache of one core.
CHUNK_ENTRIES = 2**14


class CompensatedSum:
    """A sum of arrays, by Neumaier's method.

    Parameters
    ----------
    shape : tuple of int
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.total = np.zeros(shape, order="F")
        self.correction = np.zeros(shape, order="F")
        self._is_empty = True

    def add(self, part: np.ndarray) -> None:
        """Add one term, which may be overwritten; one that is not in Fortran's order is copied."""
        arrays = (self.total, self.correction, part)
        total, correction, part = (array.reshape(-1, order="F") for array in arrays)
        if self._is_empty:
            np.add(part, 0.0, out=total)
            self._is_empty = False
            return
        sums, rounded = np.empty((2, min(CHUNK_ENTRIES, total.size)))
        for start in range(0, total.size, CHUNK_ENTRIES):
            chunk = slice(start, start + CHUNK_ENTRIES)
            _add(total[chunk], correction[chunk], part[chunk], sums, rounded)

    def result(self) -> np.ndarray:
        """The sum of all terms so far, rounded once."""
        return self.total + self.correction


def _add(
    total: np.ndarray,
    correction: np.ndarray,
    part: np.ndarray,
    sums: np.ndarray,
    rounded: np.ndarray,
) -> None:
    """Add the part to the total, and to the correction what that rounds off."""
    sums, rounded = sums[: total.size], rounded[: total.size]
    np.add(total, part, out=sums)
    np.subtract(sums, total, out=rounded)
    # correction += (total - (sums - rounded)) + (part - rounded)
    part -= rounded
    np.subtract(sums, rounded, out=rounded)
    np.subtract(total, rounded, out=rounded)
    rounded += part
    correction += rounded
    total[...] = sums
