"""Clipped sums of the records' (mean) rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..records import Layout, Records, summation_error
from .base import Rounding, Statistic, around
from .fields import Radius, Vector
from .lemmas import ball_sum
from .measures import Distances

# A rounding error of more than this share of what one record may add is not left to the noise. Any
# share would do: the error is part of the sensitivity. This one makes the noise 2 % larger at most.
MOST_ERROR = 0.01


def clip_weights(norms: np.ndarray, radius: float) -> np.ndarray:
    """``min(1, radius / norm)``: a record at infinity gets 0, and an infinite radius clips none."""
    if math.isinf(radius):
        return np.ones_like(norms)
    with np.errstate(divide="ignore"):
        return np.minimum(1.0, radius / norms)


def sparse_terms(layout: Layout, centre: np.ndarray, radius: float) -> tuple[bool, float]:
    """Return whether sums around `centre` need explicit rows, and the norm of one record's terms.

    Sparse records subtract the centre in the products; where that would cancel too many digits
    (seen on the public radius and centre), their blocks are made dense instead.

    Proof of the norm. A row x is clipped by a weight ``w <= 1`` with ``w ||x - c|| <= R``, and adds
    w x and w c one by one. Their norms are at most ``R + ||c||`` and ``||c||``, together
    ``R + 2 ||c||``; those of the parts of its products at most the square of that.
    """
    if not layout.is_sparse or math.isinf(radius) or not centre.any():
        return False, radius
    terms = radius + 2 * float(np.linalg.norm(centre))
    if summation_error(terms**2, layout.span_rows, layout.n_features) <= MOST_ERROR * radius**2:
        return False, terms
    return True, radius


@dataclass(frozen=True, eq=False)
class ClippedSum(Statistic):
    """``sum min(1, R / ||x - c||) (x - c)`` over the records' (mean) rows x.

    Proof. Every term a lies in the ball of radius R (`lemmas.ball_sum`): adding it moves the sum by
    ``||a|| <= R``; replacing it by b by ``||a - b|| <= ||a|| + ||b|| <= 2 R``, attained by
    ``b = -a``. An absent entry is read as c's, so x - c is 0 there and no longer for it.
    """

    centre: Vector
    radius: Radius

    @property
    def shape(self) -> tuple[int, ...]:
        return self.centre.shape

    def sensitivity(self, adjacency: str) -> float:
        return ball_sum(self.radius, adjacency)

    def rounding(self, layout: Layout) -> Rounding:
        terms = sparse_terms(layout, self.centre, self.radius)[1]
        error = summation_error(terms, layout.span_rows, layout.n_features)
        return Rounding(Distances(self.centre).error(layout), error)

    def total(self, records: Records) -> np.ndarray:
        c = around(self.centre)
        if math.isinf(self.radius):
            return records.fold(
                lambda out, block, w: block.add_moment(out, w, c), self.shape, imputed=self.centre
            )
        return records.accumulate(
            Distances(self.centre),
            lambda norms: clip_weights(norms, self.radius),
            lambda out, block, w: block.add_moment(out, w, c),
            self.shape,
            explicit=sparse_terms(records.layout, self.centre, self.radius)[0],
        )
