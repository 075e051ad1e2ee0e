"""Receipts in a hash chain: what was charged, in an order that cannot be rewritten unnoticed.

The head of a row is a hash of the row's own text and of the head before it; row 0 is the budget.
Someone who kept a head can tell whether all rows up to it are still there and unchanged.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any

from .composition import Composition
from .events import PrivacyEvent, add_event, event_from_dict, known_event
from .floats import number

__all__ = ["ADJACENCIES", "Chain", "Receipt", "Terms"]

ADJACENCIES = ("add-remove", "replace-one")


@dataclass(frozen=True)
class Terms:
    """The budget of an accountant and what it is for; row 0 of its chain.

    Parameters
    ----------
    accountant : str
        Its id, hexadecimal.
    epsilon, delta : float
        The budget: ``epsilon`` positive and finite, ``delta`` in [0, 1).
    adjacency : {"add-remove", "replace-one"}
    unit : str
        "row", or the name of the groups whose members are protected together.
    """

    accountant: str
    epsilon: float
    delta: float
    adjacency: str
    unit: str

    def __post_init__(self) -> None:
        epsilon, delta = number("epsilon", self.epsilon), number("delta", self.delta, 1.0)
        if epsilon == 0:
            raise ValueError("epsilon=0 pays for nothing; choose a positive epsilon")
        if delta == 1:
            raise ValueError("delta=1 promises nothing; choose a delta below 1")
        if self.adjacency not in ADJACENCIES:
            raise ValueError(
                f"adjacency={self.adjacency!r} is unknown; choose one of {', '.join(ADJACENCIES)}"
            )
        if not isinstance(self.accountant, str):
            raise TypeError(f"accountant={self.accountant!r} must be a string")
        if not isinstance(self.unit, str) or not self.unit:
            raise ValueError(f"unit={self.unit!r} is no name; use 'row' or a group's name")
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", delta)

    @property
    def body(self) -> str:
        """The text that row 0 hashes."""
        return _canonical(asdict(self))

    @classmethod
    def from_body(cls, body: str) -> Terms:
        """Read what `body` wrote, and nothing else."""
        terms = cls(**json.loads(body))
        if terms.body != body:
            raise ValueError("its budget is not written as skdppca writes it")
        return terms


@dataclass(frozen=True)
class Receipt:
    """Proof of one charge.

    Parameters
    ----------
    row : int
        Its place in the accountant's chain, from 1.
    head : str
        SHA-256 of the chain up to and including this row, hexadecimal.
    accountant : str
        The accountant's id, hexadecimal.
    label : str
        What the charge was for, as declared.
    event : PrivacyEvent
        What it cost.
    adjacency, unit : str
        What neighbours differ in.
    seeded : bool
        Whether the noise came from a seed, which makes the release not private at all.
    time : str
        ISO 8601, UTC.

    Examples
    --------
    >>> from skdppca import PrivacyAccountant
    >>> from skdppca.privacy import GaussianEvent
    >>> accountant = PrivacyAccountant(epsilon=1.0, delta=1e-6)
    >>> receipt = accountant.charge(GaussianEvent(0.1), adjacency="add-remove", unit="row")
    >>> receipt == Receipt.from_dict(receipt.to_dict())
    True
    """

    row: int
    head: str
    accountant: str
    label: str
    event: PrivacyEvent
    adjacency: str
    unit: str
    seeded: bool
    time: str

    def __post_init__(self) -> None:
        known_event(self.event)
        if isinstance(self.row, bool) or not isinstance(self.row, int) or self.row < 1:
            raise ValueError(f"row={self.row!r} is no place in a chain; rows count from 1")
        if not isinstance(self.seeded, bool):
            raise TypeError(f"seeded={self.seeded!r} must be True or False")
        for name in ("head", "accountant", "label", "adjacency", "unit", "time"):
            if not isinstance(getattr(self, name), str):
                raise TypeError(f"{name}={getattr(self, name)!r} must be a string")

    def to_dict(self) -> dict[str, Any]:
        """Return the receipt as JSON-able values."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return values | {"event": self.event.to_dict()}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Receipt:
        """Return the receipt that `to_dict` wrote; refuse missing or extra keys."""
        names = {f.name for f in fields(cls)}
        if not isinstance(record, Mapping) or set(record) != names:
            raise ValueError(f"a receipt must have exactly the keys {', '.join(sorted(names))}")
        return cls(**{**record, "event": event_from_dict(record["event"])})

    @property
    def body(self) -> str:
        """The text that this row hashes: everything but its head."""
        values = self.to_dict()
        del values["head"]
        return _canonical(values)


@dataclass(frozen=True)
class Chain:
    """All verified rows up to now, and their total. Immutable: a charge makes a new chain.

    Parameters
    ----------
    terms : Terms
    receipts : tuple of Receipt
    total : Composition
        The sum of the receipts' events.
    """

    terms: Terms
    receipts: tuple[Receipt, ...] = ()
    total: Composition = field(default_factory=Composition)

    def head(self, row: int | None = None) -> str:
        """Return the head after `row`, by default the last."""
        row = len(self.receipts) if row is None else row
        return self.receipts[row - 1].head if row else _link("", self.terms.body)

    @property
    def last_body(self) -> str:
        """The text of the last row."""
        return self.receipts[-1].body if self.receipts else self.terms.body

    def charged(self, event: PrivacyEvent, label: str, seeded: bool) -> Chain:
        """Return the chain with one more row, written now."""
        receipt = Receipt(
            row=len(self.receipts) + 1,
            head="",
            accountant=self.terms.accountant,
            label=label,
            event=event,
            adjacency=self.terms.adjacency,
            unit=self.terms.unit,
            seeded=seeded,
            time=datetime.now(UTC).isoformat(),
        )
        return self._with(replace(receipt, head=_link(self.head(), receipt.body)))

    def followed(self, body: str, head: str) -> Chain:
        """Return the chain with a row that was stored, or raise ValueError if it does not fit."""
        receipt = Receipt.from_dict({**json.loads(body), "head": head})
        if receipt.body != body or head != _link(self.head(), body):
            raise ValueError("its hash does not match")
        place = (receipt.row, receipt.accountant, receipt.adjacency, receipt.unit)
        terms = self.terms
        if place != (len(self.receipts) + 1, terms.accountant, terms.adjacency, terms.unit):
            raise ValueError("it belongs to another place")
        return self._with(receipt)

    def lacks(self, receipts: Iterable[Receipt | Mapping[str, Any]]) -> str | None:
        """Return what is wrong with the first receipt that is not in the chain, if any."""
        for receipt in receipts:
            if not isinstance(receipt, Receipt):
                try:
                    receipt = Receipt.from_dict(receipt)
                except (TypeError, ValueError) as error:
                    return f"what was given is not a receipt: {error}"
            if receipt.accountant != self.terms.accountant:
                return f"the receipt is of accountant {receipt.accountant}, not of this one"
            if receipt.row > len(self.receipts):
                return f"row {receipt.row} of the receipt is missing: rows were removed"
            if receipt != self.receipts[receipt.row - 1]:
                return f"row {receipt.row} differs from the receipt"
        return None

    def _with(self, receipt: Receipt) -> Chain:
        total = add_event(self.total, receipt.event)
        return replace(self, receipts=(*self.receipts, receipt), total=total)


def _canonical(values: dict[str, Any]) -> str:
    """Equal values give equal text: keys are sorted, text is ASCII, floats read back exactly."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _link(head: str, body: str) -> str:
    return hashlib.sha256(f"{head}\n{body}".encode()).hexdigest()
