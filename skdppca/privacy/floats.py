"""Float64 numbers, checked, compared and rounded exactly."""

import math
import struct
from collections.abc import Callable
from fractions import Fraction
from numbers import Real

import mpmath

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
