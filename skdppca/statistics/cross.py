"""Clipped sums of what of the records' Gram matrices leads out of the span of a few directions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..records import UNIT_ROUNDOFF, Block, Cross, Layout, Measure, Records, summation_error
from .base import Rounding, Statistic, around
from .fields import OrthonormalRows, Radius, Vector
from .lemmas import ball_sum
from .sums import clip_weights

# The least radius: what is too short to have a norm is shorter.
LEAST_RADIUS = 2.0**-440


@dataclass(frozen=True, eq=False)
class CrossNorms(Measure):
    """Frobenius norm of ``W^T A_i (I - W W^T)``; see `records.Cross`."""

    centre: Vector
    directions: OrthonormalRows
    spherical: bool = False

    @property
    def degree(self) -> int:
        return 0 if self.spherical else 2

    @cached_property
    def cross(self) -> Cross:
        """The same for a block of records."""
        return Cross(self.directions, around(self.centre), self.spherical)

    def of(self, block: Block, given: np.ndarray | None) -> np.ndarray:
        return block.cross_norms(self.cross)

    def error(self, layout: Layout) -> float:
        # of a row two norms and their product, of a group the norm of what was formed
        d, width = layout.n_features, len(self.directions)
        return ((2 * d * width if layout.is_grouped else d + width) + 16) * UNIT_ROUNDOFF


@dataclass(frozen=True, eq=False)
class CrossSum(Statistic):
    """``sum clip_R(W^T A_i (I - W W^T))``, A_i the Gram matrix of a record's rows less the centre.

    Of a single row y that is ``s e^T``, with scores ``s = W^T y`` and the rest ``e = y - W s``.

    Proof. A term is a function of its record, to the bit (`records.Cross`), and it is scaled to
    Frobenius norm R if its norm is larger. So it lies in the ball of that radius: adding it moves
    the sum by R, exchanging it by 2 R (`lemmas.ball_sum`), attained by rows ``W s + e`` and
    ``W s - e``.

    The norm of ``s e^T`` is ``||s|| ||e||``, of the numbers that are added: the weighted scores
    times e itself. As a difference of products, ``(w s) y^T - (w s) s^T W^T``, the same sum would
    be one of terms as long as ``R ||y|| / ||e||``, which nothing bounds. Where a factor is shorter
    than can be squared, the term of a row is 0: (2^449, 2^-451) would have the norm 0 and add 1/4.
    A group's norm is that of its sum over rows, as it was formed; one below 2^-450 counts as 0, and
    its sum is shorter than any radius that is allowed.

    Rounding. A term that is added is no longer than R, but for the error of its norm and weight, so
    that their sum has the error of any sum of such terms. It is no sum of whole numbers, whatever
    the radius: the error is never 0.

    Parameters
    ----------
    measure : CrossNorms
    radius : float
        R; finite.
    """

    measure: CrossNorms
    radius: Radius

    def __post_init__(self) -> None:
        if not LEAST_RADIUS <= self.radius < math.inf:
            raise ValueError(f"radius={self.radius} clips all records or none; set a finite one")

    @property
    def shape(self) -> tuple[int, ...]:
        return self.measure.directions.shape

    def sensitivity(self, adjacency: str) -> float:
        return ball_sum(self.radius, adjacency)

    def check(self, layout: Layout) -> None:
        _ = self.measure.cross  # directions that are not orthonormal are refused here
        if self.measure.spherical and layout.is_grouped:
            raise TypeError("spherical=True is for single rows; set spherical=False for groups")

    def rounding(self, layout: Layout) -> Rounding:
        error = summation_error(self.radius, layout.span_rows, 1)
        return Rounding(self.measure.error(layout), error)

    def total(self, records: Records) -> np.ndarray:
        return records.accumulate(
            self.measure,
            lambda norms: clip_weights(norms, self.radius),
            lambda out, block, w: block.add_cross(out, w, self.measure.cross),
            self.shape,
        )
