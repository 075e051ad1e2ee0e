"""Compose events, price them at a delta, and bound what they leave to an attacker."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from numbers import Integral
from typing import overload

import numpy as np
from scipy.special import ndtr, ndtri

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
from .gdp import delta_of, float_up, number


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


# More than the relative rounding error of a bound.
_ERROR = 1e-11

# Deltas, above what the event cannot do without, at which it is priced.
_DELTAS = (0.0, *np.geomspace(1e-10, 1e-6, 5), *np.geomspace(3e-6, 0.9, 30))

# Epsilons over mu at which the delta of a Gaussian event is asked for.
_STEPS = np.linspace(0.0, 20.0, 401)

_MOST_EPSILON = 700.0  # exp of more is too large for a float64
_BISECTIONS = 60


@overload
def detection_rate(event: PrivacyEvent, false_alarms: float) -> float: ...
@overload
def detection_rate(event: PrivacyEvent, false_alarms: np.ndarray) -> np.ndarray: ...


def detection_rate(event: PrivacyEvent, false_alarms: float | np.ndarray) -> float | np.ndarray:
    r"""Largest share of present records that any test detects, by its share of false alarms.

    An attacker who knows all other records sees the release, and says whether one record was in
    the data. A false alarm names a record that was not.

    Parameters
    ----------
    event : PrivacyEvent
        What was released.
    false_alarms : float or ndarray
        Shares of false alarms, in [0, 1].

    Returns
    -------
    float or ndarray
        Bounds in [0, 1], rounded up. 1 for a release that is not private.

    Notes
    -----
    Gaussian events that never fail have the exact bound
    :math:`\Phi(\Phi^{-1}(\alpha) + \mu)` [1]_. For all others, an :math:`\varepsilon` that holds at
    :math:`\delta` bounds the rate by :math:`\delta + e^\varepsilon \alpha` and by
    :math:`1 - e^{-\varepsilon} (1 - \delta - \alpha)`. The result is the least of these over a
    grid of such pairs.

    References
    ----------
    .. [1] J. Dong, A. Roth, W. J. Su. Gaussian differential privacy. Journal of the Royal
       Statistical Society B 84(1), 2022.

    Examples
    --------
    >>> from skdppca.privacy import GaussianEvent, detection_rate, mu_of
    >>> event = GaussianEvent(mu_of(1.0, 1e-6))
    >>> round(detection_rate(event, false_alarms=0.05), 3)
    0.08
    """
    rates = np.asarray(false_alarms, dtype=float)
    if not np.all((rates >= 0) & (rates <= 1)):
        raise ValueError(
            f"false_alarms={false_alarms!r} is not a share; give numbers from 0 to 1, "
            "for example 0.05"
        )
    mu = _exact_mu(event)
    if mu is None:
        slopes, offsets = _lines(event)
        bounds = np.min(slopes * rates[..., None] + offsets, axis=-1)
    else:
        bounds = ndtr(ndtri(rates) + mu)
    bounds = np.minimum(bounds * (1 + _ERROR), 1.0)
    return bounds if rates.ndim else float(bounds)


def coin(event: PrivacyEvent, units: int = 1) -> float:
    r"""Largest probability to tell whether a record was used, if a fair coin decided that.

    Parameters
    ----------
    event : PrivacyEvent
        What was released.
    units : int, default=1
        How many records the coin decides on together, such as the people of one household.

    Returns
    -------
    float
        From 0.5 to 1, rounded up. 1 for a release that is not private.

    Notes
    -----
    It is :math:`\max_\alpha \, (1 + \beta(\alpha) - \alpha) / 2`, where :math:`\beta` is
    `detection_rate`, applied as many times as there are units. For Gaussian events that never fail
    this is :math:`\Phi(m \mu / 2)` for m units.

    Examples
    --------
    >>> from skdppca.privacy import GaussianEvent, coin
    >>> round(coin(GaussianEvent(0.25)), 3), round(coin(GaussianEvent(0.25), units=4), 3)
    (0.55, 0.691)
    """
    if not isinstance(units, Integral) or units < 1:
        raise ValueError(f"units={units!r} is not a number of records; give 1 or more")
    mu = _exact_mu(event)
    right = ndtr(units * mu / 2) if mu is not None else (1 + _advantage(event, units)) / 2
    return min(float(right) * (1 + _ERROR), 1.0)


def _exact_mu(event: PrivacyEvent) -> float | None:
    whole = compose([event])
    return whole.mu if isinstance(whole, GaussianEvent) and not whole.failure else None


@lru_cache(maxsize=64)
def _lines(event: PrivacyEvent) -> tuple[np.ndarray, np.ndarray]:
    """Slopes and offsets of lines that no detection rate exceeds."""
    slopes, offsets = [0.0], [1.0]
    for epsilon, delta in _profile(event):
        if epsilon < _MOST_EPSILON and delta < 1:
            odds = math.exp(epsilon)
            slopes += [odds, 1 / odds]
            offsets += [delta, delta / odds - math.expm1(-epsilon)]
    return np.array(slopes), np.array(offsets)


def _profile(event: PrivacyEvent) -> Iterator[tuple[float, float]]:
    """Pairs of epsilon and delta that hold for the event."""
    whole = compose([event])
    if isinstance(whole, GaussianEvent):
        for step in _STEPS:
            epsilon = float(step) * whole.mu
            yield epsilon, math.nextafter(delta_of(whole.mu, epsilon) + whole.failure, 2)
    else:
        least = float_up(add_event(Composition(), whole).failing)
        for more in _DELTAS:
            delta = least + float(more)
            yield (epsilon_of_event(whole, delta) if delta < 1 else math.inf), delta


def _advantage(event: PrivacyEvent, units: int) -> float:
    """Largest detection rate less its false alarms, rounded up.

    The rate is a concave function of the false alarms, and so is what is left of it, which grows
    while the slope is above 1.
    """
    slopes, offsets = _lines(event)

    def chained(rate: float) -> tuple[float, float]:
        slope = 1.0
        for _ in range(units):
            rates = slopes * rate + offsets
            lowest = int(np.argmin(rates))
            rate, slope = float(rates[lowest]), min(slope * float(slopes[lowest]), 1e300)
        return rate, slope

    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if chained(middle)[1] >= 1 else (low, middle)
    return chained(high)[0] - low
