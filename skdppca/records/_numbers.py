"""Numbers that belong to one row: the same bits wherever the row stands."""

from __future__ import annotations

import numpy as np

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
