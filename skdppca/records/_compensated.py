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
        self._sum, self._rounded = np.empty_like(self.total), np.empty_like(self.total)

    def add(self, part: np.ndarray) -> None:
        """Add one term, which is overwritten."""
        total, rounded = np.add(self.total, part, out=self._sum), self._rounded
        np.subtract(total, self.total, out=rounded)
        # correction += (self.total - (total - rounded)) + (part - rounded)
        part -= rounded
        np.subtract(total, rounded, out=rounded)
        np.subtract(self.total, rounded, out=rounded)
        rounded += part
        self.correction += rounded
        self.total, self._sum = total, self.total

    def result(self) -> np.ndarray:
        """The sum of all terms so far, rounded once."""
        return self.total + self.correction
