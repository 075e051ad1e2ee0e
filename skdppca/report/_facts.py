"""The figures of a report: how strong the guarantee is, what was found, what the ledger adds up to.

Each is a function of public or released values, so who holds these can compute it again.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._text import INTERACTION
from ..plotting._noise_of_fits import BAR_SDS, alignments, entry_errors, variance_intervals
from ..privacy import (
    PrivacyReport,
    Receipt,
    Statement,
    coin,
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

# Features named of each component, and components listed.
LARGEST = 5
MOST_TOLD = 30

# Charges of a ledger that are listed: the last ones.
MOST_LISTED = 12


def strength(report: PrivacyReport) -> dict[str, Any]:
    """Return the strength of the guarantee of a private release, and what attacks can do."""
    event = report.cost
    return {
        "profile": {f"{at:g}": epsilon_of_event(event, at) for at in DELTAS},
        "coin": coin(event),
        "detection": [detection_rate(event, at) for at in FALSE_ALARMS],
        "household": HOUSEHOLD,
        "household_coin": coin(event, units=HOUSEHOLD),
    }


def findings_of(subject: Subject) -> dict[str, Any] | None:
    """Return the results of a fit, as JSON-able values; None if it released no components.

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
        ranges, noise_sd = variance_intervals(subject.fitted), entry_errors(subject.fitted)
    described = []
    for i, component in enumerate(components[:MOST_TOLD]):
        largest = np.argsort(-np.abs(component), kind="stable")[:LARGEST]
        noise = None if noise_sd is None else np.abs(component) < BAR_SDS * noise_sd[i]
        described.append(
            {
                "variance": _at(arrays.get("explained_variance"), i),
                "range": None if ranges is None or np.isnan(ranges[i]).any() else ranges[i],
                "share": _at(arrays.get("explained_variance_ratio"), i),
                "alignment": _at(directions, i) if known else None,
                "largest": [
                    {
                        "feature": subject.names[j],
                        "entry": float(component[j]),
                        "noise": None if noise is None else bool(noise[j]),
                    }
                    for j in largest
                ],
            }
        )
    public = report.adjacency == "replace-one" or report.unit == INTERACTION
    found: dict[str, Any] = jsonable(
        {
            "n_components": len(components),
            "n_features": components.shape[1],
            "n_records": _at(arrays.get("n_samples"), ()),
            "n_records_is_noisy": not (public or math.isinf(report.epsilon)),
            "lost": int(np.sum(directions <= 0)) if known else None,
            "components": described,
        }
    )
    return found


def _at(values: Any, place: Any) -> float | None:
    return None if values is None else float(np.asarray(values)[place])


def account(statement: Statement, report: PrivacyReport) -> dict[str, Any]:
    """Return the totals of a ledger, with this release in it, as JSON-able values.

    A charge is without its time: those of others may tell how long they took.

    Parameters
    ----------
    statement : Statement
        As it was when the report was written.
    report : PrivacyReport
        Charged to it.
    """
    chain, budget = statement.chain, statement.budget
    ours = {one.row for one in charges_of(report) if one.accountant == chain.terms.accountant}
    return jsonable(
        {
            "accountant": chain.terms.accountant,
            "epsilon": budget.epsilon,
            "delta": budget.delta,
            "rows": len(chain.rows),
            "head": chain.head(),
            "n_charges": len(chain.receipts),
            "spent": statement.spent.epsilon,
            "remaining": statement.remaining.epsilon,
            "charges": [
                {
                    "row": entry.receipt.row,
                    "label": entry.receipt.label,
                    "external": entry.external,
                    "seeded": entry.receipt.seeded,
                    "this_release": entry.receipt.row in ours,
                    "epsilon": epsilon_of_event(entry.receipt.event, budget.delta),
                    "total": entry.total,
                }
                for entry in statement.entries[-MOST_LISTED:]
            ],
        }
    )


def charges_of(report: PrivacyReport) -> list[Receipt]:
    """Return the receipts of all that a release rests on: of its parts, or of joined fits."""
    return [
        receipt for one in paid_by(report) for receipt in all_receipts(one.details, one.receipts)
    ]
