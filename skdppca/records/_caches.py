"""Arrays and numbers that one pass over the records hands to the next."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from ._sums import aligned_empty
from .sources import Measure

# The most measures that are kept, to be asked again.
KEPT_MEASURES = 3
# The most numbers a record of a narrow measure; of wider ones only the last is kept.
NARROW = 2

Pair = tuple[np.ndarray, np.ndarray]


class Scratch:
    """Pairs of arrays that nobody uses at the moment.

    A pass over few records takes less time than the operating system needs to hand out new pages.
    What is in the arrays is private; they are never sent, never pickled, and go with the records.
    """

    def __init__(self) -> None:
        self._free: dict[tuple[int, int], list[Pair]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()

    @contextmanager
    def pair(self, rows: int, columns: int) -> Iterator[Pair]:
        """Two arrays of that shape, with anything in them; nobody else has them meanwhile."""
        free = self._free.setdefault((rows, columns), [])
        try:
            pair = free.pop()
        except IndexError:  # in use by another thread, or by a pass around this one
            pair = aligned_empty(rows, columns), aligned_empty(rows, columns)
        try:
            yield pair
        finally:
            free.append(pair)


class MeasureCache:
    """The last few measures of the same records, by the bits of what was measured; a last matrix.

    It is never sent, and never pickled.
    """

    def __init__(self, measured: Mapping[tuple[Any, ...], np.ndarray] | None = None) -> None:
        self.measured = OrderedDict(measured or {})
        self.matrix: tuple[tuple[Any, ...], np.ndarray] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()

    def __contains__(self, measure: Measure) -> bool:
        return measure.key in self.measured

    def __getitem__(self, measure: Measure) -> np.ndarray:
        self.measured.move_to_end(measure.key)
        return self.measured[measure.key]

    def __setitem__(self, measure: Measure, numbers: np.ndarray) -> None:
        self.measured[measure.key] = numbers
        while len(self.measured) > KEPT_MEASURES:
            self.measured.popitem(last=False)

    def make_room(self, width: int) -> None:
        """Drop the last wide measure before another one is made: both are as long as the data."""
        if width > NARROW:
            for key in [k for k, kept in self.measured.items() if _width(kept) > NARROW]:
                del self.measured[key]


def _width(numbers: np.ndarray) -> int:
    return 1 if numbers.ndim == 1 else numbers.shape[1]
