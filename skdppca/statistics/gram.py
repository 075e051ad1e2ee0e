"""The clipped, augmented Gram matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..records import Layout, Measure, Records, summation_error
from .base import Rounding, Statistic, around, check_grouped
from .fields import Constant, Radius, Vector
from .lemmas import psd_sum
from .measures import Distances, GramNorms
from .sums import clip_weights, sparse_terms


def clip_measure(centre: np.ndarray, constant: float, grouped: bool) -> Measure:
    """Return the measure that bounds the Gram matrix of a record's rows, centred and augmented."""
    return GramNorms(centre, constant) if grouped else Distances(centre)


def clipping(norms: np.ndarray, reach: float, spherical: bool) -> np.ndarray:
    """Weights that bring norms down to `reach`, or to it from either side; 0 for a norm of 0."""
    if spherical:
        return np.divide(reach, norms, out=np.zeros_like(norms), where=norms > 0)
    return clip_weights(norms, reach)


def scaled_terms(
    layout: Layout, centre: np.ndarray, radius: float, spherical: bool
) -> tuple[bool, float]:
    """Return the results of `sparse_terms` for rows that may be scaled up to the radius as well.

    Their weights grow without bound near the centre: no cancellation may be left to the products.
    """
    if spherical and centre.any():
        return True, radius
    return sparse_terms(layout, centre, radius)


@dataclass(frozen=True, eq=False)
class ClippedGram(Statistic):
    """``sum Y_i^T Y_i``, Y_i the rows of a record less the centre, clipped and augmented.

    A row is ``[min(1, R / ||x - c||) (x - c), t]``; the rows of a group are scaled as one, so that
    the Frobenius norm of its Gram matrix is at most ``R^2 + t^2``. An absent entry is read as c's.

    Proof. Every term A is positive semi-definite with ``||A||_F <= B = R^2 + t^2``
    (`lemmas.psd_sum`). Adding it moves the sum by at most B. Replacing A by A' moves it by
    ``||A - A'||^2 = ||A||^2 + ||A'||^2 - 2 tr(A A') <= 2 B^2``, as ``tr(A A') >= 0``. Attained,
    without t, by a row of norm R, and by two orthogonal ones.

    Parameters
    ----------
    centre : ndarray of shape (d,)
    radius : float
        R; infinite for no clipping.
    constant : float
        t.
    grouped : bool
        A record is a group of rows.
    spherical : bool
        Rows are scaled up to R as well.
    """

    centre: Vector
    radius: Radius
    constant: Constant = 0.0
    grouped: bool = False
    spherical: bool = False

    symmetric = True

    @property
    def shape(self) -> tuple[int, ...]:
        size = len(self.centre) + (self.constant != 0)
        return size, size

    @property
    def bound(self) -> float:
        """B."""
        return self.radius**2 + self.constant**2

    @property
    def measure(self) -> Measure:
        """Measure that records are clipped by."""
        return clip_measure(self.centre, self.constant, self.grouped)

    def sensitivity(self, adjacency: str) -> float:
        return psd_sum(self.bound, adjacency)

    def check(self, layout: Layout) -> None:
        check_grouped(self, layout)

    def rounding(self, layout: Layout) -> Rounding:
        _, terms = scaled_terms(layout, self.centre, self.radius, self.spherical)
        error = summation_error(terms**2 + self.constant**2, layout.span_rows, self.shape[0])
        return Rounding(2 * self.measure.error(layout), error)

    def total(self, records: Records) -> np.ndarray:
        c, t = around(self.centre), self.constant
        if math.isinf(self.radius):
            return records.fold(
                lambda out, block, w: block.add_gram(out, w, c, t),
                self.shape,
                imputed=self.centre,
                augmented=bool(t),
            )
        reach = math.sqrt(self.bound) if self.grouped else self.radius
        return records.accumulate(
            self.measure,
            lambda norms: clipping(norms, reach, self.spherical),
            lambda out, block, w: block.add_gram(out, w, c, t),
            self.shape,
            explicit=scaled_terms(records.layout, self.centre, self.radius, self.spherical)[0],
            augmented=bool(t),
        )
