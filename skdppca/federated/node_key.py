"""The key by which a Flower SuperLink knows a site's SuperNode. It signs nothing else."""

from __future__ import annotations

import os
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_ssh_private_key,
)

NODE_KEY, NODE_PUBLIC_KEY = "supernode.key", "supernode.pub"


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
