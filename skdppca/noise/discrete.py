"""Exact samplers on the integers.

A float64 Gaussian added to a float64 sum betrays the sum through its low bits (Mironov 2012). An
integer f plus a rounded Gaussian does not: ``f + round(N) = round(f + N)`` is a post-processing of
the true Gaussian mechanism, if the draw has exactly the distribution of ``round(N)``. The samplers
here make such draws.
"""

import math
from collections.abc import Callable

import numpy as np
from mpmath import libmp
from scipy.special import ndtri

Words = Callable[[int], np.ndarray]

# Up to here sd * z < 2**38, so that float64 resolves it to 2**-15 and few draws are ambiguous.
MAX_SD = 2.0**33

# Relative error of scipy.special.ndtri on the floats of [2**-64, 1/2]: 8 times the largest error,
# found at 0.1373, among 3.2 million points compared with mpmath (scipy 1.17; a test repeats some).
NDTRI_ERROR = 8 * 1.04e-15

# The float64 operations after ndtri err by at most 4 units of 2**-53, relative to z; twice that.
ROUNDING = 2.0**-50

# |dz / d log p| = p / phi(z), Mills' ratio, is at most its value at z = 0, sqrt(pi/2) = 1.25331...;
# rounded up far enough to cover the rounding of the products it is used in.
MILLS = 1.2534

# Extra bits asked of mpmath, whose last bits are not guaranteed.
GUARD_BITS = 64

# Draws at a time: memory is bounded, and the arrays stay in the cache of a core.
CHUNK = 2**14

# mpmath caches its constants and extends them on demand, without a lock. These calls extend them
# beyond the precision that `_tail` needs, so that threads only ever read them.
libmp.pi_fixed(2**12)
libmp.ln2_fixed(2**12)


def rounded_gaussian(
    words: Words, sd: float | np.ndarray, size: int | tuple[int, ...]
) -> np.ndarray:
    """Draw ``round(N(0, sd**2))``, exactly.

    A draw takes its sign from the top bit of one word and ``k`` from the other 63. Its magnitude is
    ``z = -ndtri(u)`` of a uniform ``u`` that lies *somewhere* in ``[k, k + 1) 2**-64``. If all z of
    that interval round to one integer, that integer is the draw. Otherwise further words are
    appended to the same u until the answer is certain. A new u instead would favour values that are
    easy to decide. z always comes from the lower tail, where floats are dense: near u = 1, integers
    beyond z = 5 would be skipped.

    Parameters
    ----------
    words : callable
        ``words(n)`` returns n independent uniform 64-bit words as an array of dtype uint64.
    sd : float or array-like broadcastable to `size`
        Standard deviation in grid units, in (0, 2**33]; used exactly, as a float64.
    size : int or tuple of int
        Shape of the result.

    Returns
    -------
    noise : ndarray of shape `size`, dtype int64

    Notes
    -----
    *Proven:* the draw is the rounding of an exact Gaussian of standard deviation `sd`, given the
    two assumptions below. With ``p = float(k) 2**-64`` and any u of the interval,
    ``|log(u / p)| <= 1/k + 2**-53``. As z has slope at most sqrt(pi/2) in log p, z(u) is within
    ``sqrt(pi/2) (1/k + 2**-53)`` of z(p). Rounding is monotone, and the widened interval decides
    only if both its ends round to the same integer. For k = 0 it is infinite and decides nothing.

    *Assumed:* the relative error of `scipy.special.ndtri` on [2**-64, 1/2] is at most
    ``NDTRI_ERROR``, 8 times the largest one measured. For the ambiguous draws (one in 8000 at the
    largest `sd`, proportionally fewer below), mpmath's erfc computes 64 more bits than are used,
    and errs in these only.

    The running time depends on the noise alone; the function never sees data.

    Examples
    --------
    >>> import numpy as np
    >>> from skdppca.noise import rounded_gaussian
    >>> words = np.random.PCG64(0).random_raw
    >>> rounded_gaussian(words, [[1.0], [2.0**33]], (2, 3))
    array([[         -1,           1,           2],
           [18308683833, -4179878474, -1893756470]])
    """
    return in_chunks(words, sd, size, _draw)


def in_chunks(
    words: Words,
    sd: float | np.ndarray,
    size: int | tuple[int, ...],
    draw: Callable[[Words, np.ndarray], np.ndarray],
) -> np.ndarray:
    """What `draw` returns for some standard deviations, for all of an array of them."""
    sds = np.asarray(sd, dtype=np.float64)
    outside = ~((sds > 0) & (sds <= MAX_SD))
    if outside.any():
        raise ValueError(
            f"sd={sds[outside][0]} is outside (0, 2**33] grid units; choose a positive noise "
            "scale, and a grid no finer than 2**-33 of it"
        )
    sds = np.broadcast_to(sds, size)
    noise = np.empty(sds.shape, dtype=np.int64)
    flat = noise.reshape(-1)
    of_flat = sds.reshape(-1) if sds.flags.c_contiguous else sds.flat  # which never copies all
    for start in range(0, noise.size, CHUNK):
        chunk = slice(start, start + CHUNK)
        flat[chunk] = draw(words, of_flat[chunk])
    return noise


