"""Checks of a report: with itself, with the arrays it was published with, and with a ledger.

They read no data and draw no noise, so they cannot tell whether noise was really drawn, whether all
that was declared public is public, and whether every release of the data was charged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from .accountant import BaseAccountant, alone
from .chain import Chain, Receipt, ReleaseRow, canonical
from .events import GaussianEvent
from .fit_report import PrivacyReport, Released, dearest, hash_of, is_grown
from .gdp import root_up
from .grown import all_receipts, joined_fits, receipts_of
from .parts import MergedPart, bound, described, is_merged, parts_of, same, why_not_private
from .pricing import epsilon_of_event, is_affordable
from .statement import Statement
from .storage import parse_json

Question = Literal["files", "ledger", "outside"]

MAX_QUOTED = 300

# Kinds of findings for which nothing is wrong with what was given.
UNCHARGED, MISSING = "uncharged", "not given"

# Two machines may differ in the last digits of what they compute again: by a search for a root, or
# by sums. All else of the results is copied.
TOLERANCE = 1e-6
SUMMED = {"range": 1e-9}


@dataclass(frozen=True)
class Finding:
    """A difference that a check found.

    Parameters
    ----------
    question : {"files", "ledger", "outside"}
        The question that it answers with no: whether the report and its files belong together,
        whether the ledger agrees, or whether someone outside vouches.
    what : str
        The subject of the check.
    says : str
        The difference.
    """

    question: Question
    what: str
    says: str


@dataclass(frozen=True)
class Evidence:
    """The evidence that one release is checked by.

    Parameters
    ----------
    report : PrivacyReport
    release_id : str
        Id of the release, as the evidence states it.
    arrays : mapping of str to array or number, or None
    chains : sequence of Chain
        The rows of the ledgers that were given; two of one account must be alike.
    """

    report: PrivacyReport
    release_id: str
    arrays: Mapping[str, Any] | None = None
    chains: Sequence[Chain] = ()


def unreadable(why: Exception) -> Finding:
    """Return the finding that a report cannot be read."""
    says = f"it is no report as skdppca writes it: {str(why)[:MAX_QUOTED]}"
    return Finding("files", "schema", says)


def differing(one: Evidence) -> Iterator[Finding]:
    """Yield all that differs in a report, its arrays and a ledger, as far as these are given."""
    for what, differs in OF_ITSELF.items():
        yield from (Finding("files", what, says) for says in differs(one))
    if one.arrays is not None:
        yield from (Finding("files", "arrays", says) for says in _wrong_arrays(one))
    chains: dict[str, Chain] = {}
    for chain in one.chains:
        account = chain.terms.accountant
        if chains.setdefault(account, chain).head() != chain.head():
            says = f"two of the ledgers are of the account {account[:16]} and differ; give it once"
            yield Finding("ledger", "ledger", says)
    if chains:
        yield from (Finding("ledger", what, says) for what, says in _wrong_rows(one, chains))


def verify_report(
    report: PrivacyReport | Mapping[str, Any] | str,
    *,
    arrays: Mapping[str, Any] | None = None,
    ledger: BaseAccountant | Statement | Sequence[BaseAccountant | Statement] | None = None,
) -> list[Finding]:
    """Check a report, and whatever is given with it.

    Parameters
    ----------
    report : PrivacyReport, dict or str
        The report, its `PrivacyReport.to_dict`, or its `PrivacyReport.to_json`.
    arrays : mapping of str to array or number, optional
        What was published with it, by the names of the fitted attributes without the underscore at
        their end. ``feature_names`` are compared with the report's, if it has any.
    ledger : PrivacyLedger, PrivacyAccountant, Statement, or list of these, optional
        Which must have all of the report's charges on them, one at least, and their releases. Every
        row of a ledger is read and verified anew. Those of a statement were verified when it was
        made.

    Returns
    -------
    list of Finding
        All that differs; empty if nothing does. A report that cannot be read at all has one finding
        only.

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
    >>> verify_report(report, ledger=accountant)
    []
    >>> forged = report.to_dict()
    >>> forged["core"]["guarantee"]["epsilon"] = 0.01
    >>> [finding.what for finding in verify_report(forged)]
    ['release id', 'price', 'release row']
    """
    try:
        content = parse_json(report) if isinstance(report, str) else report
        content = content.to_dict() if isinstance(content, PrivacyReport) else content
        read = PrivacyReport.from_dict(content)
    except (TypeError, ValueError) as error:
        return [unreadable(error)]
    ledgers = [ledger] if isinstance(ledger, BaseAccountant | Statement) else ledger
    chains = [anew(one).chain for one in ledgers or ()]
    return list(differing(Evidence(read, content["release_id"], arrays, chains)))


def anew(ledger: BaseAccountant | Statement) -> Statement:
    """Return a ledger's statement, every row read and verified anew; a statement as it is.

    Parameters
    ----------
    ledger : PrivacyLedger, PrivacyAccountant or Statement

    Returns
    -------
    Statement
    """
    return ledger if isinstance(ledger, Statement) else Statement(alone(ledger._anew))


def differences(
    where: str, stated: Any, computed: Any, tolerance: float = TOLERANCE
) -> Iterator[str]:
    """Yield what of the stated values is not what they are computed to be.

    Parameters
    ----------
    where : str
        Their name.
    stated, computed : JSON-able values
    tolerance : float
        Relative, of floats.
    """
    if isinstance(stated, dict) and isinstance(computed, dict):
        if {*stated} == {*computed} and list(stated) != list(computed):
            yield f"{where} has its names in another order"
        for name in sorted({*stated, *computed}):
            within = max(tolerance, SUMMED.get(name, 0.0))
            if name in stated and name in computed:  # what is stated as null is stated
                yield from differences(f"{where}/{name}", stated[name], computed[name], within)
            else:
                yield f"{where} {'lacks' if name in computed else 'has'} {_quoted(name)}"
    elif isinstance(stated, list) and isinstance(computed, list) and len(stated) == len(computed):
        for place, (one, other) in enumerate(zip(stated, computed, strict=True)):
            yield from differences(f"{where}/{place}", one, other, tolerance)
    elif not _alike(stated, computed, tolerance):
        yield f"{where} is {_quoted(stated)}, but it should be {_quoted(computed)}"


def _alike(stated: Any, computed: Any, tolerance: float) -> bool:
    if type(stated) is type(computed) is float:
        return math.isclose(stated, computed, rel_tol=tolerance, abs_tol=1e-300)
    return type(stated) is type(computed) and stated == computed


def _quoted(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


# The report and itself. Every check yields what differs.


def _wrong_id(one: Evidence) -> Iterator[str]:
    if one.release_id != hash_of(one.report.core()):
        yield "the report was changed: its release_id is not the hash of what it says"


def _wrong_price(one: Evidence) -> Iterator[str]:
    report = one.report
    if not report.delta < 1:
        yield f"delta={report.delta} must be below 1"
        return
    price = epsilon_of_event(report.cost, report.delta)
    if not report.epsilon >= price:
        yield (
            f"it states epsilon={report.epsilon}, but its event costs epsilon={price} at "
            f"delta={report.delta}"
        )


def _wrong_receipt(one: Evidence) -> Iterator[str]:
    report, receipts = one.report, one.report.receipts
    seeded = report.parameters.get("random_state") is not None
    if len({receipt.accountant for receipt in receipts}) < len(receipts):
        yield "two of its receipts are of one account"
    for name, ours, theirs in (
        pair for receipt in receipts for pair in _stated_twice(report, receipt, seeded)
    ):
        if ours != theirs:
            yield f"{name} is {ours!r} in the report, but {theirs!r} in the receipt"


def _stated_twice(
    report: PrivacyReport, receipt: Receipt, seeded: bool
) -> tuple[tuple[str, Any, Any], ...]:
    """Return what a report and its receipt both state, by name."""
    return (
        # the winner of a search may be of another class than what was announced
        ("method", report.method.partition("(")[0], receipt.label.partition("(")[0]),
        ("event", report.event, receipt.event),
        ("adjacency", report.adjacency, receipt.adjacency),
        ("unit", report.unit, receipt.unit),
        ("seeded", seeded, receipt.seeded),
    )


def _wrong_queries(one: Evidence) -> Iterator[str]:
    report = one.report
    if not isinstance(report.event, GaussianEvent) or not report.spendings:
        return  # no other guarantee is the sum of its queries' shares
    paid = dearest(report.spendings)
    if paid > Fraction(report.event.mu) ** 2:
        mu = root_up(paid) if isinstance(paid, Fraction) else paid
        yield f"its questions cost mu={mu} together, but its event covers only mu={report.event.mu}"


def _wrong_fits(one: Evidence) -> Iterator[str]:
    report = one.report
    if not is_grown(report.details):
        return
    *others, last = joined_fits(report.details)
    receipts = all_receipts(report.details, report.receipts)
    if len({canonical(receipt.to_dict()) for receipt in receipts}) < len(receipts):
        yield "two of the fits that it joins share one receipt"
    for number, fit in enumerate(others, start=1):
        if not _covers(fit):
            yield f"fit {number} states less than its mu={fit['mu']} costs"
        for receipt in receipts_of(fit):
            if getattr(receipt.event, "mu", None) != fit["mu"]:
                yield f"fit {number} has the receipt of another charge"
            if (receipt.adjacency, receipt.unit) != (report.adjacency, report.unit):
                yield f"fit {number} has a receipt for other neighbours"
            if receipt.seeded and report.private:
                yield f"fit {number} had noise from a seed, so it is not private"
    mu = getattr(report.event, "mu", math.inf)
    if float(last["mu"]) != mu:
        yield f"its last fit was charged mu={last['mu']}, but its event costs mu={mu}"


def _covers(fit: Mapping[str, Any]) -> bool:
    """Return whether the budget that an earlier fit states is at least what it paid."""
    epsilon, delta, mu = (float(fit[name]) for name in ("epsilon", "delta", "mu"))
    if math.isinf(epsilon) or math.isinf(mu):
        return math.isinf(epsilon)
    return 0 < delta < 1 and is_affordable(GaussianEvent(mu), epsilon, delta)


def _wrong_reasons(one: Evidence) -> Iterator[str]:
    report = one.report
    why_not = {
        "epsilon=inf": math.isinf(report.epsilon),
        "random_state is set": report.parameters.get("random_state") is not None,
        "its axes are not private": report.details.get("axes_private") is False,
    }
    if is_merged(report.details):
        parts_private = all(part.report.private for part in _parts(one))
        why_not["one of its parts is not private"] = not parts_private
    reasons = [reason for reason, holds in why_not.items() if holds]
    if report.private and reasons:
        yield f"it says that it is private, but {', '.join(reasons)}"
    # of a fit before, no parameter is told
    earlier = is_grown(report.details) and len(report.details["joined"]) > 1
    if not report.private and not reasons and not earlier:
        yield "it says that it is not private, but none of its parameters is a reason"


def _wrong_release(one: Evidence) -> Iterator[str]:
    report, rows = one.report, one.report.releases
    paid = [(receipt.row, receipt.accountant) for receipt in report.receipts]
    if len(rows) < len(paid):
        yield "it has a receipt, but no ledger row that records the release"
    elif [(row.charge, row.accountant) for row in rows] != paid:
        yield "the ledger row that records the release belongs to another charge"
    if any(row.release != report.release_id for row in rows):
        yield "the ledger row that it quotes records another release"


def _parts(one: Evidence) -> list[MergedPart]:
    """The parts of a merged release; none if they cannot be read, which another check says."""
    try:
        return parts_of(one.report)
    except (TypeError, ValueError):
        return []


def _wrong_parts(one: Evidence) -> Iterator[str]:
    """Yield contradictions in a merged release's inputs, and what does not follow from them."""
    report = one.report
    if not is_merged(report.details):
        return
    try:
        parts = parts_of(report)
        found = list(_differing_parts(one, parts))
    except (KeyError, TypeError, ValueError) as error:
        yield f"its parts are not as skdppca writes them: {str(error)[:MAX_QUOTED]}"
        return
    yield from found
    reports = [part.report for part in parts]
    disjoint = report.parameters.get("disjoint")
    if not isinstance(disjoint, bool):
        yield "it does not say whether its parts are declared disjoint"
    elif not found:
        if report.event != bound(reports, disjoint).event:
            yield "its event is not the cost of its parts"
        if report.not_private != why_not_private(reports):
            yield "its reasons for not being private are not those of its parts"
        follow = described(parts, disjoint)["guarantees"]
        yield from differences("guarantees", report.details.get("guarantees"), follow)


