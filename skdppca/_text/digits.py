"""Numbers as text, rounded to the careful side: costs and risks up, what is left down."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

# A smaller missing share is shown as 100%.
LEAST_MISSED = 1e-6


def up(value: float, digits: int = 3) -> str:
    """The number with `digits` significant digits, rounded up.

    Examples
    --------
    >>> up(0.23670), up(1.0), up(1e-6), up(float("inf"))
    ('0.237', '1', '1e-06', 'infinite')
    """
    return _rounded(value, digits, ROUND_CEILING)


def down(value: float, digits: int = 3) -> str:
    """The number with `digits` significant digits, rounded down."""
    return _rounded(value, digits, ROUND_FLOOR)


def percent_up(share: float) -> str:
    """A share in per cent with one digit behind the point, rounded up and at most 100.

    Examples
    --------
    >>> percent_up(0.54711), percent_up(0.05), percent_up(1.0)
    ('54.8', '5', '100')
    """
    # A digit that only the rounding of float64 has made does not count.
    tenths = math.ceil(round(1000 * min(share, 1.0), 9))
    return f"{tenths / 10:g}"


def percent_down(share: float) -> str:
    """A share in per cent, rounded down.

    Examples
    --------
    >>> percent_down(0.998)
    '99'
    """
    return f"{math.floor(round(100 * share, 9))}"


def percent(share: float) -> str:
    """A share in per cent, to the nearest."""
    return f"{100 * share:.1f}" if share < 0.0995 else f"{100 * share:.0f}"


def whole_percent(share: float) -> str:
    """A share as whole per cent, with a sign."""
    return f"{100 * share:.0f} %"


def percent_captured(share: float) -> str:
    """A share with a sign, and enough digits to show how much of 1 is missing.

    Examples
    --------
    >>> percent_captured(0.985), percent_captured(0.99985), percent_captured(1.0)
    ('98.5%', '99.985%', '100%')
    """
    missed = 1.0 - share
    if missed < LEAST_MISSED:
        return "100%"
    return f"{share:.{max(1, math.ceil(-math.log10(missed)) - 1)}%}"


def count(value: float) -> str:
    """A large number with spaces between its thousands.

    Examples
    --------
    >>> count(1802.3), count(12345678)
    ('1 802', '12 345 678')
    """
    return f"{value:,.0f}".replace(",", " ")


def _rounded(value: float, digits: int, direction: str) -> str:
    if not math.isfinite(value):
        return "infinite"
    # Twelve digits first, so that 0.1 + 0.2 is 0.3 and not a little more.
    exact = Decimal(f"{value:.12g}")
    return f"{float(Context(prec=digits, rounding=direction).create_decimal(exact)):g}"
