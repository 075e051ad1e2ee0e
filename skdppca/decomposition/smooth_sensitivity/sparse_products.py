"""Products of a few vectors with the Gram matrix of sparse rows, which is never formed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from ...records import Records, summation_error
from ...statistics import around

# Rows summed at a time, and non-zeros of a row multiplied at a time: the proven error grows with
# either, and with what they divide the whole into.
SPAN_ROWS = 1024
ROW_ENTRIES = 512


class SparseProducts:
    """Sparse rows less a centre, with weights that clip them, times a few vectors.

    The rows are held once more, in float64; the centre is subtracted in the products.

    Parameters
    ----------
    records : Records
        Sparse rows.
    centre : ndarray of shape (d,)
        Also what an absent entry is read as.
    squares : ndarray
        The square of every row's weight, ``w <= 1 / radius`` and ``w ||x - c|| <= 1``.
    radius : float
    """

    def __init__(
        self, records: Records, centre: np.ndarray, squares: np.ndarray, radius: float
    ) -> None:
        self._records = records
        self._fill, self._centre = centre, around(centre)
        self._squares = squares
        self._radius = radius
        self._parts: list[tuple[sparse.csr_array, np.ndarray]] = []
        self._fold(lambda _, block, w: self._parts.append(_kept(block.rows, w)), ())

    def _fold(self, f: Callable[..., None], shape: tuple[int, ...]) -> np.ndarray:
        return self._records.fold(f, shape, self._squares, imputed=self._fill)

    @property
    def error(self) -> float:
        """Bound on the error of one unit vector's product with H by `precise`; public.

        Proof. A weighted row ``w (x - c)`` has norm at most 1; its terms w x and w c have norms of
        at most 1 + a and a, with ``a = ||c|| / radius``, so that what it adds to the sum comes from
        terms of at most ``(1 + 2 a)^2``. An inner product sums `ROW_ENTRIES` terms at a time and
        then these partial sums; rows are summed by `SPAN_ROWS`, and then these sums, up to the
        span that a compensated sum takes over. See `summation_error`.
        """
        d, span = self._records.n_features, self._records.layout.span_rows
        far = 0.0 if self._centre is None else float(np.linalg.norm(self._centre)) / self._radius
        rows = SPAN_ROWS + math.ceil(span / SPAN_ROWS)
        inner = ROW_ENTRIES + math.ceil(d / ROW_ENTRIES)
        return summation_error((1 + 2 * far) ** 2, rows, inner)

    def quick(self, vectors: np.ndarray) -> np.ndarray:
        """``W H`` for a few rows W, in plain sums: for the iterations of a solver."""
        out = np.zeros(vectors.shape)
        offsets = None if self._centre is None else vectors @ self._centre
        for rows, w in self._parts:
            scores = rows @ vectors.T
            self._add(out, rows, scores if offsets is None else scores - offsets, w)
        return out

    def precise(self, vectors: np.ndarray) -> np.ndarray:
        """The same with an error of at most `error` a row of W."""
        centre = self._centre
        offsets = None if centre is None else np.array([math.fsum(v * centre) for v in vectors])

        def add(out: np.ndarray, block: Any, w: np.ndarray) -> None:
            rows, w = _kept(block.rows, w)
            scores = _scores(rows, vectors)
            if offsets is not None:
                scores = scores - offsets
            for start in range(0, len(w), SPAN_ROWS):
                some = slice(start, start + SPAN_ROWS)
                part = np.zeros_like(out)
                self._add(part, rows[some], scores[some], w[some])
                out += part

        return self._fold(add, vectors.shape)

    def _add(
        self, out: np.ndarray, rows: sparse.csr_array, scores: np.ndarray, squares: np.ndarray
    ) -> None:
        scores = scores * squares[:, None]
        out += (rows.T @ scores).T
        if self._centre is not None:
            out -= np.outer(scores.sum(axis=0), self._centre)


def _kept(rows: sparse.csr_array, squares: np.ndarray) -> tuple[sparse.csr_array, np.ndarray]:
    """Without rows of weight 0, which may have overflown: inf * 0."""
    kept = squares != 0
    return (rows, squares) if kept.all() else (rows[kept], squares[kept])


def _scores(rows: sparse.csr_array, vectors: np.ndarray) -> np.ndarray:
    """Inner products of every row with the vectors, `ROW_ENTRIES` entries at a time."""
    counts = np.diff(rows.indptr)
    pieces = np.maximum(-(-counts // ROW_ENTRIES), 1)
    if (pieces == 1).all():
        return rows @ vectors.T
    owner = np.repeat(np.arange(len(counts)), pieces)
    rank = np.arange(len(owner)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    starts = rows.indptr[:-1][owner] + ROW_ENTRIES * rank
    pointers = np.append(starts, rows.indptr[-1])
    cut = sparse.csr_array((rows.data, rows.indices, pointers), (len(owner), rows.shape[1]))
    partial = cut @ vectors.T
    columns = [np.bincount(owner, column, len(counts)) for column in partial.T]
    return np.stack(columns, axis=1)