def _differing_parts(one: Evidence, parts: Sequence[MergedPart]) -> Iterator[str]:
    reports = [part.report for part in parts]
    if len(parts) < 2:
        yield f"it has {len(parts)} parts, and a merged release has at least 2"
    for number, part in enumerate(parts, start=1):
        stated = one.report.details["parts"][number - 1]["report"]["release_id"]
        for finding in differing(Evidence(part.report, stated)):
            yield f"part {number}: {finding.what}: {finding.says}"
        if Released.of("n_samples", part.n_records) not in part.report.released:
            yield f"part {number} released another number of records"
        if (part.report.unit, part.report.adjacency) != (one.report.unit, one.report.adjacency):
            yield f"part {number} protects something else"
    for first, second, what in same(reports):
        yield f"parts {first + 1} and {second + 1} have the same {what}"


# The report and its arrays.


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
            yield f"{released.name} is not the array that the report describes"
    for name in sorted(set(arrays) - {released.name for released in report.released}):
        if name != "feature_names":
            yield f"{name} is not in the report"
        elif report.feature_names not in (None, tuple(np.asarray(arrays[name]).tolist())):
            yield f"{name} are not those of the report"


# The report and a ledger.


def _wrong_rows(one: Evidence, chains: Mapping[str, Chain]) -> Iterator[tuple[str, str]]:
    """Yield what the ledgers lack of a release's charges, each with its kind."""
    parts = [part.report for part in _parts(one)]
    reports = [(f"part {number}: ", report) for number, report in enumerate(parts, start=1)]
    for whose, report in reports or [("", one.report)]:
        for fit, receipts, release_id in _charges(report):
            if not receipts:
                what, says = _uncharged(report)
                yield what, f"{whose}{fit}{says}"
            for receipt in receipts:
                chain = chains.get(receipt.accountant)
                if chain is None:
                    yield (
                        MISSING,
                        f"{whose}{fit}it was charged to the ledger {receipt.accountant[:16]}, "
                        "which was not given; give that one, too",
                    )
                    continue
                wrong = _wrong_row(receipt, release_id, chain)
                if not (wrong or fit):
                    wrong = _wrong_quote(report, receipt, chain)
                if wrong:
                    yield "ledger", f"{whose}{fit}{wrong}"


