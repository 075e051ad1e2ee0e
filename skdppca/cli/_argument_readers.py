"""Readers of options: each function reads one text, or raises with what to write instead."""

from __future__ import annotations

import csv
import math
from argparse import ArgumentTypeError
from collections.abc import Callable
from contextlib import suppress


def number(text: str) -> float:
    """Read a number. One that is too large is no infinity: that would be a fit without privacy."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value) or (math.isinf(value) and "inf" not in text.lower()):
        raise ArgumentTypeError(f"{text} is no finite number; write one such as 0.5")
    return value


def at_least(least: int, what: str) -> Callable[[str], int]:
    """Return a reader of whole numbers of at least `least`."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise ArgumentTypeError(
                f"{text} is no number of {what}; give a whole number of at least {least}"
            )
        return int(text)

    return read


def components(text: str) -> int | float | str:
    """Read a number of components, or how a fit chooses it."""
    with suppress(ValueError):
        count = float(text)
        return int(count) if count.is_integer() else count
    return text


def delimiter(text: str) -> str:
    """Read what stands between cells; a tab is hard to write on a command line."""
    return {"tab": "\t", r"\t": "\t"}.get(text, text)


def method(text: str) -> str:
    """Return the command line's name of a method, given that name or the one of its class."""
    from ..decomposition import METHODS, PrivatePCA

    words = {name.lower(): method.command for name, method in METHODS.items()}
    return (words | {PrivatePCA.__name__.lower(): "auto"}).get(text.lower(), text)


def names(text: str) -> list[str]:
    """Names with commas between them; one that has a comma itself is in double quotes.

    An empty one is that of a column without a name.
    """
    return next(csv.reader([text], skipinitialspace=True), []) or [""]
