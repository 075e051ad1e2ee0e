"""An account at one moment: every charge, what it released, and what they add up to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import NamedTuple

import numpy as np

from .._text import printable
from .chain import Chain, ExternalReceipt, Receipt, ReleaseRow
from .composition import Composition
from .events import add_event

__all__ = ["Entry", "PrivacyCost", "Statement"]

# A total of unlike events takes some tenths of a second: so many of them are priced.
MOST_PRICED = 40


class PrivacyCost(NamedTuple):
    """An (epsilon, delta) guarantee."""

    epsilon: float
    delta: float


class Entry(NamedTuple):
    """One charge of a statement.

    Parameters
    ----------
    receipt : Receipt
        An `ExternalReceipt` if another tool released something.
    release : ReleaseRow or None
        What the charge released, if it was recorded.
    total : float or None
        Epsilon of all charges up to this one, at the accountant's delta; None where it was left
        out.
    """

    receipt: Receipt
    release: ReleaseRow | None
    total: float | None

    @property
    def external(self) -> bool:
        """Whether another tool released what was charged."""
        return isinstance(self.receipt, ExternalReceipt)


@dataclass(frozen=True)
class Statement:
    """What an accountant charged and recorded up to one moment.

    It does not change when the accountant is charged again, so its parts always agree.

    Parameters
    ----------
    chain : Chain
        The accountant's verified rows.

    Examples
    --------
    >>> from skdppca.privacy import PrivacyAccountant, PureEvent
    >>> accountant = PrivacyAccountant(epsilon=1.0, delta=0.0)
    >>> notion = {"adjacency": "add-remove", "unit": "row"}
    >>> receipts = [accountant.charge(PureEvent(0.25), **notion) for _ in range(2)]
    >>> statement = accountant.statement()
    >>> [entry.total for entry in statement.entries], statement.remaining.epsilon
    ([0.25, 0.5], 0.5)
    """

    chain: Chain

    @property
    def budget(self) -> PrivacyCost:
        """All that may be spent."""
        return PrivacyCost(self.chain.terms.epsilon, self.chain.terms.delta)

    @cached_property
    def spent(self) -> PrivacyCost:
        """What all charges cost together: epsilon at the accountant's delta."""
        if not self.chain.rows:
            return PrivacyCost(0.0, 0.0)
        return PrivacyCost(self.chain.total.epsilon(self.budget.delta), self.budget.delta)

    @cached_property
    def remaining(self) -> PrivacyCost:
        """What is left: the largest epsilon of one more Gaussian release, or pure if delta is 0."""
        return PrivacyCost(self.chain.total.room(*self.budget), self.budget.delta)

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """The charges, oldest first, with their running totals.

        Of totals that only a loss distribution can give, at most 40 are computed, the last one
        among them. The others are None.
        """
        total, totals = Composition(), []
        receipts = self.chain.receipts
        for receipt in receipts:
            total = add_event(total, receipt.event)
            totals.append(total)
        slow = [i for i, total in enumerate(totals) if total.mixed]
        places = np.linspace(0, len(slow) - 1, min(len(slow), MOST_PRICED)).astype(int)
        left_out = set(slow) - {slow[place] for place in places}
        releases = {release.charge: release for release in self.chain.releases}
        return tuple(
            Entry(
                receipt,
                releases.get(receipt.row),
                None if i in left_out else totals[i].epsilon(self.budget.delta),
            )
            for i, receipt in enumerate(receipts)
        )

    def __repr__(self) -> str:
        return f"<Statement: {self.count()}; budget: {self.chain.terms}>"

    def count(self) -> str:
        """How many charges there are, and how many of them have no release for which reason."""
        receipts = self.chain.receipts
        external = sum(isinstance(receipt, ExternalReceipt) for receipt in receipts)
        unrecorded = len(self.chain.unrecorded)
        count = f"{len(receipts)} charge{'' if len(receipts) == 1 else 's'}"
        count += f", {external} of them external" if external else ""
        return count + (f", {unrecorded} without a recorded release" if unrecorded else "")

    def _repr_html_(self) -> str:
        delta = self.budget.delta
        rows = {
            "budget": str(self.chain.terms),
            "spent": f"epsilon {self.spent.epsilon:.6g} at delta {delta:g}, {self.count()}",
            "remaining": f"epsilon {self.remaining.epsilon:.6g} at delta {delta:g}",
        }
        cells = "".join(
            f"<tr><th>{name}</th><td>{escape(printable(text))}</td></tr>"
            for name, text in rows.items()
        )
        return f"<table>{cells}</table>"
