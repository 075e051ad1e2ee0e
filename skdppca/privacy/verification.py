"""Whether a report agrees with itself, with the arrays it was published with, and with a ledger.

It reads no data and draws no noise, so it cannot tell whether noise was really drawn, whether all
that was declared public is public, and whether every release of the data was charged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from .accountant import BaseAccountant, alone
from .chain import Chain
from .events import GaussianEvent
from .floats import root_up
from .pricing import epsilon_of_event
from .report import PrivacyReport, Released, dearest, hash_of
from .statement import Statement
from .storage import parse_json
from .units import INTERACTION

__all__ = ["Finding", "anew", "verify_report"]

MAX_QUOTED = 300

IN_THE_LEDGER = "it has this release"


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
        told = str(error)[:MAX_QUOTED]
        return [Finding(1, "schema", False, f"it is no report as skdppca writes it: {told}")]
    stated = content["release_id"]
    findings = [
        Finding(1, "schema", True, "it is a report as skdppca writes it"),
        *_findings(1, "release id", "it is the hash of the report", _wrong_id(found, stated)),
    ]
    for what, (agreeing, check) in SELF_CHECKS.items():
        findings += _findings(1, what, agreeing, check(found))
    if arrays is not None:
        findings += _findings(2, "arrays", "all have their hashes", _wrong_arrays(found, arrays))
    if ledger is not None:
        findings += _findings(3, "ledger", IN_THE_LEDGER, _wrong_rows(found, anew(ledger).chain))
    return findings


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


def _findings(level: int, what: str, agreeing: str, differences: Iterator[str]) -> list[Finding]:
    """One finding for every difference, or one that there is none."""
    found = [Finding(level, what, False, difference) for difference in differences]
    return found or [Finding(level, what, True, agreeing)]


# Level 1: the report and itself. Every check yields what differs.


def _wrong_id(report: PrivacyReport, stated: str) -> Iterator[str]:
    if stated != hash_of(report.core()):
        yield "the report was changed: its release_id is the hash of another one"


def _wrong_price(report: PrivacyReport) -> Iterator[str]:
    if not report.delta < 1:
        yield f"delta={report.delta} is no probability below 1"
        return
    price = epsilon_of_event(report.event, report.delta)
    if not report.epsilon >= price:
        yield f"epsilon={report.epsilon}, but its event costs {price} at delta={report.delta}"


def _wrong_receipt(report: PrivacyReport) -> Iterator[str]:
    receipt = report.receipt
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


def _wrong_queries(report: PrivacyReport) -> Iterator[str]:
    if not isinstance(report.event, GaussianEvent) or not report.spendings:
        return  # no other guarantee is the sum of its queries' shares
    paid = dearest(report.spendings)
    if paid > Fraction(report.event.mu) ** 2:
        mu = root_up(paid) if isinstance(paid, Fraction) else paid
        yield f"its queries cost mu={mu} together, but its event {report.event.mu}"


def _wrong_parameters(report: PrivacyReport) -> Iterator[str]:
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


def _wrong_reasons(report: PrivacyReport) -> Iterator[str]:
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


def _wrong_release(report: PrivacyReport) -> Iterator[str]:
    receipt, row = report.receipt, report.release
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


SELF_CHECKS: dict[str, tuple[str, Callable[[PrivacyReport], Iterator[str]]]] = {
    "price": ("epsilon covers what the event costs", _wrong_price),
    "receipt": ("the receipt is for this event and these neighbours", _wrong_receipt),
    "queries": ("the queries cost no more than the event", _wrong_queries),
    "parameters": ("the guarantee is that of the parameters", _wrong_parameters),
    "reasons": ("it is private exactly if its parameters make it so", _wrong_reasons),
    "release row": ("the ledger's row, if any, is of this release", _wrong_release),
}


# Level 2: the report and its arrays.


def _wrong_arrays(report: PrivacyReport, arrays: Mapping[str, Any]) -> Iterator[str]:
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


def _wrong_rows(report: PrivacyReport, chain: Chain) -> Iterator[str]:
    receipt, row = report.receipt, report.release
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
