"""Sums whose rounding error does not grow with the number of their terms."""

from __future__ import annotations

import numpy as np

# Entries that are added at a time: with what is made of them they stay in the cache of one core.
CHUNK_ENTRIES = 2**14


class CompensatedSum:
    """A sum of arrays, by Neumaier's method.

    Parameters
    ----------
    shape : tuple of int
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.total = np.zeros(shape, order="F")
        self.correction = np.zeros(shape, order="F")
        self._is_empty = True

    def add(self, part: np.ndarray) -> None:
        """Add one term, which may be overwritten; one that is not in Fortran's order is copied."""
        arrays = (self.total, self.correction, part)
        total, correction, part = (array.reshape(-1, order="F") for array in arrays)
        if self._is_empty:
            np.add(part, 0.0, out=total)
            self._is_empty = False
            return
        sums, rounded = np.empty((2, min(CHUNK_ENTRIES, total.size)))
        for start in range(0, total.size, CHUNK_ENTRIES):
            chunk = slice(start, start + CHUNK_ENTRIES)
            _add(total[chunk], correction[chunk], part[chunk], sums, rounded)

    def result(self) -> np.ndarray:
        """The sum of all terms so far, rounded once."""
        return self.total + self.correction


def _add(
    total: np.ndarray,
    correction: np.ndarray,
    part: np.ndarray,
    sums: np.ndarray,
    rounded: np.ndarray,
) -> None:
    """Add the part to the total, and to the correction what that rounds off."""
    sums, rounded = sums[: total.size], rounded[: total.size]
    np.add(total, part, out=sums)
    np.subtract(sums, total, out=rounded)
    # correction += (total - (sums - rounded)) + (part - rounded)
    part -= rounded
    np.subtract(sums, rounded, out=rounded)
    np.subtract(total, rounded, out=rounded)
    rounded += part
    correction += rounded
    total[...] = sums
