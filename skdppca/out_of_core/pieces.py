"""Tables in pieces, each of which fits into memory: what files and clusters have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, Self

import numpy as np

from ..noise import KEY_WORDS, NoiseSource
from ..records import Layout, Records, Source, Step


@dataclass(frozen=True)
class Part:
    """One of several disjoint random parts of the records, as a view.

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
    views : tuple of Step
    statistic : Statistic
    """

    views: tuple[Step, ...]
    statistic: Any

    @property
    def key(self) -> tuple[Any, ...]:
        """Hashable; what is equal to it is the same question."""
        return self.views, self.statistic.key


class SharedPass:
    """Questions that wait to be answered in one pass, and the totals of those that were.

    Exact and private: it is never sent, and never pickled. A total is handed out once.
    """

    def __init__(self) -> None:
        self._waiting: list[Question] = []
        self._totals: dict[tuple[Any, ...], np.ndarray] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()

    def expect(self, questions: Sequence[Question]) -> None:
        """Answer these in the pass in which one of them is asked; others are forgotten."""
        self._waiting, self._totals = list(questions), {}

    def total(
        self, question: Question, sums: Callable[[Sequence[Question]], Sequence[np.ndarray]]
    ) -> np.ndarray:
        """The answer to a question, and to all that wait with it, by `sums` if need be."""
        if question.key not in self._totals:
            asked = [question]
            if any(other.key == question.key for other in self._waiting):
                asked, self._waiting = self._waiting, []
            self._totals |= zip((one.key for one in asked), sums(asked), strict=True)
        return self._totals.pop(question.key)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Pieces(Source):
    """The records of a table in several pieces, in a fixed order; a record is in one piece.

    A total is the sum over the pieces of their totals, added up with compensation. Every number
    that belongs to one record is a bitwise function of that record (`Records`), so it does not
    matter how the table is cut, but for the last digits of sums of floats.

    Parameters
    ----------
    standin : Records
        Records like these, but none: pieces are made like it, and it has their layout. Its threads
        are those of records that are gathered.
    views : tuple of Step
        What the records are seen through.
    shared : SharedPass
        One for the table, whatever it is seen through.

    Notes
    -----
    Rounding. `summation_error` allows ``span_rows + 2 inner + 16`` units in the last place, times
    the sum of all terms' norms. Within a piece at most ``span_rows + 2 inner + 3`` are used, the
    last one as its total is rounded; the compensated sum over pieces takes 3 more.
    """

    standin: Records
    views: tuple[Step, ...] = ()
    shared: SharedPass = field(default_factory=SharedPass)

    @abstractmethod
    def sums(self, questions: Sequence[Question]) -> list[np.ndarray]:
        """Add up the answers of the pieces to every question, in their order, with compensation."""

    @property
    def layout(self) -> Layout:
        """Public; all that the rounding of a total may depend on."""
        return seen_through(self.standin, self.views).layout

    def total(self, statistic: Any) -> np.ndarray:
        """The exact sum of a statistic, for `PrivateData` only."""
        statistic.check(self.layout)
        if not statistic.additive:
            self.whole(f"{type(statistic).__name__} looks at pairs of records, which")
        if self._is_known(statistic):
            return np.asarray(statistic.total(self))
        return self.shared.total(Question(self.views, statistic), self.sums)

    def _is_known(self, statistic: Any) -> bool:
        """Return whether the number of records is the answer: only `Part` takes records away."""
        return statistic.counts_only and not any(isinstance(view, Part) for view in self.views)

    def together(self, questions: Sequence[tuple[Source, Any]]) -> None:
        """See `Source.together`; totals are those of a pass of their own, to the bit."""
        waiting = []
        for source, statistic in questions:
            if not isinstance(source, Pieces) or source.shared is not self.shared:
                raise TypeError("questions about other records are asked in another pass")
            statistic.check(source.layout)
            if statistic.additive and not source._is_known(statistic):
                waiting.append(Question(source.views, statistic))
        self.shared.expect(waiting)

    def through(self, view: Step) -> Self:
        """The records through a view; see `skdppca.statistics.View`."""
        return replace(self, views=(*self.views, view))

    def parts(self, shares: Sequence[int], noise: NoiseSource) -> list[Self]:
        """Disjoint parts, as `Records.parts` makes them: a piece can draw its labels again."""
        key = noise.words(KEY_WORDS).tobytes()
        return [self.through(Part(key, tuple(shares), i)) for i in range(len(shares))]

    def shuffled(self, noise: NoiseSource) -> NoReturn:
        """Refuse: an order over all records does not stay within pieces."""
        self.whole("A random order of the records")

    def whole(self, what: str) -> NoReturn:
        """Refuse: the records are not in one place."""
        raise TypeError(
            f"{what} is no sum over records, so it needs all of them in one place; give X as an "
            "array, or choose another method"
        )


def piece_like(standin: Records, rows: Any, groups: np.ndarray | None, first: int = 0) -> Records:
    """The records of a piece, like the stand-in of their table."""
    like = standin.rows
    return Records.of(rows, groups, like.scale, 1, may_miss=like.may_be_absent, first=first)


def answers(records: Records, questions: Sequence[Question]) -> Iterator[np.ndarray]:
    """The exact totals over a piece's records; what views begin with alike is done once."""
    seen: dict[tuple[Step, ...], Records] = {(): records}
    for question in questions:
        views = question.views
        for i, view in enumerate(views):
            if views[: i + 1] not in seen:
                seen[views[: i + 1]] = view.of(seen[views[:i]])
        yield seen[views].total(question.statistic)


def seen_through(records: Records, views: Sequence[Step]) -> Records:
    """The records after all views, in their order."""
    for view in views:
        records = view.of(records)
    return records