def _draw(words: Words, sd: np.ndarray) -> np.ndarray:
    """One rounded Gaussian for each sd."""
    word = words(sd.size)
    k = (word & np.uint64(2**63 - 1)).astype(np.int64)
    with np.errstate(divide="ignore", invalid="ignore"):  # k = 0: an infinite interval
        z = -ndtri(k * 2.0**-64)
        error = (NDTRI_ERROR + ROUNDING) * z + MILLS * (1.0 / k + 2.0**-53)
        low = np.rint(sd * (z - error))
        high = np.rint(sd * (z + error))
    for i in np.flatnonzero(low != high):
        low[i] = _settle(Uniform(int(k[i]), words), float(sd[i]), low[i], high[i])
    return np.copysign(low, word.view(np.float64)).astype(np.int64)  # a float's sign: its top bit


def _settle(u: "Uniform", sd: float, low: float, high: float) -> int:
    """Round sd * z, known to lie from low to high: beyond m + 1/2 if u is below the tail there."""
    return settled(lambda m: u.is_below(lambda bits: _tail(m, sd, bits)), low, high)


def settled(
    is_beyond: Callable[[int], bool], low: float, high: float, most: float = math.inf
) -> int:
    """Find an integer of at least 0, known to lie from low to high, by exact comparisons.

    Parameters
    ----------
    is_beyond : callable
        Whether the integer is larger than another one.
    low, high : float
        If `high` is not finite, nothing is known.
    most : float
        It stands for all that is larger.
    """
    first, last = (max(int(low), 0), int(high)) if np.isfinite(high) else (0, 0)
    while last < most and is_beyond(last):
        first, last = last + 1, 2 * last + 1
    if last >= most:
        return int(most)
    while first < last:
        middle = (first + last) // 2
        if is_beyond(middle):
            first = middle + 1
        else:
            last = middle
    return first


class Uniform:
    """A uniform number, known to lie in [digits, digits + 1) 2**-bits."""

    def __init__(self, digits: int, words: Words, bits: int = 64) -> None:
        self.digits = digits
        self.bits = bits
        self.words = words

    def is_below(self, bound: Callable[[int], int]) -> bool:
        """Whether it is below a real number; words are appended until that is certain.

        Parameters
        ----------
        bound : callable
            ``bound(bits)`` is that number in units of ``2**-bits``, but for an error: the true one
            is between ``bound(bits) - 1`` and ``bound(bits) + 2``.
        """
        while True:
            about = bound(self.bits)
            if self.digits + 1 <= about - 1:
                return True
            if self.digits >= about + 2:
                return False
            self.digits = (self.digits << 64) | int(self.words(1)[0])
            self.bits += 64


def _tail(m: int, sd: float, bits: int) -> int:
    """Return P(N > (m + 1/2) / sd) in units of 2**-bits, less its fraction.

    Functions of `mpmath.libmp` take the precision as an argument. `mpmath.mp` holds it as a
    setting, which one thread could change for another.
    """
    numerator, denominator = sd.as_integer_ratio()
    square, scale = ((2 * m + 1) * denominator) ** 2, 8 * numerator**2
    if square > scale * bits:  # then the tail, below exp(-square / scale) / 2, is below one unit
        return 0
    precision = bits + GUARD_BITS
    root = libmp.mpf_sqrt(libmp.from_rational(square, scale, precision), precision)
    erfc = libmp.mpf_erfc(root, precision)
    return int(libmp.to_int(libmp.mpf_shift(erfc, bits - 1)))


def uniform_labels(words: Words, n: int, parts: int) -> np.ndarray:
    """Draw independent labels, each exactly uniform over ``range(parts)``.

    Words beyond the last whole cycle of `parts` are drawn again. Their number does not depend on
    the labels.

    Parameters
    ----------
    words : callable
        ``words(n)`` returns n independent uniform 64-bit words as an array of dtype uint64.
    n : int
        Number of labels.
    parts : int
        Number of values, from 1 to 2**63.

    Returns
    -------
    labels : ndarray of shape (n,), dtype int64

    Examples
    --------
    >>> import numpy as np
    >>> from skdppca.noise import uniform_labels
    >>> uniform_labels(np.random.PCG64(0).random_raw, 8, 3)
    array([2, 1, 2, 2, 0, 1, 0, 1])
    """
    if not 1 <= parts <= 2**63:
        raise ValueError(f"parts={parts} is outside [1, 2**63]; choose a number of parts in it")
    last = 2**64 - 1 - 2**64 % parts
    labels = np.empty(n, dtype=np.int64)
    for start in range(0, n, CHUNK):
        chunk = labels[start : start + CHUNK]
        word = words(chunk.size).copy()
        while (rejected := np.flatnonzero(word > np.uint64(last))).size:
            word[rejected] = words(rejected.size)
        chunk[:] = word % np.uint64(parts)
    return labels
