"""Guarantee of a release that was merged from others: nothing new is charged for it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .events import GaussianEvent, NonPrivateEvent, PrivacyEvent, PureEvent
from .fit_report import PrivacyReport, is_grown, jsonable
from .gdp import float_up
from .grown import all_receipts, joined_fits
from .pricing import compose, epsilon_of_event, is_affordable

# Parts of one merged release: a report holds those of all its parts.
MOST_PARTS = 100


@dataclass(frozen=True)
class MergedPart:
    """One of the releases that were merged.

    Parameters
    ----------
    report : PrivacyReport
        Its own.
    n_records : float
        How many records it is of, as it was released.
    """

    report: PrivacyReport
    n_records: float

    def to_dict(self) -> dict[str, Any]:
        """The part as JSON-able values."""
        return {"n_records": jsonable(self.n_records), "report": self.report.to_dict()}

    @classmethod
    def from_dict(cls, record: Any) -> MergedPart:
        """Return the part that `to_dict` wrote, and refuse anything else."""
        if not isinstance(record, dict) or record.keys() != {"n_records", "report"}:
            raise ValueError("a part must have exactly the keys n_records, report")
        if not isinstance(record["n_records"], float):
            raise TypeError("n_records must be a float")
        return cls(PrivacyReport.from_dict(record["report"]), record["n_records"])


@dataclass(frozen=True)
class Bound:
    """Cost of all merged releases to the record that pays most.

    Parameters
    ----------
    event : PrivacyEvent
    epsilon, delta : float
        The same as a guarantee.
    """

    event: PrivacyEvent
    epsilon: float
    delta: float


def bound(reports: Sequence[PrivacyReport], disjoint: bool) -> Bound:
    """Return the cost of merged releases to a record: the largest if it is in one, or composed.

    Proof. Let the people of the parts be disjoint. Neighbours differ in one record, which is in
    part i alone (under replace-one: is exchanged within it). Given what was released before it,
    every other part has the same law on both sides. So all parts together are a post-processing of
    part i with randomness that does not depend on the record, and cost what part i costs (parallel
    composition; McSherry 2009, Theorem 4). A Gaussian event of the largest mu and the largest
    failure bounds each part, and so does a pure one of the largest epsilon. Parts of unlike kinds
    have no such event here: all of them composed bound each.

    Who has records at J sites of a part moves the sums of each, and pays J times the mu of one.

    Parameters
    ----------
    reports : sequence of PrivacyReport
    disjoint : bool
        Declared: nobody has records in two of them.
    """
    events = [_of_person(report) for report in reports]
    event = (_largest(events) if disjoint else None) or compose(events)
    delta = max(report.delta for report in reports)
    epsilon = epsilon_of_event(event, delta)
    if math.isinf(epsilon) and not isinstance(event, NonPrivateEvent):  # deltas add up
        delta = min(float_up(sum((Fraction(one.delta) for one in reports), Fraction(0))), BELOW_ONE)
        epsilon = epsilon_of_event(event, delta)
    if math.isinf(epsilon):
        return Bound(event, epsilon, delta)
    stated = [report.epsilon for report in reports if math.isclose(report.epsilon, epsilon)]
    near = (one for one in stated if is_affordable(event, one, delta))  # in its own digits
    return Bound(event, next(near, epsilon), delta)


def _of_person(report: PrivacyReport) -> PrivacyEvent:
    """Return a release's cost to the person who pays most: over sites, one who is at several."""
    sites = report.details.get("max_sites_per_person", 1)
    if not isinstance(sites, int) or sites < 1:
        raise ValueError(f"max_sites_per_person={sites!r} is no number of sites")
    if sites == 1 or not isinstance(report.cost, GaussianEvent):
        return report.cost
    return GaussianEvent(float_up(sites * Fraction(report.cost.mu)), report.cost.failure)


# The largest delta of a guarantee.
BELOW_ONE = math.nextafter(1, 0)


def _largest(events: Sequence[PrivacyEvent]) -> PrivacyEvent | None:
    """An event of their kind that bounds each of them, if they are of one kind that has one."""
    gaussian = [event for event in events if isinstance(event, GaussianEvent)]
    pure = [event for event in events if isinstance(event, PureEvent)]
    if len(gaussian) == len(events):
        return GaussianEvent(max(e.mu for e in gaussian), max(e.failure for e in gaussian))
    if len(pure) == len(events):
        return PureEvent(max(event.epsilon for event in pure))
    return events[0] if len(set(events)) == 1 else None


def described(parts: Sequence[MergedPart], disjoint: bool) -> dict[str, Any]:
    """Return the report's entries on a merge: both guarantees, the declared first, and inputs."""
    reports, found = [part.report for part in parts], {}
    for declared in (disjoint, not disjoint):
        one = bound(reports, declared)
        mu = one.event.mu if isinstance(one.event, GaussianEvent) else None
        name = "disjoint" if declared else "composed"
        found[name] = jsonable({"epsilon": one.epsilon, "delta": one.delta, "mu": mu})
    return {"guarantees": found, "parts": [part.to_dict() for part in parts]}


def is_merged(details: Mapping[str, Any]) -> bool:
    """Return whether the details of a report are those of a merged release."""
    return "merged" in details


def parts_of(report: PrivacyReport) -> list[MergedPart]:
    """The parts that a report lists; none if it is of no merged release.

    Raises
    ------
    ValueError, TypeError
        If `described` cannot have written them.
    """
    listed = report.details.get("parts") if is_merged(report.details) else []
    if not isinstance(listed, list) or len(listed) > MOST_PARTS:
        raise ValueError(f"its parts are no list of at most {MOST_PARTS}")
    found = [MergedPart.from_dict(one) for one in listed]
    if any(is_merged(one.report.details) for one in found):
        raise ValueError("one of its parts was merged itself")
    return found


def paid_by(report: PrivacyReport) -> list[PrivacyReport]:
    """The reports of what was charged: of its parts for a merged release, else this one."""
    return [part.report for part in parts_of(report)] or [report]


def why_not_private(reports: Sequence[PrivacyReport]) -> tuple[str, ...]:
    """The reasons of all parts, each with the number of its part."""
    return tuple(
        f"part {number}: {reason}"
        for number, report in enumerate(reports, start=1)
        for reason in report.not_private
    )


def same(reports: Sequence[PrivacyReport]) -> Iterator[tuple[int, int, str]]:
    """Pairs of parts that hold the same records twice for certain, and by what that is seen."""
    seen: dict[Any, int] = {}
    for place, report in enumerate(reports):
        for what, mark in _marks(report):
            first = seen.setdefault((what, mark), place)
            if first != place:
                yield first, place, what
                break


def _marks(report: PrivacyReport) -> Iterator[tuple[str, Any]]:
    """Yield the marks that two releases share only if they hold the same records."""
    yield "release", report.release_id
    if is_grown(report.details):  # the last fit's id is that above
        for fit in joined_fits(report.details)[:-1]:
            yield "release", fit["release_id"]
    for receipt in all_receipts(report.details, report.receipts):
        yield "charge", (receipt.accountant, receipt.row)
    for one in report.released:
        if one.name == "components":
            yield "array of components", one.sha256


def accounts_charged(report: PrivacyReport) -> set[str]:
    """Return the ids of the accounts that were charged for a release."""
    return {one.accountant for one in all_receipts(report.details, report.receipts)}
