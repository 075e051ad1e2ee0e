"""DP-Gauss-1, DP-Gauss-2 and MOD-SuLQ as printed: **NOT PRIVATE**.

The first two are those of Düngler & Sanyal (2025), Appendix G; MOD-SuLQ is Algorithm 1 of
Chaudhuri, Sarwate & Sinha (2012), after Blum et al. (2005). Why none is private: beta, by which
records are clipped, is made of the population's eigenvalue and noise level, and of the exact n,
which under add/remove is private. Unprinted and chosen here: C = 1 in beta. Given a public beta:

- *DP-Gauss-1*: the classical scale sqrt(2 ln(1.25/delta))/epsilon is proven for epsilon < 1 only,
  and wrong for large epsilon (doc/theory/gaussian_dp.rst). At epsilon = 1 it is loose instead, and
  so is the mirrored triangle, by sqrt2 off the diagonal (doc/theory/sensitivities.rst).
- *DP-Gauss-2* (doc/methods/smooth_sensitivity.rst): the noise on the eigengap, and the 2(1 +
  log(1/delta)/epsilon) taken off it, lack the factor beta^2 by which one record moves the gap;
  noise is drawn again until the gap is positive, which conditions on the data (the authors say that
  a gap below 0 breaks the guarantee, and that they resample for simplicity); and the absolute value
  hides a gap too small to support the noise scale. Printed with a slip, and chosen here: the
  parenthesis that the numerator of Delta_2 leaves open closes at its end; and E is d x d while V_k
  is d x k, so E is added to the projector V_k V_k^T.
- *MOD-SuLQ*: the printed noise is private, and far too large. Rows have norm 1 at most, and one is
  exchanged: the upper triangle of A moves by sqrt2 / n at most, so the release is Gaussian-DP with
  mu = sqrt2 / (n sd), where (epsilon, delta) allows a mu about d times as large. Not the paper's:
  it asks for rows of norm 1, and records are clipped to trace beta^2 and divided by beta^2, so that
  it differs from DP-Gauss-1 in its noise alone.
"""

from __future__ import annotations

from math import log, pi, sqrt

import numpy as np
from _steps import mirrored_noise, top_rows

from ._records import Model, trace_clipped_sum


def dp_gauss_1(factors: np.ndarray, k: int, model: Model, rng: np.random.Generator) -> np.ndarray:
    """Input perturbation; k orthonormal rows. NOT PRIVATE."""
    n, _, d = factors.shape
    # 1. clip every matrix to trace beta^2
    beta = model.clip_2(n, d)
    # 2. X <- sum_i clipped A_i
    X = trace_clipped_sum(factors, beta)
    # 3. X' <- X + E, upper triangle of E i.i.d. N(0, Delta_1^2)
    scale = beta**2 * sqrt(2 * log(1.25 / model.delta)) / model.epsilon
    # 4. the top k eigenvectors of X'
    return top_rows(X + mirrored_noise(d, scale, rng), k)


def dp_gauss_2(factors: np.ndarray, k: int, model: Model, rng: np.random.Generator) -> np.ndarray:
    """Output perturbation; k orthonormal rows. NOT PRIVATE."""
    n, _, d = factors.shape
    # 1. clip every matrix to trace beta^2 and sum them
    beta = model.clip_2(n, d)
    values, vectors = np.linalg.eigh(trace_clipped_sum(factors, beta))
    # 2. V_k and the eigengap of X
    V = vectors[:, -k:]
    gap = values[-k] - values[-k - 1]
    # 3. g_k <- gap + Lap(2/epsilon), resampled while g_k <= 0
    noisy_gap = 0.0
    while noisy_gap <= 0:
        noisy_gap = gap + rng.laplace(scale=2 / model.epsilon)
    # 4. V' <- V_k V_k^T + E, upper triangle of E i.i.d. N(0, Delta_2^2)
    numerator = beta**2 * (1 + sqrt(2 * log(1 / model.delta)) / model.epsilon)
    scale = numerator / abs(noisy_gap - 2 * (1 + log(1 / model.delta) / model.epsilon))
    # 5. the top k eigenvectors of V'
    return top_rows(V @ V.T + mirrored_noise(d, scale, rng), k)


def mod_sulq(factors: np.ndarray, k: int, model: Model, rng: np.random.Generator) -> np.ndarray:
    """Input perturbation; k orthonormal rows. NOT PRIVATE."""
    n, _, d = factors.shape
    # 1. A <- mean of records of norm 1 at most
    beta = model.clip_2(n, d)
    A = trace_clipped_sum(factors, beta) / (n * beta**2)
    # 2., 3. the top k eigenvectors of A + N, N symmetric with entries N(0, sd^2)
    return top_rows(A + mirrored_noise(d, noise_sd(n, d, model.epsilon, model.delta), rng), k)


def noise_sd(n: int, d: int, epsilon: float, delta: float) -> float:
    """The paper's beta."""
    tail = sqrt(2 * log((d**2 + d) / (delta * 2 * sqrt(2 * pi))))
    return (d + 1) / (n * epsilon) * tail + 1 / (sqrt(epsilon) * n)
