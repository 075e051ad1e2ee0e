"""DP-Power-Method as printed: **NOT PRIVATE**.

Algorithm 1 of Nicolas et al. (2025), with the clipping and the factor alpha beta that Düngler &
Sanyal (2025), section 5 and Appendix G, put around it.

Why: alpha and beta are made of the population's eigenvalue and noise level and of the exact n.
Given public ones, the proof of Theorem 3.2 still loses a factor sqrt2 from equation 25 to 26, and
covers epsilon <= 2.34 ln(1/delta) only. That is a limit of the proof: the noise itself suffices up
to about 3 ln(1/delta) at delta = 1e-6, and over the paper's whole range at 0.01
(doc/methods/dp_power.rst).

Unprinted and chosen here: C = 1 in beta; L = 3 iterations, the default of Nicolas et al.; iteration
rank p = k.
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np
from _steps import power_iterations

from ._records import Model, root_traces, traces, weighted_sum

ITERATIONS = 3


def dp_power_method(
    factors: np.ndarray, k: int, model: Model, rng: np.random.Generator
) -> np.ndarray:
    """Noisy power method; k orthonormal rows. NOT PRIVATE."""
    n, _, d = factors.shape
    # 1. clip so that sqrt(tr A_i) <= beta and sum_j sqrt(A_i,jj) <= alpha; sum
    beta, alpha = model.clip_2(n, d), model.clip_1(n, d)
    roots = root_traces(factors)
    weights = np.minimum(
        beta**2 / np.maximum(traces(factors), beta**2), (alpha / np.maximum(roots, alpha)) ** 2
    )
    A = weighted_sum(factors, weights)
    # 2. sigma <- sqrt(4 L log(1/delta)) / epsilon
    sigma = sqrt(4 * ITERATIONS * log(1 / model.delta)) / model.epsilon

    def noise_sd(X: np.ndarray) -> float:
        return alpha * beta * float(np.linalg.norm(X, axis=1).max()) * sigma

    # 3. Y_l <- A X_{l-1} + N(0, (alpha beta Delta_l sigma)^2), X_l <- QR of Y_l
    return power_iterations(lambda X: A @ X, d, k, ITERATIONS, rng, noise_sd)


def power_method(factors: np.ndarray, k: int, _: Model, rng: np.random.Generator) -> np.ndarray:
    """The same without noise and clipping; k orthonormal rows. NOT PRIVATE."""
    A = weighted_sum(factors, np.ones(len(factors)))
    return power_iterations(lambda Q: A @ Q, len(A), k, ITERATIONS, rng)
