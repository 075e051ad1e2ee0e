"""Analyze Gauss with the data's own maximum norm (Kim & Jung, Algorithm 1): **NOT PRIVATE**.

Why: rows are divided by the largest norm *of the data*, without noise. Corollary C.1 bounds the
sensitivity by 6 / n as if neighbours had the same largest norm; one outlier shrinks all other
rows to nothing, which changes the matrix by a constant.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from _steps import top_rows

from ._common import classical_sd, outlier_bound, symmetric


def analyze_gauss_max(
    X: np.ndarray, k: int, epsilon: float, delta: float, rng: np.random.Generator
) -> np.ndarray:
    """Algorithm 1; k orthonormal rows. NOT PRIVATE."""
    n, d = X.shape
    # 1., 2. centre, and divide by the largest norm
    Z = X - X.mean(axis=0)
    Z = Z / np.linalg.norm(Z, axis=1).max()
    # 3. covariance, 4. noise, 5. eigenvectors
    covariance = Z.T @ Z / (n - 1)
    return top_rows(covariance + symmetric(d, classical_sd(6 / n, epsilon, delta), rng), k)


attack = partial(outlier_bound, analyze_gauss_max)
