"""A Gaussian-DP filter: what a fit may still ask, and what it has asked."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Protocol, Self, TypeVar

from ..noise import GaussianQuery
from .events import GaussianEvent, NonPrivateEvent, PrivacyEvent

# A square below this would be rounded to fewer digits than others; it counts for nothing.
LEAST_SQUARE = 2.0**-1000


class Query(Protocol):
    """Query as a report lists it: an answer that was paid for."""

    @property
    def name(self) -> str:
        """Name of the released answer."""

    @property
    def mu(self) -> float:
        """The Gaussian-DP cost, or what the cost implies; infinite if it implies none."""

    @property
    def widened_sensitivity(self) -> float:
        """Sensitivity of the answer, as computed."""

    @property
    def noise_sd(self) -> float:
        """Standard deviation of the noise; infinite if that is private."""

    @property
    def part(self) -> str:
        """Name of the disjoint subset of the records that was asked; empty for all of them."""


Q = TypeVar("Q", bound=Query)


def untold(query: Query) -> None:
    """Tell nobody."""


class PrivacyFilter:
    """A Gaussian-DP filter: the squares of all shares add up to at most ``mu**2``.

    Shares may depend on earlier private outputs; the sum may not grow.

    Parameters
    ----------
    mu : float
        The whole budget; infinite means no noise.
    part : str
        Which disjoint part of the records it pays for; empty for all of them.
    tell : callable, optional
        Called with every query that was paid for, before it is answered; it must not raise.
    """

    def __init__(self, mu: float, part: str = "", tell: Callable[[Query], None] = untold) -> None:
        self.mu = mu
        self.part = part
        self._tell = tell
        self._own: list[Query] = []
        self._handed_on: list[PrivacyFilter] = []
        self._spent = Fraction(0)
        self._left = mu

    @classmethod
    def of(cls, event: PrivacyEvent, tell: Callable[[Query], None] = untold) -> Self:
        """Return a filter with the mu of an event: 0, if its guarantee is not Gaussian."""
        if isinstance(event, GaussianEvent):
            return cls(event.mu, tell=tell)
        return cls(math.inf if isinstance(event, NonPrivateEvent) else 0.0, tell=tell)

    def fraction(self, fraction: float) -> float:
        """The mu whose square is `fraction` of the whole budget's."""
        return self.mu * math.sqrt(fraction) if fraction else 0.0  # inf * 0

    @property
    def queries(self) -> list[Query]:
        """All that was asked, by those that this budget was handed on to as well."""
        return [*self._own, *(query for other in self._handed_on for query in other.queries)]

    @property
    def remaining(self) -> float:
        """The mu that is neither spent nor handed on, rounded down."""
        return self._left

    def _spend(self, what: str, mu: float) -> float:
        left = self.remaining
        if not 0 < mu <= left * (1 + 1e-12):
            raise RuntimeError(
                f"{what}: mu={mu} exceeds what is left of the mechanism's budget, mu={left}"
                if mu > 0
                else f"{what}: mu={mu} pays for no answer; give a positive number. The mechanism's "
                f"budget has mu={left} left"
            )
        if math.isinf(left):
            return left
        self._spent += Fraction(min(mu, left)) ** 2
        self._left = _root_down(Fraction(self.mu) ** 2 - self._spent)
        return min(mu, left)

    def pay_for(self, name: str, mu: float, sensitivity: float, **query: Any) -> GaussianQuery:
        """Spend `mu` on a query; see `GaussianQuery` for the parameters."""
        return self.pay(
            name, mu, lambda mu: GaussianQuery(name, mu, sensitivity, part=self.part, **query)
        )

    def pay(self, name: str, mu: float, query: Callable[[float], Q]) -> Q:
        """Spend `mu` on what `query` makes of it."""
        taken = query(self._spend(name, mu))
        self._own.append(taken)
        self._tell(taken)
        return taken

    def record(self, query: Query) -> None:
        """List a query that another guarantee than Gaussian DP pays for.

        Raises
        ------
        RuntimeError
            If there is a Gaussian budget: it would no longer cover all that is asked.
        """
        if self.mu:
            raise RuntimeError(f"{query.name}: the mechanism's budget does not pay for it")
        self._own.append(query)
        self._tell(query)

    def in_parallel(self, n_parts: int) -> list[PrivacyFilter]:
        """A filter for each of `n_parts` disjoint parts of the records, with all that is left.

        Proof of parallel composition. Every record draws its part without a look at the data: the
        label follows from a secret key and the record's number (`Records.parts`). One record more
        in front gives all others another number. To whoever does not know the key, labels are
        independent and of one law at every number, so they are exchangeable, and two neighbouring
        data sets can be coupled so that each record in both has one label. Fix these labels: the
        data sets then differ in one part only, so all that is asked of the other parts has the same
        law given the answers before, and the whole is as private as what is asked of that part, at
        most `left`-GDP. A mixture of pairs that are mu-GDP with common weights is mu-GDP.

        The labels that records drew could be released with the answers, but the key never: with the
        key, labels are a function of the numbers, and one record more moves others to other parts.
        """
        left = self._spend("parts", self.remaining)
        inside = f"{self.part}, " if self.part else ""
        parts = [
            PrivacyFilter(left, f"{inside}{i + 1} of {n_parts}", self._tell) for i in range(n_parts)
        ]
        self._handed_on.extend(parts)
        return parts

    def split(self, mu: float) -> PrivacyFilter:
        """Hand `mu` on, for a step that asks several queries of the same records."""
        portion = PrivacyFilter(self._spend("a part of the budget", mu), self.part, self._tell)
        self._handed_on.append(portion)
        return portion


def _root_down(square: Fraction) -> float:
    """Its root, rounded down; 0 for what a float64 would hold with fewer digits than others."""
    if float(square) < LEAST_SQUARE:
        return 0.0
    root = math.sqrt(square)
    return root if Fraction(root) ** 2 <= square else math.nextafter(root, 0)
