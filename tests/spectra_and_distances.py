"""How far spans are apart, and spectra that are hard to decompose."""

import math

import numpy as np


def distance(V, W):
    """min_R ||V R - W||_F; the sum of differences keeps digits that 2 k - 2 ||.||_* loses."""
    cosines = np.minimum(np.linalg.svd(V @ W.T)[1], 1.0)
    sines = np.linalg.svd(W - (W @ V.T) @ V)[1]
    angles = np.arctan2(np.sort(sines)[::-1], np.sort(cosines))
    return math.sqrt(4 * np.sum(np.sin(angles / 2) ** 2))


def clusters(seed):
    """An orthogonal matrix, and values of which half are 1, others down to its last digit."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(40, 70))
    q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return q, np.where(rng.random(d) < 0.5, 1, 2.0 ** -rng.integers(0, 60, d))
