"""Steps that the printed algorithms share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def top_rows(matrix: np.ndarray, k: int) -> np.ndarray:
    """The top k eigenvectors of a symmetric matrix as rows, shape (k, d)."""
    return np.linalg.eigh(matrix)[1][:, : -k - 1 : -1].T


def mirrored_noise(d: int, sd: float, rng: np.random.Generator) -> np.ndarray:
    """Symmetric E whose upper triangle, diagonal included, is i.i.d. N(0, sd^2)."""
    upper = np.triu(rng.normal(scale=sd, size=(d, d)))
    return upper + np.triu(upper, 1).T


def power_iterations(
    product: Callable[[np.ndarray], np.ndarray],
    d: int,
    k: int,
    n_iter: int,
    rng: np.random.Generator,
    noise_sd: Callable[[np.ndarray], float] = lambda Q: 0.0,
) -> np.ndarray:
    """``Q <- qr(A Q + noise)`` from a random start; k orthonormal rows.

    Parameters
    ----------
    product : callable
        Q -> A Q, for Q of shape (d, k).
    noise_sd : callable
        Q -> standard deviation of the noise of every entry of A Q.
    """
    Q = np.linalg.qr(rng.normal(size=(d, k)))[0]
    for _ in range(n_iter):
        noise = rng.normal(scale=noise_sd(Q), size=Q.shape)
        Q = np.linalg.qr(product(Q) + noise)[0]
    return Q.T
