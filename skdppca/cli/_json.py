"""Documents that ``--json`` prints. Each struct is the schema of one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Literal

from msgspec import Struct, to_builtins

from ..planner import Plan
from ..privacy import Entry, Finding, Statement, epsilon_of_event
from ..privacy.fit_report import jsonable

# Infinity is "inf", because JSON has no number for it.
Number = float | Literal["inf"]


class Document(Struct, tag_field="schema", forbid_unknown_fields=True):
    """A document, which names its schema; as text, JSON."""

    def __str__(self) -> str:
        return json.dumps(jsonable(to_builtins(self)), indent=2)


class PlanDocument(Document, tag="skdppca-plan/1"):
    """A plan, and those along an axis if there are any."""

    releases: int
    plan: dict[str, Any]
    along: list[dict[str, Any]]

    @classmethod
    def of(cls, found: Plan, along: Sequence[Plan], releases: int) -> PlanDocument:
        """Return the document of a plan."""
        plan, *others = (
            asdict(one) | {"finds_nothing": one.finds_nothing} for one in (found, *along)
        )
        return cls(releases=releases, plan=plan, along=others)


class FitDocument(Document, tag="skdppca-fit/1"):
    """The files of a fit, and its report."""

    out: str
    files: list[str]
    no_pictures: str
    report: dict[str, Any]


class MergeDocument(FitDocument, tag="skdppca-merge/1"):
    """The files of a merge, and its report."""


class ReleaseDocument(Document, tag="skdppca-release/1"):
    """A release in a directory; nothing of what it says if its files do not agree."""

    directory: str
    status: str
    findings: tuple[Finding, ...]
    report: dict[str, Any] | None


class VerifyDocument(Document, tag="skdppca-verify/1"):
    """The answers of a `Verification`, whose attributes these are."""

    status: str
    asked: tuple[str, ...]
    notes: dict[str, str]
    findings: tuple[Finding, ...]
    hashes: dict[str, str]


class ListedCharge(Struct, kw_only=True):
    """A row of a ledger."""

    row: int
    time: str
    label: str
    epsilon: Number
    total: Number | None
    external: bool
    seeded: bool
    release: str | None

    @classmethod
    def of(cls, entry: Entry, delta: float) -> ListedCharge:
        """An entry, with its epsilon at the ledger's delta."""
        receipt = entry.receipt
        return cls(
            row=receipt.row,
            time=receipt.time,
            label=receipt.label,
            epsilon=epsilon_of_event(receipt.event, delta),
            total=entry.total,
            external=entry.external,
            seeded=receipt.seeded,
            release=None if entry.release is None else entry.release.release,
        )


class LedgerDocument(Document, tag="skdppca-ledger/1"):
    """A ledger's budget, charges and totals."""

    file: str
    accountant: str
    head: str
    adjacency: str
    unit: str
    delta: float
    budget: float
    spent: Number
    remaining: float
    charges: list[ListedCharge]

    @classmethod
    def of(cls, file: object, statement: Statement) -> LedgerDocument:
        """Return the document of a ledger."""
        terms, delta = statement.chain.terms, statement.budget.delta
        return cls(
            file=str(file),
            accountant=terms.accountant,
            head=statement.chain.head(),
            adjacency=terms.adjacency,
            unit=terms.unit,
            delta=delta,
            budget=statement.budget.epsilon,
            spent=statement.spent.epsilon,
            remaining=statement.remaining.epsilon,
            charges=[ListedCharge.of(entry, delta) for entry in statement.entries],
        )
