"""Gaussian differential privacy: (epsilon, delta) <-> mu, exact and rounded to the private side.

Float64 numbers are checked, compared and rounded exactly.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from numbers import Real

import mpmath
from scipy.special import log_ndtr

from ..noise.precision import ThreadContext

_INFINITY_RANK = struct.unpack("<q", struct.pack("<d", math.inf))[0]


def number(name: str, value: float, limit: float = math.nextafter(math.inf, 0)) -> float:
    """Return `value` as a float64 if that changes nothing and it is in [0, limit]; else raise."""
    if isinstance(value, bool) or not isinstance(value, (float, Real)):  # a float is found fast
        raise TypeError(f"{name}={value!r} is not a number; pass a float")
    if not 0 <= value <= limit:
        below = "" if limit == math.inf else " and finite" if limit > 1 else f" and at most {limit}"
        raise ValueError(f"{name}={value!r} is out of range; it must be at least 0{below}")
    try:
        held = float(value)
    except OverflowError:  # an int
        held = math.inf
    if held != value:
        raise ValueError(f"{name}={value!r} is not exactly a float64; pass a float")
    return held


def root_up(square: Fraction) -> float:
    """Return the smallest float64 whose square is at least `square`."""
    half = (square.numerator.bit_length() - square.denominator.bit_length()) // 2
    try:
        root = math.ldexp(math.sqrt(square / Fraction(4) ** half), half)
    except OverflowError:
        return math.inf
    while Fraction(root) ** 2 < square:
        root = math.nextafter(root, math.inf)
    while root and Fraction(math.nextafter(root, 0)) ** 2 >= square:
        root = math.nextafter(root, 0)
    return root


def float_up(exact: Fraction | mpmath.mpf) -> float:
    """Return the smallest float64 that is at least `exact`."""
    nearest = float(exact)
    return math.nextafter(nearest, math.inf) if nearest < exact else nearest


def last_float(holds: Callable[[float], bool], start: float) -> float:
    """Return the largest finite float64 at which `holds` is true.

    `holds` must be true at 0 and may change to false once only. Neighbouring non-negative float64
    numbers have neighbouring ranks (their bits read as an integer). Steps of 1, 2, 4, ... ranks
    from `start` find a bracket, and bisection finds the last bit.
    """
    low, step = _rank(start), 1
    if holds(start):
        high = low + 1
        while high < _INFINITY_RANK and holds(_float(high)):
            low, high, step = high, high + 2 * step, 2 * step
        high = min(high, _INFINITY_RANK)
    else:
        high, low = low, max(low - 1, 0)
        while not holds(_float(low)):
            high, low, step = low, max(low - 2 * step, 0), 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(_float(middle)) else (low, middle)
    return _float(low)


def _rank(x: float) -> int:
    """Return the bits of a non-negative float64 as an integer, which sorts as the numbers do."""
    return struct.unpack("<q", struct.pack("<d", x))[0]


def _float(rank: int) -> float:
    """Return the float64 of that rank."""
    return struct.unpack("<d", struct.pack("<q", rank))[0]


# Correct digits of every delta that decides a rounding; float64 has 17.
_CORRECT_DIGITS = 30
# A larger mu counts as no privacy, a larger epsilon as this one: rounded up, never refused.
_HUGE = 1e100

_CONTEXT = ThreadContext(_CORRECT_DIGITS)


def delta_of(mu: float, epsilon: float) -> float:
    """Return the smallest delta for which mu-GDP implies (epsilon, delta)-DP, rounded up.

    Parameters
    ----------
    mu : float
        Gaussian-DP parameter, at least 0; infinity means no privacy.
    epsilon : float
        At least 0; infinity gives 0.

    Returns
    -------
    float
        A float64 in [0, 1], never below the exact value.

    Examples
    --------
    >>> round(delta_of(1.0, 1.0), 6)
    0.126937
    """
    mu, epsilon = number("mu", mu, math.inf), number("epsilon", epsilon, math.inf)
    if mu == 0 or epsilon == math.inf:
        return 0.0
    if mu == math.inf:
        return 1.0
    return min(float_up(_delta(mu, epsilon)[0]), 1.0)


def mu_of(epsilon: float, delta: float, failure: float | Fraction = 0.0) -> float:
    """Return the largest float64 mu for which mu-GDP implies (epsilon, delta)-DP.

    Parameters
    ----------
    epsilon : float
        At least 0; infinity gives infinity (no privacy).
    delta : float
        In [0, 1).
    failure : float or Fraction, default=0
        The part of `delta` that is spent elsewhere (on steps that may fail), at most `delta`.
        It is subtracted exactly, so ``GaussianEvent(mu_of(epsilon, delta, f), f)`` always fits.

    Returns
    -------
    float
        Exact to the last bit: the next float64 would break the promise.

    Examples
    --------
    The exact noise multiplier ``1 / mu``:

    >>> round(1 / mu_of(0.5, 1e-5), 3)
    7.032
    """
    return _mu_of(number("epsilon", epsilon, math.inf), _target(delta, failure))


@lru_cache(maxsize=4096)
def _mu_of(epsilon: float, target: Fraction) -> float:
    if epsilon == math.inf:
        return math.inf
    if target == 0:
        return 0.0
    goal = _goal(target)
    start = last_float(lambda mu: mu == 0 or _log_delta(mu, epsilon) <= _log(target), 1.0)
    start = _newton(lambda mu: (goal - _delta(mu, epsilon)[0]) / _density(mu, epsilon), start)
    return last_float(lambda mu: mu == 0 or _delta(mu, epsilon)[0] <= goal, start)


def epsilon_of(mu: float, delta: float, failure: float | Fraction = 0.0) -> float:
    """Return the smallest float64 epsilon for which mu-GDP implies (epsilon, delta)-DP.

    Parameters
    ----------
    mu : float
        Gaussian-DP parameter, at least 0; infinity gives infinity.
    delta : float
        In [0, 1). With ``delta=0`` no epsilon is enough, unless ``mu=0``.
    failure : float or Fraction, default=0
        The part of `delta` that is spent elsewhere, as in `mu_of`.

    Returns
    -------
    float
        Exact to the last bit, and 0.0 where ``delta(mu, 0) <= delta``.

    Examples
    --------
    >>> round(epsilon_of(1.0, 1e-6), 4)
    4.8866
    """
    return _epsilon_of(number("mu", mu, math.inf), _target(delta, failure))


@lru_cache(maxsize=4096)
def _epsilon_of(mu: float, target: Fraction) -> float:
    if mu == 0:
        return 0.0
    if mu == math.inf or target == 0:
        return math.inf
    goal = _goal(target)
    if _delta(mu, 0.0)[0] <= goal:
        return 0.0

    def is_too_small(epsilon: float) -> bool:
        return _delta(mu, epsilon)[0] > goal

    def step(epsilon: float) -> mpmath.mpf:
        delta, lower = _delta(mu, epsilon)
        return (delta - goal) / lower

    start = last_float(lambda e: e == 0 or _log_delta(mu, e) > _log(target), 1.0)
    return math.nextafter(last_float(is_too_small, _newton(step, start)), math.inf)


def compose_mu(mus: Iterable[float]) -> float:
    """Return mu of an adaptive composition, ``sqrt(sum mu^2)``, rounded up.

    Parameters
    ----------
    mus : iterable of float
        Gaussian-DP parameters, at least 0.

    Returns
    -------
    float
        The smallest float64 that is not below the exact root; for a single value, that value.

    Examples
    --------
    >>> compose_mu([3.0, 4.0])
    5.0
    """
    mus = [number("mu", mu, math.inf) for mu in mus]
    if math.inf in mus:
        return math.inf
    return root_up(sum((Fraction(mu) ** 2 for mu in mus), Fraction(0)))


def _target(delta: float, failure: float | Fraction) -> Fraction:
    """Return what is left of `delta` for the Gaussian part, exactly."""
    delta = number("delta", delta, math.nextafter(1, 0))
    if not isinstance(failure, Fraction):  # sums of failures come as exact fractions
        failure = Fraction(number("failure", failure))
    if failure > delta:
        raise ValueError(f"failure={float(failure)} exceeds delta={delta}; raise delta")
    return Fraction(delta) - failure


def _goal(target: Fraction) -> mpmath.mpf:
    """Return `target`, whose denominator is a power of two, as the mpf that equals it."""
    with _CONTEXT.mp.workprec(max(target.numerator.bit_length(), 1)):
        return _CONTEXT.mp.mpf(target.numerator) / target.denominator


def _log(target: Fraction) -> float:
    return math.log(float(target))


def _log_delta(mu: float, epsilon: float) -> float:
    """Return log delta(mu, epsilon) in float64, close enough for a start."""
    upper = float(log_ndtr(mu / 2 - epsilon / mu))
    lower = epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))
    share = -math.expm1(min(lower - upper, 0.0))
    return upper + math.log(share) if share > 0 else -math.inf


def _delta(mu: float, epsilon: float) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Return delta(mu, epsilon), rounded up in its 30th digit, and its second, negative term."""
    mp = _CONTEXT.mp
    epsilon = min(epsilon, _HUGE)
    if mu > _HUGE:
        return mp.one, mp.one
    if epsilon / mu > _HUGE:
        return mp.mpf(10) ** -400, mp.one
    digits = _CORRECT_DIGITS + 20
    while True:
        # The tails' relative error grows with the square of their argument.
        with mp.workdps(digits + 2 * int(mp.log10(1 + abs(mu) + epsilon / mp.mpf(mu)))):
            half, shift, root2 = mp.mpf(mu) / 2, epsilon / mp.mpf(mu), mp.sqrt(2)
            upper = mp.erfc((shift - half) / root2) / 2
            lower = mp.exp(epsilon) * mp.erfc((shift + half) / root2) / 2
            delta = upper - lower
            if delta > upper * mp.mpf(10) ** (_CORRECT_DIGITS - digits):
                return delta * (1 + mp.mpf(10) ** -_CORRECT_DIGITS), lower
        digits *= 2


def _density(mu: float, epsilon: float) -> mpmath.mpf:
    """Return the derivative of delta in mu, phi(mu/2 - epsilon/mu)."""
    mp = _CONTEXT.mp
    return mp.npdf(mp.mpf(mu) / 2 - epsilon / mp.mpf(mu))


def _newton(step: Callable[[float], mpmath.mpf], start: float) -> float:
    """Take Newton steps from a good start; return the start if they go astray."""
    x = _CONTEXT.mp.mpf(start)
    for _ in range(4):
        move = step(x)
        if not abs(move) < x / 2:
            return start
        x += move
        if abs(move) <= x * 1e-12:
            break
    return float(x)
