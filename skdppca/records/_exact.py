r"""Products of rows with directions that nothing rounds: BLAS gives them the same bits everywhere.

Rows are rounded to a grid of their own, and directions to one of theirs, so coarse that every sum
of products on the way is a float64.

Proof. Let the row q be in ``2^(e - 28) Z^d``, the direction w in ``2^(f - 24) Z^d``, and
``||q|| ||w|| < 2 * 2^(e + f)``. A product ``q_i w_i`` is a whole number of units
``2^(e + f - 52)``. So is a sum of such products over any subset of the coordinates i, and by Cauchy
and Schwarz it is below ``2 * 2^(e + f)``, which is ``2^53`` units: a float64, if the units are no
smaller than the smallest one. A product of matrices has no other intermediate results, in whatever
order, on whatever kernel, by however many threads, fused or not; so none of them is rounded. The
grids follow from `row_norms`: e and f are the exponents above 0.999 times the norms, and rounding
changes a norm by at most ``sqrt(d) 2^-24`` of it. Norms lie between ``2^-450`` and ``2^450``, or
the row becomes 0 or infinite. Excluded are products that add first (Strassen's) or that emulate
float64.
"""

from __future__ import annotations

from functools import cache

import numpy as np

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
