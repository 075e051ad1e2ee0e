"""Budgets that are valid, and too large to protect anyone."""

from __future__ import annotations

import math
import warnings

from ..exceptions import WeakPrivacyWarning
from .callers import level_of_user

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
