"""Where random words come from: the operating system, a secret key, or a seed."""

import os
from collections.abc import Sequence

import numpy as np

from .discrete import rounded_gaussian, uniform_labels
from .discrete_gaussian import discrete_gaussian
from .keyed import KeyedWords

Seed = int | Sequence[int] | np.ndarray | np.random.SeedSequence


class NoiseSource:
    """Independent uniform 64-bit words, and the exact samplers that consume them.

    Without a seed every word comes from the operating system's cryptographic generator. No
    generator state lives in the process, so a fork, a copy or a pickle cannot repeat noise. With a
    seed the words come from numpy's PCG64, and the samplers are the same. Such a source is not
    private: anyone who knows the seed can subtract the noise. The global state of ``numpy.random``
    is neither read nor changed.

    With a key the words are `KeyedWords`: whoever draws with the same key again draws the same
    noise. That is private only if the key is secret, and if one key is for one noisy vector: the
    same noise on two vectors shows their difference.

    Parameters
    ----------
    seed : int, array-like of int, numpy.random.SeedSequence or None, default=None
        None draws from ``os.urandom``; anything else seeds a PCG64 generator.
    key : bytes, optional
        256 secret random bits to draw from instead.

    Attributes
    ----------
    is_private : bool
        True if the words do not come from a seed.

    Examples
    --------
    >>> from skdppca.noise import NoiseSource
    >>> NoiseSource().is_private
    True
    >>> NoiseSource(0).rounded_gaussian(100.0, 5)
    array([-109,   61,  174,  213,  -49])
    """

    def __init__(self, seed: Seed | None = None, *, key: bytes | None = None) -> None:
        if seed is not None and key is not None:
            raise ValueError("seed and key are both given; give one, or none for secure noise")
        self._generator = None if seed is None else _seeded(seed)
        self._keyed = None if key is None else KeyedWords(key)

    @property
    def is_private(self) -> bool:
        """Whether the words come from the operating system or a key, and not from a seed."""
        return self._generator is None

    def words(self, n: int) -> np.ndarray:
        """Draw independent uniform words.

        Parameters
        ----------
        n : int
            Number of words.

        Returns
        -------
        words : ndarray of shape (n,), dtype uint64
            Possibly read-only.
        """
        if self._keyed is not None:
            return self._keyed(n)
        if self._generator is None:
            return np.frombuffer(os.urandom(8 * n), dtype=np.uint64)
        return self._generator.random_raw(n)

    def rounded_gaussian(self, sd: float | np.ndarray, size: int | tuple[int, ...]) -> np.ndarray:
        """Draw ``round(N(0, sd**2))``; see `skdppca.noise.rounded_gaussian`.

        Parameters
        ----------
        sd : float or array-like broadcastable to `size`
            Standard deviation in grid units, in (0, 2**33]; used exactly, as a float64.
        size : int or tuple of int
            Shape of the result.

        Returns
        -------
        noise : ndarray of shape `size`, dtype int64
        """
        return rounded_gaussian(self.words, sd, size)

    def discrete_gaussian(self, sd: float | np.ndarray, size: int | tuple[int, ...]) -> np.ndarray:
        """Draw from the discrete Gaussian; see `skdppca.noise.discrete_gaussian`.

        Parameters
        ----------
        sd : float or array-like broadcastable to `size`
            Scale in grid units, in (0, 2**33]; used exactly, as a float64.
        size : int or tuple of int
            Shape of the result.

        Returns
        -------
        noise : ndarray of shape `size`, dtype int64
        """
        return discrete_gaussian(self.words, sd, size)

    def labels(self, n: int, parts: int) -> np.ndarray:
        """Draw independent labels, each exactly uniform over ``range(parts)``.

        Parameters
        ----------
        n : int
            Number of labels.
        parts : int
            Number of values, from 1 to 2**63.

        Returns
        -------
        labels : ndarray of shape (n,), dtype int64
        """
        return uniform_labels(self.words, n, parts)


def _seeded(seed: Seed) -> np.random.PCG64:
    try:
        return np.random.PCG64(seed)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"seed={seed!r} cannot seed a generator; give a non-negative integer, or None for "
            "secure noise"
        ) from error
