"""Leading eigenpairs of a symmetric matrix that is known by its products alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import linalg

from ...linalg import decreasing_eigh, qr_svd
from ...noise import NoiseSource

# Grid units to the sd of the entries of a random row.
START_GRID = 2.0**20

# Rows of the subspace, in blocks, before it is cut down to a share of them. They are fewer, but no
# fewer than six, if they would have more entries than fit: only time depends on these.
MOST_BLOCKS = 24
FEWEST_BLOCKS = 6
KEPT = 1 / 3
MOST_ENTRIES = 2**25

# A direction shorter than this share of the product that it is left of is rounding.
NOTHING = 2.0**-48

Product = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class RitzPairs:
    """The largest Ritz values of a subspace, and how far they are from eigenvalues.

    Parameters
    ----------
    values : ndarray of shape (count,)
        Decreasing.
    residuals : ndarray of shape (count,)
        ``||H y - value y||`` as the recurrence has it: to be measured before it is believed.
    rows : callable
        The unit vectors y, of shape (count, d).
    products : int
        How often H was applied to a block.
    """

    values: np.ndarray
    residuals: np.ndarray
    rows: Callable[[], np.ndarray]
    products: int


def block_width(count: int) -> int:
    """Rows of a block: twice the pairs and a few, so that equal eigenvalues are all seen."""
    return 2 * count + 6


def random_rows(count: int, d: int, noise: NoiseSource) -> np.ndarray:
    """Rows of independent Gaussians."""
    return noise.rounded_gaussian(START_GRID, (count, d)) / START_GRID


def ritz_pairs(
    product: Product, start: np.ndarray, count: int, noise: NoiseSource
) -> Iterator[RitzPairs]:
    """Better and better pairs, without end: block Lanczos with full reorthogonalisation.

    Parameters
    ----------
    product : callable
        ``W -> W H`` for a few rows W; H is symmetric, of d rows.
    start : ndarray of shape (at least `count`, d)
        Its rows need not be independent.
    count : int
        Less than d.

    Notes
    -----
    Blocks ``B, H B, H (H B), ...`` are made orthonormal, and Rayleigh-Ritz is done in their span.
    What a block lacks in rank is filled with random directions, so a start in an invariant
    subspace is left again, and nothing is divided by. A full subspace is cut down to its leading
    Ritz vectors (thick restart, Wu & Simon 2000), and has room for two more blocks each time: in
    the end it is the whole space, where Rayleigh-Ritz is exact. Ritz values never fall.
    """
    width, d = start.shape
    capacity = min(d, width * MOST_BLOCKS, max(MOST_ENTRIES // d, width * FEWEST_BLOCKS))
    basis, matrix = np.empty((capacity, d)), np.zeros((capacity, capacity))
    size = seen = products = 0
    block = _orthonormal(start, basis[:0])
    while True:
        # 1. one more block, and where H takes it
        new = slice(size, size + len(block))
        size = new.stop
        basis[new] = block
        moved = finite(product(block))
        products += 1
        length = float(np.linalg.norm(moved))
        inner = np.zeros((len(block), size))
        for _ in range(2):
            part = moved @ basis[:size].T
            moved = moved - part @ basis[:size]
            inner += part
        matrix[new, :size] = inner
        matrix[:size, new] = inner.T
        matrix[new, new] = (inner[:, new] + inner[:, new].T) / 2
        rest, lengths, left = qr_svd(moved.T)
        left, rest = left.T, rest.T
        # 2. the Ritz pairs; a large subspace is looked at less often
        full = size == d or size + width > capacity < d
        if full or size - seen >= size // 16:
            seen = size
            values, vectors = decreasing_eigh(matrix[:size, :size])
            if size >= count:
                top = vectors[:count]
                residuals = np.linalg.norm(top[:, new] @ (left * lengths), axis=1)
                rows = partial(np.matmul, top, basis[:size])
                yield RitzPairs(values[:count], residuals, rows, products)
        # 3. a full subspace keeps the best of it
        if full:
            kept = max(count, int(size * KEPT))
            capacity = min(d, capacity + 2 * width)
            larger = np.empty((capacity, d))
            np.matmul(vectors[:kept], basis[:size], out=larger[:kept])
            basis, matrix = larger, np.zeros((capacity, capacity))
            matrix[range(kept), range(kept)] = values[:kept]
            size = seen = kept
        # 4. what is new in the product, and random rows for what is not
        rest = rest[lengths > NOTHING * length][: capacity - size]
        fresh = random_rows(min(width, capacity - size) - len(rest), d, noise)
        block = _orthonormal(np.vstack([rest, fresh]), basis[:size])


def _orthonormal(rows: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """Orthonormal rows of the same span, but for that of the basis."""
    for _ in range(3):
        rows = rows - (rows @ basis.T) @ basis
        rows = linalg.qr(rows.T, mode="economic", check_finite=False)[0].T
    return np.ascontiguousarray(rows)


def finite(numbers: np.ndarray) -> np.ndarray:
    """0 for what is no number: sums of clipped records are, and no check may ever see one."""
    return np.nan_to_num(numbers, copy=False, nan=0.0, posinf=0.0, neginf=0.0)
