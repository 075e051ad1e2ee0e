"""Labels of records that a key decides: whoever holds the key can draw them again."""

from __future__ import annotations

import hashlib

import numpy as np

from .discrete import uniform_labels

__all__ = ["KEY_WORDS", "keyed_labels"]

# 64-bit words of a key.
KEY_WORDS = 4

# Labels that are drawn from one stream of words; a stream can be drawn without those before it.
BLOCK = 4096


def keyed_labels(key: bytes, first: int, n: int, parts: int) -> np.ndarray:
    """Draw the labels of the records ``first`` to ``first + n - 1``, uniform over ``range(parts)``.

    Label i depends on the key and on i alone, so it is the same however the records are cut into
    pieces, and whoever has lost a piece can draw its labels again.

    Parameters
    ----------
    key : bytes
        At least 256 random bits, for one draw; `NoiseSource.words` gives them.
    first, n : int
    parts : int
        Number of values, from 1 to 2**63.

    Returns
    -------
    labels : ndarray of shape (n,), dtype int64

    Notes
    -----
    The words of a block of labels are SHAKE-256 of the key and the block's number. To whoever does
    not know the key they are as good as independent uniform words, if SHAKE-256 is as good as a
    random function; so much is also assumed of the operating system's generator.

    Examples
    --------
    >>> from skdppca.noise import keyed_labels
    >>> key = bytes(32)  # a real one is random
    >>> keyed_labels(key, 0, 6, 3)
    array([0, 2, 0, 2, 0, 0])
    >>> keyed_labels(key, 3, 2, 3)
    array([2, 0])
    """
    labels = np.empty(n, dtype=np.int64)
    for block in range(first // BLOCK, (first + n + BLOCK - 1) // BLOCK):
        start, stop = max(first, block * BLOCK), min(first + n, (block + 1) * BLOCK)
        drawn = uniform_labels(_Words(key, block), BLOCK, parts)
        labels[start - first : stop - first] = drawn[start - block * BLOCK : stop - block * BLOCK]
    return labels


class _Words:
    """One block's stream of words, from its beginning."""

    def __init__(self, key: bytes, block: int) -> None:
        self._stream = hashlib.shake_256(key + block.to_bytes(8, "little"))
        self._taken = 0

    def __call__(self, n: int) -> np.ndarray:
        first, self._taken = self._taken, self._taken + n
        return np.frombuffer(self._stream.digest(8 * self._taken), "<u8")[first:].astype(np.uint64)
