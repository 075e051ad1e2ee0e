"""The base of all statistics, and the parts that they are made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..records import Kind, Layout, Records


class Rounding(NamedTuple):
    """Bounds on the rounding errors of a total.

    Parameters
    ----------
    norms : float
        Relative error of the norms by which records were clipped.
    total : float
        Bound on the error of the sum, in the statistic's norm; 0 for sums of integers.
    """

    norms: float = 0.0
    total: float = 0.0


class Statistic(Kind, ABC):
    """A sum over records, and how far one record can move it."""

    symmetric: ClassVar[bool] = False

    @property
    def additive(self) -> bool:
        """True if totals of disjoint subsets of the records add up; sums over pairs do not."""
        return True

    # True if `total` needs the number of records, and nothing else of them.
    counts_only: ClassVar[bool] = False

    # The norm of the sensitivity: 2 (Frobenius) for Gaussian noise, 1 for Laplace noise. Of a
    # single number both are the same.
    norm: ClassVar[int] = 2

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Shape of the total; public."""

    @abstractmethod
    def sensitivity(self, adjacency: str) -> float:
        """Return the sensitivity of the exact total, in that `norm`; the class proves it."""

    def check(self, layout: Layout) -> None:
        """Refuse records for which the sensitivity is not proven; asked before anything is paid.

        Raises
        ------
        TypeError
        """

    def rounding(self, layout: Layout) -> Rounding:
        """Return bounds on the rounding of `total`, for that layout, however records are cut."""
        return Rounding()

    @abstractmethod
    def total(self, records: Records) -> np.ndarray:
        """The sum over these records."""


def check_grouped(statistic: Any, layout: Layout) -> None:
    """Refuse groups where single rows are bounded, and the other way round."""
    if statistic.grouped != layout.is_grouped:
        raise TypeError(
            f"{type(statistic).__name__} has grouped={statistic.grouped}, but the records are "
            f"{'groups of rows' if layout.is_grouped else 'single rows'}"
        )


def around(centre: np.ndarray) -> np.ndarray | None:
    """The centre, or None where nothing need be subtracted."""
    return centre if centre.any() else None
