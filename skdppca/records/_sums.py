"""Sums with known bits: numbers of one row, exact products, compensated sums, tallies of cells.

A number of a row has the same bits wherever the row stands. The cells of a feature are numbered
from 1; 0 and numbers beyond the last one are no cells.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import byref, c_char_p, c_double, c_int, c_int64, c_void_p, py_object, pythonapi
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import cython_blas

# A record this far from the centre, or this near to it, would over- or underflow when squared.
FARTHEST = 2.0**450
NEAREST = 2.0**-450

# A square below this share of the terms it is the difference of is computed anew.
CANCELLATION = 1e-7

# Bytes: at least the width of any vector register.
ALIGNMENT = 128

# Below the buffer of einsum (8192), within which every row is summed in the same order.
EINSUM_COLUMNS = 4096


def row_squares(rows: np.ndarray) -> np.ndarray:
    """Squared Euclidean norm of every row."""
    squares = np.zeros(len(rows))
    for start in range(0, rows.shape[1], EINSUM_COLUMNS):
        part = rows[:, start : start + EINSUM_COLUMNS]
        squares += np.einsum("ij,ij->i", part, part)
    return squares


def row_norms(rows: np.ndarray) -> np.ndarray:
    """Euclidean norm of every row."""
    return safe_root(row_squares(rows))


def row_dots(rows: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Inner product of every row with a contiguous vector."""
    dots = np.zeros(len(rows))
    for start in range(0, rows.shape[1], EINSUM_COLUMNS):
        stop = start + EINSUM_COLUMNS
        dots += np.einsum("ij,j->i", rows[:, start:stop], vector[start:stop])
    return dots


def rows_dots(rows: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Inner products of every row with a few contiguous vectors: `row_dots` of each, to the bit."""
    dots = np.zeros((len(rows), len(vectors)))
    for start in range(0, rows.shape[1], EINSUM_COLUMNS):
        stop = start + EINSUM_COLUMNS
        dots += np.einsum("ij,kj->ik", rows[:, start:stop], vectors[:, start:stop])
    return dots


def safe_root(squares: np.ndarray) -> np.ndarray:
    """Square roots; infinity for what overflows or is not a number, 0 for what underflows."""
    least, most = squares.min(initial=np.inf), squares.max(initial=0.0)
    if least >= NEAREST**2 and most < FARTHEST**2:  # and all are numbers
        return np.sqrt(squares)
    roots = np.sqrt(squares, out=np.full_like(squares, np.inf), where=squares < FARTHEST**2)
    roots[squares < NEAREST**2] = 0.0
    return roots


def aligned_empty(rows: int, columns: int) -> np.ndarray:
    """An uninitialised array whose first row begins at a multiple of `ALIGNMENT` bytes.

    Some BLAS kernels sum what lies before an aligned address apart. What they are to make of one
    record alone is put here first: then its bits do not depend on where the record stood.
    """
    memory = np.empty(8 * rows * columns + ALIGNMENT, dtype=np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + 8 * rows * columns].view(np.float64).reshape(rows, columns)


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
    """Return whether BLAS sums whole numbers exactly: tried once a process, on mixed scales."""
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


# Shares of a group are multiples of 2^-20, so that 2^30 of them are summed exactly in float64.
STEPS = 2**20


def exact_shares(counts: np.ndarray, sizes: np.ndarray | int) -> np.ndarray:
    """Counts over sizes, rounded down to multiples of 1 / `STEPS`: they add up to at most 1."""
    return counts * STEPS // sizes / STEPS


def tally(
    cells: np.ndarray,
    features: np.ndarray,
    shape: tuple[int, ...],
    times: np.ndarray | None = None,
) -> np.ndarray:
    """Return the number of values in every cell.

    Parameters
    ----------
    cells, features : ndarray of int
        Cell and feature of every value, in shapes that broadcast.
    shape : tuple of int
        How many features and cells.
    times : ndarray of int, optional
        How often every value counts; once by default.
    """
    places = _places(cells, features, shape).ravel()
    return _table(np.bincount(places, weights=times, minlength=_size(shape)), shape)


def tally_groups(cells: np.ndarray, sizes: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return the counts of groups of consecutive rows; every group adds the shares of its rows.

    Parameters
    ----------
    cells : ndarray of int of shape (n_rows, n_features)
    sizes : ndarray of int of shape (n_groups,)
        Number of rows of every group.
    shape : tuple of int
    """
    groups = np.repeat(np.arange(len(sizes)), sizes)[:, None]
    places = groups * _size(shape) + _places(cells, np.arange(shape[0]), shape)
    places, counts = np.unique(places, return_counts=True)
    group, place = np.divmod(places, _size(shape))
    shares = exact_shares(counts, sizes[group])
    return _table(np.bincount(place, weights=shares, minlength=_size(shape)), shape)


# A table has two columns more than there are cells, for values that lie in none.


def _size(shape: tuple[int, ...]) -> int:
    return shape[0] * (shape[1] + 2)


def _places(cells: np.ndarray, features: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return features * (shape[1] + 2) + cells


def _table(counts: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return counts.reshape(shape[0], shape[1] + 2)[:, 1:-1]


Pair = tuple[np.ndarray, np.ndarray]


class Scratch:
    """Pairs of arrays that nobody uses at the moment.

    A pass over few records takes less time than the operating system needs to hand out new pages.
    What is in the arrays is private; they are never sent, never pickled, and go with the records.
    """

    def __init__(self) -> None:
        self._free: dict[tuple[int, int], list[Pair]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()

    @contextmanager
    def pair(self, rows: int, columns: int) -> Iterator[Pair]:
        """Two arrays of that shape, with anything in them; nobody else has them meanwhile."""
        free = self._free.setdefault((rows, columns), [])
        try:
            pair = free.pop()
        except IndexError:  # in use by another thread, or by a pass around this one
            pair = aligned_empty(rows, columns), aligned_empty(rows, columns)
        try:
            yield pair
        finally:
            free.append(pair)
