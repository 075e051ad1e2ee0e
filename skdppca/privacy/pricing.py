"""Compose events, price them at a delta, and compare them with a budget."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

from .composition import Composition
from .events import (
    ApproximateEvent,
    ComposedEvent,
    Event,
    GaussianEvent,
    NonPrivateEvent,
    PrivacyEvent,
    PureEvent,
    SelectionEvent,
    add_event,
    known_event,
)
from .floats import float_up, number


def compose(events: Iterable[PrivacyEvent]) -> PrivacyEvent:
    """Return one event that costs as much as all `events` together.

    Gaussian events collapse into one in closed form (their failures add); anything that is not
    private makes the whole not private.

    Parameters
    ----------
    events : iterable of PrivacyEvent
        Adaptively composed releases about the same records.

    Returns
    -------
    PrivacyEvent
        A `GaussianEvent` where all of them are; ``GaussianEvent(0.0)`` for none.

    Examples
    --------
    >>> compose([GaussianEvent(3.0), GaussianEvent(4.0, failure=1e-9)])
    GaussianEvent(mu=5.0, failure=1e-09)
    """
    return event_of_total(_total(events))


def event_of_total(total: Composition) -> PrivacyEvent:
    """Return one event that costs as much as a total, as `compose` does."""
    if not total.private or total.mu == math.inf:
        return NonPrivateEvent()
    gaussian = GaussianEvent(total.mu, float_up(min(total.failure, Fraction(1))))
    steps: list[Event] = [
        ApproximateEvent(*step) if step[1] else PureEvent(step[0]) for step in total.steps
    ]
    steps += [SelectionEvent(*selection) for selection in total.selections]
    if not steps:
        return gaussian
    parts = [gaussian, *steps] if gaussian.mu or gaussian.failure else steps
    return parts[0] if len(parts) == 1 else ComposedEvent(tuple(parts))


def epsilon_of_event(event: PrivacyEvent, delta: float) -> float:
    """Return the smallest epsilon that can be proven for `event` at `delta`, rounded up.

    Parameters
    ----------
    event : PrivacyEvent
        What was released. The price of Gaussian events is exact. That of a single pure or
        approximate event is what it declares. For a mixture of these, it is the lower of
        dp-accounting's price and the sum of epsilons. dp-accounting prices selections and
        Gaussian events together; the epsilons of all other events are then added.
    delta : float
        In [0, 1).

    Returns
    -------
    float
        Infinity if there is none.

    Examples
    --------
    >>> round(epsilon_of_event(GaussianEvent(1.0), delta=1e-6), 4)
    4.8866
    """
    return _price(known_event(event), number("delta", delta, math.nextafter(1, 0)))


@lru_cache(maxsize=4096)
def _price(event: PrivacyEvent, delta: float) -> float:
    return _total([event]).epsilon(delta)


def is_affordable(event: PrivacyEvent, epsilon: float, delta: float) -> bool:
    """Return whether `event` is (epsilon, delta)-private.

    Parameters
    ----------
    event : PrivacyEvent
        What is to be released.
    epsilon, delta : float
        The budget; ``delta=0`` covers pure events only.

    Returns
    -------
    bool

    Examples
    --------
    >>> is_affordable(GaussianEvent(1.0), epsilon=1.0, delta=1e-6)
    False
    """
    return _total([event]).fits(
        number("epsilon", epsilon), number("delta", delta, math.nextafter(1, 0))
    )


def _total(events: Iterable[PrivacyEvent]) -> Composition:
    total = Composition()
    for event in events:
        total = add_event(total, event)
    return total
