"""What the private methods are made of, without noise and clipping: **NOT PRIVATE**, nor meant so.

Between PCA, which sees the whole sum of the records, and a private method, they show what its route
alone costs: one pass of Oja's steps over n/k records a component, or three power iterations.
"""

from __future__ import annotations

from math import inf

import numpy as np
from power_iterations import power_iterations

from ._records import weighted_sum
from .dp_power_method import ITERATIONS
from .k_dp_ojas import deflated_ojas


def oja(factors: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """k-DP-Ojas without noise and clipping, with its rates; k orthonormal rows. NOT PRIVATE."""
    return deflated_ojas(factors, k, inf, 0.0, rng)


def power_method(factors: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """DP-Power-Method without noise and clipping; k orthonormal rows. NOT PRIVATE."""
    A = weighted_sum(factors, np.ones(len(factors)))
    return power_iterations(lambda Q: A @ Q, len(A), k, ITERATIONS, rng)
