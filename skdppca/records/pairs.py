"""Sums over pairs of records: how they are computed, and how far rounding can move them.

A pair adds ``g g^T``, where g is the difference of its rows over sqrt 2, its length changed as the
kernel says. No BLAS result decides whether a pair counts: differences that cancel are formed anew.
Records that `MeanRows` left out are in no pair. `skdppca.statistics.KendallMatrix` proves what that
does to the sensitivity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from ._sums import (
    EINSUM_COLUMNS,
    add_upper_gram,
    aligned_empty,
    row_dots,
    row_norms,
    row_squares,
)
from .machine import side_by_side
from .sources import MAX_ROWS, UNIT_ROUNDOFF

# The declared domain of complete pairs: the most records for which the rounding error is bounded.
# (Their 2^33 pairs take minutes at d = 100.)
MAX_COMPLETE = 2**17

# A squared distance below this share of the squares it is the difference of is computed anew.
CANCELLATION = 2.0**-13

# Likewise for cyclic pairs, which may be of more records: what is summed is at most its inverse.
NEAR = 2.0**-4

# Rows of a block of complete pairs, a few squares of which stay in a core's cache.
BLOCK = 256
# Rows of a product of cyclic pairs.
SLICE = 256

# Entries of the blocks that are formed at a time, and their least rows.
ENTRIES = 2**17
MIN_ROWS = 1024
# Terms that are summed without care.
ONE_BY_ONE = 2**13

# Records whose products with their neighbours are one matrix product.
BAND = 32


def cyclic_sum(
    rows: np.ndarray,
    order: np.ndarray,
    offsets: int,
    kernel: Kernel,
    centre: np.ndarray | None = None,
    threads: int = 1,
) -> np.ndarray:
    """Upper triangle of the sum of ``g g^T`` over every record and its next `offsets` ones.

    "Next" is cyclic in `order`. Records that meet themselves add 0.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Finite, and so short that differences are finite.
    order : ndarray of shape (n,)
    offsets : int
    kernel : Kernel
    centre : ndarray of shape (d,), optional
        Public or released; the nearer to the rows, the faster. A record is its row less this, so
        only its last digits depend on it.
    threads : int
        They share the blocks; the sum may have other last bits then, within its rounding bound.

    Notes
    -----
    With y the rows less the centre, all is ``Y^T (D - W) Y / 2``, where
    ``w_ij = xi(s_ij)^2 / s_ij^2``, ``s_ij^2 = (||y_i||^2 + ||y_j||^2) / 2 - <y_i, y_j>`` and D has
    the row sums of W. Inner products are summed in a fixed order, so that a pair's weight is a
    bitwise function of its two records. So is whether it is `NEAR`: then, and wherever squares are
    not precise, its weight is 0 and its difference is formed and added by itself. W is a band, so a
    few records and their neighbours are a small dense product.
    """
    n, d = rows.shape
    size = BAND * min(_block_rows(max(d, BAND + 2 * offsets)) // BAND, 1 + n // BAND)

    def work(starts: range) -> np.ndarray:
        return _pairwise_sum(_cyclic_parts(rows, order, offsets, kernel, centre, size, starts), d)

    starts = range(0, n, size)
    if threads == 1:
        return work(starts)
    parts = side_by_side(work, [starts[i::threads] for i in range(threads)])
    return _pairwise_sum(iter(parts), d)


def cyclic_error(offsets: int) -> float:
    """Bound on the rounding error, in Frobenius norm, of `cyclic_sum` over ``2 * offsets``.

    What a pair adds is a function of its two records, so only sums err. Let
    ``T = ||y_i||^2 + ||y_j||^2``. A pair that is not near has ``w T <= 2 / NEAR``, up to its last
    digits, which bounds the terms ``w (||y_i|| + ||y_j||)^2 / 2`` that the products sum. There are
    at most n h such pairs, so over 2 h their terms make n / NEAR. An entry comes from at most
    2 h additions for D, as many for ``(D - W) Y``, those of one slice and, over slices and blocks,
    fewer than 128 (they are summed pairwise): the error is that number of u times the terms
    (Higham, chapter 3). A near pair has a term of 1, and at most `ONE_BY_ONE` and 128 additions:
    less, so the bound holds for any mixture.
    """
    return (4 * offsets + SLICE + 128) * UNIT_ROUNDOFF * MAX_ROWS / NEAR


def term_error(n_features: int) -> float:
    """Bound on how far the norm of a term of `cyclic_sum` exceeds 1.

    Each of the three inner products of a pair errs by at most d u times T / 2 or its own; that of
    their sum is 2 (d + 4) u T / 2, and ``s^2 >= NEAR T / 2``.
    """
    return (2 * n_features + 32) * UNIT_ROUNDOFF / NEAR


def adjacent_differences(
    rows: np.ndarray,
    order: np.ndarray,
    direction: np.ndarray | None = None,
    centre: np.ndarray | None = None,
) -> np.ndarray:
    """Length over sqrt 2 of every record's difference from the next one in a cyclic `order`.

    With a direction, of the part along it: the difference of two records' products, each less the
    centre. A bitwise function of the two records.
    """
    n, d = rows.shape
    out, size = np.empty(n), _block_rows(d)
    if direction is None:
        for start in range(0, n, size):
            stop = min(start + size, n)
            block = rows[order[np.arange(start, stop + 1) % n]]
            out[start:stop] = row_norms(block[1:] - block[:-1])
    else:
        scores = np.empty(n)
        for start in range(0, n, size):
            block = rows[start : start + size]
            scores[start : start + size] = row_dots(
                block if centre is None else block - centre, direction
            )
        scores = scores[order]
        np.abs(np.roll(scores, -1) - scores, out=out)
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
    sides, squares, nothing, unit = _around_the_middle(rows)
    total, explicit, row_sums = np.zeros((d, d)), np.zeros((d, d)), np.zeros(n)
    starts = range(0, n, BLOCK)
    for i in starts:
        mine = slice(i, min(i + BLOCK, n))
        middle = sides[mine, :d]
        # with the others' sides, half the squared distance
        side = np.column_stack([-middle, sides[mine, d + 1], sides[mine, d]])
        products = np.zeros((mine.stop - i, d + 1))
        for j in starts[i // BLOCK :]:
            others = slice(j, min(j + BLOCK, n))
            lengths = partial(_lengths, rows, mine, others)
            halves = side @ sides[others].T
            weights, near = _weights(halves, squares, nothing, mine, others, kernel, unit, lengths)
            if near.size:
                pairs = near + np.array([[i], [j]])
                pairs = pairs[:, pairs[0] < pairs[1]]
                explicit += _explicit_sum(rows, pairs, kernel)
            found = weights @ sides[others, : d + 1]  # the row sums, too
            row_sums[mine] += found[:, d]
            if i != j:
                row_sums[others] += weights.sum(axis=0)
            products += found * (0.5 if i == j else 1.0)
        # row_sums of these rows are complete: all blocks before have added to them
        cross = middle.T @ products[:, :d]
        total += (middle.T * row_sums[mine]) @ middle - cross - cross.T
    return total / 2 + explicit


def complete_error(n_features: int) -> float:
    """Bound on the rounding error, in Frobenius norm, of `complete_sum` over n - 1.

    Let ``T = ||x_i||^2 + ||x_j||^2`` of the shifted rows and c = `CANCELLATION`. A distance whose
    square is at least c T comes with a relative error of at most (3 d + 16) u / c, so the term
    ``g g^T`` with one of (3 d + 32) u / c. The terms that the product sums are at most
    ``w T <= 2 / c`` for each of the n (n - 1) / 2 pairs; any sum within two products of blocks
    and over blocks has at most `length` additions, and errs by ``length u`` times that (Higham,
    chapter 3). n is at most `MAX_COMPLETE`; what pairs that are added one by one err is far less.
    """
    length = 4 * BLOCK + 4 * MAX_COMPLETE / BLOCK + 4 * n_features + 128
    return length * UNIT_ROUNDOFF / CANCELLATION * MAX_COMPLETE


def _around_the_middle(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Rows less a point amidst them in units of a power of 2, with two columns more; and the unit.

    The columns are 1 and half the squared norms; these norms are returned, too, and which of the
    rows are that very point, and so equal to each other. Rows whose squares over- or underflow in
    these units are set to 0, with an infinite square.
    """
    n, d = rows.shape
    sides = np.ones((n, d + 2))
    if not n:
        return sides, np.zeros(0), np.zeros(0, bool), 1.0
    shifted = sides[:, :d]
    np.subtract(rows, np.median(rows[:: max(1, n // 1024)], axis=0), out=shifted)
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
    sides[:, d + 1] = squares / 2
    return sides, squares, nothing, unit


def _weights(
    halves: np.ndarray,
    squares: np.ndarray,
    nothing: np.ndarray,
    mine: slice,
    others: slice,
    kernel: Kernel,
    unit: float,
    lengths: Callable[[], np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """Weights of two blocks' pairs, and (2, m) places of those that are to be added one by one.

    The argument is half the squared distances, which are overwritten.
    """
    if mine == others:
        np.fill_diagonal(halves, np.inf)
    near = np.empty((2, 0), dtype=np.intp)
    most = (squares[mine].max() + squares[others].max()) / 2
    if not halves.min() > max(CANCELLATION * most, LEAST_SQUARE):  # some may be near
        together = np.add.outer(squares[mine], squares[others])
        together *= CANCELLATION / 2
        with np.errstate(invalid="ignore"):
            close = ~(halves > together)
        close |= halves < LEAST_SQUARE
        if mine == others:
            np.fill_diagonal(close, False)
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
    """Upper triangle of the sum over (2, m) pairs of rows, at most `ONE_BY_ONE` in a row."""
    d = rows.shape[1]
    total = np.zeros((d, d))
    for start in range(0, pairs.shape[1], ONE_BY_ONE):
        part = np.zeros((d, d), order="F")
        some = pairs[:, start : start + ONE_BY_ONE]
        for i, j in np.array_split(some, 1 + some.shape[1] // _block_rows(d), axis=1):
            add_upper_gram(part, kernel.apply(rows[j] - rows[i]))
        total += part
    return total


def _cyclic_parts(
    rows: np.ndarray,
    order: np.ndarray,
    h: int,
    kernel: Kernel,
    centre: np.ndarray | None,
    size: int,
    starts: range,
) -> Iterator[np.ndarray]:
    """Sums of blocks of `size` records with their `h` next ones."""
    n, d = rows.shape
    ring = aligned_empty(size + 2 * h, d)
    # W - D of every BAND records, their `h` last and `h` next ones; and its 2 h + 1 diagonals
    bands = np.zeros((size // BAND, BAND, BAND + 2 * h))
    block, row, entry = bands.strides
    diagonals = as_strided(bands, (len(bands), BAND, 2 * h + 1), (block, row + entry, entry))
    windows = sliding_window_view(ring, BAND + 2 * h, axis=0)[::BAND].swapaxes(1, 2)
    products, found = np.empty((size, d)), np.empty((size, 2 * h + 1))
    for start in starts:
        # Behind the last record come the first ones again: what is found for them is not used.
        mine = slice(h, h + min(size, n - start))
        which = order[np.arange(start - h, start + size + h) % n]
        np.take(rows, which, axis=0, out=ring, mode="clip")  # "raise" would buffer
        if centre is not None:
            ring -= centre
        weights, near = _cyclic_weights(ring, h, kernel)
        part = np.zeros((d, d))
        if not near.all():
            found[:, h] = 0.0
            for t in range(1, h + 1):
                found[:, h + t] = weights[t - 1, h:]
                found[:, h - t] = weights[t - 1, h - t : size + h - t]
            found[:, h] = -found.sum(axis=1)
            diagonals[...] = found.reshape(diagonals.shape)
            np.matmul(bands, windows, out=products.reshape(len(bands), BAND, d))
            _subtract_upper(part, ring[mine], products[: mine.stop - h])
            part /= 2
        near = near[:, mine]
        if near.any():
            offset, first = np.nonzero(near)
            pairs = np.stack([first, first + offset + 1]) + h
            part += _explicit_sum(ring, pairs, kernel)
        yield part


def _cyclic_weights(rows: np.ndarray, h: int, kernel: Kernel) -> tuple[np.ndarray, np.ndarray]:
    """Weights of all but the last `h` rows with the t-th next ones, a line for each t = 1..h.

    Also which of these pairs are to be added by themselves, and have weight 0. Bitwise functions
    of the two rows.
    """
    m = len(rows) - h
    with np.errstate(over="ignore", invalid="ignore"):
        squares = row_squares(rows) / 2
        together = squares[:m] + sliding_window_view(squares, m)[1:]
        halves = np.empty((h, m))
        for t in range(1, h + 1):
            halves[t - 1] = _paired_dots(rows[:m], rows[t : t + m])
        np.subtract(together, halves, out=halves)
        together *= NEAR
        np.maximum(together, LEAST_SQUARE, out=together)
        near = ~((halves > together) & (halves < LARGEST_SQUARE))
    halves[near] = np.inf
    return kernel.weights(halves, 1.0, partial(_cyclic_lengths, rows, h)), near


def _cyclic_lengths(rows: np.ndarray, h: int) -> np.ndarray:
    """Half-lengths of the differences of `_cyclic_weights`; bitwise functions of the two rows."""
    m = len(rows) - h
    norms = np.stack([row_norms(rows[t : t + m] - rows[:m]) for t in range(1, h + 1)])
    return norms / math.sqrt(2)


def _paired_dots(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Inner product of every row with the row of the same place among the others."""
    dots = np.zeros(len(rows))
    for start in range(0, rows.shape[1], EINSUM_COLUMNS):
        stop = start + EINSUM_COLUMNS
        dots += np.einsum("ij,ij->i", rows[:, start:stop], others[:, start:stop])
    return dots


def _subtract_upper(out: np.ndarray, rows: np.ndarray, others: np.ndarray) -> None:
    """``out -= rows.T @ others``, its upper triangle at least, `SLICE` rows at a time."""
    d = len(out)
    step = max(64, d // 8)  # columns of a product: less is done below the diagonal
    for start in range(0, len(rows), SLICE):
        some = slice(start, start + SLICE)
        for p in range(0, d, step):
            out[p : p + step, p:] -= rows[some, p : p + step].T @ others[some, p:]


def _block_rows(n_features: int) -> int:
    return max(MIN_ROWS, ENTRIES // n_features)


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


# Squared lengths between these are precise; others are scaled before they are squared.
LEAST_SQUARE = 2.0**-900
LARGEST_SQUARE = 2.0**900

# A function that turns every length of an array into another one.
ScaleFunction = Callable[[np.ndarray], Any]


@dataclass(frozen=True)
class Kernel:
    """Generalised spatial sign ``g(t) = xi(||t||) t / ||t||``, ``g(0) = 0``, in units of r.

    Parameters
    ----------
    radius : float or None
        r of winsorisation, ``xi = min(r, .)``; None for the spatial sign, ``xi = r = 1``.
    xi : callable or None
        Another scale function, which needs a radius: its values are clipped to [0, r]. The lengths
        that it is called with are bitwise functions of the two rows. It may jump, so that a
        rounding error of a length could move the whole term.
    """

    radius: float | None = None
    xi: ScaleFunction | None = None

    def weights(
        self, squares: np.ndarray, unit: float, lengths: Callable[[], np.ndarray]
    ) -> np.ndarray:
        """``xi^2 / ||t||^2`` for squared lengths in squares of `unit`; overwrites them.

        Parameters
        ----------
        squares : ndarray
            Up to rounding; infinite for what is to have weight 0.
        lengths : callable
            Finds the lengths themselves, each a bitwise function of its pair.
        """
        with np.errstate(divide="ignore"):
            np.divide(1.0, squares, out=squares)
        if self.radius is None:
            return squares
        if self.xi is not None:
            squares *= _shares(self.xi, self.radius, lengths()) ** 2
            return squares
        most = min(unit / self.radius, 2.0**500) ** 2
        return np.minimum(squares, most, out=squares)

    def apply(self, differences: np.ndarray) -> np.ndarray:
        """Turn differences of rows, finite and of any size, into g; overwrites them."""
        shares = None
        if self.radius is not None and self.xi is not None:
            shares = _shares(self.xi, self.radius, row_norms(differences) / math.sqrt(2))
        squares = np.einsum("ij,ij->i", differences, differences)
        rare = np.flatnonzero(~((squares > LEAST_SQUARE) & (squares < LARGEST_SQUARE)))
        sizes = np.ones(rare.size)
        if rare.size:
            sizes = np.abs(differences[rare]).max(axis=1)
            sizes[sizes == 0] = 1.0
            differences[rare] /= sizes[:, None]
            squares[rare] = np.einsum("ij,ij->i", differences[rare], differences[rare])
        with np.errstate(divide="ignore"):
            factor = np.sqrt(2 / squares)
        if shares is None and self.radius is not None:
            most = np.full(len(factor), 1 / self.radius)
            with np.errstate(over="ignore"):
                most[rare] *= sizes
            np.minimum(factor, most, out=factor)
        factor[squares == 0] = 0.0
        if shares is not None:
            factor *= shares
        differences *= (factor / math.sqrt(2))[:, None]
        return differences


def called(xi: ScaleFunction, lengths: np.ndarray) -> np.ndarray:
    """Return the values of a scale function for lengths, as float64; it never raises.

    A length for which it raises, or for which it does not return one real number, counts as NaN.
    They are found by halves: of a function that acts on every length by itself, no other length is
    affected.
    """
    try:
        returned = np.asarray(xi(lengths.copy()))
        fits = returned.shape == lengths.shape and returned.dtype.kind in "fiub"
        values = returned.astype(np.float64) if fits else None
    except Exception:
        values = None
    if values is not None:
        return values
    if len(lengths) <= 1:
        return np.full(len(lengths), np.nan)
    middle = len(lengths) // 2
    return np.concatenate([called(xi, lengths[:middle]), called(xi, lengths[middle:])])


def _shares(xi: ScaleFunction, radius: float, lengths: np.ndarray) -> np.ndarray:
    """``xi / r`` of lengths, clipped to [0, 1]; what is no number counts as 0."""
    values = called(xi, np.ravel(lengths))
    values = np.minimum(np.where(values > 0, values, 0.0), radius)
    return (values / radius).reshape(lengths.shape)
