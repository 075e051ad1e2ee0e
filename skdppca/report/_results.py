"""A release as lines of text: what was found, then the guarantee and the budget, a line each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Any

from .._text import aligned, is_one, printable, protected_together
from .._text.digits import up
from ..decomposition.fit_warnings import enough_records
from ..privacy import PrivacyReport
from ..privacy.fit_report import drifts
from ..privacy.parts import is_merged
from ._document import report_of
from ._found import found
from ._sections import DIGITS, budget, claim, sentence, status_of, words

PRIVATE = "These files are private as stated; rows transformed with the components are not."
ROWS = "Rows transformed with the components are not private."

NOT_STATED = "No --title and no --context: the page says 'Not stated'. To state them, in a copy:"


def results(
    document: Mapping[str, Any], ledger: str = "", details: bool = False, shell: bool = True
) -> list[str]:
    """The lines that tell of a release.

    Parameters
    ----------
    document : dict
        What a report holds, as JSON-able values.
    ledger : str
        What the ledger is called here; empty if only its number is known.
    details : bool
        Whether to add each fit's own report, with all questions that it asked.
    shell : bool
        Whether to write the parameters of a fit as the options of a command, and not as in Python.
    """
    report, status = report_of(document), status_of(document)
    guarantee = _guarantee(document, report)
    account = "the ledger" if shell else "accountant"
    left = [f"Budget: {budget(document, account, ledger)}"] * report.private
    table: list[str] = []
    notes: list[str] = []
    if one := found(document):
        table = [*one.warnings, one.headline, "", *aligned([one.heads, *one.rows]), ""]
        notes = one.notes
    notes += lost(report, document["results"], shell)
    remarks = [one for one in report.remarks(technical=False) if one not in drifts(report)]
    notes += map(sentence, remarks)
    # what does not hold as it stands is said first
    if status in ("not-private", "not-as-stated"):
        lines = [*guarantee, *[""] * bool(table), *table, *notes, *left]
    else:
        lines = [*table, *guarantee, *left, *[""] * bool(notes), *notes]
    return [*lines, "", _named(report, ledger)] if details else lines


def advice(document: Mapping[str, Any]) -> list[str]:
    """How the files of a release may be used, where `results` has not said that already."""
    status = status_of(document)
    if status == "not-as-stated":
        return []
    if status == "not-private":
        return [words().TREAT_AS_DATA]
    return [claim(document)[-1], ROWS] if status in ("open", "uncharged") else [PRIVATE]


def not_stated(out: Path, *words: object) -> list[str]:
    """How to give a title and answers to a release that has neither."""
    if any(one is not None for one in words):
        return []
    return [
        f"{NOT_STATED}\n  skdppca declare {quote(str(out))} --title TEXT --context FILE --out DIR"
    ]


def lost(
    report: PrivacyReport, results: Mapping[str, Any] | None = None, shell: bool = True
) -> list[str]:
    """How many components are noise, and what to do, if there are any."""
    alignments = report.details.get("alignments", ())
    number = sum(alignment <= 0 for alignment in alignments)
    if not number:
        return []
    records, plan = "more records", ""
    if results is not None and results["lost"] == results["n_components"]:
        n = float(results["n_records"] or 0)
        records = enough_records(report, results["n_features"], n)
        name = "`skdppca plan`" if shell else "skdppca.planner.plan"
        plan = f" {name} says what would do, and reads no data."
    scale, epsilon = ("--scale private", "--epsilon") if shell else ('scale="private"', "epsilon")
    unscaled = report.parameters.get("scale") is None
    scales = f"{scale} (if the columns have different units), " * unscaled
    return [
        f"{words().lost(number, len(alignments))} To see more, fit again with {scales}a larger "
        f"{epsilon} or {records}. That fit is charged separately.{plan}"
    ]


def _guarantee(document: Mapping[str, Any], report: PrivacyReport) -> list[str]:
    """The guarantee in a line; or why there is none."""
    status, unit = status_of(document), report.unit
    if status == "not-as-stated":
        return list(map(printable, claim(document)))
    if status == "not-private":
        return [report.guarantee()]
    whom = f"every {unit}" if is_one(unit) else protected_together(unit).replace("one ", "every ")
    conditions = ["nothing was fitted on these data before"]
    if is_merged(report.details) and report.parameters["disjoint"]:
        conditions.append("nobody has records in two of the merged releases")
    if report.in_all() is not None:
        conditions.append("different accounts are of different people")
    return [
        f"Guarantee: epsilon {up(report.epsilon, 4)} at delta {up(report.delta)} for {whom}, under "
        f"{report.adjacency}. It holds if {', and if '.join(conditions)}."
    ]


def _named(report: PrivacyReport, ledger: str) -> str:
    """A fit's own report; in a shell, an accountant is a ledger."""
    if len(report.receipts) != 1 or not ledger:
        return str(report)
    paid = f"accountant {report.receipts[0].accountant[:DIGITS]}"
    return str(report).replace(paid, f"the ledger {ledger}")
