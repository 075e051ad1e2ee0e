"""The cost of a release that grew: every fit that it joins charged the people of its rows."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from .chain import Receipt
from .composition import Composition
from .events import GaussianEvent, NonPrivateEvent, PrivacyEvent

# Keys of one of the fits in a report's details, and of each but the last one besides.
FIT = ("epsilon", "delta", "mu", "n_samples", "drift", "kept")
EARLIER = ("release_id", "receipts")
NUMBERS = ("epsilon", "delta", "mu", "n_samples", "kept")

# The mu that a fit cost, and the ids of the accounts that were charged for it.
Paid = tuple[float, Collection[str]]


def new_fit(
    epsilon: float,
    delta: float,
    event: PrivacyEvent,
    n_samples: float,
    drift: float | None = None,
    kept: float = 1.0,
) -> dict[str, Any]:
    """Return what a report says of one of the fits that a release joins.

    Parameters
    ----------
    epsilon, delta, event
        What it cost.
    n_samples : float
        Public or noisy.
    drift : float or None
        How far its people were from those before, in sds of the noise.
    kept : float
        What the weight of those before was multiplied by.
    """
    mu = event.mu if isinstance(event, GaussianEvent) else math.inf
    return dict(zip(FIT, (epsilon, delta, mu, float(n_samples), drift, kept), strict=True))


def joined_fits(details: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """Return what the details of a report say of each fit that it joins.

    Raises
    ------
    ValueError, TypeError
        If skdppca cannot have written it.
    """
    fits = details["joined"]
    if not isinstance(fits, list) or not fits:
        raise ValueError("the fits that it joins are not listed as skdppca lists them")
    for place, fit in enumerate(fits):
        keys = FIT if place == len(fits) - 1 else (*FIT, *EARLIER)
        if not isinstance(fit, dict) or set(fit) != set(keys):
            raise ValueError(f"a joined fit must have exactly the keys {', '.join(keys)}")
        if not isinstance(fit.get("release_id", ""), str):
            raise TypeError("a joined fit has a release_id that is no text")
        _ = receipts_of(fit)
        if not all(_number(fit[name]) >= 0 for name in NUMBERS):
            raise ValueError("a joined fit has a negative number, or none")
        if fit["drift"] is not None:
            _number(fit["drift"])
    return tuple(fits)


def receipts_of(fit: Mapping[str, Any]) -> tuple[Receipt, ...]:
    """Return the receipts of a fit before the last one, as a report has them."""
    receipts = fit.get("receipts", [])
    if not isinstance(receipts, list):
        raise TypeError("a joined fit has receipts that are no list")
    return tuple(map(Receipt.from_dict, receipts))


def all_receipts(details: Mapping[str, Any], receipts: Sequence[Receipt]) -> list[Receipt]:
    """Return the receipts of a release: of the fits that it joins, if it grew, and its own.

    Parameters
    ----------
    details : mapping
        Details of the report.
    receipts : sequence of Receipt
        Receipts of the report, which are those of the last fit.
    """
    earlier = joined_fits(details)[:-1] if "joined" in details else ()
    return [*(receipt for fit in earlier for receipt in receipts_of(fit)), *receipts]


def paid_before(fits: Iterable[Mapping[str, Any]]) -> list[Paid]:
    """Return what fits cost, and the accounts that were charged for them."""
    return [(_number(fit["mu"]), {one.accountant for one in receipts_of(fit)}) for fit in fits]


def cost_to_most(paid: Sequence[Paid]) -> PrivacyEvent:
    """Return what fits cost the person who paid most, if nobody is in two accounts.

    Proof. A person whose account is a has records only in fits that were charged to a, and in fits
    that were charged to no account, in which anybody may be. Given all answers before it, every
    other fit answers by the same law with that person's records and without. So the release of all
    is a post-processing of those fits, with randomness that does not depend on the person, and is
    as private as their composition, which for Gaussian events is that of the root of the sum of
    squares (parallel composition: McSherry 2009, Theorem 4).
    """
    own: dict[str, int] = {}
    for mu, accounts in paid:
        for account in accounts:
            own[account] = own.get(account, 0) + _square(mu)
    anybody = sum(_square(mu) for mu, accounts in paid if not accounts)
    return _event(paid, anybody + max(own.values(), default=0))


def cost_in_all(paid: Sequence[Paid]) -> PrivacyEvent:
    """Return what fits cost a person who has records in all of them."""
    return _event(paid, sum(_square(mu) for mu, _ in paid))


def is_declared(paid: Sequence[Paid]) -> bool:
    """Return whether the cost rests on people being in one account only."""
    return cost_to_most(paid) != cost_in_all(paid)


def paid_for(
    details: Mapping[str, Any], event: PrivacyEvent, receipts: Sequence[Receipt]
) -> list[Paid]:
    """Return what the fits of a grown release cost, and the accounts of each.

    Parameters
    ----------
    details : mapping
        Details of the report.
    event, receipts
        What was charged last, and to whom.
    """
    mu = event.mu if isinstance(event, GaussianEvent) else math.inf
    before = paid_before(joined_fits(details)[:-1])
    return [*before, (mu, {receipt.accountant for receipt in receipts})]


def _event(paid: Sequence[Paid], squares: int) -> PrivacyEvent:
    if any(math.isinf(mu) for mu, _ in paid):
        return NonPrivateEvent()
    return GaussianEvent(Composition(squares=squares).mu)


def _square(mu: float) -> int:
    return 0 if math.isinf(mu) else Composition().gaussian(mu).squares


def _number(value: Any) -> float:
    """Return a number of a report, in which infinity is a text."""
    number = math.inf if value == "inf" else -math.inf if value == "-inf" else value
    if isinstance(number, bool) or not isinstance(number, int | float) or math.isnan(number):
        raise TypeError("a joined fit has something else where a number belongs")
    return float(number)
