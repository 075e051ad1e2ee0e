"""Analyze Gauss with the data's own maximum norm (Kim & Jung, Algorithm 1): **NOT PRIVATE**.

Why: rows are divided by the largest norm *of the data*, without noise. Corollary C.1 bounds the
sensitivity by 6 / n as if neighbours had the same largest norm; one outlier shrinks all other
rows to nothing, which changes the matrix by a constant.
"""

from __future__ import annotations

import numpy as np
from _steps import top_rows

from ._common import (
    classical_sd,
    epsilon_bound,
    one_outlier,
    shows_the_outlier,
    symmetric,
)


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


def attack(epsilon: float = 0.5, delta: float = 1e-5, n: int = 5000, runs: int = 2000) -> float:
    """A lower bound on the epsilon of a release that claims `epsilon`."""

    def event(X: np.ndarray, rng: np.random.Generator) -> bool:
        return shows_the_outlier(analyze_gauss_max(X, 1, epsilon, delta, rng))

    return epsilon_bound(event, one_outlier(n, 2), delta, runs)
