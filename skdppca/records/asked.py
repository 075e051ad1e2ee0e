"""What may be asked of records, as those who hold them know it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ._block import Block
from .layout import Layout

if TYPE_CHECKING:
    from ._records import Records

__all__ = ["Measure", "View"]


class View(Protocol):
    """A way to look at records: others come out, each a function of one that went in."""

    def of(self, records: Records) -> Records:
        """The records as they are seen."""


class Measure(ABC):
    """A number (or a few) a record, private, and a bitwise function of that record alone."""

    @property
    @abstractmethod
    def key(self) -> tuple[Any, ...]:
        """Its name and the bits of its fields."""

    @property
    def imputed(self) -> np.ndarray | None:
        """What an absent entry is read as: the centre's entry, so that it deviates by 0."""
        return getattr(self, "centre", None)

    def width(self, layout: Layout) -> int:
        """Numbers a record; 0 for a single one that is no row of numbers."""
        return 0

    def needs(self, layout: Layout) -> Measure | None:
        """The measure that this one is computed from besides the block, if there is one."""
        return None

    def of(self, block: Block, given: np.ndarray | None) -> np.ndarray:
        """The numbers of a block's records."""
        raise NotImplementedError(f"{type(self).__name__} is found for all records at once")

    def of_all(self, records: Records) -> np.ndarray | None:
        """The numbers of all records, if they are not found block by block."""
        return None
