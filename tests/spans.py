"""How far spans are apart."""

import math

import numpy as np


def distance(V, W):
    """min_R ||V R - W||_F; the sum of differences keeps digits that 2 k - 2 ||.||_* loses."""
    cosines = np.minimum(np.linalg.svd(V @ W.T)[1], 1.0)
    sines = np.linalg.svd(W - (W @ V.T) @ V)[1]
    angles = np.arctan2(np.sort(sines)[::-1], np.sort(cosines))
    return math.sqrt(4 * np.sum(np.sin(angles / 2) ** 2))
