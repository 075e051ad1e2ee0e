"""Masks that cancel in the sum of all sites, and only if all were asked exactly the same.

Two sites share a secret for a run (X25519). Of it and of the digest of the whole request each pair
derives one stream of words (HKDF-SHA256, AES-256 in counter mode); one adds it and the other
subtracts it, modulo 2^64. A site that was asked anything else (another round, other numbers,
another roster, other keys) derives other streams, and the sum is uniform.

To whoever lacks one pair's secret, the vectors of any proper part of these sites add up to a
uniform vector (Bonawitz et al. 2017, without its recovery from dropouts). That is computational:
it rests on X25519, HKDF and AES.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from .messages import PROTOCOL
from .study import canonical


class RunKey:
    """A site's secret of one run.

    Parameters
    ----------
    secret : str
        256 random bits, hexadecimal: to be kept until the run ends, and no longer.
    """

    def __init__(self, secret: str) -> None:
        self._key = X25519PrivateKey.from_private_bytes(bytes.fromhex(secret))

    @property
    def public(self) -> str:
        """For the other sites, hexadecimal."""
        return self._key.public_key().public_bytes_raw().hex()

    def pads(self, site: str, keys: Mapping[str, str], digest: str) -> list[Pad]:
        """Return the masks that this site adds and subtracts, for one request.

        Parameters
        ----------
        site : str
            Whose secret this is.
        keys : mapping of str to str
            The public key of every site of the roster.
        digest : str
            Digest of the whole request.

        Raises
        ------
        ValueError
            If a key is none with which a secret can be shared.
        """
        pads = []
        for other in sorted(set(keys) - {site}):
            theirs = X25519PublicKey.from_public_bytes(bytes.fromhex(keys[other]))
            pair = sorted((site, other))
            info = {"protocol": PROTOCOL, "pair": pair, "keys": [keys[name] for name in pair]}
            kdf = HKDF(hashes.SHA256(), 32, salt=bytes.fromhex(digest), info=canonical(info))
            pads.append(Pad(kdf.derive(self._key.exchange(theirs)), adds=site < other))
        return pads


class Pad(NamedTuple):
    """One pair's stream, as one of the two uses it.

    Parameters
    ----------
    key : bytes
    adds : bool
        Or subtracts.
    """

    key: bytes
    adds: bool


def masked(vector: np.ndarray, pads: Iterable[Pad]) -> np.ndarray:
    """Add the masks to a vector of int64, modulo 2^64; uint64."""
    out = vector.astype(np.uint64)  # two's complement: exact modulo 2^64
    for pad in pads:
        stream = Cipher(algorithms.AES(pad.key), modes.CTR(bytes(16))).encryptor()
        words = np.frombuffer(stream.update(bytes(8 * len(out))), dtype="<u8")
        combine = np.add if pad.adds else np.subtract
        combine(out, words, out=out)
    return out


def opened(vectors: Iterable[Any]) -> np.ndarray:
    """The sum of all sites' masked vectors: that of what they masked, modulo 2^64, as int64."""
    total: np.ndarray = reduce(np.add, vectors)
    return total.view(np.int64)
