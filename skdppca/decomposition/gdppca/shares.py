"""What the eigenvalues of a Kendall matrix say of the variances; all of it post-processing."""

from __future__ import annotations

import numpy as np

from ...mechanisms.spectrum import NoisySpectrum, elliptical_variances

__all__ = ["kendall_shares"]

# The winsorised eigenvalues that variances would have are means over so many normal vectors, the
# same for everybody. Eigenvalues below so small a share of the largest cannot be inverted.
DRAWS, SMALLEST = 2048, 1e-12


def kendall_shares(
    spectrum: NoisySpectrum, radius: float | None, largest: float | None
) -> np.ndarray:
    """Shares of the total variance behind the eigenvalues of a noisy Kendall matrix.

    For signs under an elliptical model (`elliptical_variances`); winsorised under a Gaussian one,
    by the same fixed point with ``phi_l = E[min(1, r^2 / sum_j v_j z_j^2) v_l z_l^2]``.

    Parameters
    ----------
    radius : float or None
        r of winsorisation; None for signs.
    largest : float or None
        The largest variance; needed if winsorised.

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
    if radius is None or not largest:
        return np.sort(elliptical_variances(target))[::-1]
    target = target / target.sum()
    squares = np.random.default_rng(0).standard_normal((DRAWS, d)) ** 2
    shares = target
    for _ in range(200):
        variances = shares * (largest / shares.max() / radius**2)
        kept = np.minimum(1.0, 1 / (squares @ variances))
        phi = variances * (kept @ squares)
        new = shares * target / (phi / phi.sum())
        new /= new.sum()
        if np.allclose(new, shares, rtol=1e-6, atol=0.0):
            break
        shares = new
    return np.sort(shares)[::-1]
