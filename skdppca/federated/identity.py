"""Keys, and the files that hold them.

Analysts and sites sign with Ed25519. A Flower SuperLink knows a site's SuperNode by another key,
which signs nothing else.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

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

NODE_KEY, NODE_PUBLIC_KEY = "supernode.key", "supernode.pub"

KEY_BYTES = 32
SIGNATURE_BYTES = 64


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
        key = Ed25519PrivateKey.generate()
        try:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise FileExistsError(
                f"{os.fsdecode(path)}: already exists, and a key is never replaced; read it with "
                "Identity.read, or choose another path"
            ) from None
        except FileNotFoundError:
            raise FileNotFoundError(
                f"{os.fsdecode(path)}: there is no such folder; make it, or choose another path"
            ) from None
        with os.fdopen(file, "w") as out:
            out.write(key.private_bytes_raw().hex() + "\n")
            out.flush()
            os.fsync(out.fileno())
        return cls(key)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Identity:
        """Read a key that `create` wrote.

        Parameters
        ----------
        path : str or path-like
            A file that nobody else may read (mode 0600).
        """
        name = os.fsdecode(path)
        if not os.path.exists(path):
            raise FileNotFoundError(
                f"{name}: there is no such key; check the path, or make a key with Identity.create"
            )
        if os.name == "posix" and stat.S_IMODE(os.stat(path).st_mode) & 0o077:
            raise PermissionError(
                f"{name}: other users can read this private key; run chmod 600 {name}, and make a "
                "new key if somebody may have seen this one"
            )
        content = _bytes_of(Path(path).read_text().strip(), KEY_BYTES)
        if content is None:
            raise ValueError(f"{name}: it holds no key; make one with Identity.create")
        return cls(Ed25519PrivateKey.from_private_bytes(content))

    @property
    def public(self) -> str:
        """The public key, 64 hexadecimal digits."""
        return self._key.public_key().public_bytes_raw().hex()

    def sign(self, message: bytes) -> str:
        """Sign a message; hexadecimal, and the same whenever the message is."""
        return self._key.sign(message).hex()

    def __repr__(self) -> str:
        return f"Identity(public={self.public!r})"


def is_public_key(text: object) -> bool:
    """Whether this can be a public key: 64 lower-case hexadecimal digits."""
    return _bytes_of(text, KEY_BYTES) is not None


def verified(public: str, signature: object, message: bytes) -> bool:
    """Whether the owner of a public key has signed this message.

    Parameters
    ----------
    public : str
        64 hexadecimal digits.
    signature : str
        128 hexadecimal digits. Anything else is no signature.
    message : bytes
    """
    key, signed = _bytes_of(public, KEY_BYTES), _bytes_of(signature, SIGNATURE_BYTES)
    if key is None or signed is None:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signed, message)
    except (InvalidSignature, ValueError):
        return False
    return True


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
    for name, mode, content in ((NODE_KEY, 0o600, private), (NODE_PUBLIC_KEY, 0o644, public)):
        file = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(file, "wb") as out:
            out.write(content.rstrip() + b"\n")


def read_node_key(folder: Path) -> ec.EllipticCurvePrivateKey:
    """Read what `create_node_key` made."""
    key = load_ssh_private_key((folder / NODE_KEY).read_bytes(), None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError(f"{folder / NODE_KEY}: it is no key of a SuperNode; put the file back")
    return key


def _bytes_of(text: object, length: int) -> bytes | None:
    """The bytes that `length` pairs of lower-case hexadecimal digits stand for, or None."""
    if not isinstance(text, str) or len(text) != 2 * length:
        return None
    try:
        content = bytes.fromhex(text)
    except ValueError:
        return None
    return content if content.hex() == text else None
