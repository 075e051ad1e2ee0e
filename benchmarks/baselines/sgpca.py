"""SGPCA (Cai, Xia & Zha 2024, as in Kim & Jung's Algorithm 2): **NOT PRIVATE**.

Why: the sensitivity is made of population eigenvalues, which nobody knows, and it holds with high
probability over Gaussian data only. Differential privacy is a claim on every pair of neighbours:
on others one record turns the eigenvectors, by far more than the noise.
"""

from __future__ import annotations

from functools import partial
from math import log, sqrt

import numpy as np
from _steps import mirrored_noise, top_rows

from ._common import classical_sd, outlier_bound


def sgpca(
    X: np.ndarray,
    k: int,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    eigenvalues: tuple[float, float],
) -> np.ndarray:
    """Algorithm 2; k orthonormal rows. NOT PRIVATE.

    `eigenvalues` are the largest and the smallest of the population.
    """
    n, d = X.shape
    half = n // 2
    # 1. pairs, 2. eigenvectors of their covariance
    Z = (X[half : 2 * half] - X[:half]) / sqrt(2)
    V = top_rows(Z.T @ Z / n, k)
    # 3. a projection with noise
    ratio = eigenvalues[1] / eigenvalues[0]
    sensitivity = 4 * (ratio + sqrt(ratio)) * sqrt(d * (k + log(n))) / n
    sd = classical_sd(sensitivity, epsilon, delta)
    return top_rows(V.T @ V + mirrored_noise(d, sd, rng), k)


attack = partial(outlier_bound, partial(sgpca, eigenvalues=(10.0, 1.0)))
