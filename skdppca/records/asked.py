"""What may be asked of records: frozen bundles of public numbers, which travel as names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from .layout import Layout

if TYPE_CHECKING:
    from ._records import Block, Records

# The closed set: every measure, statistic and view under its own name.
KINDS: dict[str, type[Kind]] = {}


@dataclass(frozen=True, eq=False)
class Kind:
    """A frozen bundle of public or released numbers, known by the name of its class."""

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if cls.__name__.startswith("_") or ABC in cls.__bases__:
            return
        if cls.__name__ in KINDS and KINDS[cls.__name__].__module__ != cls.__module__:
            raise TypeError(f"there is a {cls.__name__} in the closed set; choose another name")
        KINDS[cls.__name__] = cls

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """Hashable; equal exactly if the kind and the bits of all its numbers are."""
        return type(self), *(_key(getattr(self, field.name)) for field in fields(self))


class Step(Protocol):
    """From records to others, each a function of one that went in: a view, or a random part."""

    def of(self, records: Records) -> Records:
        """The records as they are seen."""


class View(Kind, ABC):
    """A step that travels: all it depends on is in its fields."""

    @abstractmethod
    def of(self, records: Records) -> Records:
        """The records as they are seen."""


class Measure(Kind, ABC):
    """A number (or a few) a record, private, and a bitwise function of that record alone."""

    # How many records' numbers change if one record comes or goes, or is exchanged.
    moved: ClassVar[int] = 1

    @abstractmethod
    def error(self, layout: Layout) -> float:
        """Bound on the relative error of a number."""

    @property
    def degree(self) -> int:
        """The power of X's unit: one for lengths, two for products, none for counts."""
        return 1

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


def _key(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    return value.key if isinstance(value, Kind) else value
