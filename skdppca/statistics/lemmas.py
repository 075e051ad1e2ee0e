"""Sensitivities of sums to one record, in the l2 norm, each with its proof.

Every function takes `adjacency`: under "add-remove" neighbours differ by one record more or less,
under "replace-one" one record is exchanged. Norms of matrices are Frobenius norms.
"""

from __future__ import annotations

import math
from fractions import Fraction

from ..privacy.gdp import root_up


def psd_sum(bound: float, adjacency: str) -> float:
    """Sensitivity of a sum of positive semi-definite matrices of Frobenius norm at most `bound`.

    Proof. Adding A moves the sum by ``||A|| <= bound``. Replacing A by B moves it by
    ``||A - B||^2 = ||A||^2 + ||B||^2 - 2 tr(AB) <= 2 bound^2``, as ``tr(AB) >= 0`` for positive
    semi-definite A and B; orthogonal A and B of norm `bound` attain it.
    """
    return bound if adjacency == "add-remove" else math.sqrt(2) * bound


def ball_sum(bound: float, adjacency: str) -> float:
    """Sensitivity of a sum of vectors of Euclidean norm at most `bound`.

    Proof. Adding a moves the sum by ``||a|| <= bound``; replacing a by b moves it by
    ``||a - b|| <= ||a|| + ||b|| <= 2 bound``, attained by ``b = -a``.
    """
    return bound if adjacency == "add-remove" else 2 * bound


def count(adjacency: str) -> float:
    """Sensitivity of the number of records that satisfy a condition on the record alone.

    Proof. One record changes only its own term, which is 0 or 1, under both adjacencies.
    """
    if adjacency not in ("add-remove", "replace-one"):
        raise ValueError(f"adjacency={adjacency!r} has no known sensitivity")
    return 1.0


def box_sum(low: float, high: float, size: int, adjacency: str) -> float:
    """Sensitivity of a sum of `size` numbers a record, each between `low` and `high`.

    Proof. Adding a record moves each entry by at most ``max(|low|, |high|)``, and exchanging one by
    at most ``high - low``; the Euclidean norm of `size` such entries is at most ``sqrt(size)``
    times that. Attained in a corner, and between opposite corners of the box. Rounded up.
    """
    lowest, highest = Fraction(low), Fraction(high)
    moved = max(abs(lowest), abs(highest)) if adjacency == "add-remove" else highest - lowest
    return root_up(size * moved**2)


def bounded_sum(bound: float, adjacency: str) -> float:
    """Sensitivity of a sum of numbers between 0 and `bound`.

    Proof. Adding a moves the sum by ``a <= bound``; replacing a by b by ``|a - b| <= bound``.
    """
    return bound * count(adjacency)
