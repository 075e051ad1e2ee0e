"""An account at one moment: every charge, what it released, and what they add up to."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import NamedTuple

import numpy as np

from .._text import printable
from .chain import Chain, ExternalReceipt, Receipt, ReleaseRow
from .composition import Composition
from .events import NonPrivateEvent, PrivacyEvent, add_event
from .pricing import event_of_total

# Most slow totals that are priced: at most the first number, and the second over the number of
# kinds of charges, but two at least.
MOST_PRICED = 40
MOST_KINDS = 400
# Most other totals of the newest charges, and of older ones. Each takes a millisecond.
MOST_QUICK = 250


class PrivacyCost(NamedTuple):
    """An (epsilon, delta) guarantee."""

    epsilon: float
    delta: float


@dataclass(frozen=True)
class Entry:
    """One charge of a statement.

    Parameters
    ----------
    receipt : Receipt
        An `ExternalReceipt` if another tool released something.
    release : ReleaseRow or None
        What the charge released, if it was recorded.
    after : Composition or None
        All charges up to this one; None if their total is left out.
    delta : float
        The accountant's.
    """

    receipt: Receipt
    release: ReleaseRow | None
    after: Composition | None = field(repr=False)
    delta: float = field(repr=False)

    @property
    def external(self) -> bool:
        """True if another tool released what was charged."""
        return isinstance(self.receipt, ExternalReceipt)

    @cached_property
    def total(self) -> float | None:
        """Epsilon of all charges up to this one, at the accountant's delta; None if left out."""
        return None if self.after is None else self.after.epsilon(self.delta)


@dataclass(frozen=True)
class Statement:
    """Account of everything that was charged and recorded up to one moment.

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
        """Cost of all charges together: epsilon at the accountant's delta."""
        if not self.chain.rows:
            return PrivacyCost(0.0, 0.0)
        return PrivacyCost(self.chain.total.epsilon(self.budget.delta), self.budget.delta)

    @cached_property
    def remaining(self) -> PrivacyCost:
        """Remaining budget: largest epsilon of one more Gaussian release, or pure if delta is 0."""
        return PrivacyCost(self.chain.total.room(*self.budget), self.budget.delta)

    def event(self) -> PrivacyEvent:
        """Return all charges as one event. A seeded charge is not private."""
        if any(receipt.seeded for receipt in self.chain.receipts):
            return NonPrivateEvent()
        return event_of_total(self.chain.total)

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """The charges, oldest first, with their running totals.

        Among totals that only a loss distribution or Renyi divergences can give, at most 40 are
        computed, fewer if the charges are of more than ten kinds; the last one is among them. The
        others are None. All other totals are computed when they are asked for: those of the newest
        250 charges, and of 250 older ones, evenly spread.
        """
        total, totals = Composition(), []
        receipts = self.chain.receipts
        for receipt in receipts:
            total = add_event(total, receipt.event)
            totals.append(total)
        slow = [i for i, total in enumerate(totals) if total.is_slow]
        most = min(MOST_PRICED, max(2, MOST_KINDS // total.kinds)) if slow else 0
        priced = [slow[place] for place in spread(len(slow), most)]
        quick = [i for i, total in enumerate(totals) if not total.is_slow][:-MOST_QUICK]
        kept = [quick[place] for place in spread(len(quick), MOST_QUICK)]
        left_out = {*slow, *quick} - {*priced, *kept}
        releases = {release.charge: release for release in self.chain.releases}
        entries = tuple(
            Entry(
                receipt,
                releases.get(receipt.row),
                None if i in left_out else totals[i],
                self.budget.delta,
            )
            for i, receipt in enumerate(receipts)
        )
        for i in priced:
            _ = entries[i].total  # it may need dp-accounting, whose lack is told here, not later
        return entries

    def __repr__(self) -> str:
        return f"<Statement: {self.count()}; budget: {self.chain.terms}>"

    def count(self) -> str:
        """Return the number of charges in words, and of those without a release, with reasons."""
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
            f"<tr><th>{escape(printable(name))}</th><td>{escape(printable(text))}</td></tr>"
            for name, text in rows.items()
        )
        return f"<table>{cells}</table>"


def spread(count: int, most: int) -> list[int]:
    """At most `most` places of 0 to ``count - 1``, evenly spread, the last one among them."""
    return [int(place) for place in np.linspace(0, count - 1, min(count, most))]
