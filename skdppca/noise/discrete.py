"""Exact samplers on the integers.

A float64 Gaussian added to a float64 sum betrays the sum through its low bits (Mironov 2012). An
integer f plus a rounded Gaussian does not: ``f + round(N) = round(f + N)`` is a post-processing of
the true Gaussian mechanism, if the draw has exactly the distribution of ``round(N)``. The samplers
here make such draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial

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
    """Return the noise of `draw` for an array of standard deviations, chunk by chunk."""
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


def _settle(u: Uniform, sd: float, low: float, high: float) -> int:
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
        """Return whether the uniform is below a real; words are appended until that is certain.

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


# The discrete Gaussian has integers with probabilities in proportion to ``exp(-k^2 / 2 sd^2)``. A
# sum of rounded Gaussians is no rounded Gaussian, and what it costs is not known exactly. A sum of
# discrete Gaussians is nearly a discrete Gaussian, so several sites can each add a part of the
# noise.

# Names what is drawn from which words: to be changed with any change that draws other integers from
# the same words, such as another number of draws at a time. A test knows some of them.
SAMPLER = "discrete-gaussian/1"

# Relative error of numpy's log on float64 numbers of (0, 1), and of the few operations around it,
# in the exponent of an exponential: numpy states less than 4 units in the last place, each at most
# 2^-52 of the value (1 is measured), and at most 3 operations follow, of 2^-53 each.
LOG_ERROR = 2.0**-49

# Relative error of an acceptance exponent, ``(x / sd - 1)^2 / 2``, as a share of
# ``(x / sd + 1)^2``: the quotient, the difference and the square are rounded.
EXPONENT_ERROR = 2.0**-51


def discrete_gaussian(
    words: Words, sd: float | np.ndarray, size: int | tuple[int, ...]
) -> np.ndarray:
    """Draw integers k with probability in proportion to ``exp(-k**2 / (2 sd**2))``, exactly.

    Parameters
    ----------
    words : callable
        ``words(n)`` returns n independent uniform 64-bit words as an array of dtype uint64.
    sd : float or array-like broadcastable to `size`
        Scale in grid units, in (0, 2**33]; used exactly, as a float64. The standard deviation is at
        most that, and equal but for ``1e-30`` of it from 2 on.
    size : int or tuple of int
        Shape of the result.

    Returns
    -------
    noise : ndarray of shape `size`, dtype int64

    Notes
    -----
    Rejection from the discrete Laplace distribution (Canonne, Kamath and Steinke 2020, Algorithm 3)
    with one uniform for the proposal and one for its acceptance.

    *Proof.* 1. ``X = floor(-sd log U)`` is at least x if and only if ``U <= exp(-x / sd)``, so
    ``P(X = x)`` is in proportion to ``exp(-x / sd)`` for x = 0, 1, 2, ... 2. A random sign, where
    "minus 0" is rejected, makes that ``exp(-|k| / sd)`` for every integer k. 3. It is accepted with
    probability ``exp(-(|k| / sd - 1)^2 / 2)``. The product is ``exp(-1/2) exp(-k^2 / 2 sd^2)``.

    *Exact.* Every decision compares a uniform with ``exp(-r)``, r a rational number. A uniform is
    known to lie in ``[j, j + 1) 2^-64`` (2^-63 for the acceptance, whose word has the sign, too).
    The comparison is made in float64 where the whole interval, widened by the error bound, is on
    one side. Otherwise words are appended to the same uniform, and it is compared in integers with
    ``exp(-r)`` to as many digits, until the answer is certain. Neither a tie nor a rounded
    probability decides anything.

    *Assumed:* the relative error of `numpy.log` is at most 4 units in the last place, which numpy
    states. mpmath's exp, which computes 64 more bits than are used, errs in these only.

    *Repeatable.* The same words give the same draws, on every machine and with every version of
    NumPy. Which proposals are drawn again follows from exact decisions. Whether a word is appended
    follows from a comparison in integers: float64 either leaves a decision to it, or makes the one
    that it would make. `SAMPLER` names the order in which words are read.

    The running time depends on the noise alone; the function never sees data.

    References
    ----------
    C. Canonne, G. Kamath, T. Steinke. The discrete Gaussian for differential privacy. NeurIPS 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from skdppca.noise import discrete_gaussian
    >>> words = np.random.PCG64(0).random_raw
    >>> discrete_gaussian(words, [[1.0], [2.0**33]], (2, 3)).shape
    (2, 3)
    """
    return in_chunks(words, sd, size, _draw_discrete)


