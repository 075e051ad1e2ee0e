"""NSGGD (Maunu, Yu & Lerman 2022, as in Kim & Jung's Algorithm 3): **NOT PRIVATE**.

Why: the noise of a step, ``B sqrt(2 T log(1/delta') / (n^2 epsilon'))``, has epsilon' under the
root instead of in front of it, so that for small epsilon it is too small by about
``sqrt(epsilon')``; and it is multiplied by the batch size, though a mean over a batch moves by
2 / B. At one pair of rows (n = T = B = 1 after line 1) the step is one Gaussian mechanism, and its
leak is seen at once.

Also, as printed the step goes *down* a gradient whose sign is already turned, away from the
components; `sign=1` turns it. Line 4's start is Algorithm 1, on rows of norm 1.
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np

from ._common import epsilon_of_counts
from .analyze_gauss_max import analyze_gauss_max


def nsggd(
    X: np.ndarray,
    k: int,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    sign: int = -1,
) -> np.ndarray:
    """Algorithm 3, with T = n^2 and rates 1 / n^2; k orthonormal rows. NOT PRIVATE."""
    # 1. directions of pairs
    half = len(X) // 2
    Z = X[half : 2 * half] - X[:half]
    Z = Z / np.linalg.norm(Z, axis=1)[:, None]
    n, T = half, half**2
    B = max(int(n * sqrt(epsilon / (8 * T))), 1)
    # 2., 3. noise
    sd = noise_sd(n, B, T, epsilon, delta)
    # 4. start
    V = analyze_gauss_max(Z, k, epsilon / 2, delta / 2, rng).T
    # 5.-12. steps
    for _ in range(T):
        x = Z[rng.integers(n, size=B)]
        scores = x @ V
        rest = x - scores @ V.T
        lengths = np.maximum(np.linalg.norm(rest, axis=1), 1e-12)
        gradient = (rest / lengths[:, None]).T @ scores / B
        V = V + sign / T * (gradient + rng.normal(scale=sd, size=V.shape))
        U, _, Wt = np.linalg.svd(V, full_matrices=False)
        V = U @ Wt
    return V.T


def noise_sd(n: int, B: int, T: int, epsilon: float, delta: float) -> float:
    """Line 3, with epsilon' = epsilon / 2 and delta' = delta / 2."""
    return B * sqrt(2 * T * log(2 / delta) / (n**2 * epsilon / 2))


def attack(epsilon: float = 0.1, delta: float = 1e-5, runs: int = 1_000_000) -> float:
    """A lower bound on the epsilon' of one step that claims ``epsilon / 2``.

    One pair of rows: its gradient is a number in [-1, 1], either end by choice of the rows.
    """
    sd = noise_sd(1, 1, 1, epsilon, delta)
    draws = np.random.default_rng(0).normal(scale=sd, size=(2, runs))
    rare, frequent = (draws + np.array([[-1], [1]]) > 2.5 * sd).sum(axis=1)
    return epsilon_of_counts(int(rare), int(frequent), runs, delta / 2)
