"""Noisy counts of all features at once, and binary searches with them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..private_data import PrivateData
from ..statistics import ColumnCounts, Condition
from ..statistics.lemmas import box_sum

__all__ = ["ColumnSearch"]


@dataclass(frozen=True)
class ColumnSearch:
    """How many records satisfy a condition, feature by feature, with Gaussian noise.

    Parameters
    ----------
    data : PrivateData
    factor : float
        Of all shares of the budget.
    """

    data: PrivateData
    factor: float = 1.0

    def sd(self, share: float) -> float:
        """Of the noise of the majorities of all features, but for what rounding adds."""
        moved = box_sum(-1.0, 1.0, self.data.n_features, self.data.public.adjacency)
        return moved / self._mu(share)

    def counts(
        self,
        condition: Condition,
        share: float,
        name: str,
        which: np.ndarray | None = None,
        low: float = 0.0,
    ) -> tuple[np.ndarray, float]:
        """How many records satisfy it, and the noise's sd; see `ColumnCounts`."""
        counts = ColumnCounts(condition, self.data.n_features, which, low, self.data.public.grouped)
        answer = self.data.ask(counts, self._mu(share), name)
        return answer.value, answer.noise_sd

    def search(
        self,
        condition: Callable[[np.ndarray], Condition],
        length: int,
        share: float,
        name: str,
        which: np.ndarray | None = None,
        most: np.ndarray | None = None,
    ) -> np.ndarray:
        """For every feature the first of so many points beyond which no majority (or `most`) lie.

        Parameters
        ----------
        condition : callable
            Of the numbers of the points, one a feature.
        length : int
            How many points there are; the last is taken for such a one.
        share : float
            Of the budget, for each of ``log2(length)`` steps.
        name : str
        which : ndarray of int, optional
            Only these features.
        most : ndarray, optional
            One a feature of these; by default as many as lie within.
        """
        d = self.data.n_features
        every = np.arange(d) if which is None else which
        below, first = np.full(len(every), -1), np.full(len(every), length - 1)
        low, bound = (-1.0, 0.0) if most is None else (0.0, most)
        for _ in range(math.ceil(math.log2(length))):
            middle = np.maximum((below + first) // 2, 0)
            points = np.zeros(d, np.intp)
            points[every] = middle
            passed = self.counts(condition(points), share, name, which, low)[0] <= bound
            unsettled = first - below > 1
            first = np.where(unsettled & passed, middle, first)
            below = np.where(unsettled & ~passed, middle, below)
        return first

    def _mu(self, share: float) -> float:
        return self.data.share(self.factor * share)