def _charges(report: PrivacyReport) -> Iterator[tuple[str, Sequence[Receipt], str]]:
    """Yield the receipts of each fit that a release joins, and what they paid for."""
    earlier = joined_fits(report.details)[:-1] if is_grown(report.details) else ()
    for number, fit in enumerate(earlier, start=1):
        yield f"fit {number}: ", receipts_of(fit), fit["release_id"]
    yield "", report.receipts, report.release_id


def _uncharged(report: PrivacyReport) -> tuple[str, str]:
    """Say that no ledger was charged, or which ones were."""
    if report.details.get("sites"):
        return MISSING, (
            "each site charged its own ledger, so this report quotes no row; see whether "
            f"`skdppca ledger show` names the release {report.release_id[:16]}"
        )
    return UNCHARGED, "no ledger was charged for this release"


def _wrong_row(receipt: Receipt, release_id: str, chain: Chain) -> str | None:
    """Say what the ledger of a receipt lacks: the charge, or the release that it paid for."""
    missing = chain.lacks([receipt])
    if missing is not None:
        return missing
    row = _recorded(receipt, chain)
    if row is None:
        return f"the charge in row {receipt.row} has no release recorded"
    if row.release != release_id:
        return (
            f"row {row.row} records another release for this charge: {row.release}, and not "
            f"{release_id}"
        )
    return None


def _wrong_quote(report: PrivacyReport, receipt: Receipt, chain: Chain) -> str | None:
    """Say whether the report quotes another row for a release than its ledger has."""
    quoted = report.releases[report.receipts.index(receipt) :][:1]
    row = _recorded(receipt, chain)
    if row is None or quoted == (row,):
        return None
    return f"row {row.row} differs from the report's row of the release"


def _recorded(receipt: Receipt, chain: Chain) -> ReleaseRow | None:
    """Return the row of what a charge released, if there is one."""
    return next((row for row in chain.releases if row.charge == receipt.row), None)


# Checks of a report alone, in this order.
OF_ITSELF: dict[str, Callable[[Evidence], Iterator[str]]] = {
    "release id": _wrong_id,
    "price": _wrong_price,
    "receipt": _wrong_receipt,
    "queries": _wrong_queries,
    "reasons": _wrong_reasons,
    "joined fits": _wrong_fits,
    "release row": _wrong_release,
    "parts": _wrong_parts,
}
