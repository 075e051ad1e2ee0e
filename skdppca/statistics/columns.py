"""Sums of every feature by itself: histograms, and mean squares."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..records import Layout, Records, summation_error
from .base import Rounding, Statistic, check_grouped
from .counts import NO_ERROR
from .fields import (
    Columns,
    ColumnVector,
    OpenEdges,
    PositiveColumnVector,
    PositiveVector,
    Radius,
    Vector,
)
from .lemmas import box_sum, psd_sum
from .measures import Distances
from .sums import clip_weights


@dataclass(frozen=True, eq=False)
class ColumnCells(Statistic):
    """Weight of the records in every cell, feature by feature.

    A value x of a feature lies in the cell of two neighbouring edges if ``(x - c) / u`` is no less
    than the lower and less than the upper one. An absent entry lies in none, and neither does what
    is beyond all edges. A row weighs 1 in a cell, a group the share of its rows there.

    Proof. Of each feature a record has weights p of at least 0, which add up to at most 1: its rows
    are shared out, and rounding down makes shares no larger. So ``||p||_2 <= ||p||_1 <= 1``, and
    all its weights are the diagonal of a positive semi-definite matrix of norm at most
    ``sqrt(size)``, size being the number of features (`lemmas.psd_sum`). *Adding* the record moves
    the weights by at most ``sqrt(size)``; *replacing* it by one of weights q by ``||p - q||^2 =
    ||p||^2 + ||q||^2 - 2 p.q <= 2 size``. Attained by a record that lies in one cell of every
    feature, and by another that lies in other ones. If a feature has a single cell, p and q are
    numbers between 0 and 1 there and differ by at most 1, so replacing moves the weights by at most
    ``sqrt(size)`` too (`lemmas.box_sum`): attained by a record that lies in every cell, and by
    another that lies in none. Beyond that, the number of cells does not matter.

    Parameters
    ----------
    which : ndarray of int
        The features, each once; public or released.
    centre, unit : ndarray of shape (len(which),)
        c and u, which is positive; public or released.
    edges : ndarray
        Increasing, the same for all features; the outer ones may be infinite.
    grouped : bool
        A record is a group of rows.
    """

    which: Columns
    centre: ColumnVector
    unit: PositiveColumnVector
    edges: OpenEdges
    grouped: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return len(self.which), len(self.edges) - 1

    def sensitivity(self, adjacency: str) -> float:
        if len(self.edges) == 2:
            return box_sum(0.0, 1.0, len(self.which), adjacency)
        return psd_sum(math.sqrt(len(self.which)), adjacency)

    def check(self, layout: Layout) -> None:
        check_grouped(self, layout)

    def rounding(self, layout: Layout) -> Rounding:
        return Rounding(total=NO_ERROR if self.grouped else 0.0)

    def total(self, records: Records) -> np.ndarray:
        absent = np.full(records.n_features, np.nan)
        return records.fold(
            lambda out, block, _: block.add_cells(out, self.which, self._cell),
            self.shape,
            imputed=absent,
        )

    def _cell(self, x: np.ndarray, k: Any) -> np.ndarray:
        """Return the number of edges at or below; all of them if a value is absent or overflows."""
        with np.errstate(all="ignore"):
            units = (x - self.centre[k]) / self.unit[k]
        return np.searchsorted(self.edges, units, side="right")


@dataclass(frozen=True, eq=False)
class MeanSquares(Statistic):
    """``sum min(1, b / ||s||) s``, s a record's (mean) row of squares ``((x - c) / u)^2``.

    An absent entry is read as c's, so its square is 0.

    Proof. No entry of s is negative, so a term is the diagonal of a positive semi-definite matrix
    of Frobenius norm at most b (`lemmas.psd_sum`): b under add-remove, ``sqrt(2) b`` under
    replace-one. Attained by a row of one long entry, and two of different ones.

    Parameters
    ----------
    centre : ndarray of shape (d,)
        c.
    unit : ndarray of shape (d,)
        u, positive.
    bound : float
        b.
    """

    centre: Vector
    unit: PositiveVector
    bound: Radius

    @property
    def shape(self) -> tuple[int, ...]:
        return self.centre.shape

    @property
    def measure(self) -> Distances:
        """Measure that rows of squares are clipped by: their norm."""
        return Distances(np.zeros_like(self.centre))

    def sensitivity(self, adjacency: str) -> float:
        return psd_sum(self.bound, adjacency)

    def rounding(self, layout: Layout) -> Rounding:
        squares = layout._replace(is_sparse=layout.is_sparse and not self.centre.any())
        error = summation_error(self.bound, layout.span_rows, 1)
        return Rounding(self.measure.error(squares), error)

    def total(self, records: Records) -> np.ndarray:
        return records.squared_deviations(self.centre, self.unit).accumulate(
            self.measure,
            lambda norms: clip_weights(norms, self.bound),
            lambda out, block, w: block.add_moment(out, w, None),
            self.shape,
        )
