"""Exact draws of Laplace and Cauchy noise on a grid, and a multivariate Student's divisor.

The proof is that of `skdppca.noise.rounded_gaussian`: ``f + round(noise) = round(f + noise)`` for
integers f, so that a release on a grid is post-processing of the exact mechanism, whose epsilon is
proven on the reals.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .discrete import GUARD_BITS, MAX_SD, Uniform, settled
from .precision import ThreadContext
from .source import NoiseSource

# Error of float64 evaluation, relative to a quantile and to its slope: 4 times that of its steps.
EVALUATION = 2.0**-50

# A draw beyond this is set to it, and a released sum beyond half of it to that. Grid units.
LARGEST = 2**61
MOST_RELEASED = LARGEST // 2

# Where float64 still tells integers apart.
FAST = 2.0**50

# Least integer that stands for a uniform which is taken to a relative accuracy.
LEAST_DIGITS = 2**44

_CONTEXT = ThreadContext()


class Law(NamedTuple):
    """A symmetric law: its positive half, by u, half the probability beyond.

    Parameters
    ----------
    quantile : callable
        ``z(u)`` for u in (0, 1/2].
    slope : callable
        ``|dz / d log u|``, of u and z.
    tail : callable
        ``P(Z > t)``, of an mpmath context and t.
    """

    quantile: Callable[[np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray, np.ndarray], np.ndarray]
    tail: Callable[[Any, Any], Any]


LAPLACE = Law(
    quantile=lambda u: -np.log(2 * u),
    slope=lambda u, z: np.ones_like(u),
    tail=lambda mp, t: mp.exp(-t) / 2,
)
CAUCHY = Law(
    quantile=lambda u: 1 / np.tan(np.pi * u),
    slope=lambda u, z: np.pi * u * (1 + z**2),
    tail=lambda mp, t: mp.atan(1 / t) / mp.pi,
)
GAUSSIAN_TAIL = Law(  # only where `NoiseSource.rounded_gaussian` does not reach
    quantile=lambda u: np.full_like(u, np.inf),
    slope=lambda u, z: np.zeros_like(u),
    tail=lambda mp, t: mp.erfc(t / mp.sqrt(2)) / 2,
)


def rounded_noise(law: Law, scale: float, size: int, noise: NoiseSource) -> np.ndarray:
    """Draw ``round(scale Z)``, exactly, Z of the law; beyond 2^61 as 2^61.

    Parameters
    ----------
    law : Law
    scale : float
        In grid units, positive, taken exactly as the float64 it is.
    size : int

    Returns
    -------
    ndarray of shape (size,), dtype int64

    Notes
    -----
    The sign is one bit, and 63 more fix u to ``[k, k + 1) 2^-64``. If all of that, widened by the
    error of the float64 quantile, rounds to one integer, that is the draw; if not, bits are
    appended and the comparison is made in mpmath, as in `skdppca.noise.rounded_gaussian`. Proven
    but for the premises that ``log`` and ``tan`` of numpy err by less than 2 units in the last
    place, and mpmath by less than 64 of the bits that are asked of it.
    """
    word = noise.words(size)
    k = (word & np.uint64(2**63 - 1)).astype(np.int64)
    with np.errstate(all="ignore"):  # k = 0: an infinite interval
        u = np.where(k == 0, 0.5, k) * 2.0**-64
        z = law.quantile(u)
        slope = law.slope(u, z)
        error = EVALUATION * (z + slope) + slope * (2.0 / k + EVALUATION)
        low, high = np.rint(scale * (z - error)), np.rint(scale * (z + error))
        sure = (low == high) & (np.abs(high) < FAST)
    draws = np.where(sure, low, 0.0).astype(np.int64)
    for i in np.flatnonzero(~sure):
        draws[i] = _settle(Uniform(int(k[i]), noise.words), law, scale, low[i], high[i])
    return np.where(word >> np.uint64(63), -draws, draws)


def rounded_student(divisor: float, scale: float, size: int, noise: NoiseSource) -> np.ndarray:
    """Draw ``round(scale N_j / divisor)`` for independent standard Gaussians N_j, exactly."""
    sd = scale / divisor
    if sd <= MAX_SD:
        return noise.rounded_gaussian(sd, size)
    return rounded_noise(GAUSSIAN_TAIL, sd, size, noise)


def saturated_sum(steps: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Add draws to integers, and cut the integers and the sums at `MOST_RELEASED`.

    A draw that was cut at twice that must not show the integer it was added to. So the result is
    that of the exact mechanism, cut at `MOST_RELEASED`: post-processing of it.
    """
    kept = np.clip(steps, -MOST_RELEASED, MOST_RELEASED)
    return np.clip(kept + draws, -MOST_RELEASED, MOST_RELEASED)


def chi(dof: int, noise: NoiseSource) -> float:
    """The root of a chi-square draw of an even number of degrees of freedom.

    Half the square is a sum of ``dof / 2`` exponentials ``-log U``. A uniform is drawn to a
    relative accuracy of 2^-44 on whichever side of 1/2 it is: bits are appended while it is
    smaller. The result is the root of an exact draw up to the relative error `chi_error`.
    """
    count = dof // 2
    word = noise.words(count)
    k = (word & np.uint64(2**63 - 1)).astype(np.int64)
    p = k * 2.0**-64
    for i in np.flatnonzero(k < LEAST_DIGITS):
        p[i] = _near_zero(int(k[i]), noise)
    exponentials = np.where(word >> np.uint64(63), -np.log1p(-p), -np.log(p))
    return math.sqrt(2 * math.fsum(exponentials))


def chi_error(dof: int) -> float:
    """Bound on the relative error of `chi`, and of a scale that is divided by it.

    An exponential's relative error is at most ``1 / log 2`` times that of the uniform, 2^-44, and
    a few units in the last place; positive numbers keep it when they are summed.
    """
    return 2.0**-42


def _near_zero(digits: int, noise: NoiseSource) -> float:
    bits = 64
    while digits < LEAST_DIGITS:
        digits = (digits << 64) | int(noise.words(1)[0])
        bits += 64
    shift = max(0, digits.bit_length() - 64)
    return math.ldexp(float(digits >> shift), shift - bits)


def _settle(u: Uniform, law: Law, scale: float, low: float, high: float) -> int:
    """Round ``scale z(u)``, known to lie from low to high, by the law's tail at m + 1/2."""
    return settled(
        lambda m: u.is_below(lambda bits: _tail(law, m, scale, bits)), low, high, LARGEST
    )


def _tail(law: Law, m: int, scale: float, bits: int) -> int:
    """``P(Z > (m + 1/2) / scale)`` in units of 2^-bits, less its fraction."""
    mp = _CONTEXT.mp
    with mp.workprec(bits + 2 * GUARD_BITS):
        return int(mp.floor(mp.ldexp(law.tail(mp, (mp.mpf(m) + 0.5) / scale), bits)))
