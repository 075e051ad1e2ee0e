"""Where a release's noise comes from, and why a release has no guarantee."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ..exceptions import SeededNoiseWarning
from ..noise import NoiseSource
from ..privacy.callers import level_of_user

__all__ = ["check_chargeable", "noise_source", "why_not_private"]


def check_chargeable(epsilon: float, accountant: Any, random_state: Any) -> None:
    """Refuse what has no price, and a random state that is nobody's own."""
    if random_state is np.random.mtrand._rand:
        raise ValueError(
            "random_state is numpy's global random state, which any code can seed or read; "
            "use None for secure noise, or an int of your own"
        )
    if math.isinf(epsilon) and accountant is not None:
        raise ValueError(
            "epsilon=inf has no cost that an accountant could charge; choose a finite "
            "epsilon, or accountant=None to compute what is not private"
        )


def noise_source(epsilon: float, random_state: Any) -> NoiseSource:
    """Secure noise, or that of a seed, with a warning where the noise should protect."""
    if random_state is None:
        return NoiseSource()
    if not math.isinf(epsilon):
        warnings.warn(
            "random_state is set: whoever knows or guesses it can subtract the noise, so this "
            "release is not private. Use random_state=None on data that must be protected.",
            SeededNoiseWarning,
            stacklevel=level_of_user(),
        )
    if isinstance(random_state, np.random.RandomState):
        return NoiseSource(random_state.randint(2**32, size=4, dtype=np.uint32).tolist())
    return NoiseSource(int(random_state))


def why_not_private(epsilon: float, noise: NoiseSource) -> tuple[str, ...]:
    """For the report; empty if the guarantee holds."""
    if math.isinf(epsilon):
        return ("epsilon=inf: no noise and no clipping",)
    if not noise.is_private:
        return ("random_state: the noise can be repeated by whoever knows the seed",)
    return ()
