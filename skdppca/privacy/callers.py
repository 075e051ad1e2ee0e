"""Which call is the user's own, so that a warning names that line."""

from __future__ import annotations

import sys

__all__ = ["level_of_user"]

# Whose calls are not the user's own.
INNER = {"skdppca", "sklearn", "joblib"}


def level_of_user() -> int:
    """The `stacklevel`, seen from the caller, of the nearest call that is the user's own."""
    level, frame = 0, sys._getframe()
    while frame.f_back is not None and _is_inner(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    return level


def _is_inner(module: str) -> bool:
    return module.partition(".")[0] in INNER
