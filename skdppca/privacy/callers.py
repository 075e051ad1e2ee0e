"""Which call is the user's own, so that a warning names that line, and what lies below it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from types import FrameType

# Whose calls are not the user's own.
INNER = {"skdppca", "sklearn", "joblib"}

# The most calls that are looked at; a Pipeline lies about 10 above a fit.
MOST_CALLS = 50


def level_of_user() -> int:
    """The `stacklevel`, seen from the caller, of the nearest call that is the user's own."""
    level, frame = 0, sys._getframe()
    while frame.f_back is not None and _is_inner(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    return level


def calls_below_user(module: str) -> Iterator[FrameType]:
    """Calls of a module above the caller's and below the nearest one that is the user's own."""
    for frame in islice(_inner_calls(sys._getframe(1)), MOST_CALLS):
        if frame.f_globals.get("__name__") == module:
            yield frame


def _inner_calls(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None and _is_inner(frame.f_globals.get("__name__", "")):
        yield frame
        frame = frame.f_back


def _is_inner(module: str) -> bool:
    return module.partition(".")[0] in INNER
