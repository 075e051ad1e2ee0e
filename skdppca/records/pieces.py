"""Tables in pieces, each of which fits into memory: what files and clusters have in common."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol, Self

import numpy as np

from ..noise import KEY_WORDS, NoiseSource
from ._records import Layout, Records

__all__ = ["Part", "Pieces", "Question", "Step"]


class Step(Protocol):
    """What is done to records before anything is asked of them: a view, or the choice of a part."""

    def of(self, records: Records) -> Records:
        """The records as they are seen."""


@dataclass(frozen=True)
class Part:
    """One of several disjoint random parts of the records.

    Parameters
    ----------
    key : bytes
        What the labels follow from, besides the records' numbers; see `skdppca.noise.keyed_labels`.
        It is secret, so no representation shows it: those of tasks are logged.
    shares : tuple of int
    index : int
        Which of the parts it is.
    """

    key: bytes = field(repr=False)
    shares: tuple[int, ...]
    index: int

    def of(self, records: Records) -> Records:
        """The records of this part."""
        return records.part(self.key, self.shares, self.index)


@dataclass(frozen=True)
class Question:
    """All that travels to whoever holds a piece: how to look at its records, and what to sum.

    Parameters
    ----------
    steps : tuple of Step
    statistic : Statistic
    """

    steps: tuple[Step, ...]
    statistic: Any

    def answer(self, records: Records) -> np.ndarray:
        """The exact total over the records of a piece; private."""
        return seen_through(records, self.steps).total(self.statistic)


class Pieces(ABC):
    """The records of a table in several pieces, in a fixed order; a record is in one piece.

    A total is the sum over the pieces of their totals, added up with compensation. Every number
    that belongs to one record is a bitwise function of that record (`Records`), so it does not
    matter how the table is cut, but for the last digits of sums of floats.

    Parameters
    ----------
    standin : Records
        Records like these, but none: for their layout.

    Notes
    -----
    Rounding. `summation_error` allows ``span_rows + 2 inner + 16`` units in the last place, times
    the sum of all terms' norms. Within a piece at most ``span_rows + 2 inner + 3`` are used, the
    last one as its total is rounded; the compensated sum over pieces takes 3 more.
    """

    def __init__(self, standin: Records) -> None:
        self._standin = standin
        self._steps: tuple[Step, ...] = ()

    @property
    @abstractmethod
    def private_n(self) -> int:
        """The exact number of records."""

    @property
    @abstractmethod
    def largest_norm(self) -> float:
        """Of all rows, about 0; exact and private."""

    @abstractmethod
    def _sum(self, question: Question) -> np.ndarray:
        """The compensated sum, in the order of the pieces, of their answers."""

    @property
    def layout(self) -> Layout:
        """Public; all that the rounding of a total may depend on."""
        return seen_through(self._standin, self._steps).layout

    @property
    def is_sparse(self) -> bool:
        """Whether a centre is subtracted in the products rather than from every row."""
        return self.layout.is_sparse

    def total(self, statistic: Any) -> np.ndarray:
        """The exact sum of a statistic, for `PrivateData` only."""
        statistic.check(self.layout)
        if not statistic.additive:
            self._refuse(f"{type(statistic).__name__} looks at pairs of records")
        if statistic.counts_only and not any(isinstance(step, Part) for step in self._steps):
            return np.asarray(statistic.total(self))  # a view takes no record away
        return self._sum(Question(self._steps, statistic))

    def through(self, view: Step) -> Self:
        """The records through a view; see `skdppca.statistics.View`."""
        records = copy.copy(self)
        records._steps = (*self._steps, view)
        return records

    def assign(self, shares: Sequence[int], noise: NoiseSource) -> list[Self]:
        """Disjoint parts, as `Records.assign` makes them: a piece can draw its labels again."""
        key = noise.words(KEY_WORDS).tobytes()
        return [self.through(Part(key, tuple(shares), i)) for i in range(len(shares))]

    def shuffled(self, noise: NoiseSource) -> NoReturn:
        """Refuse: an order over all records does not stay within pieces."""
        self._refuse("A random order of the records")

    def _refuse(self, what: str) -> NoReturn:
        raise TypeError(
            f"{what}, so it needs all of them in one place; give X as an array, or choose a method "
            "that only sums"
        )


def seen_through(records: Records, steps: Sequence[Step]) -> Records:
    """The records after all steps, in their order."""
    for step in steps:
        records = step.of(records)
    return records
