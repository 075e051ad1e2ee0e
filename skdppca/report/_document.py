"""The document of a report: structs are its schema, its parser and its check.

Its figures are functions of public or released values, so who holds these can compute them again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta, Struct, json

from ..plotting._noise_of_fits import BAR_SDS, alignments, entry_errors, variance_intervals
from ..plotting._pipeline_steps import UnreleasedStep
from ..privacy import (
    PrivacyReport,
    Receipt,
    ReleaseRow,
    Statement,
    coin,
    detection_rate,
    epsilon_of_event,
)
from ..privacy.fit_report import jsonable
from ..privacy.grown import all_receipts
from ..privacy.parts import paid_by
from ._contents import archived, as_json
from ._context import LONGEST_TITLE, Context
from ._subject import Subject

SCHEMA = "skdppca-report/1"

Count = Annotated[int, Meta(ge=0)]
Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Identity = Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
Number = int | float | Literal["inf", "-inf", "nan"]
Positive = Annotated[float, Meta(ge=0)] | Literal["inf"]
Share = Annotated[float, Meta(ge=0, le=1)]

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


class StatedPart(Struct, forbid_unknown_fields=True, kw_only=True):
    """A part of the document; a key that it does not have is refused."""


class StatedLoading(StatedPart):
    """A large entry of a component; `noise`: whether privacy noise alone explains it."""

    feature: str
    entry: float
    noise: bool | None


class StatedComponent(StatedPart):
    """A component as it was found."""

    variance: Number | None
    range: tuple[Number, Number] | None
    share: Number | None
    alignment: Number | None
    largest: list[StatedLoading]


class StatedResults(StatedPart):
    """The results of a fit."""

    n_components: Count
    n_features: Count
    n_records: Number | None
    components: list[StatedComponent]


class StatedFit(StatedPart):
    """The report of the fit, which `release_id` is the hash of.

    `core` is hashed as canonical JSON: sorted keys, ASCII, no spaces. Each row of `releases` is one
    of a ledger, which names the release.
    """

    schema: str
    core: dict[str, Any]
    release_id: Digest
    releases: list[ReleaseRow]


class StatedCharge(StatedPart):
    """A charge of the ledger."""

    row: Count
    label: str
    external: bool
    seeded: bool
    this_release: bool
    epsilon: Positive
    total: Number | None


class StatedLedger(StatedPart):
    """The account as it was when the report was written: up to its row `rows`."""

    accountant: Identity
    epsilon: Positive
    delta: Share
    rows: Count
    head: Digest
    n_charges: Count
    spent: Positive
    remaining: Positive
    charges: list[StatedCharge]


class ReportDocument(StatedPart):
    """The report of one private release. Infinity is the text "inf".

    `context` is declared, and not checked. `image_shape` is that of a row that is an image.
    """

    schema: Literal["skdppca-report/1"]
    title: Annotated[str, Meta(min_length=1, max_length=LONGEST_TITLE)]
    fit: StatedFit
    results: StatedResults | None
    ledger: StatedLedger | None
    context: Context
    steps: list[UnreleasedStep]
    image_shape: Annotated[list[Count], Meta(min_length=2, max_length=3)] | None


def assemble(subject: Subject, statement: Statement | None, **declared: Any) -> dict[str, Any]:
    """Return the document of a release, as JSON-able values.

    Parameters
    ----------
    subject : Subject
    statement : Statement or None
        Statement of the ledger whose totals are reported.
    declared
        The title, the context, the steps of a Pipeline and the shape of an image.
    """
    document = {
        "schema": SCHEMA,
        "fit": subject.report.to_dict(),
        "results": findings_of(subject),
        "ledger": None if statement is None else account(statement, subject.report),
    }
    return parsed(as_json(document | declared))


def parsed(text: str) -> dict[str, Any]:
    """Return the document that a text holds, as JSON-able values."""
    found: dict[str, Any] = json.decode(json.encode(json.decode(text, type=ReportDocument)))
    return found


def read(text: str) -> tuple[dict[str, Any], PrivacyReport]:
    """Return the document that a text holds, and the report of its fit.

    Raises
    ------
    ValueError, TypeError
        If skdppca does not write it so.
    """
    document = parsed(text)
    report = report_of(document)
    archived(report.released, report.feature_names)
    # the core is a mapping of any order, and whether its hash agrees is checked later
    fit = report.to_dict() | {"release_id": document["fit"]["release_id"]}
    if text != as_json(document | {"fit": fit}):
        raise ValueError("spaces, order, the form of numbers, or a key that is there twice")
    return document, report


def report_of(document: Mapping[str, Any]) -> PrivacyReport:
    """Return the fit's own report in a document; refuse what no fit can have written."""
    return PrivacyReport.from_dict(document["fit"])


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
    found: dict[str, Any] = jsonable(
        {
            "n_components": len(components),
            "n_features": components.shape[1],
            "n_records": _at(arrays.get("n_samples"), ()),
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
        Statement of the ledger when the report was written.
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
