"""Costs of releases: frozen records that any accountant can add up, store and price.

An event states its cost for one pair of neighbours and knows nothing of adjacency: the mechanism
that declares it has already put the right sensitivity into `mu` or `epsilon`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from msgspec import MsgspecError, Struct, convert, json
from msgspec.structs import force_setattr

from ..exceptions import UnknownEventError
from .composition import Composition
from .gdp import number

# Largest mean number of runs: more than anybody needs, and small enough for float64.
MOST_RUNS = 1e6


class PrivacyEvent(Struct, frozen=True, gc=False, tag_field="type", forbid_unknown_fields=True):
    """Base of all events. Accountants price the classes of this module and refuse all others."""

    @property
    def kind(self) -> str:
        """The name of its class in JSON."""
        return str(self.__struct_config__.tag)

    def to_dict(self) -> dict[str, Any]:
        """Return the event as JSON-able values, its kind under the key "type"."""
        return dict(json.decode(json.encode(self)))

    def _add_to(self, total: Composition) -> Composition:
        raise NotImplementedError

    def _check(self, name: str, limit: float | None = None) -> None:
        limits = () if limit is None else (limit,)
        force_setattr(self, name, number(name, getattr(self, name), *limits))


class GaussianEvent(PrivacyEvent, frozen=True, tag="gaussian"):
    """A release that is mu-GDP, such as one Gaussian mechanism or any number of them.

    Parameters
    ----------
    mu : float
        Sensitivity over noise sd, or the root of the sum of squares for a composition. Finite:
        a release without noise is a `NonPrivateEvent`.
    failure : float, default=0
        Probability with which a check inside the method fails, and nothing bounds the release. It
        adds to delta.

    Examples
    --------
    >>> GaussianEvent(0.5).to_dict()
    {'type': 'gaussian', 'mu': 0.5, 'failure': 0.0}
    """

    mu: float
    failure: float = 0.0

    def __post_init__(self) -> None:
        self._check("mu")
        self._check("failure", 1.0)

    def _add_to(self, total: Composition) -> Composition:
        return total.gaussian(self.mu, self.failure)


class PureEvent(PrivacyEvent, frozen=True, tag="pure"):
    """A release that is epsilon-DP with delta 0: Laplace noise, an exponential mechanism.

    Parameters
    ----------
    epsilon : float
        Finite, at least 0.

    Examples
    --------
    >>> PureEvent(0.5)
    PureEvent(epsilon=0.5)
    """

    epsilon: float

    def __post_init__(self) -> None:
        self._check("epsilon")

    def _add_to(self, total: Composition) -> Composition:
        return total.step(self.epsilon, 0.0)


class ApproximateEvent(PrivacyEvent, frozen=True, tag="approximate"):
    """A release of which only (epsilon, delta)-DP is known.

    Parameters
    ----------
    epsilon : float
        Finite, at least 0.
    delta : float
        In [0, 1].

    Examples
    --------
    >>> ApproximateEvent(0.5, 1e-7)
    ApproximateEvent(epsilon=0.5, delta=1e-07)
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        self._check("epsilon")
        self._check("delta", 1.0)

    def _add_to(self, total: Composition) -> Composition:
        return total.step(self.epsilon, self.delta)


class SelectionEvent(PrivacyEvent, frozen=True, tag="selection"):
    """The best of a random number of runs of a Gaussian mechanism; nothing else is released.

    The number of runs K follows the logarithmic distribution (the truncated negative binomial
    with eta = 0; Papernot and Steinke 2022) and stays secret. The best run is the one with the
    largest private score. The output of a run and its score together must be mu-GDP, and never
    fail.

    Parameters
    ----------
    mu : float
        Gaussian-DP parameter of one run, its score included.
    mean_runs : float
        E[K], from 1 to 1e6.

    Examples
    --------
    >>> SelectionEvent(0.1, mean_runs=10.0).to_dict()
    {'type': 'selection', 'mu': 0.1, 'mean_runs': 10.0}
    """

    mu: float
    mean_runs: float

    def __post_init__(self) -> None:
        self._check("mu")
        self._check("mean_runs", MOST_RUNS)
        if self.mean_runs < 1:
            raise ValueError(f"mean_runs={self.mean_runs!r} is out of range; it must be at least 1")

    def _add_to(self, total: Composition) -> Composition:
        return total.selection(self.mu, self.mean_runs)


class NonPrivateEvent(PrivacyEvent, frozen=True, tag="non-private"):
    """A release without noise; every accountant refuses it.

    Examples
    --------
    >>> NonPrivateEvent().to_dict()
    {'type': 'non-private'}
    """

    def _add_to(self, total: Composition) -> Composition:
        return total.broken()


