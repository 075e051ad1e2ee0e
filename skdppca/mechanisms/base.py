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
    """

    def __init__(self, mu: float) -> None:
        self.mu = mu
        self.queries: list[GaussianQuery] = []

    def share(self, fraction: float) -> float:
        """The mu whose square is `fraction` of the whole budget's."""
        return self.mu * math.sqrt(fraction)

    @property
    def left(self) -> float:
        """The mu that is not spent yet, rounded down."""
        if math.isinf(self.mu):
            return math.inf
        if not self.queries:
            return self.mu
        left = Fraction(self.mu) ** 2 - sum(Fraction(query.mu) ** 2 for query in self.queries)
        root = math.sqrt(max(left, 0))
        return root if Fraction(root) ** 2 <= left else math.nextafter(root, 0)

    def take(self, name: str, mu: float, sensitivity: float, **query: Any) -> GaussianQuery:
        """Spend `mu` on a query; see `GaussianQuery` for the parameters."""
        if not 0 < mu <= self.left * (1 + 1e-12):
            raise RuntimeError(f"{name}: mu={mu} exceeds what is left of the mechanism's budget")
        self.queries.append(GaussianQuery(name, min(mu, self.left), sensitivity, **query))
        return self.queries[-1]

    def rest(self, name: str, sensitivity: float, **query: Any) -> GaussianQuery:
        """Spend all that is left on a query."""
        return self.take(name, self.left, sensitivity, **query)
