"""Report of a fit: its released arrays, their cost, and whether it is private at all."""

from __future__ import annotations

import hashlib
import html
import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import InitVar, asdict, dataclass, field
from fractions import Fraction
from numbers import Integral, Real
from typing import Annotated, Any

import numpy as np
from msgspec import Meta, MsgspecError, Struct, convert

from .._text import html_table, listed, printable, protected_together
from .._text.digits import up
from .chain import Receipt, ReleaseRow, canonical
from .declared import DeclaredScales, finds_scales
from .events import ComposedEvent, Event, PrivacyEvent
from .grown import cost_in_all, cost_to_most, is_declared, joined_fits, paid_for
from .pricing import compose, epsilon_of_event, is_affordable
from .storage import parse_json

SCHEMA = "skdppca-fit/1"

# From this number of sds of the noise on, a drift is reported; round. Without one, 1.6 % of the
# fits of bench_cohorts.py are above it.
ALARM = 3.0

# Events of one release: searches have a handful.
MOST_EVENTS = 100

NO_LEDGER = "No ledger was charged: nothing adds this fit up with others of the same data."

MERGED = "Nothing was charged: it was computed from releases, each charged as its own report says."

NO_SCALES = (
    "The scales could not be found at this epsilon. Nothing was standardised, so the components "
    "follow the columns with the largest numbers."
)

# Columns up to which the scales are compared with 1; a table of more would not fit a matrix.
MOST_SCALES = 10**7

SITES_LEDGERS = "Charged to the ledger of each site, question by question."

Cost = Annotated[float, Meta(ge=0)]

# Characters of an account's id that a sentence shows.
SHOWN = 8


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
    mu: Cost
    sensitivity: Cost
    noise_sd: Cost
    part: str = ""


