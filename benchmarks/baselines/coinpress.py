"""CoinPress's covariance (Biswas, Dong, Kamath & Ullman, NeurIPS 2020): private on paper.

*CoinPress: Practical Private Mean and Covariance Estimation*, MVCRec with the step MVC, for
rho-zCDP. Every step clips the rows in the shape of the last estimate, where they are about standard
normal, adds noise to their covariance, and so finds a tighter shape. Here the noise is numpy's, in
floating point, and the caller tells what nobody knows: the rows are centred at their own mean, the
number of rows is public, and `upper`, above the largest variance, is read off the data. So this
copy is **NOT PRIVATE**.

Budget and constants are those of the authors' experiments: the last step has three quarters of rho,
those before it share the rest; rows are clipped where a standard normal one stays with probability
.9; eta is half of what the proof takes, and the noise's own bound nu is left out. The constants of
the proof are larger.

Neighbours and the budget are as in `dong_liang_yi`: a sum of ``x x^T`` moves by 1 under add-remove
and by sqrt(2) if a record is exchanged, and rho = mu(epsilon, delta)^2 / 2.
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np
from _steps import top_rows

from .dong_liang_yi import gauss_cov, gauss_rho

LAST_SHARE = 3 / 4
TAIL = 0.1


def coinpress(
    X: np.ndarray,
    k: int,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    upper: float,
    steps: int = 3,
    adjacency: str = "add-remove",
) -> np.ndarray:
    """Top k eigenvectors of the covariance, as rows. NOT PRIVATE."""
    n, d = X.shape
    rho = gauss_rho(epsilon, delta)
    shares = [1.0] if steps == 1 else [(1 - LAST_SHARE) / (steps - 1)] * (steps - 1) + [LAST_SHARE]
    gamma = sqrt(d + 2 * sqrt(d * log(1 / TAIL)) + 2 * log(1 / TAIL))
    eta = sqrt(d / n) + d / (2 * n)
    # rows times `shape` have variances below 1 in every direction
    shape = np.eye(d) / sqrt(upper)
    for step, share in enumerate(shares, 1):
        noisy = gauss_cov(X @ shape, gamma, share * rho, rng, adjacency)
        values, vectors = np.linalg.eigh(noisy)
        values = np.maximum(values, 0.0)
        if step < steps:
            shape = shape @ (vectors / np.sqrt(values + eta)) @ vectors.T
    back = np.linalg.inv(shape)
    covariance = back.T @ (vectors * values @ vectors.T) @ back
    return top_rows((covariance + covariance.T) / 2, k)
