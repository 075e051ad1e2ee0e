"""Arrays that blocks are read into, handed from one pass over the records to the next."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ._numbers import aligned_empty

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
