"""The document of a report: structs are its schema, its parser and its check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, json

from ..plotting._pipeline_steps import UnreleasedStep
from ..privacy import PrivacyReport, ReleaseRow, Statement
from ._contents import archived, as_json
from ._context import LONGEST_TITLE, Context
from ._facts import account, findings_of
from ._subject import Subject

SCHEMA = "skdppca-report/1"

Count = Annotated[int, Meta(ge=0)]
Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Identity = Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
Number = int | float | Literal["inf", "-inf", "nan"]
Positive = Annotated[float, Meta(ge=0)] | Literal["inf"]
Share = Annotated[float, Meta(ge=0, le=1)]


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
    n_records_is_noisy: bool
    lost: Count | None
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


def assemble(
    subject: Subject,
    *,
    title: str,
    context: Context,
    statement: Statement | None,
    steps: Sequence[UnreleasedStep] = (),
    image_shape: Sequence[int] | None = None,
) -> dict[str, Any]:
    """Return the document of a release, as JSON-able values."""
    document = {
        "schema": SCHEMA,
        "title": title,
        "fit": subject.report.to_dict(),
        "results": findings_of(subject),
        "ledger": None if statement is None else account(statement, subject.report),
        "context": context.to_dict(),
        "steps": [asdict(step) for step in steps],
        "image_shape": None if image_shape is None else list(map(int, image_shape)),
    }
    return parsed(as_json(document))


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
