"""DP-Gauss-1 as printed (Düngler & Sanyal 2025, Appendix G): **NOT PRIVATE**.

Why: beta is made of the population's eigenvalue and noise level, and of the exact n, which under
add/remove is private. Given a public beta, the classical scale sqrt(2 ln(1.25/delta))/epsilon is
proven for epsilon < 1 only, and wrong for large epsilon (doc/theory/gaussian_dp.rst). At
epsilon = 1 it is loose instead, and so is the mirrored triangle, by sqrt2 off the diagonal
(doc/theory/sensitivities.rst).

Unprinted and chosen here: C = 1 in beta.
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np

from ._records import Model, mirrored_noise, top_rows, trace_clipped_sum


def dp_gauss_1(
    factors: np.ndarray,
    k: int,
    epsilon: float,
    delta: float,
    model: Model,
    rng: np.random.Generator,
) -> np.ndarray:
    """Input perturbation; k orthonormal rows. NOT PRIVATE."""
    n, _, d = factors.shape
    # 1. clip every matrix to trace beta^2
    beta = model.clip_2(n, d)
    # 2. X <- sum_i clipped A_i
    X = trace_clipped_sum(factors, beta)
    # 3. X' <- X + E, upper triangle of E i.i.d. N(0, Delta_1^2)
    scale = beta**2 * sqrt(2 * log(1.25 / delta)) / epsilon
    # 4. the top k eigenvectors of X'
    return top_rows(X + mirrored_noise(d, scale, rng), k)
