"""A hash chain of what was charged and released, in an order that no one rewrites unnoticed.

The head of a row is a hash of the row's own text and of the head before it; row 0 is the budget.
Someone who kept a head can tell whether all rows up to it are still there and unchanged.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Self

import msgspec
from msgspec import Meta, MsgspecError, Struct, field, to_builtins
from msgspec.structs import force_setattr, replace

from .._text import comes_back, is_one, printable
from .composition import Composition, Log
from .events import Event, PrivacyEvent, add_event, known_event
from .gdp import number

ADJACENCIES = ("add-remove", "replace-one")
# The schema of row 0; another one is refused.
SCHEMA = "skdppca-ledger-file/1"
_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), allow_nan=False, check_circular=False
)

Place = Annotated[int, Meta(ge=1)]
SHA256 = r"\A[0-9a-f]{64}\Z"
Digest = Annotated[str, Meta(pattern=SHA256)]


class Terms(Struct, frozen=True, tag_field="schema", tag=SCHEMA, forbid_unknown_fields=True):
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
            raise ValueError("epsilon=0 leaves no budget; choose a positive epsilon, such as 1.0")
        if delta == 1:
            raise ValueError("delta=1 promises nothing; choose a delta below 1")
        if self.adjacency not in ADJACENCIES:
            raise ValueError(
                f"adjacency={self.adjacency!r} is unknown; choose one of {', '.join(ADJACENCIES)}"
            )
        if not isinstance(self.unit, str) or not self.unit:
            raise ValueError(f"unit={self.unit!r} is no name; use 'row' or a group's name")
        force_setattr(self, "epsilon", epsilon)
        force_setattr(self, "delta", delta)

    def __str__(self) -> str:
        who = f"every {self.unit}" if is_one(self.unit) else f"all rows of every {self.unit}"
        return f"epsilon {self.epsilon:g}, delta {self.delta:g} for {who}, under {self.adjacency}"

    @property
    def body(self) -> str:
        """The text that row 0 hashes."""
        return canonical(to_builtins(self))

    @classmethod
    def from_body(cls, body: str) -> Terms:
        """Read what `body` wrote, and nothing else."""
        try:
            terms = msgspec.json.decode(body, type=cls)
        except MsgspecError as error:
            raise ValueError(f"it is no ledger of the schema {SCHEMA}: {error}") from error
        if terms.body != body:
            raise ValueError("its budget is not written as skdppca writes it")
        return terms


class ChainRow(
    Struct,
    frozen=True,
    kw_only=True,
    tag_field="kind",
    forbid_unknown_fields=True,
    omit_defaults=True,
    gc=False,
):
    """The fields of every row of a chain; each subclass is one kind of row.

    The text of a row that takes the place of a write that was cut off has one more, ``cut``: the
    SHA-256 of what that write left.
    """

    row: Place
    head: Digest = ""  # until the row is in a chain
    accountant: str
    cut: Digest = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON-able values, its kind under the key "kind"."""
        return dict(msgspec.json.decode(msgspec.json.encode(self)))

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the row that `to_dict` wrote; refuse missing or extra keys."""
        return row_from_dict(record, cls)

    @property
    def body(self) -> str:
        """The text that this row hashes: everything but its head."""
        return canonical(to_builtins(replace(self, head="")))


class Receipt(ChainRow, frozen=True, kw_only=True, tag="charge"):
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
        ISO 8601, UTC, in whole seconds.
    nonce : str
        Random, so that no two charges look alike.

    Examples
    --------
    >>> from skdppca import PrivacyAccountant
    >>> from skdppca.privacy import GaussianEvent
    >>> accountant = PrivacyAccountant(epsilon=1.0, delta=1e-6)
    >>> receipt = accountant.charge(GaussianEvent(0.1), adjacency="add-remove", unit="row")
    >>> receipt == Receipt.from_dict(receipt.to_dict())
    True
    """

    label: str
    event: Event
    adjacency: str
    unit: str
    seeded: bool
    time: str
    nonce: str


class ExternalReceipt(Receipt, frozen=True, kw_only=True, tag="external"):
    """Proof of one charge for what another tool released of the same people.

    It has the fields of a `Receipt`. No release row follows it, because skdppca never held what
    was released. So the label must say what it was.

    Examples
    --------
    >>> from skdppca import PrivacyAccountant
    >>> accountant = PrivacyAccountant(epsilon=1.0, delta=1e-6)
    >>> receipt = accountant.charge_external(
    ...     "counts by year", epsilon=0.1, delta=0.0, adjacency="add-remove"
    ... )
    >>> receipt == ExternalReceipt.from_dict(receipt.to_dict())
    True
    """

    def __post_init__(self) -> None:
        if not self.label.strip():
            raise ValueError(
                f"label={self.label!r} does not say what was released, and nothing else will; "
                "name the tool and the release, for example label='OpenDP: counts by year'"
            )
        if self.seeded:
            raise ValueError("seeded=True is for fits of skdppca; an external charge has no seed")


