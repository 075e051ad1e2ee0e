"""What a report holds, as JSON-able values, and the schema that describes it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from functools import cache
from importlib.resources import files
from typing import Any

from ..plotting._pipeline_steps import UnreleasedStep
from ..privacy import Finding, PrivacyReport, Statement, verify_report
from ..privacy.accountant import BaseAccountant
from ..privacy.checks import anew
from ..privacy.installing import how_to_install
from ._context import Context
from ._drawing import drawn_by
from ._facts import account, findings_of, guarantee
from ._pictures import Picture
from ._subject import Subject

SCHEMA = "skdppca-report/3"

# The keys of a document, and of what a fit says of itself.
ORDER = (
    *("schema", "title", "guarantee", "fits", "ledger", "context", "steps", "pictures"),
    *("drawing", "checks"),
)
DRAWING = ("matplotlib", "freetype", "image_shape")
LISTS = {
    "steps": [one.name for one in fields(UnreleasedStep)],
    "pictures": ["name", "alt"],
    "checks": [one.name for one in fields(Finding)],
}
OWN = ("schema", "core", "release_id", "release")


def assemble(
    subjects: Sequence[Subject],
    *,
    title: str,
    context: Context,
    statement: Statement | None,
    checks: Sequence[Finding],
    steps: Sequence[UnreleasedStep] = (),
    pictures: Sequence[Picture] = (),
    image_shape: Sequence[int] | None = None,
) -> dict[str, Any]:
    """Return the document of these releases."""
    reports = [subject.report for subject in subjects]
    return {
        "schema": SCHEMA,
        "title": title,
        "guarantee": guarantee(reports),
        "fits": [
            subject.report.to_dict() | {"results": findings_of(subject)} for subject in subjects
        ],
        "ledger": None if statement is None else account(statement, reports),
        "context": context.to_dict(),
        "steps": [asdict(step) for step in steps],
        "pictures": [{"name": picture.name, "alt": picture.alt} for picture in pictures],
        "drawing": _drawing(image_shape) if pictures else None,
        "checks": [
            {"level": one.level, "what": one.what, "passed": one.passed, "says": one.says}
            for one in checks
        ],
    }


def _drawing(image_shape: Sequence[int] | None) -> dict[str, Any]:
    """With what the pictures can be drawn again."""
    shape = None if image_shape is None else list(map(int, image_shape))
    return {**drawn_by(), "image_shape": shape}


def self_checks(subjects: Sequence[Subject], ledger: BaseAccountant | None) -> list[Finding]:
    """What the releases, their arrays and the ledger, which is read once, say of each other."""
    charged = any(one.report.receipt is not None for one in subjects)
    statement = None if ledger is None or not charged else anew(ledger)
    return [
        finding
        for one in subjects
        for finding in verify_report(
            one.report,
            arrays=one.arrays,
            ledger=None if one.report.receipt is None else statement,
        )
    ]


def reports_of(document: Mapping[str, Any]) -> list[PrivacyReport]:
    """The fits' own reports in a document; refuse what they cannot have written."""
    return [PrivacyReport.from_dict({name: fit[name] for name in OWN}) for fit in document["fits"]]


def in_order(document: Mapping[str, Any], reports: Sequence[PrivacyReport]) -> dict[str, Any]:
    """The document in the order of `assemble`, as far as that is given; `reports` are its own."""
    fits = [
        report.to_dict() | {name: fit[name] for name in ("release_id", "results")}
        for report, fit in zip(reports, document["fits"], strict=True)
    ]
    stated = document["context"]
    context = {name: stated[name] for name in Context().to_dict() if name in stated}
    lists = {
        name: [{key: one[key] for key in keys} for one in document[name]]
        for name, keys in LISTS.items()
    }
    whole = {name: document[name] for name in ORDER if name in document}  # "drawing" may lack
    if whole.get("drawing") is not None:
        whole["drawing"] = {name: document["drawing"][name] for name in DRAWING}
    return whole | lists | {"fits": fits, "context": context}


@cache
def _validator() -> Any:
    try:
        from jsonschema import Draft202012Validator
    except ImportError:
        raise ImportError(
            "A report is checked against its schema by jsonschema. Install it: "
            f"{how_to_install('report')}"
        ) from None
    schema = json.loads((files(__package__) / "schema.json").read_text(encoding="utf-8"))
    return Draft202012Validator(schema)


def check_schema(content: Any) -> str | None:
    """Return where a document first departs from the schema, or None.

    Raises
    ------
    ImportError
        Without jsonschema.
    """
    errors = sorted(_validator().iter_errors(content), key=lambda error: list(map(str, error.path)))
    if not errors:
        return None
    where = "/".join(map(str, errors[0].absolute_path)) or "the document"
    return f"{where}: {errors[0].message}"
