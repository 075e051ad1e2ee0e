"""Clipped sums of what a prediction misses of the records' products."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..records import UNIT_ROUNDOFF, Block, Layout, Records, summation_error
from .base import Rounding, Statistic
from .fields import Radius
from .lemmas import ball_sum
from .measures import ResidualNorms
from .sums import MOST_ERROR, clip_weights


@dataclass(frozen=True, eq=False)
class ResidualSum(Statistic):
    """``sum clip_R(A_i W - C)``, A_i the Gram matrix of a record's rows less the centre.

    Proof. Every term lies in the ball of radius R in Frobenius norm: R under add-remove, 2 R under
    replace-one, attained by opposite terms (`lemmas.ball_sum`).

    Rounding. Formed record by record, residuals are no longer than R. By products their sum is one
    of ``y s^T`` and ``-C``, of rows y less the centre c and scores s, and for sparse rows x of
    ``x s^T`` and ``-c s^T``: twice ``c s^T`` more. With the weight w that clips,
    ``w ||y|| ||s|| <= R + ||C||``; and ``w ||s||^2`` is at most twice that, unless s is no more
    than the rounding error of a product of c. Where such terms would round too much (seen on public
    numbers), and for sparse rows off removed directions, where they would not be bounded, residuals
    are formed one by one instead.
    """

    measure: ResidualNorms
    radius: Radius

    @property
    def shape(self) -> tuple[int, ...]:
        return self.measure.directions.shape

    def sensitivity(self, adjacency: str) -> float:
        return ball_sum(self.radius, adjacency)

    def _terms(self, layout: Layout) -> tuple[bool, float]:
        """Whether residuals are formed one by one, and the norm of one record's terms."""
        if layout.is_explicit or math.isinf(self.radius):
            return layout.is_explicit, self.radius
        d, residual = layout.n_features, self.measure.residual
        long = self.radius + float(np.linalg.norm(residual.prediction))
        terms = 2 * long
        if layout.is_sparse and residual.centre is not None:
            far = float(np.linalg.norm(residual.centre))
            terms += 2 * far * (math.sqrt(2 * long) + 8 * d * UNIT_ROUNDOFF * far)
        bounded = residual.removed is None or not layout.is_sparse
        if bounded and summation_error(terms, layout.span_rows, d) <= MOST_ERROR * self.radius:
            return False, terms
        return True, self.radius

    def rounding(self, layout: Layout) -> Rounding:
        explicit, terms = self._terms(layout)
        summed = layout._replace(is_explicit=explicit, is_sparse=layout.is_sparse and not explicit)
        error = summation_error(terms, layout.span_rows, layout.n_features)
        return Rounding(self.measure.error(summed), error)

    def total(self, records: Records) -> np.ndarray:
        if math.isinf(self.radius):
            return self._unclipped(records)

        def weigh(found: np.ndarray) -> np.ndarray:
            weights = clip_weights(found[:, :1], self.radius)
            weighted = found * weights
            weighted[:, :1] = weights
            return weighted

        def add(out: np.ndarray, block: Block, weighted: np.ndarray) -> None:
            block.add_residuals(out, weighted, self.measure.residual)

        # Scores of dense rows have other last digits than those of sparse ones: what was measured
        # on other blocks is measured again.
        explicit = self._terms(records.layout)[0]
        summed = records.explicit() if explicit and not records.is_explicit else records
        return summed.accumulate(self.measure, weigh, add, self.shape)

    def _unclipped(self, records: Records) -> np.ndarray:
        """The sum for which there is no noise; nothing is rounded to a grid."""
        residual = self.measure.of_rows(rounded=False)

        def add(out: np.ndarray, block: Block, _: object) -> None:
            found = block.residual_norms(residual, None)
            found[:, 0] = 1.0
            block.add_residuals(out, found, residual)

        return records.fold(add, self.shape, imputed=self.measure.imputed)
