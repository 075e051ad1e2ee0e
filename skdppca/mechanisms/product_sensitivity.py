"""How far one record can move the sum of Gram matrices times public directions (METHODS 2 and 9).

The directions Q are released or drawn without data: p orthonormal rows here, the columns of Q in
the proofs; ``q_j`` is the j-th row of Q, a column of the array. Norms of matrices are Frobenius's.
"""

from __future__ import annotations

import math

import numpy as np

from .sensitivity import ball_sum, psd_sum

__all__ = ["coherence", "interaction_product", "longest_rows", "product_sum", "slack"]

UNIT_ROUNDOFF = 2.0**-53


def coherence(directions: np.ndarray) -> float:
    """``rho = max_j ||q_j||``."""
    return math.sqrt(_squares(directions).max())


def longest_rows(directions: np.ndarray, most: int) -> float:
    """Largest ``||Q^T x||`` over x of norm 1 with at most `most` non-zeros, or a little more.

    Proof. With S the non-zeros of x, ``||Q^T x|| <= ||Q_S|| ||x||``, and ``||Q_S||^2`` is the sum
    of ``||q_j||^2`` over S, at most that of the `most` largest.
    """
    squares = _squares(directions)
    if most < len(squares):
        squares = np.partition(squares, len(squares) - most)[len(squares) - most :]
    return math.sqrt(squares.sum())


def product_sum(
    directions: np.ndarray,
    radius: float,
    adjacency: str,
    bound: str = "tight",
    most: int | None = None,
    centre: np.ndarray | None = None,
) -> float:
    """Sensitivity of ``sum_i A_i Q``.

    Parameters
    ----------
    directions : ndarray of shape (p, d)
    radius : float
        Rows: ``A = y y^T`` with ``||y|| <= radius``. Groups: ``||A|| <= radius^2``, A positive
        semi-definite.
    bound : {"tight", "nicolas", "balcan"}
        The least known; ``rho`` times an l1 bound; the same with ``sqrt(p) max |Q_ij|`` for rho.
    most : int or None
        Rows only: ``y = s (x - c)`` with ``0 <= s <= 1`` and at most so many non-zeros in x.
    centre : ndarray of shape (d,) or None
        That c, if `most` is given.

    Notes
    -----
    Proof. ``A Q`` moves no further than A: adding one moves A by at most ``radius^2``, replacing
    one by ``sqrt2 radius^2`` (`psd_sum`); and ``||(A - B) Q|| <= ||A - B||``, for Q's columns are
    orthonormal.

    Of a row, ``||A Q|| = ||y|| ||Q^T y||``. Let ``||Q^T y|| <= reach``: then one record's term is
    no longer than ``radius reach``, and two may point apart: once or twice that (`ball_sum`).

    What reach is: without a centre ``radius`` times `longest_rows`. With one, ``s <= 1`` and
    ``||s x|| <= ||y|| + s ||c|| <= radius + ||c||``, so ``||Q^T y|| <= (radius + ||c||)
    longest_rows + ||Q^T c||``. The bound on x that this needs is enforced by the one on y; without
    it, few non-zeros in x would not do, for y has many.

    With l1 norms, ``||Q^T y|| <= sum_j |y_j| ||q_j|| <= rho ||y||_1``, ``||s x||_1 <= sqrt(most)
    ||s x||``. Of any A, ``||A Q||^2 <= sum_i (rho ||A_i||_1)^2 <= rho^2 d ||A||^2``: as for rows
    with ``most = d``. And ``||q_j|| <= sqrt(p) max_i |Q_ji|``.
    """
    d = directions.shape[1]
    whole = psd_sum(radius**2, adjacency)
    shift = np.zeros(d) if most is None or centre is None else centre
    most = d if most is None else min(most, d)
    length = radius + float(np.linalg.norm(shift))
    if bound == "tight":
        along = float(np.linalg.norm(directions @ shift))
        reach = length * longest_rows(directions, most) + along
        return min(whole, ball_sum(radius * reach, adjacency))
    reach = math.sqrt(most) * length + float(np.abs(shift).sum())
    return ball_sum(radius * reach * _row_bound(directions, bound), adjacency)


def interaction_product(directions: np.ndarray, floor: int, bound: str = "tight") -> float:
    """Sensitivity of ``A Q``, ``A = sum_u r_u r_u^T / max(deg u, m)``, to one interaction.

    The rows ``r_u`` hold zeros and ones, ``deg u`` ones; neighbours differ in one entry, so all but
    one row are the same, and the number of rows is.

    Parameters
    ----------
    directions : ndarray of shape (p, d)
    floor : int
        m, at least 1.
    bound : {"tight", "nicolas", "balcan"}
        The least known; ``sqrt2 rho`` (Nicolas et al., Lemma B.1); ``sqrt(2 p) max |Q_ij|``.

    Notes
    -----
    Proof. Let the row have n ones with the interaction, which is at k, and without it n - 1, at S'.
    With v the sum of their ``q_j``, ``||v|| <= min((n - 1) rho, sqrt(n - 1))``, for ``||Q^T 1_S'||
    <= ||1_S'||``. Let D be what changes of A.

    n <= m: both are divided by m. Row k of ``D Q`` is ``(v + q_k) / m``, of norm at most
    ``min(n rho, sqrt n) / m``, and the n - 1 rows of S' are ``q_k / m``. Both grow with n: take
    n = m. And ``||D Q||^2 <= ||D||^2 = (2 n - 1) / m^2``.

    n > m: row k is ``(v + q_k) / n``, of norm at most ``min(rho, 1 / sqrt n)``; a row of S' is
    ``q_k / n - v / (n (n - 1))``, of norm at most ``(rho + min(rho, 1 / sqrt(n - 1))) / n``. And D
    is a difference of two projections on unit vectors of squared inner product ``(n - 1) / n``,
    so ``||D||^2 = 2 / n``. The largest of all n up to d is taken.
    """
    d = directions.shape[1]
    if bound != "tight":
        return math.sqrt(2) * _row_bound(directions, bound)
    rho = min(coherence(directions), 1.0)
    m = min(floor, d)  # no row has more than d ones, and a larger floor divides by itself
    few = min((min(m, (m * rho) ** 2) + (m - 1) * rho**2), 2 * m - 1) / floor**2
    n = np.arange(m + 1, d + 1, dtype=np.float64)
    others = (n - 1) / n**2 * (rho + np.minimum(rho, 1 / np.sqrt(np.maximum(n - 1, 1)))) ** 2
    many = np.minimum(2 / n, np.minimum(1 / n, rho**2) + others)
    return math.sqrt(max(few, many.max(initial=0.0)))


def slack(directions: np.ndarray) -> float:
    """Relative error of the sensitivities above, for directions that are orthonormal but rounded.

    ``||Q||^2 <= 1 + ||Q^T Q - I||``, and sums of p squares and of d of them are rounded.
    """
    p, d = directions.shape
    off = float(np.linalg.norm(directions @ directions.T - np.eye(p)))
    return off + (d * p + 2 * d + 2 * p + 32) * UNIT_ROUNDOFF


def _squares(directions: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->j", directions, directions)


def _row_bound(directions: np.ndarray, bound: str) -> float:
    if bound == "nicolas":
        return coherence(directions)
    if bound == "balcan":
        return math.sqrt(len(directions)) * float(np.abs(directions).max())
    raise ValueError(f"bound={bound!r} is not known; choose 'tight', 'nicolas' or 'balcan'")
