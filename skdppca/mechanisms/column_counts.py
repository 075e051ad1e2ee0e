"""Noisy counts of all features at once, and binary searches with them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..noise import NoiseSource
from ..records import ColumnFunction, Records
from .base import Public, Spender
from .gaussian import summation_error
from .sensitivity import box_sum

__all__ = ["ColumnCounts", "above", "beyond"]


@dataclass(frozen=True)
class ColumnCounts:
    """How many records satisfy a condition, feature by feature, with Gaussian noise."""

    records: Records
    spender: Spender
    public: Public
    noise: NoiseSource
    factor: float = 1.0  # of all shares

    def sd(self, share: float) -> float:
        """Of the noise of the majorities of all features, but for what rounding adds."""
        moved = box_sum(-1.0, 1.0, self.records.n_features, self.public.adjacency)
        return moved / self.spender.share(self.factor * share)

    def counts(
        self,
        condition: ColumnFunction,
        share: float,
        name: str,
        which: np.ndarray | None = None,
        low: float = 0.0,
    ) -> tuple[np.ndarray, float]:
        """How many records satisfy it (of a group: what share of its rows), and the noise's sd.

        With ``low=-1`` less how many do not: the exact n stays inside, and under add-remove the
        noise is half of what it is of a count that is held against half of n.
        """
        d = self.records.n_features
        total = self.records.fold(lambda out, block, _: block.add_columns(out, condition), (d,))
        total = (1.0 - low) * total + low * self.records.private_n
        total = total if which is None else total[which]
        size = len(total)
        error = summation_error(2 * math.sqrt(size), self.records.span_rows, 1)
        query = self.spender.take(
            name,
            self.spender.share(self.factor * share),
            box_sum(low, 1.0, size, self.public.adjacency),
            size=size,
            # Of rows they are integers; a group adds a share of its rows.
            rounding=error if self.public.grouped else 0.0,
        )
        return query.release(total, self.noise), query.noise_sd

    def search(
        self,
        condition: Callable[[np.ndarray], ColumnFunction],
        length: int,
        share: float,
        name: str,
        which: np.ndarray | None = None,
        most: np.ndarray | None = None,
    ) -> np.ndarray:
        """For every feature the first of so many points beyond which no majority (or `most`) lie.

        `condition` takes the numbers of the points, one a feature; the last is taken for one.
        """
        d = self.records.n_features
        every = np.arange(d) if which is None else which
        below, first = np.full(len(every), -1), np.full(len(every), length - 1)
        for _ in range(math.ceil(math.log2(length))):
            middle = np.maximum((below + first) // 2, 0)
            points = np.zeros(d, np.intp)
            points[every] = middle
            told = (condition(points), share, name, which, -1.0 if most is None else 0.0)
            passed = self.counts(*told)[0] <= (0.0 if most is None else most)
            unsettled = first - below > 1
            first = np.where(unsettled & passed, middle, first)
            below = np.where(unsettled & ~passed, middle, below)
        return first


def above(points: np.ndarray) -> ColumnFunction:
    """Whether a value lies above its feature's point."""
    return lambda x, j: x > points[j]


def beyond(centre: np.ndarray, distance: np.ndarray) -> ColumnFunction:
    """Whether a value lies farther than that from its feature's centre."""
    low, high = centre - distance, centre + distance
    return lambda x, j: (x < low[j]) | (x > high[j])