class ComposedEvent(PrivacyEvent, frozen=True, tag="composed"):
    """Several releases about the same records, each of which may depend on the ones before.

    A release that is repeated is listed as often as it happens, so no count can be forgotten or
    applied twice.

    Parameters
    ----------
    events : tuple of PrivacyEvent
        At least one; composed events among them are flattened.

    Examples
    --------
    >>> ComposedEvent((GaussianEvent(0.5), PureEvent(0.1))).to_dict()["events"][1]
    {'type': 'pure', 'epsilon': 0.1}
    """

    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        flat: list[Event] = []
        for event in self.events:
            flat.extend(event.events if isinstance(event, ComposedEvent) else [known_event(event)])
        if not flat:
            raise ValueError("events=() composes nothing; pass at least one event")
        force_setattr(self, "events", tuple(flat))

    def _add_to(self, total: Composition) -> Composition:
        for event in self.events:
            total = event._add_to(total)
        return total


# Events that may be charged, and lie in a ledger.
Event = (
    GaussianEvent | PureEvent | ApproximateEvent | SelectionEvent | NonPrivateEvent | ComposedEvent
)
_KINDS = frozenset(get_args(Event))


def event_from_dict(record: Mapping[str, Any]) -> PrivacyEvent:
    """Return the event that `to_dict` wrote, or refuse a record that it cannot have written.

    Parameters
    ----------
    record : mapping
        Dict as `PrivacyEvent.to_dict` returns it.

    Returns
    -------
    PrivacyEvent

    Raises
    ------
    UnknownEventError
        If the type is unknown, a key is missing or extra, or a value is not a cost.

    Examples
    --------
    >>> event_from_dict({"type": "pure", "epsilon": 0.1})
    PureEvent(epsilon=0.1)
    """
    try:
        event: PrivacyEvent = convert(record, Event)
    except (MsgspecError, RecursionError) as error:
        raise UnknownEventError(
            f"{record!r} is no known privacy event, so its cost is unknown: {error} (a newer "
            "skdppca may know more)"
        ) from error
    if event.to_dict() != record:
        raise UnknownEventError(f"{record!r} is not written as {event!r} is")
    return event


def stated_event(epsilon: float | None, delta: float | None, mu: float | None) -> PrivacyEvent:
    """Return the event of a guarantee as papers and other tools state it.

    Parameters
    ----------
    epsilon, delta : float or None
        Given together; ``delta=0`` is pure differential privacy.
    mu : float or None
        Gaussian differential privacy, given alone.

    Returns
    -------
    GaussianEvent, PureEvent or ApproximateEvent

    Raises
    ------
    ValueError, TypeError
        If neither or both are given, or a value promises nothing.

    Examples
    --------
    >>> stated_event(0.5, 0.0, None), stated_event(None, None, 0.2)
    (PureEvent(epsilon=0.5), GaussianEvent(mu=0.2, failure=0.0))
    """
    event: PrivacyEvent
    if mu is not None and epsilon is None and delta is None:
        event = GaussianEvent(mu)
        if event.mu == 0:
            raise ValueError("mu=0 costs nothing, so nothing has to be charged; check the number")
    elif mu is None and epsilon is not None and delta is not None:
        event = ApproximateEvent(epsilon, delta)
        if event.delta == 1:
            raise ValueError(f"delta={delta!r} promises nothing; give a delta below 1")
        if event.delta == 0:
            event = PureEvent(event.epsilon)
            if event.epsilon == 0:
                raise ValueError(
                    "epsilon=0 with delta=0 costs nothing, so nothing has to be charged; "
                    "check the numbers"
                )
    else:
        given = {"epsilon": epsilon, "delta": delta, "mu": mu}
        named = ", ".join(f"{name}={value!r}" for name, value in given.items() if value is not None)
        raise ValueError(
            f"{named or 'no cost'} was given; give epsilon and delta (delta=0 for pure "
            "differential privacy), or mu alone for Gaussian differential privacy"
        )
    return event


def known_event(event: Any) -> Event:
    """Return `event` if it is of a known kind, or refuse it."""
    if type(event) not in _KINDS:
        raise UnknownEventError(
            f"{event!r} is no privacy event that can be priced; "
            "declare one of the classes of skdppca.privacy"
        )
    return event


def add_event(total: Composition, event: PrivacyEvent) -> Composition:
    """Return `total` with one more event, or refuse an event of no known kind."""
    return known_event(event)._add_to(total)
