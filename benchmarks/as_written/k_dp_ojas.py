"""k-DP-Ojas as printed (Düngler & Sanyal 2025, Algorithms 1 and 3): **NOT PRIVATE**.

Why (doc/methods/kdpojas.rst): the noise multiplier C' log(n/delta) / (epsilon sqrt n) rests on
amplification by shuffling, which holds for epsilon = O(sqrt(log(n/delta)/n)) only (Liu et al. 2022,
Lemma 3.1). The paper's Theorem 10 states that range; its Theorem 2 and its experiments go beyond.
At epsilon = 1 it is far outside, and Algorithm 3 does not even shuffle. The clipping threshold is
made of population quantities and the exact n.

Unprinted and chosen here: C = C' = 1; n is the number of all records, also inside a round that
sees m = n/k of them. K = a = 1 and eta_j = 1/(1 + j) are Appendix G's.
"""

from __future__ import annotations

from math import inf, log, sqrt

import numpy as np

from ._records import FAILURE, Model, deflated, project, random_unit

# Steps whose noise is drawn at once.
CHUNK = 1024


def k_dp_ojas(factors: np.ndarray, k: int, model: Model, rng: np.random.Generator) -> np.ndarray:
    """Algorithm 1 around Algorithm 3; k orthonormal rows. NOT PRIVATE."""
    n, _, d = factors.shape
    # 1. noise multiplier
    alpha = log(n / model.delta) / (model.epsilon * sqrt(n))
    # 2. clipping threshold
    beta = model.eigenvalues[0] * sqrt(d) * (model.gamma * log(n * d / FAILURE) + 1)
    return deflated(
        factors, k, lambda part, found: _dp_ojas(part, found, beta, 2 * beta * alpha, rng)
    )


def oja(factors: np.ndarray, k: int, _: Model, rng: np.random.Generator) -> np.ndarray:
    """The same without noise and clipping, with its rates; k orthonormal rows. NOT PRIVATE."""
    return deflated(factors, k, lambda part, found: _dp_ojas(part, found, inf, 0.0, rng))


def _dp_ojas(
    factors: np.ndarray, found: np.ndarray, beta: float, sd: float, rng: np.random.Generator
) -> np.ndarray:
    """Algorithm 3, lines 3 to 9, with P = I - found^T found."""
    m, _, d = factors.shape
    # 3. a random start in the image of P
    w = random_unit(d, found, rng)
    for start in range(0, m, CHUNK):
        chunk = factors[start : start + CHUNK]
        # 5. z_t
        z = project(rng.normal(scale=sd, size=(len(chunk), d)), found)
        for j, F in enumerate(chunk):
            # 6. w'_t <- w_{t-1} + eta_t P(clip_beta(P A_t P w_{t-1}) + 2 beta alpha z_t)
            g = project((F @ w) @ F, found)
            norm = sqrt(g @ g)
            if norm > beta:
                g *= beta / norm
            g += z[j]
            g *= 1 / (2 + start + j)  # eta_t = 1 / (1 + t), t = 1, 2, ...
            g += w
            # 7. w_t <- P w'_t / ||P w'_t||
            w = project(g, found)
            w = w / sqrt(w @ w)
    return w
