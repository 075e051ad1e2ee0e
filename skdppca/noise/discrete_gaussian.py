"""The discrete Gaussian: integers with probabilities in proportion to ``exp(-k^2 / 2 sd^2)``.

A sum of rounded Gaussians is no rounded Gaussian, and what it costs is not known exactly. A sum of
discrete Gaussians is nearly a discrete Gaussian, so several sites can each add a part of the noise.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
from mpmath import libmp

from .discrete import GUARD_BITS, Uniform, Words, in_chunks, settled

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
    return in_chunks(words, sd, size, _draw)


def _draw(words: Words, sd: np.ndarray) -> np.ndarray:
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
    """Whether ``floor(-sd log u)`` is larger than x."""
    return u.is_below(_power((x + 1) / sd))


def _accepted(words: Words, digits: np.ndarray, x: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """Whether a uniform of 63 digits is below ``exp(-(x / sd - 1)^2 / 2)``, exactly."""
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
