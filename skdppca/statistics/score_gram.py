"""The Gram matrix of the clipped records' scores, for Laplace noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..records import Layout, Records, summation_error
from .base import Rounding, Statistic, around
from .counts import ONE_BY_ONE
from .lemmas import ball_sum, bounded_sum
from .measures import Spreads
from .products import slack
from .sums import clip_weights, sparse_terms

__all__ = ["ScoreGram"]


@dataclass(frozen=True, eq=False)
class ScoreGram(Statistic):
    """The upper triangle of ``sum S^T S``, row by row, and then ``sum ||Y||^2``.

    Y holds the rows of a record less the centre c, times ``min(1, R / ||X - c||) / R``, and
    ``S = Y V^T`` their scores, V of k orthonormal rows. An absent entry is read as c's: it adds 0
    to a score and to a norm, so that the bounds below hold for the filled record.

    Proof, in the l1 norm. ``||S|| <= ||Y|| <= 1``. For a row s of S, the upper triangle of
    ``s s^T`` has the norm ``((sum |s_i|)^2 + ||s||^2) / 2 <= (k + 1) / 2 ||s||^2``, so that of
    ``S^T S`` is at most ``(k + 1) / 2``. Adding a record moves the triangle by at most that, and
    exchanging one by at most twice that (`lemmas.ball_sum`, which holds in any norm). ``||Y||^2``
    moves by at most 1 either way (`lemmas.bounded_sum`). Adding a row of norm R with k equal scores
    attains the sum of both.

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
        triangle = ball_sum((len(self.directions) + 1) / 2, adjacency)
        return triangle + bounded_sum(1.0, adjacency)

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
