"""Sums over pairs of records: how they are computed, and how far rounding can move them.

A pair adds ``g g^T``, where g is the difference of its rows over sqrt 2, its length changed as the
kernel says. No BLAS result decides whether a pair counts: differences that cancel are formed anew.
Records that `MeanRows` left out are in no pair. `skdppca.statistics.KendallMatrix` proves what that
does to the sensitivity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from ._numbers import add_upper_gram, row_dots, row_norms
from .kernels import LARGEST_SQUARE, LEAST_SQUARE, Kernel
from .rounding import UNIT_ROUNDOFF, summation_error

__all__ = [
    "MAX_COMPLETE",
    "Kernel",
    "adjacent_differences",
    "complete_error",
    "complete_sum",
    "cyclic_error",
    "cyclic_sum",
]

# The declared domain of complete pairs: the most records for which the rounding error is bounded.
# (Their 2^33 pairs take minutes at d = 100.)
MAX_COMPLETE = 2**17

# A squared distance below this share of the squares it is the difference of is computed anew.
CANCELLATION = 2.0**-13

# Rows of a block of complete pairs: a few such squares stay in a core's cache.
BLOCK = 512

# Entries of the differences that are formed at a time, and terms that are summed without care.
ENTRIES, ONE_BY_ONE, MIN_ROWS = 2**16, 2**15, 128


def cyclic_sum(rows: np.ndarray, order: np.ndarray, offsets: int, kernel: Kernel) -> np.ndarray:
    """Upper triangle of the sum of ``g g^T`` over every record and its next `offsets` ones.

    "Next" is cyclic in `order`. Records that meet themselves add 0.
    """
    return _pairwise_sum(_cyclic_parts(rows, order, offsets, kernel), rows.shape[1])


def cyclic_error(n_features: int, offsets: int) -> float:
    """Bound on the rounding error, in Frobenius norm, of `cyclic_sum` over ``2 * offsets``.

    There are n * offsets terms of norm 1, so half as many as records, each with a relative error
    of a few d units of roundoff; those of one block of records are summed one by one, the blocks
    pairwise.
    """
    one_by_one = _block_rows(n_features, offsets) * offsets + 64
    return summation_error(0.5, one_by_one, 2 * n_features + 16)


def adjacent_differences(
    rows: np.ndarray, order: np.ndarray, direction: np.ndarray | None = None
) -> np.ndarray:
    """Length over sqrt 2 of every record's difference from the next one in a cyclic `order`.

    With a direction, of the part along it. A bitwise function of the two records.
    """
    out = np.empty(len(order))
    for where, block in _cyclic_blocks(rows, order, 1):
        differences = block[1:] - block[:-1]
        if direction is None:
            out[where] = row_norms(differences)
        else:
            out[where] = np.abs(row_dots(differences, direction))
    return out / math.sqrt(2)


def complete_sum(rows: np.ndarray, kernel: Kernel) -> np.ndarray:
    """Upper triangle of the sum of ``g g^T`` over all pairs: ``X^T (D - W) X / 2`` in blocks.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Finite, and so short that differences are finite.

    Notes
    -----
    ``w_ij = xi(s_ij)^2 / s_ij^2``, D its row sums; pairs at a distance of which few digits are left
    after expanding the square get weight 0 and are added one by one. The rows are taken around a
    point amidst them and in units of their size, which changes nothing but the rounding.
    """
    n, d = rows.shape
    shifted, squares, nothing, unit = _around_the_middle(rows)
    total, explicit, row_sums = np.zeros((d, d)), np.zeros((d, d)), np.zeros(n)
    starts = range(0, n, BLOCK)
    for i in starts:
        mine = slice(i, min(i + BLOCK, n))
        products = np.zeros((mine.stop - i, d))
        for j in starts[i // BLOCK :]:
            others = slice(j, min(j + BLOCK, n))
            lengths = partial(_lengths, rows, mine, others)
            weights, near = _weights(shifted, squares, nothing, mine, others, kernel, unit, lengths)
            if near.size:
                pairs = near + np.array([[i], [j]])
                pairs = pairs[:, pairs[0] < pairs[1]]
                explicit += _explicit_sum(rows, pairs, kernel)
            row_sums[mine] += weights.sum(axis=1)
            if i != j:
                row_sums[others] += weights.sum(axis=0)
            products += (weights @ shifted[others]) * (0.5 if i == j else 1.0)
        # row_sums of these rows are complete: all blocks before have added to them
        cross = shifted[mine].T @ products
        total += (shifted[mine].T * row_sums[mine]) @ shifted[mine] - cross - cross.T
    return total / 2 + explicit


def complete_error(n_features: int) -> float:
    """Bound on the rounding error, in Frobenius norm, of `complete_sum` over n - 1.

    Let ``T = ||x_i||^2 + ||x_j||^2`` of the shifted rows and c = `CANCELLATION`. A distance whose
    square is at least c T comes with a relative error of at most (2 d + 16) u / c, so the term
    ``g g^T`` with one of (2 d + 32) u / c. The terms that the product sums are at most
    ``w T <= 2 / c`` for each of the n (n - 1) / 2 pairs; any sum within two products of blocks
    and over blocks has at most `length` additions, and errs by ``length u`` times that (Higham,
    chapter 3). n is at most `MAX_COMPLETE`; what pairs that are added one by one err is far less.
    """
    length = 4 * BLOCK + 4 * MAX_COMPLETE / BLOCK + 4 * n_features + 128
    return length * UNIT_ROUNDOFF / CANCELLATION * MAX_COMPLETE


def _around_the_middle(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Rows less a point amidst them in units of a power of 2, their squared norms, the unit.

    Also which of them are that very point, and so equal to each other. Rows whose squares over- or
    underflow in these units are set to 0, with an infinite square.
    """
    if not len(rows):
        return rows, np.zeros(0), np.zeros(0, bool), 1.0
    shifted = rows - np.median(rows[:: max(1, len(rows) // 1024)], axis=0)
    sizes = np.abs(shifted).max(axis=1)
    nothing = sizes == 0
    size = float(np.median(sizes))
    unit = 2.0 ** max(math.frexp(size)[1], -1000) if size else 1.0
    with np.errstate(over="ignore"):
        shifted /= unit
        squares = np.einsum("ij,ij->i", shifted, shifted)
    rare = ~((squares > LEAST_SQUARE) & (squares < LARGEST_SQUARE)) & ~nothing
    squares[rare] = np.inf
    shifted[rare] = 0.0
    return shifted, squares, nothing, unit


def _weights(
    shifted: np.ndarray,
    squares: np.ndarray,
    nothing: np.ndarray,
    mine: slice,
    others: slice,
    kernel: Kernel,
    unit: float,
    lengths: Callable[[], np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """Weights of two blocks' pairs, and (2, m) places of those that are to be added one by one."""
    together = np.add.outer(squares[mine], squares[others])
    halves = shifted[mine] @ shifted[others].T
    with np.errstate(all="ignore"):
        halves *= -1
        halves += together / 2  # s^2: half the squared distance
        together *= CANCELLATION / 2
        close = ~(halves > together)
        close |= halves < LEAST_SQUARE
    if mine == others:
        np.fill_diagonal(halves, np.inf)
        np.fill_diagonal(close, False)
    near = np.empty((2, 0), dtype=np.intp)
    if close.any():
        halves[close] = np.inf
        close &= ~np.logical_and.outer(nothing[mine], nothing[others])
        near = np.array(np.nonzero(close))
    return kernel.weights(halves, unit, lengths), near


def _lengths(rows: np.ndarray, mine: slice, others: slice) -> np.ndarray:
    """Half-lengths of the differences of two blocks' rows, each a bitwise function of its pair."""
    behind = rows[others]
    norms = np.stack([row_norms(behind - row) for row in rows[mine]])
    return norms / math.sqrt(2)


def _explicit_sum(rows: np.ndarray, pairs: np.ndarray, kernel: Kernel) -> np.ndarray:
    """Upper triangle of the sum over (2, m) pairs of rows."""
    d = rows.shape[1]
    total = np.zeros((d, d), order="F")
    for part in np.array_split(pairs, 1 + pairs.shape[1] * d // ENTRIES, axis=1):
        if part.size:
            add_upper_gram(total, kernel.apply(rows[part[0]] - rows[part[1]]))
    return np.triu(total) + np.triu(total, 1).T


def _cyclic_parts(
    rows: np.ndarray, order: np.ndarray, offsets: int, kernel: Kernel
) -> Iterator[np.ndarray]:
    d = rows.shape[1]
    for _, block in _cyclic_blocks(rows, order, offsets):
        m = len(block) - offsets
        part, scratch = np.zeros((d, d), order="F"), np.empty((m, d))
        for t in range(1, offsets + 1):
            differences = np.subtract(block[t : t + m], block[:m], out=scratch)
            add_upper_gram(part, kernel.apply(differences))
        yield part


def _cyclic_blocks(
    rows: np.ndarray, order: np.ndarray, offsets: int
) -> Iterator[tuple[slice, np.ndarray]]:
    """Consecutive records, and behind them the `offsets` next ones in cyclic order."""
    size, n = _block_rows(rows.shape[1], offsets), len(order)
    for start in range(0, n, size):
        stop = min(start + size, n)
        yield slice(start, stop), rows[order[np.arange(start, stop + offsets) % n]]


def _block_rows(n_features: int, offsets: int) -> int:
    return max(MIN_ROWS, min(ENTRIES // n_features, ONE_BY_ONE // offsets))


def _pairwise_sum(parts: Iterator[np.ndarray], d: int) -> np.ndarray:
    """Sum of many matrices whose rounding error grows with the logarithm of their number."""
    waiting: list[tuple[int, np.ndarray]] = []
    for part in parts:
        level = 0
        while waiting and waiting[-1][0] == level:
            part = part + waiting.pop()[1]
            level += 1
        waiting.append((level, part))
    return sum((part for _, part in reversed(waiting)), np.zeros((d, d)))