class ReleaseRow(ChainRow, frozen=True, kw_only=True, tag="release"):
    """Proof of what a charge released.

    A charge is written before the noise is drawn, so it cannot say what came out. This row does,
    and it is written before anyone sees the result. It has no time, because a second time would
    publish how long the computation took.

    Parameters
    ----------
    row : int
        Its place in the accountant's chain, from 2.
    head : str
        SHA-256 of the chain up to and including this row, hexadecimal.
    accountant : str
        The accountant's id, hexadecimal.
    charge : int
        The row of the receipt that paid for the release.
    release : str
        SHA-256 of what was released, 64 hexadecimal digits.

    Examples
    --------
    >>> import hashlib
    >>> from skdppca import PrivacyAccountant
    >>> from skdppca.privacy import GaussianEvent
    >>> accountant = PrivacyAccountant(epsilon=1.0, delta=1e-6)
    >>> receipt = accountant.charge(GaussianEvent(0.1), adjacency="add-remove", unit="row")
    >>> row = accountant.record(receipt, hashlib.sha256(b"what was released").hexdigest())
    >>> row.charge == receipt.row, row == ReleaseRow.from_dict(row.to_dict())
    (True, True)
    """

    charge: Place
    release: Digest

    def __post_init__(self) -> None:
        if self.charge >= self.row:
            raise ValueError(f"charge={self.charge!r} must be a row before row={self.row!r}")


Row = Receipt | ExternalReceipt | ReleaseRow


def row_from_dict(record: Mapping[str, Any], kind: Any = Row) -> Any:
    """Return the row that `to_dict` wrote, of any kind or of a given one.

    Raises
    ------
    ValueError
        If `to_dict` cannot have written it.
    """
    try:
        row = msgspec.convert(record, kind)
    except MsgspecError as error:
        raise ValueError(f"it is no row of a ledger: {error}") from error
    if row.to_dict() != record or not row.head:
        raise ValueError(f"it is not written as a {type(row).__name__} is")
    return row


def row_from_text(body: str) -> Row:
    """Return the row that `ChainRow.body` wrote, without its head."""
    try:
        row: Row = _DECODER.decode(body)
    except MsgspecError as error:
        raise ValueError(f"it is no row of a ledger: {error}") from error
    if canonical(to_builtins(row)) != body:
        raise ValueError("it is not written as skdppca writes it")
    return row


_DECODER = msgspec.json.Decoder(Row)