@dataclass(frozen=True)
class Released:
    """One released array or number, by its hash: a report says with it which numbers it is about.

    Parameters
    ----------
    name : str
        The fitted attribute's, without the underscore at its end.
    shape : tuple of int
    dtype : str
        numpy's name: "float64".
    sha256 : str
        Hash of the array's bytes in C order, little-endian, hexadecimal.

    Examples
    --------
    >>> import numpy as np
    >>> released = Released.of("mean", np.zeros(3))
    >>> released.shape, released.dtype, released == Released.of("mean", np.zeros(3))
    ((3,), 'float64', True)
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    sha256: str

    @classmethod
    def of(cls, name: str, value: Any) -> Released:
        """Return the record of an array of numbers; a single number counts as float64."""
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            raise TypeError(f"{name} holds {array.dtype}; give an array of real numbers")
        if not array.ndim:
            array = array.astype(np.float64)
        flat = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).reshape(-1)
        digest = hashlib.sha256(flat.view(np.uint8).data).hexdigest()
        return cls(name, array.shape, array.dtype.name, digest)


@dataclass(frozen=True)
class PrivacyReport:
    """Record of one fit's released outputs and their cost.

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
    receipts : tuple of Receipt
        One of each account that was charged.
    details : dict
        Private outputs worth knowing: the clipping norm, the noise, error bars.
    parameters : dict
        All parameters, as JSON-able values: an accountant by its id, a random state as "seeded".
    released : tuple of Released
        Every array and number that was stored, by its hash.
    feature_names : tuple of str or None
        Names of the columns, if they had any.
    software : dict
        Versions of what computed it.
    releases : tuple of ReleaseRow
        Row of each of these accounts that names this release by its `release_id`.
    read : bool, default=False
        Whether it was read from a file: `verify_report` then says what is wrong with it.

    Raises
    ------
    ValueError
        If the event costs more than `epsilon` and `delta` state.

    Examples
    --------
    >>> import json
    >>> from sklearn.datasets import load_iris
    >>> from skdppca import DPGauss
    >>> report = DPGauss(n_components=2, epsilon=1.0).fit(load_iris().data).privacy_
    >>> [released.name for released in report.released][:2]
    ['components', 'n_components']
    >>> read = PrivacyReport.from_dict(json.loads(report.to_json()))
    >>> read.release_id == report.release_id
    True
    """

    method: str
    epsilon: float
    delta: float
    adjacency: str
    unit: str
    event: PrivacyEvent
    not_private: tuple[str, ...] = ()
    spendings: tuple[Spending, ...] = ()
    receipts: tuple[Receipt, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    released: tuple[Released, ...] = ()
    feature_names: tuple[str, ...] | None = None
    software: dict[str, str] = field(default_factory=dict)
    releases: tuple[ReleaseRow, ...] = ()
    read: InitVar[bool] = False

    def __post_init__(self, read: bool) -> None:
        if not read:
            check_price(self.cost, self.epsilon, self.delta)

    @property
    def cost(self) -> PrivacyEvent:
        """The cost to the person who paid most: `event`, unless it grew by `partial_fit`."""
        if not is_grown(self.details):
            return self.event
        return cost_to_most(paid_for(self.details, self.event, self.receipts))

    def in_all(self) -> dict[str, float] | None:
        """Return the guarantee of somebody in all fits, where it is declared that nobody is.

        For a merged release, this is somebody with records in all fits of all parts.

        Returns
        -------
        dict of str to float or None
            The least `epsilon`, at `delta`. None unless people are declared to be in one account
            only.
        """
        from .parts import bound, parts_of  # which read reports

        reports = [part.report for part in parts_of(self)] or [self]
        declared = [
            is_grown(one.details) and is_declared(paid_for(one.details, one.event, one.receipts))
            for one in reports
        ]
        if not (self.private and any(declared)):
            return None
        costs = [
            cost_in_all(paid_for(one.details, one.event, one.receipts))
            if in_one
            else bound([one], disjoint=False).event
            for one, in_one in zip(reports, declared, strict=True)
        ]
        delta = self.delta
        if "merged" in self.details:
            delta = float(self.details["guarantees"]["composed"]["delta"])
        return {"epsilon": epsilon_of_event(compose(costs), delta), "delta": delta}

    def without_account(self) -> int:
        """Return how many of the fits that a grown release joins charged no account."""
        if not is_grown(self.details):
            return 0
        paid = paid_for(self.details, self.event, self.receipts)
        return sum(not accounts for _, accounts in paid)

    @property
    def private(self) -> bool:
        """True if the guarantee holds."""
        return not self.not_private

    def costs(self) -> list[tuple[str, int, float]]:
        """For each query: its name, how often it was asked, and its share of the budget.

        A query may be asked of disjoint parts of the records. A record is in one part only, so
        the share is that of the most expensive part, plus that of all records together.
        """
        total = getattr(self.event, "mu", 0.0)  # an event without has no such shares
        asked: dict[str, list[Spending]] = {}
        for spending in self.spendings:
            asked.setdefault(spending.name, []).append(spending)
        return [(name, len(ones), _ratio(dearest(ones), total)) for name, ones in asked.items()]

    def core(self) -> dict[str, Any]:
        """Return what `release_id` is the hash of, as JSON-able values; infinity as "inf"."""
        guarantee = {name: getattr(self, name) for name in _Guarantee.__struct_fields__}
        return jsonable(
            {
                "software": self.software,
                "method": self.method,
                "parameters": self.parameters,
                "guarantee": guarantee,
                "event": self.event.to_dict(),
                "spendings": [asdict(spending) for spending in self.spendings],
                "details": self.details,
                "released": [asdict(released) for released in self.released],
                "feature_names": self.feature_names,
                "receipts": [receipt.to_dict() for receipt in self.receipts],
            }
        )

    @property
    def release_id(self) -> str:
        """SHA-256 of the `core`, hexadecimal: it names the release, and every number of it."""
        return hash_of(self.core())

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON-able values; infinity as the string "inf"."""
        return {
            "schema": SCHEMA,
            "core": self.core(),
            "release_id": self.release_id,
            "releases": [row.to_dict() for row in self.releases],
        }

    @classmethod
    def from_dict(cls, content: Any) -> PrivacyReport:
        """Return the report that `to_dict` wrote; refuse missing and unknown keys.

        Whether the report agrees with itself is another question, which `verify_report` answers.

        Raises
        ------
        ValueError, TypeError
            If `to_dict` cannot have written it.
        """
        try:
            return _read(content)
        except RecursionError:
            pass
        raise ValueError("it is nested too deeply")

    @classmethod
    def from_json(cls, text: str) -> PrivacyReport:
        """Return the report that `to_json` wrote, as `from_dict` does."""
        return cls.from_dict(parse_json(text))

    def to_json(self) -> str:
        """The report as JSON text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def guarantee(self) -> str:
        """The guarantee in one sentence."""
        if not self.private:
            return "NOT PRIVATE: " + "; ".join(self.not_private) + "."
        change = "adding or removing" if self.adjacency == "add-remove" else "exchanging"
        epsilon = up(self.epsilon, 4)
        return (
            f"({epsilon}, {self.delta:g})-differentially private: {change} "
            f"{protected_together(self.unit)} changes the probability of any set of outcomes by at "
            f"most a factor exp({epsilon}), plus {self.delta:g}."
        )

    def __repr__(self) -> str:
        what = (
            f"epsilon={up(self.epsilon, 4)}, delta={self.delta:g}"
            if self.private
            else "NOT PRIVATE"
        )
        rows = " and ".join(str(receipt.row) for receipt in self.receipts)
        paid = f"charged as row {rows}" if rows else "no ledger"
        return printable(
            f"<PrivacyReport of {self.method}: {what}, {self.adjacency}, unit {self.unit}, {paid}>"
        )

    def __str__(self) -> str:
        lines = [f"{self.method}: {self.guarantee()}"]
        lines += [f"  {line}" for line in (*no_scales(self), *self.remarks())]
        for name, times, share in self.costs():
            asked = f"{times} questions" if times > 1 else "1 question"
            paid = f"{share:>7.1%} of this fit's budget  ({asked})" if share else asked
            lines.append(f"  {name:<28}{paid}")
        lines += [f"  {line}" for line in self._closing()]
        return "\n".join(map(printable, lines))

    def _closing(self) -> list[str]:
        """Return the facts that a reader must have beyond the queries."""
        lines, alignments = [], self.details.get("alignments", ())
        if any(spending.part for spending in self.spendings):
            lines.append(
                "records were split: each is in one part only, and is charged for that part alone"
            )
        lost = sum(alignment <= 0 for alignment in alignments)
        if lost:
            lines.append(f"lost in the noise: {lost} of {len(alignments)} components")
        if self.private:
            lines.append("holds if nothing before this fit was fitted on the same data")
        paid = [
            f"charged as row {receipt.row} of accountant {receipt.accountant[:16]}"
            for receipt in self.receipts
        ]
        return [*lines, *(paid or [self._uncharged])]

    @property
    def _uncharged(self) -> str:
        """Why there is no receipt."""
        if "merged" in self.details:
            return MERGED
        return SITES_LEDGERS if self.details.get("sites") else NO_LEDGER

    def remarks(self, *, technical: bool = True) -> list[str]:
        """Return remarks on how the release was made, and on what is missing from it.

        Parameters
        ----------
        technical : bool, default=True
            Whether to say how the method asked, which changes nothing for who reads the results.
        """
        remarks, details = [], self.details
        if {"method", "why"} <= set(details):
            remarks.append(f"method: {details['method']}, because {details['why']}")
        if details.get("sites"):
            remarks += self._about_sites()
        if "merged" in details:
            remarks += self._about_parts()
        if is_grown(details):
            remarks += self._about_fits()
        if technical and "subspaces" in details:
            dimensions = ", ".join(map(str, details["subspaces"]))
            remarks.append(
                f"in nested subspaces of {dimensions} dimensions: in each, every record is scaled "
                "to norm 1 and asked about again"
            )
        if technical and "predicted_loss" in details:
            remarks.append(
                "all that was left went into one matrix, whose noise is predicted to take "
                f"{up(float(details['predicted_loss']), 2)} of the variance"
            )
        if "present" in details:
            present = sum(details["present"]) / len(details["present"])
            remarks.append(
                f"missing entries were filled with the mean, and corrected for as if they were "
                f"missing at random; about {present:.0%} of the entries are there"
            )
            names = self.feature_names or [f"X[:, {j}]" for j in range(len(details["present"]))]
            pairs = zip(names, details["present"], strict=False)
            if empty := [name for name, share in pairs if share == 0]:
                remarks.append(
                    f"columns with hardly any values, whose loadings are set to 0: {listed(empty)}"
                )
        elif self.parameters.get("missing") == "mean" and self.spendings:
            remarks.append(
                "missing entries were filled with the public mean; nothing corrects for that, so "
                "the variances are too small"
            )
        if "no_centre" in details:
            remarks.append(f"no centre was seen in the noise: {details['no_centre']}")
        if "no_norms" in details:
            remarks.append(f"no lengths of rows were seen in the noise: {details['no_norms']}")
        if "no_variances" in details:
            remarks.append(f"no variances: {details['no_variances']}")
        return remarks

    def _about_parts(self) -> list[str]:
        """Return remarks on the merge, and the guarantee if the declaration on people is wrong."""
        details, declared = self.details, self.parameters["disjoint"]
        by = "noisy matrices" if details["merged"] == "matrices" else "projectors"
        told = {name: (one["epsilon"], one["delta"]) for name, one in details["guarantees"].items()}
        epsilon, delta = map(float, told["composed" if declared else "disjoint"])
        other = f"epsilon {up(epsilon, 4)} at delta {up(delta)}"
        first = f"merged from {len(details['parts'])} releases, by their {by}"
        if math.isinf(self.epsilon):
            return [first]
        return [
            first,
            "it is declared, and was not checked, that nobody has records in two of the releases; "
            f"somebody with records in all of them is protected with {other}"
            if declared
            else "all of the releases add up, as if everybody had records in each of them; for "
            f"people with records in one only, the guarantee is {other}",
            *self._about_all(),
        ]

    def _about_all(self) -> list[str]:
        """Say what holds for somebody in all fits, where it is declared that nobody is."""
        if not (most := self.in_all()):
            return []
        return [
            "declared, and checked by nobody: who is charged in one account has no records in a "
            "fit that was charged to another; somebody with records in all fits is protected with "
            f"epsilon {up(most['epsilon'], 4)} at delta {up(most['delta'])}"
        ]

    def _about_fits(self) -> list[str]:
        """Say which fits the release joins, and what each of them cost whom."""
        fits = joined_fits(self.details)
        accounts = [ids for _, ids in paid_for(self.details, self.event, self.receipts)]
        told = [
            f"{_of_accounts(ids)} (epsilon {up(float(fit['epsilon']), 4)}, delta "
            f"{float(fit['delta']):g}, {float(fit['n_samples']):.0f} records)"
            for fit, ids in zip(fits, accounts, strict=True)
        ]
        remarks = [f"joins {len(fits)} fit{'s' * (len(fits) > 1)}: {', '.join(told)}"]
        if len(fits) > 1:
            remarks.append("the guarantee is that of the person who was charged most")
        if len(fits) > 1 and self.without_account():
            remarks.append("who pays for a fit without an account is unknown, so everybody does")
        return [*remarks, *self._about_all(), *drifts(self)]

    def _about_sites(self) -> list[str]:
        """Whom the guarantee holds for, and against whom."""
        details, names = self.details, list(self.details["sites"])
        others = len(names) - details["honest_sites"]
        remarks = [
            f"over the sites {', '.join(names)}; it protects a site's records from the analyst, "
            f"the server and up to {others} of the other sites together (from the server by masks "
            "that rest on cryptography)"
        ]
        most = details["max_sites_per_person"]
        if most > 1:
            remarks.append(
                f"who has records at {most} sites is protected with epsilon "
                f"{up(float(details['person_epsilon']), 4)} at the same delta"
            )
        return remarks

    def _repr_html_(self) -> str:
        rows = [
            (name, str(times), f"{share:.1%}" if share else "-")
            for name, times, share in self.costs()
        ]
        table = (
            html_table(("question", "times", "share of this fit's budget"), rows) if rows else ""
        )
        before, behind = (
            "".join(f"<p>{html.escape(printable(_sentence(line)))}</p>" for line in lines)
            for lines in ([*no_scales(self), *self.remarks()], self._closing())
        )
        method, guarantee = (html.escape(printable(t)) for t in (self.method, self.guarantee()))
        return (
            f"<div class='skdppca-report'><p><strong>{method}</strong>: {guarantee}</p>"
            f"{before}{table}{behind}</div>"
        )


def _of_accounts(ids: Collection[str]) -> str:
    return " and ".join(f"account {one[:SHOWN]}" for one in sorted(ids)) or "no account"


def _sentence(line: str) -> str:
    return f"{line[0].upper()}{line[1:].removesuffix('.')}."


def drifts(report: PrivacyReport) -> list[str]:
    """Say which people differ from those before, beyond what noise explains."""
    fits = joined_fits(report.details) if is_grown(report.details) else ()
    return [
        f"the people of fit {number} differ from those before by {float(fit['drift']):.1f} "
        "standard deviations of the noise: a sign that the population changed"
        for number, fit in enumerate(fits, start=1)
        if fit["drift"] is not None and float(fit["drift"]) > ALARM
    ]


def no_scales(report: PrivacyReport) -> list[str]:
    """Return a warning if private scales were asked for and none was released; empty otherwise.

    All of them are 1 then, which the hash of the released scales tells.
    """
    scales = [released for released in report.released if released.name == "scale"]
    asked = report.parameters.get("scale")
    if not finds_scales(asked) or math.isinf(report.epsilon) or not scales:
        return []
    shape = scales[0].shape
    if len(shape) != 1 or not 0 < shape[0] <= MOST_SCALES:  # as a report that was made up may say
        return []
    try:
        none = DeclaredScales.of(asked, shape[0], report.feature_names).whole(None)
    except ValueError:  # likewise
        return []
    arrays = [none, none.astype(np.float32)]
    return [NO_SCALES] if scales[0] in [Released.of("scale", one) for one in arrays] else []


def dearest(spendings: Sequence[Spending]) -> Fraction | float:
    """The squared mu that the record pays which pays most.

    A part pays for its own queries and for those of every part that contains it: "1 of 2" contains
    "1 of 2, 3 of 4", and the unnamed part contains all others.
    """
    if any(math.isinf(spending.mu) for spending in spendings):
        return math.inf
    paid: dict[str, Fraction] = {"": Fraction(0)}
    for spending in spendings:
        part = f"{spending.part}, " if spending.part else ""
        paid[part] = paid.get(part, Fraction(0)) + Fraction(spending.mu) ** 2
    # in this order a part stands behind those that contain it, and these are what is open
    open_ones, total = [""], {"": paid.pop("")}
    for part in sorted(paid):
        while not part.startswith(open_ones[-1]):
            open_ones.pop()
        total[part] = total[open_ones[-1]] + paid[part]
        open_ones.append(part)
    return max(total.values())


def _ratio(paid: Fraction | float, mu: float) -> float:
    """A part of mu squared; of a report that was made up it may be more than a float holds."""
    try:
        return float(paid / Fraction(mu) ** 2) if mu else 0.0
    except OverflowError:
        return math.inf


def hash_of(core: dict[str, Any]) -> str:
    """SHA-256 of the canonical text of a core, hexadecimal."""
    return hashlib.sha256(canonical(core).encode()).hexdigest()


def jsonable(value: Any) -> Any:
    """A copy that JSON can hold, of anything.

    Arrays become lists, and numbers that JSON does not know text: "inf", "-inf", "nan". What is
    neither a number, text, list nor mapping is given by its name, or by that of its class.
    """
    if isinstance(value, np.generic) or hasattr(value, "__array__"):
        value = np.asarray(value).tolist()
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        number = float(value)
        return number if math.isfinite(number) else str(number)
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return [jsonable(item) for item in value]
    name = getattr(value, "__name__", type(value).__name__)
    return getattr(value, "__qualname__", name)  # numpy 1.26 gives its functions a name only


class _Guarantee(Struct):
    private: bool
    not_private: tuple[str, ...]
    epsilon: Cost
    delta: Cost
    unit: str
    adjacency: str


class _Core(Struct):
    software: dict[str, Any]
    method: str
    parameters: dict[str, Any]
    guarantee: _Guarantee
    event: Event
    spendings: tuple[Spending, ...]
    details: dict[str, Any]
    released: tuple[Released, ...]
    feature_names: tuple[str, ...] | None
    receipts: tuple[Receipt, ...]


class _Document(Struct, tag_field="schema", tag=SCHEMA):
    core: _Core
    release_id: str
    releases: tuple[ReleaseRow, ...]


def _read(content: Any) -> PrivacyReport:
    """Return the report of a document, whatever its release id; refuse one of another text.

    Infinity is a text in JSON, so texts are read as numbers; that of the report shows which were.
    """
    try:
        document = convert(content, _Document, strict=False)
    except MsgspecError as error:
        raise ValueError(str(error)) from error
    core, guarantee = document.core, document.core.guarantee
    if isinstance(core.event, ComposedEvent) and len(core.event.events) > MOST_EVENTS:
        raise ValueError(f"its event has more than {MOST_EVENTS} parts")  # priced in seconds
    report = PrivacyReport(
        method=core.method,
        epsilon=guarantee.epsilon,
        delta=guarantee.delta,
        adjacency=guarantee.adjacency,
        unit=guarantee.unit,
        event=core.event,
        not_private=guarantee.not_private,
        spendings=core.spendings,
        receipts=core.receipts,
        details=core.details,
        parameters=core.parameters,
        released=core.released,
        feature_names=core.feature_names,
        software=core.software,
        releases=document.releases,
        read=True,
    )
    if is_grown(report.details):
        joined_fits(report.details)
    if not all(row.head for row in (*report.receipts, *report.releases)):
        raise ValueError("a row of a ledger lacks its head")
    if guarantee.private is not report.private:
        raise ValueError("private contradicts not_private")
    if canonical(report.to_dict() | {"release_id": document.release_id}) != canonical(content):
        raise ValueError("it is not written as skdppca writes it")
    return report


def is_grown(details: Mapping[str, Any]) -> bool:
    """Return whether the details of a report are those of a release by `partial_fit`."""
    return "joined" in details


def check_price(event: PrivacyEvent, epsilon: float, delta: float) -> None:
    """Refuse to state a guarantee that costs less than the event; ``epsilon=inf`` states none."""
    if not math.isinf(epsilon) and not is_affordable(event, epsilon, delta):
        raise ValueError(
            f"epsilon={epsilon} and delta={delta} are less than {event} costs; state what was paid "
            "for"
        )
