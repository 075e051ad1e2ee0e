"""Signatures of a manifest: made and verified by OpenSSH, so that no key passes through here."""

from __future__ import annotations

import base64
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ._directory import MANIFEST
from ._plain import read_plain

NAMESPACE = "skdppca"

# Bytes of a signature (with 16384 bits of RSA it has 5.8 kB), and of a file with a key, at most.
MOST_SIGNED = 2**13
MOST_KEY = 2**16

# Seconds; a signature takes milliseconds.
PATIENCE = 30

KINDS = ("ssh-", "ecdsa-", "sk-")


# How a signature begins and ends, and how long a line between may be (PROTOCOL.sshsig of OpenSSH).
BEGIN, FINISH = b"-----BEGIN SSH SIGNATURE-----\n", b"\n-----END SSH SIGNATURE-----\n"
LONGEST_LINE = 76

PREAMBLE = b"SSHSIG" + struct.pack(">L", 1)
HASHES = (b"sha256", b"sha512")
NIST = b"ecdsa-sha2-nistp"

# Kinds of keys: how long their numbers, a signature and what stands behind it are at most (a
# security key tells its application, and adds a counter), and the kinds of signatures.
SIZES = {
    b"ssh-ed25519": ((32,), 64, 0, (b"ssh-ed25519",)),
    b"ssh-rsa": ((8, 2049), 2048, 0, (b"rsa-sha2-256", b"rsa-sha2-512")),
    b"sk-ssh-ed25519@openssh.com": ((32, 64), 64, 5, (b"sk-ssh-ed25519@openssh.com",)),
    NIST + b"256": ((8, 65), 74, 0, (NIST + b"256",)),
    NIST + b"384": ((8, 97), 106, 0, (NIST + b"384",)),
    NIST + b"521": ((8, 133), 142, 0, (NIST + b"521",)),
    b"sk-" + NIST + b"256@openssh.com": ((8, 65, 64), 74, 5, (b"sk-" + NIST + b"256@openssh.com",)),
}


def is_signature(content: bytes) -> bool:
    """Whether this is a signature for skdppca by some key, with nothing before, in or behind it.

    Whose it is, and what was signed, is not checked.
    """
    lines = content.removeprefix(BEGIN).removesuffix(FINISH).split(b"\n")
    try:
        inner = base64.b64decode(b"".join(lines), validate=True)
    except ValueError:
        return False
    width = min(len(lines[0]), LONGEST_LINE)
    text = base64.b64encode(inner)
    wrapped = b"\n".join(text[i : i + width] for i in range(0, len(text), width or 1))
    return content == BEGIN + wrapped + FINISH and _is_of_a_key(inner)


def _is_of_a_key(inner: bytes) -> bool:
    try:
        if not inner.startswith(PREAMBLE):
            return False
        key, namespace, reserved, digest, signature = _strings(inner[len(PREAMBLE) :])
        kind, *numbers = _strings(key)
        longest, most, behind, kinds = SIZES[kind]
        by, signed = _strings(signature[: len(signature) - behind])
    except (KeyError, ValueError):
        return False
    found, sizes = (*numbers, signed), (*longest, most)
    return (
        (namespace, reserved) == (NAMESPACE.encode(), b"")
        and digest in HASHES
        and by in kinds
        and len(found) == len(sizes)
        and all(len(one) <= size for one, size in zip(found, sizes, strict=True))
    )


def _strings(content: bytes) -> Iterator[bytes]:
    """The texts of which each stands behind its length."""
    place = 0
    while place < len(content):
        size = int.from_bytes(content[place : place + 4])
        place += 4 + size
        if place > len(content):
            raise ValueError("it ends too early")
        yield content[place - size : place]


def wrong_signature(signed: bytes, signature: bytes | None, signer: Path) -> str | None:
    """Return what is wrong with the signature of a manifest; None if it is by this key.

    Parameters
    ----------
    signed : bytes
    signature : bytes or None
        None if there is none.
    signer : Path
        An SSH public key, such as ``id_ed25519.pub``.

    Raises
    ------
    ValueError, OSError
        If the key is none, or `ssh-keygen` cannot be run.
    """
    key = _public_key(signer)
    remedy = f"sign with ssh-keygen -Y sign -n {NAMESPACE} -f KEY {MANIFEST}"
    if signature is None:
        return f"there is no {MANIFEST}.sig, so these files are not signed; {remedy}"
    with tempfile.TemporaryDirectory() as folder:
        allowed, given = Path(folder) / "allowed", Path(folder) / "signature"
        allowed.write_text(f'signer namespaces="{NAMESPACE}" {key}\n', encoding="utf-8")
        given.write_bytes(signature)
        command = ["ssh-keygen", "-Y", "verify", "-f", str(allowed), "-I", "signer"]
        command += ["-n", NAMESPACE, "-s", str(given)]
        failed: str | None = None
        try:
            done = subprocess.run(command, input=signed, capture_output=True, timeout=PATIENCE)
        except FileNotFoundError as error:
            failed = error.strerror
        except subprocess.TimeoutExpired:
            failed = f"it took more than {PATIENCE} s"
        if failed is not None:
            raise OSError(
                f"a signature is verified by ssh-keygen, which cannot be run ({failed}); install "
                "OpenSSH 8.1 or newer"
            )
    if done.returncode == 0 and is_signature(signature):
        return None
    return f"{MANIFEST}.sig is no signature by this key for {NAMESPACE}; {remedy}"


def _public_key(path: Path) -> str:
    """The one line of a public key, without its comment."""
    try:
        lines = read_plain(path, MOST_KEY, links=True).decode().splitlines()
    except UnicodeError:
        lines = []
    except OSError as error:
        raise OSError(f"{path}: {error.strerror}; give an SSH public key") from None
    keys = [line.split() for line in lines if line.startswith(KINDS)]
    if len(keys) != 1 or len(keys[0]) < 2:
        raise ValueError(
            f"{path} is no SSH public key; give one such as ~/.ssh/id_ed25519.pub, and never the "
            "private key"
        )
    return " ".join(keys[0][:2])
