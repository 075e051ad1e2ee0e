"""Sums of every feature by itself: how many values satisfy a condition, and mean squares."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..records import ColumnFunction, Layout, Records, SquaredDeviations, summation_error
from .base import Kind, Rounding, Statistic, check_grouped
from .lemmas import box_sum, psd_sum
from .measures import Distances
from .sums import clip_weights

__all__ = ["Above", "Beyond", "ColumnCounts", "Condition", "MeanSquares", "Present"]


class Condition(Kind, ABC):
    """What a value may satisfy or not, by its feature. An absent entry, a NaN, never does."""

    @abstractmethod
    def holds(self, x: np.ndarray, j: Any) -> np.ndarray:
        """Whether values of the features j (indices, or a slice for all) satisfy it."""


@dataclass(frozen=True, eq=False)
class Above(Condition):
    """A value lies above its feature's point."""

    points: np.ndarray

    def holds(self, x: np.ndarray, j: Any) -> np.ndarray:
        return x > self.points[j]


@dataclass(frozen=True, eq=False)
class Beyond(Condition):
    """A value lies outside of its feature's interval."""

    low: np.ndarray
    high: np.ndarray

    @classmethod
    def about(cls, centre: np.ndarray, distance: np.ndarray) -> Self:
        """A value lies farther than that from its feature's centre."""
        return cls(centre - distance, centre + distance)

    def holds(self, x: np.ndarray, j: Any) -> np.ndarray:
        return (x < self.low[j]) | (x > self.high[j])


@dataclass(frozen=True, eq=False)
class Present(Condition):
    """A value is there at all."""

    def holds(self, x: np.ndarray, j: Any) -> np.ndarray:
        return ~np.isnan(x)


@dataclass(frozen=True, eq=False)
class ColumnCounts(Statistic):
    """How many records satisfy a condition, feature by feature; a group counts its share of rows.

    With ``low=-1`` less how many do not: the exact n stays inside, and under add-remove the noise
    is half of what it is of a count that is held against half of n.

    Proof. A row adds 1 to a feature whose value satisfies the condition, `low` to one whose value
    does not, and 0 where the entry is absent; a group adds the mean of that over its rows. So every
    record adds a number between `low` and 1 to each of so many features (`lemmas.box_sum`): adding
    one moves the counts by at most ``sqrt(size)``, exchanging one by ``(1 - low) sqrt(size)``.
    Attained by a record that satisfies all, and one that satisfies none.

    Parameters
    ----------
    condition : Condition
    n_features : int
    which : ndarray of int or None
        Only these features, public or released; None for all.
    low : float
        0 or -1.
    grouped : bool
        A record is a group of rows, and adds fractions.
    """

    condition: Condition
    n_features: int
    which: np.ndarray | None = None
    low: float = 0.0
    grouped: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n_features if self.which is None else len(self.which),)

    def sensitivity(self, adjacency: str) -> float:
        return box_sum(self.low, 1.0, self.shape[0], adjacency)

    def check(self, layout: Layout) -> None:
        check_grouped(self, layout)

    def rounding(self, layout: Layout) -> Rounding:
        if not self.grouped:  # whole numbers
            return Rounding()
        terms = 2 * math.sqrt(self.shape[0])
        return Rounding(total=summation_error(terms, layout.span_rows, 1))

    def total(self, records: Records) -> np.ndarray:
        holds, low = self.condition.holds, self.low
        if records.layout.may_miss:
            total = _columns(records, lambda x, j: (1 - low) * holds(x, j) + low * ~np.isnan(x))
        else:
            total = (1 - low) * _columns(records, holds) + low * records.private_n
        return total if self.which is None else total[self.which]


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

    centre: np.ndarray
    unit: np.ndarray
    bound: float

    @property
    def shape(self) -> tuple[int, ...]:
        return self.centre.shape

    @property
    def measure(self) -> Distances:
        """What rows of squares are clipped by: their norm."""
        return Distances(np.zeros_like(self.centre))

    def sensitivity(self, adjacency: str) -> float:
        return psd_sum(self.bound, adjacency)

    def rounding(self, layout: Layout) -> Rounding:
        squares = layout._replace(is_sparse=layout.is_sparse and not self.centre.any())
        error = summation_error(self.bound, layout.span_rows, 1)
        return Rounding(self.measure.error(squares), error)

    def total(self, records: Records) -> np.ndarray:
        return SquaredDeviations(records, self.centre, self.unit).accumulate(
            self.measure,
            lambda out, block, norms: block.add_moment(out, clip_weights(norms, self.bound), None),
            self.shape,
        )


def _columns(records: Records, f: ColumnFunction) -> np.ndarray:
    """The sum of ``f`` of the records' values, feature by feature; absent entries stay NaN."""
    absent = np.full(records.n_features, np.nan)
    return records.fold(
        lambda out, block, _: block.add_columns(out, f), (records.n_features,), fill=absent
    )