class Chain(Struct, frozen=True):
    """All verified rows up to now, and their total. Immutable: a charge makes a new chain.

    Parameters
    ----------
    terms : Terms
    rows : Log of Receipt or ReleaseRow
    total : Composition
        The sums of the receipts' events.
    recorded : int
        Its bit of place ``row`` is set once the charge in that row has its release row.
    cut : str
        SHA-256 of a write behind the rows that was cut off, which the next row states.
    """

    terms: Terms
    rows: Log[ChainRow] = field(default_factory=Log)
    total: Composition = field(default_factory=Composition)
    recorded: int = 0
    cut: str = ""

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """The charges, oldest first."""
        return tuple(row for row in self.rows if isinstance(row, Receipt))

    @property
    def releases(self) -> tuple[ReleaseRow, ...]:
        """Rows of all recorded releases, oldest first."""
        return tuple(row for row in self.rows if isinstance(row, ReleaseRow))

    @property
    def unrecorded(self) -> tuple[Receipt, ...]:
        """The charges whose release row is missing, oldest first; an external one needs none."""
        released = {release.charge for release in self.releases}
        return tuple(
            receipt
            for receipt in self.receipts
            if receipt.row not in released and not isinstance(receipt, ExternalReceipt)
        )

    def head(self, row: int | None = None) -> str:
        """Return the head after `row`, by default the last."""
        row = len(self.rows) if row is None else row
        return self.rows[row - 1].head if row else _link("", self.terms.body)

    @property
    def last_body(self) -> str:
        """The text of the last row."""
        return self.rows[-1].body if self.rows else self.terms.body

    def until(self, row: int) -> Chain:
        """Return the chain as it was when `row` was its last one."""
        earlier = Chain(self.terms)
        for one in self.rows[:row]:
            earlier = earlier._with(one)
        return earlier

    def charged(
        self,
        event: PrivacyEvent,
        label: str,
        seeded: bool,
        kind: type[Receipt] = Receipt,
    ) -> Chain:
        """Return the chain with one more charge of this kind, written now.

        Raises
        ------
        TypeError, ValueError
            If the label would not come back from the ledger as it is.
        """
        if not isinstance(label, str):
            raise TypeError(f"label={label!r} must be a string")
        if not comes_back(label):
            raise ValueError(
                f"label='{printable(label)}' has half a letter (a surrogate) or a NUL, which no "
                "file gives back; write the letter itself, or leave it out"
            )
        receipt = kind(
            row=len(self.rows) + 1,
            accountant=self.terms.accountant,
            label=label,
            event=known_event(event),
            adjacency=self.terms.adjacency,
            unit=self.terms.unit,
            seeded=seeded,
            time=datetime.now(UTC).isoformat(timespec="seconds"),
            nonce=uuid.uuid4().hex,
            cut=self.cut,
        )
        return self._followed_by(receipt)

    def released(self, receipt: Receipt, release: str) -> Chain:
        """Return the chain with what `receipt` released, or raise ValueError if it cannot be."""
        wrong = self.lacks([receipt])
        if wrong is not None:
            raise ValueError(
                f"{wrong}, so its release cannot be recorded; "
                "pass the receipt that this accountant's `charge` returned"
            )
        if not isinstance(release, str) or not re.search(SHA256, release):
            raise ValueError(
                f"release={release!r} is no SHA-256; pass its 64 hexadecimal digits, "
                "as hashlib.sha256(...).hexdigest() returns them"
            )
        row = ReleaseRow(
            row=len(self.rows) + 1,
            accountant=self.terms.accountant,
            charge=receipt.row,
            release=release,
            cut=self.cut,
        )
        self._pays(row)
        return self._followed_by(row)

    def _followed_by(self, row: ChainRow) -> Chain:
        """Return the chain with a new row, read back from its text: what is written can be read."""
        text = row.body
        return self._with(replace(row_from_text(text), head=_link(self.head(), text)))

    def followed(self, body: str, head: str) -> Chain:
        """Return the chain with a row that was stored, or raise ValueError if it does not fit."""
        if head != _link(self.head(), body):
            raise ValueError("its hash does not match")
        row, terms = row_from_text(body), self.terms
        if row.row != len(self.rows) + 1:
            raise ValueError("it belongs to another place")
        ours = row.accountant == terms.accountant
        if isinstance(row, Receipt):
            ours = ours and (row.adjacency, row.unit) == (terms.adjacency, terms.unit)
        if not ours:
            raise ValueError("it belongs to another ledger")
        if isinstance(row, ReleaseRow):
            self._pays(row)
        return self._with(replace(row, head=head))

    def lacks(self, rows: Iterable[ChainRow | Mapping[str, Any]]) -> str | None:
        """Return what is wrong with the first row that is not in the chain, if any."""
        for row in rows:
            if not isinstance(row, ChainRow):
                try:
                    row = row_from_dict(row)
                except (TypeError, ValueError) as error:
                    return f"what was given is not a receipt or release row: {error}"
            name = "receipt" if isinstance(row, Receipt) else "release row"
            if row.accountant != self.terms.accountant:
                other, this = row.accountant[:16], self.terms.accountant[:16]
                return f"the {name} belongs to another ledger: {other}, and this one is {this}"
            if row.row > len(self.rows):
                return (
                    f"row {row.row} of the {name} is missing: rows were removed, or this is an "
                    "older copy, which must not be charged"
                )
            if row != self.rows[row.row - 1]:
                return f"row {row.row} differs from the {name}"
        return None

    def _pays(self, release: ReleaseRow) -> None:
        """Refuse a release that no charge pays for, or whose charge paid for another one."""
        charge = self.rows[release.charge - 1]
        if not isinstance(charge, Receipt):
            raise ValueError(f"row {release.charge} is no charge, so it pays for no release")
        if isinstance(charge, ExternalReceipt):
            raise ValueError(
                f"the charge in row {release.charge} is external: it pays for what another tool "
                "released; charge again for a release of skdppca"
            )
        if self.recorded >> release.charge & 1:
            raise ValueError(
                f"the charge in row {release.charge} has its release already; "
                "charge again for another release"
            )

    def _with(self, row: ChainRow) -> Chain:
        total, recorded = self.total, self.recorded
        if isinstance(row, Receipt):
            total = add_event(total, row.event)
        elif isinstance(row, ReleaseRow):
            recorded |= 1 << row.charge
        return Chain(self.terms, self.rows.appended(row), total, recorded)


def canonical(values: dict[str, Any]) -> str:
    """Equal values give equal text: keys are sorted, text is ASCII, floats read back exactly."""
    return _ENCODER.encode(values)


def _link(head: str, body: str) -> str:
    return hashlib.sha256(f"{head}\n{body}".encode()).hexdigest()
