"""DP-Gauss-2 as printed (Düngler & Sanyal 2025, Appendix G): **NOT PRIVATE**.

Why (doc/methods/smooth_sensitivity.rst): the noise on the eigengap, and the 2(1 +
log(1/delta)/epsilon) taken off it, lack the factor beta^2 by which one record moves the gap; noise
is drawn again until the gap is positive, which conditions on the data (the authors say that a gap
below 0 breaks the guarantee, and that they resample for simplicity); the absolute value hides a gap
too small to support the noise scale; and beta is made of population quantities and the exact n.

Unprinted, or printed with a slip, and chosen here: C = 1 in beta; the parenthesis that the
numerator of Delta_2 leaves open closes at its end; and E is d x d while V_k is d x k, so E is added
to the projector V_k V_k^T, which is what the eigenvalue decomposition afterwards needs.
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np

from ._records import Model, mirrored_noise, top_rows, trace_clipped_sum


def dp_gauss_2(
    factors: np.ndarray,
    k: int,
    epsilon: float,
    delta: float,
    model: Model,
    rng: np.random.Generator,
) -> np.ndarray:
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
        noisy_gap = gap + rng.laplace(scale=2 / epsilon)
    # 4. V' <- V_k V_k^T + E, upper triangle of E i.i.d. N(0, Delta_2^2)
    numerator = beta**2 * (1 + sqrt(2 * log(1 / delta)) / epsilon)
    scale = numerator / abs(noisy_gap - 2 * (1 + log(1 / delta) / epsilon))
    # 5. the top k eigenvectors of V'
    return top_rows(V @ V.T + mirrored_noise(d, scale, rng), k)
