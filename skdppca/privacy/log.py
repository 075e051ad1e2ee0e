"""A sequence that grows without being copied and without changing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Generic, TypeVar, overload

T = TypeVar("T")


class Log(Sequence[T], Generic[T]):
    """An immutable sequence. A longer one shares its memory, so that appending is fast.

    Examples
    --------
    >>> short = Log("ab")
    >>> long, other = short.appended("c"), short.appended("d")
    >>> list(short), list(long), list(other)
    (['a', 'b'], ['a', 'b', 'c'], ['a', 'b', 'd'])
    """

    __slots__ = ("_items", "_length")

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items = list(items)  # longer logs append to it
        self._length = len(self._items)

    def appended(self, item: T) -> Log[T]:
        """Return a log with one more item."""
        items, place = self._items, self._length
        if len(items) == place:
            items.append(item)
        if items[place] is not item:  # another log, perhaps in another thread, took the place
            items = [*items[:place], item]
        longer: Log[T] = Log.__new__(Log)
        longer._items, longer._length = items, place + 1
        return longer

    def continues(self, shorter: Log[T]) -> bool:
        """Whether it shares its memory with a shorter one."""
        return self._items is shorter._items

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[T]:
        return islice(self._items, self._length)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        places = range(self._length)[index]
        if isinstance(places, int):
            return self._items[places]
        return tuple(self._items[place] for place in places)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Log) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Log({list(self)!r})"
