"""What ``--json`` prints: one document, with a schema of its own in `schemas.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from importlib.resources import files
from typing import Any

from ..planner import Plan
from ..privacy import Statement, epsilon_of_event
from ..privacy.fit_report import jsonable
from ..report import Verification
from ..report._sections import status_of


@cache
def schemas() -> Mapping[str, Any]:
    """The schemas, by what they describe."""
    found: Mapping[str, Any] = json.loads(
        (files(__package__) / "schemas.json").read_text(encoding="utf-8")
    )
    return found


def text(kind: str, content: Mapping[str, Any]) -> str:
    """A document as JSON; infinity as "inf"."""
    return json.dumps({"schema": f"skdppca-{kind}/1", **jsonable(content)}, indent=2)


def of_plans(found: Plan, along: Sequence[Plan], releases: int) -> dict[str, Any]:
    """A plan, and those along an axis if there are any."""
    return {"releases": releases, "plan": _plan(found), "along": [_plan(one) for one in along]}


def _plan(found: Plan) -> dict[str, Any]:
    named = {one.name: getattr(found, one.name) for one in fields(found)}
    return named | {"finds_nothing": found.finds_nothing, "rows": found.to_dict()}


def of_fit(out: object, written: Sequence[str], no_pictures: str, report: Any) -> dict[str, Any]:
    """What a fit or a merge wrote, and its report."""
    return {"out": str(out), "files": written, "no_pictures": no_pictures, "report": report}


def of_release(directory: object, found: Verification) -> dict[str, Any]:
    """A release in a directory; nothing of what it says if its files do not agree."""
    passed = found.passed
    return {
        "directory": str(directory),
        "passed": passed,
        "status": status_of(found.document) if passed else None,
        "findings": _findings(found),
        "report": found.document if passed else None,
    }


def of_ledger(file: object, statement: Statement) -> dict[str, Any]:
    """A ledger's budget, charges and totals."""
    terms, chain, delta = statement.chain.terms, statement.chain, statement.budget.delta
    return {
        "file": str(file),
        "accountant": terms.accountant,
        "head": chain.head(),
        "adjacency": terms.adjacency,
        "unit": terms.unit,
        "delta": delta,
        "budget": statement.budget.epsilon,
        "spent": statement.spent.epsilon,
        "remaining": statement.remaining.epsilon,
        "max_cohorts_per_person": terms.max_cohorts_per_person,
        "cohorts": [
            {
                "name": name,
                "spent": statement.spent_by(name).epsilon,
                "remaining": statement.remaining_for(name).epsilon,
            }
            for name in statement.cohorts
        ],
        "charges": [
            {
                "row": one.receipt.row,
                "time": one.receipt.time,
                "label": one.receipt.label,
                "cohorts": list(one.receipt.cohorts),
                "epsilon": epsilon_of_event(one.receipt.event, delta),
                "total": one.total,
                "external": one.external,
                "seeded": one.receipt.seeded,
                "release": None if one.release is None else one.release.release,
            }
            for one in statement.entries
        ],
    }


def of_verification(found: Verification) -> dict[str, Any]:
    """What agrees and what differs."""
    return {
        "passed": found.passed,
        "levels": found.levels,
        "notes": {str(level): note for level, note in found.notes.items()},
        "findings": _findings(found),
        "hashes": found.hashes,
    }


def _findings(found: Verification) -> list[dict[str, Any]]:
    return [
        {"level": one.level, "what": one.what, "passed": one.passed, "says": one.says}
        for one in found.findings
    ]
