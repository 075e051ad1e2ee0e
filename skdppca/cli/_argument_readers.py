"""Readers of options: each function reads one text, or raises with what to write instead."""

from __future__ import annotations

import csv
import math
from argparse import ArgumentTypeError
from collections.abc import Callable
from contextlib import suppress
from functools import partial


def number(text: str) -> float:
    """Read a number. One that is too large is no infinity: that would be a fit without privacy."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value) or (math.isinf(value) and "inf" not in text.lower()):
        raise ArgumentTypeError(f"{text} is no finite number; write one such as 0.5")
    return value


def _allowed(name: str, value: float | str) -> bool:
    """Return whether a parameter of the estimators may be this."""
    from ..decomposition import PrivatePCA
    from ..decomposition.parameters import allows

    return allows(PrivatePCA, name, value)


def _numbers(allowed: Callable[[float], bool], refusal: str) -> Callable[[str], float]:
    """Return a reader of the numbers that are allowed."""

    def read(text: str) -> float:
        value = number(text)
        if not allowed(value):
            raise ArgumentTypeError(f"{text} {refusal}")
        return value

    return read


# It may be infinite: a fit without privacy, that says so.
any_epsilon = _numbers(
    partial(_allowed, "epsilon"),
    "leaves no budget, so nothing could be released; give a positive number, for example 1",
)
delta = _numbers(
    partial(_allowed, "delta"),
    "promises nothing; give a number from 0 up to below 1, well below 1 / (number of records), "
    "for example 1e-6",
)
positive = _numbers(
    lambda value: 0 < value < math.inf, "is out of range; give a positive finite number"
)
share = _numbers(lambda value: 0 <= value <= 1, "is no share; give a number from 0 to 1")


def epsilon(text: str) -> float:
    """Read an epsilon that is a budget."""
    value = any_epsilon(text)
    if math.isinf(value):
        raise ArgumentTypeError(
            "inf is no budget: it bounds nothing; give a positive finite number, for example 1"
        )
    return value


def at_least(least: int, what: str) -> Callable[[str], int]:
    """Return a reader of whole numbers of at least `least`."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise ArgumentTypeError(
                f"{text} is no number of {what}; give a whole number of at least {least}"
            )
        return value

    return read


def components(text: str) -> int | float | str:
    """Read a number of components, or how a fit chooses it."""
    value: int | float | str = text
    with suppress(ValueError):
        count = float(text)
        value = int(count) if count.is_integer() else count
    if _allowed("n_components", value):
        return value
    raise ArgumentTypeError(
        f"{text} is not a number of components; give an integer of at least 1, a share of the "
        "variance between 0 and 1, auto or mle"
    )


def delimiter(text: str) -> str:
    """Read what stands between cells; a tab is hard to write on a command line."""
    from ._csv_files import DELIMITERS

    mark = {"tab": "\t", r"\t": "\t"}.get(text, text)
    if mark not in DELIMITERS:
        raise ArgumentTypeError(f"{text!r} is unknown; give {', '.join(DELIMITERS.values())}")
    return mark


def method(text: str) -> str:
    """Return the command line's name of a method, given that name or the one of its class."""
    from ..decomposition import METHODS, PrivatePCA

    words = {name.lower(): method.command for name, method in METHODS.items()}
    return (words | {PrivatePCA.__name__.lower(): "auto"}).get(text.lower(), text)


def dropped(text: str) -> list[str]:
    """Names with commas between them; one that has a comma itself is in double quotes.

    An empty one is that of a column without a name.
    """
    return next(csv.reader([text], skipinitialspace=True), []) or [""]


def names(text: str) -> list[str]:
    """Names as `dropped` reads them, none of them empty."""
    found = dropped(text)
    if not all(found):
        raise ArgumentTypeError(f"{text!r} has an empty name; write names as A,B,C")
    return found
