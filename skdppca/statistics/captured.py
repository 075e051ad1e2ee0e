"""How much of the clipped records given directions capture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..records import Layout, Records, summation_error
from .base import Rounding, Statistic, around
from .counts import ONE_BY_ONE
from .fields import OrthonormalRows, Radius, Vector
from .lemmas import bounded_sum
from .measures import Spreads
from .sums import clip_weights


@dataclass(frozen=True, eq=False)
class CapturedTotal(Statistic):
    """``sum_u w_u^2 ||Y_u V^T||^2``, rows of V orthonormal, Frobenius norms.

    Y_u holds the rows of record u less the centre, ``w_u = min(1, R / ||Y_u||)``. An absent entry
    is read as the centre's, in Y_u and in its norm.

    Proof. A projection shortens every row, so a term lies between 0 and ``w_u^2 ||Y_u||^2 <= R^2``,
    however many directions there are (`lemmas.bounded_sum`). It is a bitwise function of its
    record, and cut at that bound against rounding. Attained by a record in the span, at the bound.

    Parameters
    ----------
    centre : ndarray of shape (d,)
    radius : float
        R.
    directions : ndarray of shape (k, d)
        V.
    """

    centre: Vector
    radius: Radius
    directions: OrthonormalRows

    shape = ()

    def sensitivity(self, adjacency: str) -> float:
        return bounded_sum(self.radius**2, adjacency)

    def rounding(self, layout: Layout) -> Rounding:
        return Rounding(total=summation_error(self.radius**2, ONE_BY_ONE, 1))

    def total(self, records: Records) -> np.ndarray:
        weights = clip_weights(records.measured(Spreads(self.centre)), self.radius)
        scores = records.scores(self.directions, around(self.centre))
        norms = scores.measured(Spreads(np.zeros(len(self.directions))))
        with np.errstate(all="ignore"):  # a record at infinity has weight 0
            terms = np.nan_to_num((weights * norms) ** 2, nan=0.0)
        return np.asarray(np.minimum(terms, self.radius**2).sum())
