"""Signatures of a manifest: made and verified by OpenSSH, so that no key passes through here."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

__all__ = ["wrong_signature"]

NAMESPACE = "skdppca"

# Seconds; a signature takes milliseconds.
PATIENCE = 30

KINDS = ("ssh-", "ecdsa-", "sk-")


def wrong_signature(signed: Path, signature: Path, signer: Path) -> str | None:
    """Return what is wrong with a signature of a file; None if it is by this key.

    Parameters
    ----------
    signed, signature : Path
    signer : Path
        An SSH public key, such as ``id_ed25519.pub``.

    Raises
    ------
    ValueError, OSError
        If the key is none, or `ssh-keygen` cannot be run.
    """
    key = _public_key(signer)
    remedy = f"sign with ssh-keygen -Y sign -n {NAMESPACE} -f KEY {signed.name}"
    if not signature.is_file():
        return f"there is no {signature.name}, so nobody vouches for these files; {remedy}"
    with tempfile.TemporaryDirectory() as folder:
        allowed = Path(folder) / "allowed"
        allowed.write_text(f'signer namespaces="{NAMESPACE}" {key}\n', encoding="utf-8")
        command = ["ssh-keygen", "-Y", "verify", "-f", str(allowed), "-I", "signer"]
        command += ["-n", NAMESPACE, "-s", os.fspath(signature.resolve())]
        failed: str | None = None
        try:
            with signed.open("rb") as file:
                done = subprocess.run(command, stdin=file, capture_output=True, timeout=PATIENCE)
        except FileNotFoundError as error:
            failed = error.strerror
        except subprocess.TimeoutExpired:
            failed = f"it took more than {PATIENCE} s"
        if failed is not None:
            raise OSError(
                f"a signature is verified by ssh-keygen, which cannot be run ({failed}); install "
                "OpenSSH 8.1 or newer"
            )
    if done.returncode == 0:
        return None
    return f"{signature.name} is no signature by this key for {NAMESPACE}; {remedy}"


def _public_key(path: Path) -> str:
    """The one line of a public key, without its comment."""
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is no file; give an SSH public key")
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
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
