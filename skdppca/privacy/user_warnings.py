"""Warnings at the user's own line, and those of budgets that hardly protect anyone."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterator
from itertools import islice
from types import FrameType

from ..exceptions import WeakPrivacyWarning

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


# Above these a guarantee is a formality.
LARGE_EPSILON = 20.0
LARGE_DELTA = 0.01


def warn_if_weak(epsilon: float, delta: float) -> None:
    """Warn of a budget that hardly protects anyone. It looks at public parameters alone.

    To be called before a charge, so that a filter can make the warning an error.

    Parameters
    ----------
    epsilon : float
        Infinity does not warn: such a release is called "not private" wherever it appears.
    delta : float
    """
    if LARGE_EPSILON < epsilon < math.inf:
        _warn(
            f"epsilon={epsilon:g} hardly protects anyone: one record may change the probability "
            f"of a result by a factor of exp({epsilon:g}), so the release may show whose record "
            "was in the data. Choose a smaller one, for example epsilon=1.0."
        )
    if delta > LARGE_DELTA:
        _warn(
            f"delta={delta:g} hardly protects anyone: with it, to publish every record with "
            f"probability {delta:g} would count as private. Choose delta well below "
            "1 / (number of records), for example delta=1e-6."
        )


def _warn(text: str) -> None:
    warnings.warn(text, WeakPrivacyWarning, stacklevel=level_of_user())
