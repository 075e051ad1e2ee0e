"""A mapping that changes without being copied, and whose earlier versions stay."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

from .log import Log

K = TypeVar("K")
V = TypeVar("V")


class Versions(Mapping[K, V], Generic[K, V]):
    """An immutable mapping. A changed one shares its memory, so that a change is fast.

    Keys are in the order in which they came.

    Examples
    --------
    >>> first = Versions().changed("a", 1)
    >>> second, other = first.changed("a", 2), first.changed("b", 3)
    >>> dict(first), dict(second), dict(other)
    ({'a': 1}, {'a': 2}, {'a': 1, 'b': 3})
    """

    __slots__ = ("_changes", "_places")

    def __init__(self, changes: Log[tuple[K, V]] | None = None) -> None:
        self._changes: Log[tuple[K, V]] = Log() if changes is None else changes
        self._places: dict[K, list[int]] = {}  # of changes; later versions append to it
        for place, (key, _) in enumerate(self._changes):
            self._places.setdefault(key, []).append(place)

    def changed(self, key: K, value: V) -> Versions[K, V]:
        """Return a mapping with another value for one key."""
        changes = self._changes.appended((key, value))
        if not changes.continues(self._changes):  # another version took the place
            return Versions(changes)
        self._places.setdefault(key, []).append(len(self._changes))
        later: Versions[K, V] = Versions.__new__(Versions)
        later._changes, later._places = changes, self._places
        return later

    def __getitem__(self, key: K) -> V:
        places = self._places[key]
        last = bisect_left(places, len(self._changes)) - 1
        if last < 0:
            raise KeyError(key)
        return self._changes[places[last]][1]

    def __iter__(self) -> Iterator[K]:
        known = len(self._changes)
        return (key for key, places in list(self._places.items()) if places[0] < known)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return len(self._changes) > 0

    def __repr__(self) -> str:
        return f"Versions({dict(self)!r})"
