"""MOD-SuLQ (Chaudhuri, Sarwate & Sinha 2012, Algorithm 1, after Blum et al. 2005): **NOT PRIVATE**.

Why: beta, by which records are clipped here, is made of population quantities and of the exact n.
The printed noise itself is private, and far too large. Rows have norm 1 at most, and one is
exchanged: the upper triangle of A moves by sqrt2 / n at most, so the release is Gaussian-DP with
mu = sqrt2 / (n sd), where (epsilon, delta) allows a mu about d times as large. Blum et al. drew all
d^2 entries independently; the symmetric matrix is what "MOD" stands for.

Not the paper's: it asks for rows of norm 1, and records are clipped to trace beta^2 and divided by
beta^2 as in Düngler & Sanyal's DP-Gauss-1, so that the two differ in their noise alone (C = 1).
"""

from __future__ import annotations

from math import log, pi, sqrt

import numpy as np

from ._records import Model, mirrored_noise, top_rows, trace_clipped_sum


def mod_sulq(
    factors: np.ndarray,
    k: int,
    epsilon: float,
    delta: float,
    model: Model,
    rng: np.random.Generator,
) -> np.ndarray:
    """Input perturbation; k orthonormal rows. NOT PRIVATE."""
    n, _, d = factors.shape
    # 1. A <- mean of records of norm 1 at most
    beta = model.clip_2(n, d)
    A = trace_clipped_sum(factors, beta) / (n * beta**2)
    # 2., 3. the top k eigenvectors of A + N, N symmetric with entries N(0, sd^2)
    return top_rows(A + mirrored_noise(d, noise_sd(n, d, epsilon, delta), rng), k)


def noise_sd(n: int, d: int, epsilon: float, delta: float) -> float:
    """The paper's beta."""
    tail = sqrt(2 * log((d**2 + d) / (delta * 2 * sqrt(2 * pi))))
    return (d + 1) / (n * epsilon) * tail + 1 / (sqrt(epsilon) * n)
