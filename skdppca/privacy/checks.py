"""Whether a report agrees with itself, with the arrays it was published with, and with a ledger.

It reads no data and draws no noise, so it cannot tell whether noise was really drawn, whether all
that was declared public is public, and whether every release of the data was charged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Generic, TypeVar

import numpy as np

from .accountant import BaseAccountant, alone
from .chain import Chain
from .events import GaussianEvent
from .fit_report import PrivacyReport, Released, dearest, hash_of
from .floats import root_up
from .pricing import epsilon_of_event
from .statement import Statement
from .storage import parse_json
from .units import INTERACTION

__all__ = [
    "CHECKS",
    "SCHEMA",
    "Check",
    "Evidence",
    "Examined",
    "Finding",
    "anew",
    "run",
    "verify_report",
]

MAX_QUOTED = 300


@dataclass(frozen=True)
class Finding:
    """What one check found.

    Parameters
    ----------
    level : int
        1: the report and itself; 2: the report and its files; 3: the report and a ledger.
    what : str
        What was checked.
    passed : bool
    says : str
        What agrees, or what differs.
    """

    level: int
    what: str
    passed: bool
    says: str


@dataclass(frozen=True, kw_only=True)
class Examined:
    """What a report is checked by.

    Parameters
    ----------
    unread : str
        Why the report cannot be read; empty if it was.
    findings : list of Finding
        What the checks found so far.
    """

    unread: str = ""
    findings: list[Finding] = field(default_factory=list)


E = TypeVar("E", bound=Examined)


@dataclass(frozen=True)
class Check(Generic[E]):
    """One line of a table of checks.

    Parameters
    ----------
    level : int
        As `Finding` has it.
    what : str
        What is checked.
    agrees : str
        What is said if nothing differs; empty if that is no news.
    differs : callable
        Yields what differs.
    given : callable, optional
        Whether there is something to check by, after what the checks before found.
    """

    level: int
    what: str
    agrees: str
    differs: Callable[[E], Iterator[str]]
    given: Callable[[E], object] = lambda _: True

    def finding(self, difference: str = "") -> Finding:
        """That something differs, or by default that nothing does."""
        return Finding(self.level, self.what, not difference, difference or self.agrees)


def run(checks: Iterable[Check[E]], examined: E) -> list[Finding]:
    """Make the checks of a table in its order; return what they and those before found.

    There is one finding for every difference, or one that there is none.
    """
    for check in checks:
        if check.given(examined):
            differing = [check.finding(difference) for difference in check.differs(examined)]
            examined.findings.extend(differing or [check.finding()] * bool(check.agrees))
    return examined.findings


@dataclass(frozen=True)
class Evidence(Examined):
    """What one release is checked by.

    Parameters
    ----------
    report : PrivacyReport
    release_id : str
        As it is stated.
    arrays : mapping of str to array or number, or None
    chain : Chain or None
        The ledger's rows.
    """

    report: PrivacyReport
    release_id: str
    arrays: Mapping[str, Any] | None = None
    chain: Chain | None = None


def verify_report(
    report: PrivacyReport | Mapping[str, Any] | str,
    *,
    arrays: Mapping[str, Any] | None = None,
    ledger: BaseAccountant | Statement | None = None,
) -> list[Finding]:
    """Check a report, and whatever is given with it.

    Parameters
    ----------
    report : PrivacyReport, dict or str
        The report, its `PrivacyReport.to_dict`, or its `PrivacyReport.to_json`.
    arrays : mapping of str to array or number, optional
        What was published with it, by the names of the fitted attributes without the underscore at
        their end. ``feature_names`` are compared with the report's, if it has any.
    ledger : PrivacyLedger, PrivacyAccountant or Statement, optional
        Which must have the report's charge and its release. Every row of a ledger is read and
        verified anew. Those of a statement were verified when it was made.

    Returns
    -------
    list of Finding
        Several of one check, if several things differ. A report that cannot be read at all has one
        finding only.

    Raises
    ------
    LedgerError
        If the ledger cannot be read.

    Notes
    -----
    A report can be made up, with all of its hashes. Only a ledger that the forger cannot write to
    tells such a report from a true one.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skdppca import DPGauss, PrivacyAccountant
    >>> from skdppca.privacy import verify_report
    >>> accountant = PrivacyAccountant(epsilon=2.0, delta=1e-6)
    >>> report = DPGauss(epsilon=1.0, accountant=accountant).fit(load_iris().data).privacy_
    >>> all(finding.passed for finding in verify_report(report, ledger=accountant))
    True
    >>> forged = report.to_dict()
    >>> forged["core"]["guarantee"]["epsilon"] = 0.01
    >>> [finding.what for finding in verify_report(forged) if not finding.passed]
    ['release id', 'price', 'parameters', 'release row']
    """
    try:
        content = parse_json(report) if isinstance(report, str) else report
        content = content.to_dict() if isinstance(content, PrivacyReport) else content
        found = PrivacyReport.from_dict(content)
    except (TypeError, ValueError) as error:
        return run((SCHEMA,), Examined(unread=str(error)))
    chain = None if ledger is None else anew(ledger).chain
    evidence = Evidence(found, content["release_id"], arrays, chain)
    return run((SCHEMA, *CHECKS), evidence)


def anew(ledger: BaseAccountant | Statement) -> Statement:
    """What a ledger holds after every row was read and verified anew; a statement is one already.

    Parameters
    ----------
    ledger : PrivacyLedger, PrivacyAccountant or Statement

    Returns
    -------
    Statement
    """
    return ledger if isinstance(ledger, Statement) else Statement(alone(ledger._anew))


# Level 1: the report and itself. Every check yields what differs.


def _wrong_id(one: Evidence) -> Iterator[str]:
    if one.release_id != hash_of(one.report.core()):
        yield "the report was changed: its release_id is the hash of another one"


def _wrong_price(one: Evidence) -> Iterator[str]:
    report = one.report
    if not report.delta < 1:
        yield f"delta={report.delta} is no probability below 1"
        return
    price = epsilon_of_event(report.event, report.delta)
    if not report.epsilon >= price:
        yield f"epsilon={report.epsilon}, but its event costs {price} at delta={report.delta}"


def _wrong_receipt(one: Evidence) -> Iterator[str]:
    report, receipt = one.report, one.report.receipt
    if receipt is None:
        return
    seeded = report.parameters.get("random_state") is not None
    for name, ours, theirs in (
        # the winner of a search may be of another class than what was announced
        ("method", report.method.partition("(")[0], receipt.label.partition("(")[0]),
        ("event", report.event, receipt.event),
        ("adjacency", report.adjacency, receipt.adjacency),
        ("unit", report.unit, receipt.unit),
        ("seeded", seeded, receipt.seeded),
    ):
        if ours != theirs:
            yield f"{name} is {ours!r}, and {theirs!r} in the receipt"


def _wrong_queries(one: Evidence) -> Iterator[str]:
    report = one.report
    if not isinstance(report.event, GaussianEvent) or not report.spendings:
        return  # no other guarantee is the sum of its queries' shares
    paid = dearest(report.spendings)
    if paid > Fraction(report.event.mu) ** 2:
        mu = root_up(paid) if isinstance(paid, Fraction) else paid
        yield f"its queries cost mu={mu} together, but its event {report.event.mu}"


def _wrong_parameters(one: Evidence) -> Iterator[str]:
    report = one.report
    told = report.parameters
    charged = None if report.receipt is None else report.receipt.accountant
    for name, value in (
        ("epsilon", "inf" if math.isinf(report.epsilon) else report.epsilon),
        ("delta", report.delta),
        ("adjacency", report.adjacency),
        ("unit", report.unit),
        ("accountant", charged),
    ):
        # an estimator may be accounted so, whatever its parameter `unit` is
        accounted_otherwise = name == "unit" and value == INTERACTION
        if name in told and told[name] != value and not accounted_otherwise:
            yield f"{name} is {value!r}, and {told[name]!r} among the parameters"


def _wrong_reasons(one: Evidence) -> Iterator[str]:
    report = one.report
    why_not = {
        "epsilon=inf": math.isinf(report.epsilon),
        "random_state is set": report.parameters.get("random_state") is not None,
        "its axes are not private": report.details.get("axes_private") is False,
    }
    reasons = [reason for reason, holds in why_not.items() if holds]
    if report.private and reasons:
        yield f"it says that it is private, but {', '.join(reasons)}"
    if not report.private and not reasons:
        yield "it says that it is not private, but no parameter says why"


def _wrong_release(one: Evidence) -> Iterator[str]:
    report, receipt, row = one.report, one.report.receipt, one.report.release
    if row is None:
        if receipt is not None:
            yield "there is a receipt, but no row that records the release"
        return
    if receipt is None:
        yield "there is a row that records the release, but no receipt"
    elif (row.charge, row.accountant) != (receipt.row, receipt.accountant):
        yield "the row that records the release is of another charge"
    if row.release != report.release_id:
        yield "the row that records the release is of another release"


# Level 2: the report and its arrays.


def _wrong_arrays(one: Evidence) -> Iterator[str]:
    report, arrays = one.report, one.arrays
    assert arrays is not None
    for released in report.released:
        if released.name not in arrays:
            yield f"{released.name} is missing"
            continue
        try:
            same = Released.of(released.name, arrays[released.name]) == released
        except (TypeError, ValueError):
            same = False
        if not same:
            yield f"{released.name} is another array than that of the report"
    for name in sorted(set(arrays) - {released.name for released in report.released}):
        if name != "feature_names":
            yield f"{name} is not in the report"
        elif report.feature_names not in (None, tuple(np.asarray(arrays[name]).tolist())):
            yield f"{name} are others than those of the report"


# Level 3: the report and a ledger.


def _wrong_rows(one: Evidence) -> Iterator[str]:
    report, receipt, row, chain = one.report, one.report.receipt, one.report.release, one.chain
    assert chain is not None
    if receipt is None and "sites" in report.details:
        yield (
            "each site's ledger was charged, and this report has a row of none; see whether "
            f"`skdppca ledger show` names the release {report.release_id[:16]}"
        )
        return
    if receipt is None:
        yield "no ledger was charged for this release"
        return
    missing = chain.lacks([receipt])
    if missing is not None:
        yield missing
        return
    recorded = [release for release in chain.releases if release.charge == receipt.row]
    if not recorded:
        yield f"the charge in row {receipt.row} has no release recorded"
    elif recorded[0].release != report.release_id:
        yield (
            f"row {recorded[0].row} records another release for this charge: "
            f"{recorded[0].release}, and not {report.release_id}"
        )
    elif recorded[0] != row:
        yield f"row {recorded[0].row} differs from the report's row of the release"


def _unread(one: Examined) -> Iterator[str]:
    if one.unread:
        yield f"it is no report as skdppca writes it: {one.unread[:MAX_QUOTED]}"


# What all other checks need.
SCHEMA: Check[Any] = Check(1, "schema", "it is a report as skdppca writes it", _unread)

# What is checked of one release, in this order.
CHECKS: tuple[Check[Evidence], ...] = (
    Check(1, "release id", "it is the hash of the report", _wrong_id),
    Check(1, "price", "epsilon covers what the event costs", _wrong_price),
    Check(1, "receipt", "the receipt is for this event and these neighbours", _wrong_receipt),
    Check(1, "queries", "the queries cost no more than the event", _wrong_queries),
    Check(1, "parameters", "the guarantee is that of the parameters", _wrong_parameters),
    Check(1, "reasons", "it is private exactly if its parameters make it so", _wrong_reasons),
    Check(1, "release row", "the ledger's row, if any, is of this release", _wrong_release),
    Check(2, "arrays", "all have their hashes", _wrong_arrays, lambda one: one.arrays is not None),
    Check(3, "ledger", "it has this release", _wrong_rows, lambda one: one.chain is not None),
)
