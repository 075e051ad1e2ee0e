"""Charges on parts of the people: who pays for what, if everyone is in few of the parts."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, reduce
from heapq import nlargest
from typing import Any

from .._text import printable
from .composition import Composition
from .events import PrivacyEvent, add_event
from .versions import Versions

MAX_LENGTH = 100
MINUS = "\N{MINUS SIGN}"


def cohort_names(given: Any, parameter: str = "cohort") -> tuple[str, ...]:
    """Return the names of the cohorts that are given; none for all people.

    Parameters
    ----------
    given : None, str or sequence of str
        A sequence names several cohorts, each of them once.
    parameter : str, default="cohort"
        What an error calls it.

    Raises
    ------
    ValueError, TypeError
        If it is no name that a ledger can print, or names nobody.

    Examples
    --------
    >>> cohort_names(None), cohort_names("2026-Q1"), cohort_names(["2026-Q1", "2026-Q2"])
    ((), ('2026-Q1',), ('2026-Q1', '2026-Q2'))
    """
    if given is None:
        return ()
    if isinstance(given, str):
        return (_checked(given, parameter),)
    if isinstance(given, bytes | Mapping) or not isinstance(given, Sequence):
        raise TypeError(
            f"{parameter} is of type {type(given).__name__}; give a name, a list of names, or None "
            "for all people"
        )
    names = tuple(_checked(name, parameter) for name in given)
    if not names:
        raise ValueError(f"{parameter}={given!r} names nobody; give a name, or None for all people")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"{parameter} names {twice[0]!r} twice; name every cohort once")
    return names


def _checked(name: Any, parameter: str) -> str:
    if not isinstance(name, str):
        raise TypeError(f"{parameter}={name!r} is no name; give text, such as '2026-Q1'")
    if name != printable(name) or not name.strip():
        raise ValueError(
            f"{parameter}='{printable(name)}' has a character that cannot be printed, or none; "
            "choose a plain name, such as '2026-Q1'"
        )
    if name != name.strip() or len(name) > MAX_LENGTH:
        raise ValueError(
            f"{parameter}={name[:MAX_LENGTH]!r} begins or ends with a space, or is longer than "
            f"{MAX_LENGTH} characters; choose a short name, such as '2026-Q1'"
        )
    return str(name)


def _key(name: str) -> str:
    """What names have in common that no ledger holds two of."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


@cache
def _look(name: str) -> str:
    """What names have in common that people read as one: also dashes, digits of other scripts.

    Marks that are written over a letter are dropped, unless one character has both. A ledger may
    hold two such names from before they were compared, so they are compared for a new charge only.
    """
    return "".join(map(_plain, _key(name)))


def _plain(letter: str) -> str:
    category = unicodedata.category(letter)
    if category == "Nd":
        return str(unicodedata.digit(letter))
    return "-" if category == "Pd" or letter == MINUS else "" if category == "Mn" else letter


