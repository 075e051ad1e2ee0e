"""`DPPowerMethod` with the sensitivities of the papers, to compare with its own.

Both bound a product by an l1 norm of the row, and by how long a row of the directions Q may be:
``rho = max_j ||q_j||`` in Nicolas et al. (2025), ``sqrt(p) max |Q_ij|`` in Balcan et al. (2016).
The noise has the exact scale of the Gaussian mechanism either way.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from skdppca import DPPowerMethod
from skdppca.decomposition.dp_power import DPPowerMechanism
from skdppca.private_data import Public
from skdppca.statistics import NormProduct
from skdppca.statistics.lemmas import ball_sum
from skdppca.statistics.products import coherence


def largest_entry(directions: np.ndarray) -> float:
    """``sqrt(p) max |Q_ij|``, no less than rho."""
    return math.sqrt(len(directions)) * float(np.abs(directions).max())


# An underscore in front of its name keeps a class out of the closed set of statistics.
class _L1Product(NormProduct):
    """The same sum under an l1 bound; `row` bounds every ``||q_j||``, as rho does.

    Proof. ``||A Q|| = ||y|| ||Q^T y||``, and ``||Q^T y|| <= sum_j |y_j| ||q_j|| <= rho ||y||_1``.
    With ``y = s (x - c)`` and ``s <= 1``, ``||y||_1 <= ||s x||_1 + ||c||_1``, and x has at most D
    non-zeros: ``||s x||_1 <= sqrt(D) ||s x|| <= sqrt(D) (R + ||c||)``. Where nothing is known of x,
    ``||y||_1 <= sqrt(d) R``. Of a group with the rows ``a_i`` of A, ``||A Q||^2 <= sum_i (rho
    ||a_i||_1)^2 <= rho^2 d ||A||^2``, as of such a row. Two terms may point apart (`ball_sum`). One
    interaction moves the sum by ``sqrt(2) rho`` (Nicolas et al., Lemma B.1).
    """

    row: ClassVar[Callable[[np.ndarray], float]]

    def sensitivity(self, adjacency: str) -> float:
        rho = type(self).row(self.directions)
        if self.floor is not None:
            return math.sqrt(2) * rho
        d = len(self.centre)
        if self.most is None or (self.spherical and self.centre.any()):
            return ball_sum(self.radius * math.sqrt(d) * self.radius * rho, adjacency)
        length = self.radius + float(np.linalg.norm(self.centre))
        l1 = math.sqrt(min(self.most, d)) * length + float(np.abs(self.centre).sum())
        return ball_sum(self.radius * l1 * rho, adjacency)


class _NicolasProduct(_L1Product):
    row = staticmethod(coherence)


class _BalcanProduct(_L1Product):
    row = staticmethod(largest_entry)


class _Mechanism(DPPowerMechanism):
    def _of_clipped_products(self, *asked: object) -> np.ndarray:
        raise ValueError("clip='auto' clips products, which have no such bound; set clip='norm'")


class _NicolasMechanism(_Mechanism):
    norm_product = _NicolasProduct


class _BalcanMechanism(_Mechanism):
    norm_product = _BalcanProduct


class NicolasPowerMethod(DPPowerMethod):
    """Noise by the bound of Nicolas et al."""

    def _mechanism(self, public: Public) -> DPPowerMechanism:
        return _NicolasMechanism(**vars(super()._mechanism(public)))


class BalcanPowerMethod(DPPowerMethod):
    """Noise by the bound of Balcan et al."""

    def _mechanism(self, public: Public) -> DPPowerMechanism:
        return _BalcanMechanism(**vars(super()._mechanism(public)))
