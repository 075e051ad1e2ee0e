"""Keys, and the files that hold them.

Analysts and sites sign with Ed25519. A Flower SuperLink knows a site's SuperNode by another key,
which signs nothing else.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_ssh_private_key,
)

SECRET_BYTES = 32

NODE_KEY, NODE_PUBLIC_KEY = "supernode.key", "supernode.pub"


class Identity:
    """A private key, and what it signs.

    Parameters
    ----------
    key : Ed25519PrivateKey
        Use `Identity.create` or `Identity.read`.

    Examples
    --------
    >>> import tempfile
    >>> from skdppca.federated import Identity
    >>> folder = tempfile.TemporaryDirectory()
    >>> analyst = Identity.create(f"{folder.name}/analyst.key")
    >>> Identity.read(f"{folder.name}/analyst.key").public == analyst.public
    True
    >>> folder.cleanup()
    """

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key

    @classmethod
    def create(cls, path: str | os.PathLike[str]) -> Identity:
        """Make a new key, in a file that only you can read.

        Parameters
        ----------
        path : str or path-like
            Where nothing lies yet.
        """
        create_secret(path)
        return cls.read(path)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Identity:
        """Read a key that `create` wrote.

        Parameters
        ----------
        path : str or path-like
            A file that nobody else may read (mode 0600).
        """
        return cls(Ed25519PrivateKey.from_private_bytes(read_secret(path)))

    @property
    def public(self) -> str:
        """The public key, 64 hexadecimal digits."""
        return self._key.public_key().public_bytes_raw().hex()

    def sign(self, message: bytes) -> str:
        """Sign a message; hexadecimal, and the same whenever the message is."""
        return self._key.sign(message).hex()


def verified(public: str, signature: Any, message: bytes) -> bool:
    """Say whether the owner of a public key has signed this message.

    Parameters
    ----------
    public : str
        64 hexadecimal digits.
    signature : str
        128 hexadecimal digits. Anything else is no signature.
    message : bytes
    """
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
        key.verify(bytes.fromhex(signature), message)
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True


def create_secret(path: str | os.PathLike[str]) -> None:
    """Write 256 random bits where nothing lies yet."""
    write_secret(path, os.urandom(SECRET_BYTES).hex().encode())


def read_private(path: str | os.PathLike[str]) -> bytes:
    """Read a file that nobody else may read (mode 0600)."""
    name = os.fsdecode(path)
    if os.name == "posix" and stat.S_IMODE(os.stat(path).st_mode) & 0o077:
        raise PermissionError(
            f"{name}: other users can read this secret; run chmod 600 {name}, and make a new one "
            "if somebody may have seen this one"
        )
    return Path(path).read_bytes()


def read_secret(path: str | os.PathLike[str]) -> bytes:
    """Read what `create_secret` wrote."""
    if re.fullmatch(b"[0-9a-f]{64}", text := read_private(path).strip()):
        return bytes.fromhex(text.decode())
    raise ValueError(f"{os.fsdecode(path)}: it holds no secret; put the file back")


def write_secret(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a line that only this user can read, onto the disk, where nothing lies yet."""
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise type(error)(
            f"{os.fsdecode(path)}: {error.strerror}; a key is never replaced, so choose another "
            "path, in a folder that exists"
        ) from None
    with os.fdopen(file, "wb") as out:
        out.write(content + b"\n")
        out.flush()
        os.fsync(out.fileno())


def create_node_key(folder: Path) -> None:
    """Make the key, and beside it the public half, which whoever runs the server registers.

    Parameters
    ----------
    folder : Path
        Where no such files lie yet.
    """
    key = ec.generate_private_key(ec.SECP384R1())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    write_secret(folder / NODE_KEY, private.rstrip())
    (folder / NODE_PUBLIC_KEY).write_bytes(public + b"\n")


def read_node_key(folder: Path) -> ec.EllipticCurvePrivateKey:
    """Read what `create_node_key` made."""
    key = load_ssh_private_key((folder / NODE_KEY).read_bytes(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return key