@dataclass(frozen=True)
class CohortTotals:
    """What people have paid: charges on all of them, and charges on their cohorts.

    Nobody is in more than `most` cohorts. Somebody who is in the cohorts C pays the charges on
    all, and those that name a cohort of C. No other charge read a record of that person. So
    neighbouring data sets, which differ in one person, give every other answer the same law, given
    the answers before it. A guarantee for everyone is a guarantee for every such C.

    With ``most=1`` that is one composition for every cohort. It is exact for all events and joint
    charges. With ``most`` of J > 1, charges on cohorts are Gaussian. The sums of the J largest
    squares of mu, and of the J largest failures, are then bounds for everyone, because both sums
    are what a composition of Gaussian events is priced by, and are additive. The bound is attained
    if no charge is joint, and none fails. A joint charge counts in each of its cohorts, although
    somebody who is in two of them pays once.

    Parameters
    ----------
    most : int
        How many cohorts one person may be in.
    everyone : Composition
        The charges on all, also on cohorts that are to come.
    own : Versions of (str, Composition)
        The name of every cohort, and the charges that name it.
    gaussian : bool
        Whether all charges are Gaussian.

    Examples
    --------
    >>> from skdppca.privacy import GaussianEvent
    >>> total = CohortTotals().charged(GaussianEvent(3.0))
    >>> total = total.charged(GaussianEvent(4.0), ("a",)).charged(GaussianEvent(1.0), ("b",))
    >>> total.names, total.people()["a"].mu, total.bound(("b",)).mu < 4
    (('a', 'b'), 5.0, True)
    """

    most: int = 1
    everyone: Composition = field(default_factory=Composition)
    own: Versions[str, tuple[str, Composition]] = field(default_factory=Versions)
    gaussian: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        """The cohorts that were charged, in the order of their first charges."""
        return tuple(name for name, _ in self.own.values())

    def charged(self, event: PrivacyEvent, cohorts: Sequence[str] = ()) -> CohortTotals:
        """Add a charge on these cohorts, or on all.

        Raises
        ------
        ValueError
            If a name is read as that of another cohort, or the charge has no price.
        """
        if not cohorts:
            everyone = add_event(self.everyone, event)
            gaussian = self.gaussian and everyone.is_gaussian
            return CohortTotals(self.most, everyone, self.own, gaussian)
        own, gaussian = self.own, self.gaussian
        for name in cohorts:
            total = add_event(self._own(name), event)
            own, gaussian = own.changed(_key(name), (name, total)), gaussian and total.is_gaussian
        if self.most > 1 and not add_event(Composition(), event).is_gaussian:
            raise ValueError(
                f"max_cohorts_per_person={self.most}, and this charge on a cohort is not Gaussian: "
                "nothing bounds what somebody in several cohorts would pay; charge it on all "
                "(cohort=None), or release with Gaussian noise"
            )
        return CohortTotals(self.most, self.everyone, own, gaussian)

    def check_new(self, cohorts: Sequence[str]) -> None:
        """Refuse a name that was not charged before, and that people read as one that was.

        Raises
        ------
        ValueError
        """
        new = [name for name in cohorts if self.own.get(_key(name), ("",))[0] != name]
        looks = {_look(name): name for name in self.names} if new else {}
        for name in new:
            known = looks.setdefault(_look(name), name)
            if known != name:
                raise _reads_like(name, known)

    def of(self, name: str) -> Composition:
        """What somebody has paid who is in this cohort, and in no other one."""
        return self.everyone.plus(self._own(name))

    def people(self, cohorts: Sequence[str] = ()) -> dict[str, Composition]:
        """What bounds the costs of everyone who is in one of these cohorts; by default of all.

        One of the compositions has all that any of these people has paid, so a price is the
        largest of theirs. Each has the name of a cohort that such people are in, if there is any.
        """
        if not (cohorts or self.own):
            return {"": self.everyone}
        own = {_key(name): (name, self._own(name)) for name in cohorts} or dict(self.own)
        if self.most > 1:
            paid = {**self.own, **own}
            name, squares = self._largest({key: one.squares for key, (_, one) in paid.items()}, own)
            _, failures = self._largest({key: one.failures for key, (_, one) in paid.items()}, own)
            bound = Composition(squares=squares, failures=failures)
            return {paid[name][0]: self.everyone.plus(bound)}
        # of cohorts that differ in Gaussian charges only, one has all that the others have
        largest: dict[Any, tuple[str, Composition]] = {}
        for name, one in own.values():
            kind = one.failures, _counts(one.steps), _counts(one.selections)
            if kind not in largest or largest[kind][1].squares < one.squares:
                largest[kind] = name, one
        return {
            name: self.everyone.plus(one)
            for name, one in largest.values()
            if not any(one is not other and one.is_within(other) for _, other in largest.values())
        }

    def bound(self, cohorts: Sequence[str] = ()) -> Composition:
        """What costs everyone who is in one of these cohorts at most: of all together if need be.

        It is what the largest cohort has paid, where one has all that the others have. Else it
        has of everything the most that somebody has, and may cost more than anybody's.
        """
        first, *others = self.people(cohorts).values()
        return reduce(Composition.joined, others, first)

    def epsilon(self, delta: float, cohorts: Sequence[str] = ()) -> float:
        """Return the smallest epsilon that can be proven at `delta` for all of these people."""
        return max(person.epsilon(delta) for person in self.people(cohorts).values())

    def fits(self, epsilon: float, delta: float, cohorts: Sequence[str] = ()) -> bool:
        """Return whether the total of everyone who is in one of these cohorts fits a budget."""
        return all(person.fits(epsilon, delta) for person in self.people(cohorts).values())

    def fullest(
        self, epsilon: float, delta: float, cohorts: Sequence[str] = ()
    ) -> tuple[str, float]:
        """Return which of these cohorts has least room for one more charge, and the room.

        `Composition.room` says of which charge. It costs all of these people the same, if none is
        in two of the cohorts that it names. The name is empty without cohorts.
        """
        rooms = {name: person.room(epsilon, delta) for name, person in self.people(cohorts).items()}
        name = min(rooms, key=rooms.__getitem__)
        return name, rooms[name]

    def room(self, epsilon: float, delta: float, cohorts: Sequence[str] = ()) -> float:
        """Return the largest epsilon of one more release of all, or of one cohort."""
        return self.fullest(epsilon, delta, cohorts)[1]

    @property
    def is_slow(self) -> bool:
        """Whether a price takes some tenths of a second, and the library dp-accounting."""
        return not self.gaussian and any(one.is_slow for one in self.people().values())

    @property
    def kinds(self) -> int:
        """How many kinds of steps and selections there are, of which each takes its time."""
        return sum(person.kinds for person in self.people().values())

    def _own(self, name: str) -> Composition:
        known, own = self.own.get(_key(name), (name, Composition()))
        if known != name:
            raise _reads_like(name, known)
        return own

    def _largest(self, costs: dict[str, int], keys: Iterable[str]) -> tuple[str, int]:
        """The largest sum of `most` costs, and the first: one that belongs to one of the keys."""
        first = max(keys, key=costs.__getitem__)
        others = (cost for key, cost in costs.items() if key != first)
        return first, costs[first] + sum(nlargest(self.most - 1, others))


def _reads_like(name: str, known: str) -> ValueError:
    return ValueError(
        f"cohort={name!r} reads like {known!r}, which was charged before; write the name of that "
        "cohort as it was written then, or choose one that nobody mistakes for it"
    )


def _counts(events: Sequence[tuple[float, float]]) -> frozenset[tuple[tuple[float, float], int]]:
    return frozenset(Counter(events).items()) if events else frozenset()
