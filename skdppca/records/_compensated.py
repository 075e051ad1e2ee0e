"""Sums whose rounding error does not grow with the number of their terms."""

from __future__ import annotations

import numpy as np

__all__ = ["CompensatedSum"]


class CompensatedSum:
    """A sum of arrays, by Neumaier's method.

    Parameters
    ----------
    shape : tuple of int
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.total = np.zeros(shape, order="F")
        self.correction = np.zeros(shape, order="F")

    def add(self, part: np.ndarray) -> None:
        """Add one term."""
        total = self.total + part
        rounded = total - self.total
        self.correction += (self.total - (total - rounded)) + (part - rounded)
        self.total = total

    def result(self) -> np.ndarray:
        """The sum of all terms so far, rounded once."""
        return self.total + self.correction
