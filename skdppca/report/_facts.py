"""The figures of a report: how strong the guarantee is, what was found, what the ledger adds up to.

Each is a function of public or released values, so who holds these can compute it again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._text import INTERACTION
from ..plotting._noise_of_fits import BAR_SDS, alignments, entry_errors, variance_intervals
from ..privacy import (
    Entry,
    GaussianEvent,
    PrivacyReport,
    PureEvent,
    Statement,
    coin,
    compose,
    detection_rate,
    epsilon_of_event,
)
from ..privacy.fit_report import jsonable
from ..privacy.grown import all_receipts
from ..privacy.parts import paid_by
from ._subject import Subject

# At these deltas the guarantee is stated again.
DELTAS = (1e-9, 1e-6, 1e-5, 1e-3)

FALSE_ALARMS = (0.05, 0.01)

# Units of one household.
HOUSEHOLD = 4

# Features named of each component, and components told of.
LARGEST = 5
MOST_TOLD = 30

# Charges of a ledger that are listed: the last ones.
MOST_LISTED = 12


def guarantee(reports: Sequence[PrivacyReport]) -> dict[str, Any]:
    """How strong the guarantee of all these releases together is, as JSON-able values.

    Parameters
    ----------
    reports : sequence of PrivacyReport
        Of the same neighbours.

    Returns
    -------
    dict
    """
    first, event = reports[0], compose(report.cost for report in reports)
    reasons = [reason for report in reports for reason in report.not_private]
    private = not reasons
    delta = max(report.delta for report in reports)
    epsilon = first.epsilon if len(reports) == 1 else epsilon_of_event(event, delta)
    mu = event.mu if isinstance(event, GaussianEvent) else None
    return jsonable(
        {
            "private": private,
            "not_private": reasons,
            "unit": first.unit,
            "adjacency": first.adjacency,
            "epsilon": epsilon,
            "delta": delta,
            "variant": _variant(event),
            "mu": mu,
            "failure": event.failure if isinstance(event, GaussianEvent) else 0.0,
            "profile": [[at, epsilon_of_event(event, at)] for at in DELTAS] if private else [],
            "attack": _attack(event) if private else None,
        }
    )


def _variant(event: Any) -> str:
    if isinstance(event, GaussianEvent):
        return "gaussian"
    if isinstance(event, PureEvent):
        return "pure"
    return str(event.kind)


def _attack(event: Any) -> dict[str, Any]:
    return {
        "coin": coin(event),
        "detection": [[at, detection_rate(event, at)] for at in FALSE_ALARMS],
        "household": HOUSEHOLD,
        "household_coin": coin(event, units=HOUSEHOLD),
    }


def findings_of(subject: Subject) -> dict[str, Any] | None:
    """What a fit found, as JSON-able values; None if it released no components.

    Parameters
    ----------
    subject : Subject
        Also one that was read from files.
    """
    report, arrays = subject.report, subject.arrays
    if "components" not in arrays:
        return None
    components = np.atleast_2d(arrays["components"])
    known, directions = "alignments" in report.details, alignments(subject.fitted)
    ranges = noise_sd = None
    if "explained_variance" in arrays:
        ranges = variance_intervals(subject.fitted)
        noise_sd = entry_errors(subject.fitted)
    told = [
        {
            "variance": _at(arrays.get("explained_variance"), i),
            "range": None if ranges is None or np.isnan(ranges[i]).any() else ranges[i],
            "share": _at(arrays.get("explained_variance_ratio"), i),
            "alignment": _at(directions, i) if known else None,
            "largest": [
                {
                    "feature": subject.names[j],
                    "entry": float(component[j]),
                    "noise": None
                    if noise_sd is None
                    else bool(abs(component[j]) < BAR_SDS * noise_sd[i, j]),
                }
                for j in np.argsort(-np.abs(component), kind="stable")[:LARGEST]
            ],
        }
        for i, component in enumerate(components[:MOST_TOLD])
    ]
    exact = (
        report.adjacency == "replace-one"
        or math.isinf(report.epsilon)
        or report.unit == INTERACTION
    )
    return dict(
        jsonable(
            {
                "n_components": len(components),
                "n_features": components.shape[1],
                "n_records": _at(arrays.get("n_samples"), ()),
                "n_records_is_noisy": not exact,
                "lost": int(np.sum(directions <= 0)) if known else None,
                "clip": report.details.get("clip"),
                "norm_bound": report.details.get("norm_bound"),
                "components": told,
            }
        )
    )


def _at(values: Any, place: Any) -> float | None:
    return None if values is None else float(np.asarray(values)[place])


def account(statement: Statement, reports: Sequence[PrivacyReport]) -> dict[str, Any]:
    """What a ledger adds up to, with these releases in it, as JSON-able values.

    Parameters
    ----------
    statement : Statement
        As it was when the report was written.
    reports : sequence of PrivacyReport
        Charged to it, in this order.
    """
    chain, budget = statement.chain, statement.budget
    ours = {
        receipt.row
        for report in reports
        for one in paid_by(report)
        for receipt in all_receipts(one.details, one.receipts)
        if receipt.accountant == chain.terms.accountant
    }
    return jsonable(
        {
            "accountant": chain.terms.accountant,
            "epsilon": budget.epsilon,
            "delta": budget.delta,
            "adjacency": chain.terms.adjacency,
            "unit": chain.terms.unit,
            "rows": len(chain.rows),
            "head": chain.head(),
            "n_charges": len(chain.receipts),
            "spent": statement.spent.epsilon,
            "remaining": statement.remaining.epsilon,
            "charges": [
                _charge(entry, ours, budget.delta) for entry in statement.entries[-MOST_LISTED:]
            ],
        }
    )


def _charge(entry: Entry, ours: set[int], delta: float) -> dict[str, Any]:
    """A charge, without its time: those of others may tell how long they took."""
    return {
        "row": entry.receipt.row,
        "label": entry.receipt.label,
        "external": entry.external,
        "seeded": entry.receipt.seeded,
        "this_release": entry.receipt.row in ours,
        "epsilon": epsilon_of_event(entry.receipt.event, delta),
        "total": entry.total,
    }
