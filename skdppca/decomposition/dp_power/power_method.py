"""The power iterations over noisy products of a matrix with a few directions.

Whatever answers ``W A`` with noise of a known cost, from a distributed array or a secure sum, is a
`Product`, and `power_method` asks nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from ...linalg import qr_svd
from ..iterative.iteration import Directions, predict

# What a pass asks: orthonormal rows W and a budget mu, to the noisy rows of W A (over n), and the
# sd of the noise in an entry.
Product = Callable[[np.ndarray, float], tuple[np.ndarray, float]]


def power_method(product: Product, start: np.ndarray, mus: Iterable[float], k: int) -> Directions:
    """The randomised power method (Hardt & Price 2014; Nicolas et al. 2025, Algorithm 1).

    Parameters
    ----------
    product : callable
        ``product(W, mu)``: the noisy rows of ``W A``, and the sd of the noise in an entry.
    start : ndarray of shape (p, d)
        Orthonormal rows, drawn without data.
    mus : iterable of float
        What each pass costs.
    k : int
        How many directions of the p are kept.

    Returns
    -------
    Directions
        As the last pass tells it.
    """
    # 1. X_0: orthonormal
    W, noise_sd = start, 0.0
    for mu in mus:
        # 2. Y = A X + G
        Y, noise_sd = product(W, mu)
        if not np.isfinite(Y).all():
            raise ValueError("X holds values too large to be squared; scale it down")
        # 3. X, R = qr(Y)
        W, core = predict(Y, W)
    # 4. the left singular vectors of R turn X so that the first k hold most of Y; free
    turn = qr_svd(W @ Y.T)[0].T[:k]
    return Directions(turn @ W, turn @ core @ turn.T, noise_sd**2)
