"""g-DPPCA with the printed noise (Kim & Jung 2025, section 2): private on paper, and too noisy.

The sensitivity ``4 r^2 / n`` and the classical Gaussian mechanism (epsilon below 1) are safe. Here
the noise is numpy's, in floating point, so this copy is **NOT PRIVATE** either. `GDPPCA` is.
"""

from __future__ import annotations

import numpy as np
from _steps import top_rows

from skdppca.records.pairs import Kernel, complete_sum

from ._common import classical_sd, symmetric


def g_dppca(
    X: np.ndarray, k: int, epsilon: float, delta: float, rng: np.random.Generator
) -> np.ndarray:
    """Spherical g-DPPCA; k orthonormal rows."""
    n, d = X.shape
    upper = np.triu(complete_sum(np.ascontiguousarray(X), Kernel())) * 2 / (n * (n - 1))
    kendall = upper + np.triu(upper, 1).T
    return top_rows(kendall + symmetric(d, classical_sd(4 / n, epsilon, delta), rng), k)
