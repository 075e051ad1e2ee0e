"""The power iterations over noisy products of a matrix with a few directions.

Whatever answers ``W A`` with noise of a known cost, from a distributed array or a secure sum, is a
`Product`, and `power_method` asks nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from ...linalg import qr_svd
from ...mechanisms.steps import predict

__all__ = ["Product", "power_method"]

# What a pass asks: orthonormal rows W and a budget mu, to the noisy rows of W A (over n).
Product = Callable[[np.ndarray, float], np.ndarray]


def power_method(
    product: Product, start: np.ndarray, mus: Iterable[float], k: int
) -> tuple[np.ndarray, np.ndarray]:
    """The randomised power method (Hardt & Price 2014; Nicolas et al. 2025, Algorithm 1).

    Parameters
    ----------
    product : callable
        ``product(W, mu)``: the noisy rows of ``W A``.
    start : ndarray of shape (p, d)
        Orthonormal rows, drawn without data.
    mus : iterable of float
        What each pass costs.
    k : int
        How many directions of the p are kept.

    Returns
    -------
    directions : ndarray of shape (k, d)
        Orthonormal rows.
    core : ndarray of shape (k, k)
        ``V^T A V`` as the last pass tells it.
    """
    # 1. X_0: orthonormal
    W = start
    for mu in mus:
        # 2. Y = A X + G
        Y = product(W, mu)
        if not np.isfinite(Y).all():
            raise ValueError("X holds values too large to be squared; scale it down")
        # 3. X, R = qr(Y)
        W, core = predict(Y, W)
    # 4. the left singular vectors of R turn X so that the first k hold most of Y; free
    turn = qr_svd(W @ Y.T)[0].T[:k]
    return turn @ W, turn @ core @ turn.T