def _draw_discrete(words: Words, sd: np.ndarray) -> np.ndarray:
    """One draw for each sd: proposals, until one of each is accepted."""
    noise = np.empty(sd.size, dtype=np.int64)
    todo = np.arange(sd.size)
    while todo.size:
        scale = sd[todo]
        proposed = _geometric(words, scale)
        word = words(todo.size)
        minus = (word & np.uint64(1)).astype(bool)
        accepted = _accepted(words, word >> np.uint64(1), proposed, scale)
        accepted &= ~(minus & (proposed == 0))
        noise[todo[accepted]] = np.where(minus, -proposed, proposed)[accepted]
        todo = todo[~accepted]
    return noise


def _geometric(words: Words, sd: np.ndarray) -> np.ndarray:
    """``floor(-sd log U)``, exactly: x with probability in proportion to ``exp(-x / sd)``."""
    word = words(sd.size)
    z, error = _exponential(word, 64)
    with np.errstate(invalid="ignore"):  # word 0: an infinite interval
        low = np.maximum(np.floor(sd * (z - error)), 0.0)
        high = np.floor(sd * (z + error))
    for i in np.flatnonzero(~(low == high)):
        u, scale = Uniform(int(word[i]), words), Fraction(float(sd[i]))
        low[i] = settled(partial(_is_beyond, u, scale), low[i], high[i])
    return low.astype(np.int64)


def _is_beyond(u: Uniform, sd: Fraction, x: int) -> bool:
    """Return whether ``floor(-sd log u)`` is larger than x."""
    return u.is_below(_power((x + 1) / sd))


def _accepted(words: Words, digits: np.ndarray, x: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """Return whether uniforms of 63 digits are below ``exp(-(x / sd - 1)^2 / 2)``, exactly."""
    z, error = _exponential(digits, 63)
    ratio = x / sd
    exponent = (ratio - 1) ** 2 / 2
    error = error + EXPONENT_ERROR * (ratio + 1) ** 2
    with np.errstate(invalid="ignore"):
        accepted, open_ = z > exponent, ~(np.abs(z - exponent) > error)
    for i in np.flatnonzero(open_):
        r = (int(x[i]) / Fraction(float(sd[i])) - 1) ** 2 / 2
        accepted[i] = Uniform(int(digits[i]), words, bits=63).is_below(_power(r))
    return accepted


def _exponential(digits: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """``-log u`` for the uniforms u in ``[digits, digits + 1) 2^-bits``, and a bound on its error.

    ``|log(u / p)| <= 1 / digits + 2^-53`` for p, the digits rounded to float64. The bound is
    infinite for digits of 0.
    """
    p = digits.astype(np.float64)
    with np.errstate(divide="ignore"):
        z = -np.log(np.ldexp(p, -bits))
        error = LOG_ERROR * z + 2 / p + 2.0**-52
    return z, error


def _power(r: Fraction) -> Callable[[int], int]:
    """``exp(-r)`` in units of ``2^-bits``, less its fraction, but for an error below 1/2."""

    def bound(bits: int) -> int:
        if r > bits:  # then it is below one unit
            return 0
        precision = bits + GUARD_BITS
        exponent = libmp.from_rational(-r.numerator, r.denominator, precision)
        power = libmp.mpf_exp(exponent, precision)
        return int(libmp.to_int(libmp.mpf_shift(power, bits)))

    return bound
