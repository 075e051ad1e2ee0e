"""Sums of the records' scores: the variance that they capture, and their Gram matrix."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..privacy.gdp import root_up
from ..records import Layout, Records, summation_error
from .base import Rounding, Statistic, around
from .counts import ONE_BY_ONE
from .fields import OrthonormalRows, Radius, Vector
from .lemmas import bounded_sum
from .measures import Spreads
from .products import slack
from .sums import clip_weights, sparse_terms


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


@dataclass(frozen=True, eq=False)
class ScoreGram(Statistic):
    """The upper triangle of ``sum S^T S``, row by row, and then ``sum ||Y||^2``.

    Y holds the rows of a record less the centre c, times ``min(1, R / ||X - c||) / R``, and
    ``S = Y V^T`` their scores, V of k orthonormal rows. An absent entry is read as c's: it adds 0
    to a score and to a norm, so that the bounds below hold for the filled record.

    Proof, in the l1 norm. For a record let A be ``S^T S`` and ``a = ||Y||^2 <= 1``; then
    ``||A|| <= tr A = ||S||^2 <= a`` in the Frobenius norm.

    *Adding* it moves the last number by a. For a row s of S, the upper triangle of ``s s^T`` has
    the norm ``((sum |s_i|)^2 + ||s||^2) / 2 <= (k + 1) / 2 ||s||^2``, so that of A is at most
    ``(k + 1) / 2``. A row of norm R with k equal scores attains the sum of both.

    *Replacing* it by one of B and ``b <= a`` moves the triangle by that of ``D = A - B``. Its l1
    norm is ``sum_i |D_ii| + sum_{i<j} sqrt(2) |D_ij| / sqrt(2) <= c ||D||`` with ``c^2 = k +
    k (k - 1) / 4 = k (k + 3) / 4``, by Cauchy and Schwarz: ``||D||^2`` counts an off-diagonal
    number twice. As A and B are positive semi-definite, ``||D||^2 <= a^2 + b^2`` (`lemmas.psd_sum`
    has the same step). So all numbers move by at most ``c sqrt(a^2 + b^2) + a - b``. That is convex
    in b and grows with a, so it is largest at a = 1 and b = 0 or 1: ``c + 1`` or ``sqrt(2) c``. A
    row of norm R along the only direction, replaced by the centre, attains ``c + 1 = 2`` at k = 1.

    Parameters
    ----------
    centre : ndarray of shape (d,)
        c.
    radius : float
        R.
    directions : ndarray of shape (k, d)
        V.
    """

    centre: np.ndarray
    radius: float
    directions: np.ndarray

    norm = 1

    @property
    def shape(self) -> tuple[int, ...]:
        k = len(self.directions)
        return (k * (k + 1) // 2 + 1,)

    def sensitivity(self, adjacency: str) -> float:
        k = len(self.directions)
        if adjacency == "add-remove":
            return (k + 1) / 2 + bounded_sum(1.0, adjacency)
        square = Fraction(k * (k + 3), 4)
        return max(root_up(square) + 1, root_up(2 * square))

    def rounding(self, layout: Layout) -> Rounding:
        longer = 1 + Spreads(self.centre).error(layout)  # than 1, that is what a clipped row may be
        # The rows that a score comes from may be longer than what is left of them.
        terms = sparse_terms(layout, self.centre, self.radius)[1] / self.radius
        gram = summation_error(terms**2, layout.span_rows, layout.n_features)
        # A triangle's l1 norm is at most k + 1 times the Frobenius norm of its matrix.
        triangle = (len(self.directions) + 1) * gram
        norms = longer**2 - 1 + slack(self.directions)
        return Rounding(norms, triangle + summation_error(1.0, ONE_BY_ONE, 1))

    def total(self, records: Records) -> np.ndarray:
        k = len(self.directions)
        norms = records.measured(Spreads(self.centre))
        weights = clip_weights(norms, self.radius) / self.radius
        explicit = sparse_terms(records.layout, self.centre, self.radius)[0]
        summed = records.explicit() if explicit else records
        scores = summed.scores(self.directions, around(self.centre))
        gram = scores.fold(lambda out, block, w: block.add_gram(out, w, None, 0.0), (k, k), weights)
        squares = np.minimum(norms / self.radius, 1.0) ** 2
        return np.append(gram[np.triu_indices(k)], squares.sum())
