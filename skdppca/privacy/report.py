"""What a fit released, at what cost, and whether it is private at all."""

from __future__ import annotations

import html
import json
import math
from dataclasses import dataclass, field
from typing import Any

from .accountant import Receipt
from .events import PrivacyEvent

__all__ = ["PrivacyReport", "Spending"]


@dataclass(frozen=True)
class Spending:
    """One query of a fit.

    Parameters
    ----------
    name : str
        What the query estimates.
    mu : float
        Its Gaussian-DP cost.
    sensitivity : float
        How far one record can move the answer.
    noise_sd : float
        Standard deviation of the noise that was added.
    part : str
        Which of several disjoint parts of the records the query is about; empty for all records.
    """

    name: str
    mu: float
    sensitivity: float
    noise_sd: float
    part: str = ""


@dataclass(frozen=True)
class PrivacyReport:
    """What one fit released and what it cost.

    It holds public facts, and private outputs that the cost of the fit covers.

    Parameters
    ----------
    method : str
        Name of the estimator.
    epsilon, delta : float
        The guarantee of this fit alone.
    adjacency, unit : str
        What neighbours differ in.
    event : PrivacyEvent
        The cost, as accountants price it.
    not_private : tuple of str
        Why this release has no guarantee; empty if it has.
    spendings : tuple of Spending
        The queries that were answered.
    receipt : Receipt or None
        The accountant's, if there was one.
    details : dict
        Private outputs worth knowing: the clipping norm, the noise, error bars.
    """

    method: str
    epsilon: float
    delta: float
    adjacency: str
    unit: str
    event: PrivacyEvent
    not_private: tuple[str, ...] = ()
    spendings: tuple[Spending, ...] = ()
    receipt: Receipt | None = None
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def private(self) -> bool:
        """Whether the guarantee holds."""
        return not self.not_private

    def costs(self) -> list[tuple[str, int, float]]:
        """For each query: its name, how often it was asked, and its share of the budget.

        A query may be asked of disjoint parts of the records. A record is in one part only, so
        the share is that of the most expensive part, plus that of all records together.
        """
        total = getattr(self.event, "mu", math.inf)
        asked: dict[str, dict[str, list[float]]] = {}
        for spending in self.spendings:
            share = 0.0 if math.isinf(total) else (spending.mu / total) ** 2
            asked.setdefault(spending.name, {}).setdefault(spending.part, []).append(share)
        return [
            (name, sum(map(len, parts.values())), max(_with_whole(parts)))
            for name, parts in asked.items()
        ]

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON-able values; infinity as the string "inf"."""
        content = {
            "method": self.method,
            "private": self.private,
            "not_private": list(self.not_private),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "adjacency": self.adjacency,
            "unit": self.unit,
            "event": self.event.to_dict(),
            "spendings": [vars(spending) for spending in self.spendings],
            "receipt": None if self.receipt is None else self.receipt.to_dict(),
            "details": self.details,
        }
        return _plain(content)

    def to_json(self) -> str:
        """The report as JSON text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def guarantee(self) -> str:
        """The guarantee in one sentence."""
        if not self.private:
            return "NOT PRIVATE: " + "; ".join(self.not_private) + "."
        who = "one row is" if self.unit == "row" else f"all rows of one {self.unit} are"
        change = "added or removed" if self.adjacency == "add-remove" else "exchanged"
        return (
            f"({self.epsilon:g}, {self.delta:g})-differentially private: whether {who} {change} "
            f"changes the probability of any outcome by a factor of at most "
            f"exp({self.epsilon:g}), up to {self.delta:g}."
        )

    def __str__(self) -> str:
        lines = [f"{self.method}: {self.guarantee()}"]
        if "why" in self.details:
            lines.append(f"  by {self.details['method']}: {self.details['why']}")
        for name, times, share in self.costs():
            asked = f"{times} questions" if times > 1 else "1 question"
            lines.append(f"  {name:<28}{share:>7.1%} of the budget  ({asked})")
        if any(spending.part for spending in self.spendings):
            lines.append("  records were split: each is in one part only, and pays for that alone")
        alignments = self.details.get("alignments", ())
        lost = sum(alignment <= 0 for alignment in alignments)
        if lost:
            lines.append(f"  lost in the noise: {lost} of {len(alignments)} components")
        if self.private:
            lines.append("  holds if nothing before this fit was fitted on the same data")
        if self.receipt is not None:
            lines.append(f"  charged as row {self.receipt.row}, head {self.receipt.head[:12]}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{times}</td><td>{share:.1%}</td></tr>"
            for name, times, share in self.costs()
        )
        chosen = ""
        if "why" in self.details:
            by = f"{self.details['method']}: {self.details['why']}"
            chosen = f"<p>By {html.escape(by)}.</p>"
        receipt = ""
        if self.receipt is not None:
            receipt = (
                f"<p>Charged as row {self.receipt.row} of accountant "
                f"<code>{html.escape(self.receipt.accountant)}</code>, "
                f"head <code>{html.escape(self.receipt.head)}</code>.</p>"
            )
        return (
            f"<div class='skdppca-report'><p><strong>{html.escape(self.method)}</strong>: "
            f"{html.escape(self.guarantee())}</p>{chosen}<table><thead><tr><th>released</th>"
            f"<th>questions</th><th>share of the budget</th></tr></thead><tbody>{rows}"
            f"</tbody></table>{receipt}</div>"
        )


def _with_whole(parts: dict[str, list[float]]) -> list[float]:
    """For each part, return its cost plus that of all parts that contain it.

    "1 of 2" contains "1 of 2, 3 of 4", and the unnamed part contains all others.
    """
    return [
        math.fsum(
            share
            for whole, shares in parts.items()
            if not whole or f"{part}, ".startswith(f"{whole}, ")
            for share in shares
        )
        for part in parts
    ]


def _plain(value: Any) -> Any:
    """JSON-able copy: arrays as lists, infinity as "inf"."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and math.isinf(value):
        return "inf"
    return value
