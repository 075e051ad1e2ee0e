"""What the eigenvalues of a Kendall matrix say of the variances; all of it post-processing."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ...mechanisms.spectrum import NoisySpectrum, elliptical_variances
from ...records.kernels import Kernel

# The number of normal vectors, the same for everybody, over which the winsorised eigenvalues of
# given variances are means.
DRAWS = 2048

# The least share of the largest eigenvalue that can be inverted.
SMALLEST = 1e-12


def kendall_shares(spectrum: NoisySpectrum, kernel: Kernel, largest: float | None) -> np.ndarray:
    """Shares of the total variance behind the eigenvalues of a noisy Kendall matrix.

    For signs under an elliptical model (`elliptical_variances`); for other kernels under a Gaussian
    one, by the same fixed point with ``phi_l = E[xi(t)^2 v_l z_l^2 / t^2]``,
    ``t^2 = sum_j v_j z_j^2``. Where it leads nowhere, because a kernel leaves nothing of such
    pairs, the last shares are kept.

    Parameters
    ----------
    kernel : Kernel
    largest : float or None
        The largest variance; needed but for signs.

    Returns
    -------
    ndarray of shape (d,)
        By decreasing size; all alike if nothing can be told.
    """
    seen = spectrum.pooled
    d, top = len(seen), float(seen.max())
    if not top > 0:
        return np.full(d, 1 / d)
    target = np.maximum(seen, SMALLEST * top)
    if kernel.radius is None or not largest:
        return np.sort(elliptical_variances(target))[::-1]
    target = target / target.sum()
    squares = np.random.default_rng(0).standard_normal((DRAWS, d)) ** 2
    shares = target
    unit = math.sqrt(largest)
    for _ in range(200):
        variances = shares / shares.max()  # in squares of the unit
        lengths = squares @ variances
        kept = kernel.weights(lengths.copy(), unit, partial(np.multiply, np.sqrt(lengths), unit))
        phi = variances * (kept @ squares)
        if not (phi > 0).all():
            break
        new = shares * target / (phi / phi.sum())
        new /= new.sum()
        if np.allclose(new, shares, rtol=1e-6, atol=0.0):
            break
        shares = new
    return np.sort(shares)[::-1]
