"""The noisy power method: the loop that its printed versions and the one without noise share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


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
