"""What every mechanism is: a cost from public facts, then a release from data and noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from ..noise import NoiseSource
from ..privacy import PrivacyEvent
from ..records import Records
from .gaussian import GaussianQuery

__all__ = ["Mechanism", "Public", "Spender"]


@dataclass(frozen=True)
class Public:
    """All that may steer code before anything is released.

    Parameters
    ----------
    n_features : int
    adjacency : {"add-remove", "replace-one"}
    unit : str
        "row", or the name of what a group of rows stands for.
    is_sparse : bool
    n_records : int or None
        Known under replace-one; None under add-remove, where it is private.
    """

    n_features: int
    adjacency: str
    unit: str = "row"
    is_sparse: bool = False
    n_records: int | None = None

    @property
    def grouped(self) -> bool:
        """Whether a record is a group of rows."""
        return self.unit != "row"


class Mechanism(Protocol):
    """A whole private algorithm."""

    @property
    def public(self) -> Public:
        """All that it may know before it is charged, besides its parameters."""

    @property
    def event(self) -> PrivacyEvent:
        """The total cost, from the fields alone."""

    def __call__(self, records: Records, noise: NoiseSource) -> Any:
        """Release, at exactly the declared cost."""


class Spender:
    """A Gaussian-DP filter: the squares of all shares add up to at most ``mu**2``.

    Shares may depend on earlier private outputs; the sum may not grow.

    Parameters
    ----------
    mu : float
        The whole budget; infinite means no noise.
    part : str
        Which disjoint part of the records it pays for; empty for all of them.
    """

    def __init__(self, mu: float, part: str = "") -> None:
        self.mu = mu
        self.part = part
        self._own: list[GaussianQuery] = []
        self._handed_on: list[Spender] = []
        self._spent = Fraction(0)

    def share(self, fraction: float) -> float:
        """The mu whose square is `fraction` of the whole budget's."""
        return self.mu * math.sqrt(fraction) if fraction else 0.0  # inf * 0

    @property
    def queries(self) -> list[GaussianQuery]:
        """All that was asked, by those that this budget was handed on to as well."""
        return [*self._own, *(query for other in self._handed_on for query in other.queries)]

    @property
    def left(self) -> float:
        """The mu that is neither spent nor handed on, rounded down."""
        if math.isinf(self.mu) or not self._spent:
            return self.mu
        left = max(Fraction(self.mu) ** 2 - self._spent, Fraction(0))
        root = math.sqrt(left)
        return root if Fraction(root) ** 2 <= left else math.nextafter(root, 0)

    def _spend(self, what: str, mu: float) -> float:
        left = self.left
        if not 0 < mu <= left * (1 + 1e-12):
            raise RuntimeError(f"{what}: mu={mu} exceeds what is left of the mechanism's budget")
        if math.isinf(left):
            return left
        self._spent += Fraction(min(mu, left)) ** 2
        return min(mu, left)

    def take(self, name: str, mu: float, sensitivity: float, **query: Any) -> GaussianQuery:
        """Spend `mu` on a query; see `GaussianQuery` for the parameters."""
        mu = self._spend(name, mu)
        self._own.append(GaussianQuery(name, mu, sensitivity, part=self.part, **query))
        return self._own[-1]

    def rest(self, name: str, sensitivity: float, **query: Any) -> GaussianQuery:
        """Spend all that is left on a query."""
        return self.take(name, self.left, sensitivity, **query)

    def split(self, n_parts: int) -> list[Spender]:
        """A spender for each of so many disjoint parts of the records, with all that is left.

        Proof of parallel composition. The parts are drawn record by record, without looking at
        the data (`Records.assign`). Fix the draws: neighbouring data sets then differ in one part
        only, so all that is asked of the other parts has the same law given the answers before,
        and the whole is as private as what is asked of that part, at most `left`-GDP. The law
        over the draws is the same for both data sets, and a mixture of pairs that are mu-GDP with
        common weights is mu-GDP, for the draws could be released too.
        """
        left = self._spend("parts", self.left)
        inside = f"{self.part}, " if self.part else ""
        parts = [Spender(left, f"{inside}{i + 1} of {n_parts}") for i in range(n_parts)]
        self._handed_on.extend(parts)
        return parts

    def enclose(self, other: Spender) -> None:
        """Pay for all that another filter may spend, or has spent, on the same records."""
        if other.mu > self.left or other.part != self.part:
            raise RuntimeError("a mechanism asks for more than is left, or of other records")
        self._spend("a mechanism", other.mu)
        self._handed_on.append(other)

    def portion(self, mu: float) -> Spender:
        """Hand so much on, for a step that asks several queries of the same records."""
        portion = Spender(self._spend("a portion", mu), self.part)
        self._handed_on.append(portion)
        return portion
