"""Numbers that belong to one record; counts and weights follow from them.

With missing values every measure below is one of the filled record (`Records`): an absent entry is
read as the centre's, so it adds nothing to a deviation, and the measure stays a function of the
record and of numbers that were public or released before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, cast

import numpy as np

from ..records import (
    CANCELLATION,
    MAX_ROWS,
    UNIT_ROUNDOFF,
    Block,
    Layout,
    Measure,
    Records,
    Residual,
    RowBlock,
)
from .base import around
from .fields import Constant, DirectionVector, OrthonormalRows, OtherOrthonormalRows, Rows, Vector


@dataclass(frozen=True, eq=False)
class _AroundCentre(Measure):
    centre: Vector

    # True if a group's number is a sum over its rows.
    adds_rows: ClassVar[bool] = True

    def error(self, layout: Layout) -> float:
        exact_rows = (2 * layout.n_features + 16) * UNIT_ROUNDOFF
        if layout.is_grouped and self.adds_rows:
            # m rows are added, and their Gram matrix, whose trace is at most sqrt(d) times its norm
            exact_rows += math.sqrt(layout.n_features + 1) * MAX_ROWS * UNIT_ROUNDOFF
        # A sparse distance is a difference of terms that may be 1 / CANCELLATION times as large.
        return exact_rows * 2 / CANCELLATION if layout.is_sparse else exact_rows


@dataclass(frozen=True, eq=False)
class Distances(_AroundCentre):
    """Distance of every record's (mean) row from a centre."""

    adds_rows = False  # a mean row is what it is computed as

    def of(self, block: Block, given: np.ndarray | None) -> np.ndarray:
        return block.distances(around(self.centre))


@dataclass(frozen=True, eq=False)
class Spreads(_AroundCentre):
    """Root of the summed squared distances of a record's rows from a centre."""

    def of(self, block: Block, given: np.ndarray | None) -> np.ndarray:
        return block.spreads(around(self.centre))


@dataclass(frozen=True, eq=False)
class GramNorms(_AroundCentre):
    """Root of the Frobenius norm of a group's Gram matrix, its rows augmented by a constant.

    For single rows it is the distance from the centre.
    """

    constant: Constant = 0.0

    def of(self, block: Block, given: np.ndarray | None) -> np.ndarray:
        return block.gram_norms(around(self.centre), self.constant)


@dataclass(frozen=True, eq=False)
class RowCounts(Measure):
    """Number of rows of a record, absent entries or not."""

    @property
    def degree(self) -> int:
        return 0

    def of_all(self, records: Records) -> np.ndarray:
        return records.private_sizes

    def error(self, layout: Layout) -> float:
        return 0.0


@dataclass(frozen=True, eq=False)
class _OfResidual(Measure):
    centre: Vector
    removed: OtherOrthonormalRows | None

    @property
    def degree(self) -> int:
        return 2


@dataclass(frozen=True, eq=False)
class Squares(_OfResidual):
    """Squares for the norm of every residual, of rows that are not explicit."""

    def width(self, layout: Layout) -> int:
        return 2

    def of(self, block: Block, given: np.ndarray | None) -> np.ndarray:
        nothing = np.zeros((0, len(self.centre)))
        rows = cast(RowBlock, block)
        return rows.squares(Residual(nothing, nothing, around(self.centre), self.removed))

    def error(self, layout: Layout) -> float:
        raise NotImplementedError("no record is clipped by its squares")


@dataclass(frozen=True, eq=False)
class ResidualNorms(_OfResidual):
    """Frobenius norm of ``A_i W - C``, then what the sum can reuse; see `records.Residual`."""

    directions: OrthonormalRows
    prediction: Rows
    core: DirectionVector | None = None

    @cached_property
    def residual(self) -> Residual:
        """Residual of a block of records, with rows rounded to grids."""
        return self.of_rows(rounded=True)

    def of_rows(self, rounded: bool) -> Residual:
        """Return the residual of rows and directions that are rounded to grids or not."""
        where = (around(self.centre), self.removed, self.core)
        return Residual(self.directions, self.prediction, *where, rounded=rounded)

    def width(self, layout: Layout) -> int:
        return 1 if layout.is_explicit else 1 + len(self.directions)

    def needs(self, layout: Layout) -> Measure | None:
        return None if layout.is_explicit else Squares(self.centre, self.removed)

    def of(self, block: Block, given: np.ndarray | None) -> np.ndarray:
        return block.residual_norms(self.residual, given)

    def error(self, layout: Layout) -> float:
        d, width = layout.n_features, len(self.directions)
        if layout.is_explicit:
            return (2 * d * width + 16) * UNIT_ROUNDOFF
        # The square is what is left of terms that may be 1 / CANCELLATION times larger.
        return 3 * (2 * d + 2 * width + 16) * UNIT_ROUNDOFF / CANCELLATION
