"""Words and labels that a key decides: whoever holds the key can draw them again."""

from __future__ import annotations

import hashlib

import numpy as np

from .discrete import uniform_labels

# 64-bit words of a key.
KEY_WORDS = 4

# Words, and labels, that are drawn from one stream; a stream can be drawn without those before it.
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
    random function. The operating system's generator rests on an assumption of this kind, too.

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


class KeyedWords:
    """The uniform 64-bit words of a key, one after the other, without end.

    Parameters
    ----------
    key : bytes
        256 random bits that nothing else is drawn from.

    Notes
    -----
    Word i is word ``i % 4096`` of SHAKE-256 of the key and of the number ``i // 4096``, both little
    endian. So it depends on the key and on i alone: not on how many words are asked for at a time,
    on the machine, or on a version of NumPy. To whoever does not know the key the words are as good
    as independent and uniform, as in `keyed_labels`.

    Examples
    --------
    >>> from skdppca.noise import KeyedWords
    >>> words = KeyedWords(bytes(32))  # a real key is random
    >>> words(2).tolist() + words(1).tolist() == KeyedWords(bytes(32))(3).tolist()
    True
    """

    def __init__(self, key: bytes) -> None:
        if len(key) != 8 * KEY_WORDS:
            raise ValueError(f"a key has {8 * KEY_WORDS} bytes, and this one {len(key)}")
        self._key, self._block = key, 0
        self._left = np.empty(0, dtype=np.uint64)

    def __call__(self, n: int) -> np.ndarray:
        """The next n words."""
        words = [self._left]
        held = len(self._left)
        while held < n:
            words.append(_Words(self._key, self._block)(BLOCK))
            self._block += 1
            held += BLOCK
        joined = np.concatenate(words)
        self._left = joined[n:]
        return joined[:n]
