"""Signatures of the hashes of a release: made and verified by OpenSSH."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from ._contents import SIGNATURE, SUMS, read_file

NAMESPACE = "skdppca"
REMEDY = f"sign with ssh-keygen -Y sign -n {NAMESPACE} -f KEY {SUMS}"

# Bytes of a file with a key, at most; and how a public key begins.
MOST_KEY = 2**16
KINDS = ("ssh-", "ecdsa-", "sk-")

# Seconds; a signature takes milliseconds.
PATIENCE = 30


def wrong_signature(signed: str, folder: Path, signer: Path) -> str:
    """Return what is wrong with the signature in a folder; "" if it is by this key.

    Parameters
    ----------
    signed : str
        The hashes.
    folder : Path
        With their signature.
    signer : Path
        An SSH public key, such as ``id_ed25519.pub``.

    Raises
    ------
    ValueError, OSError
        If the key is none, or `ssh-keygen` cannot be run.
    """
    key = _public_key(signer)
    if not (folder / SIGNATURE).is_file():
        return f"there is no {SIGNATURE}, so these files are not signed; {REMEDY}"
    with tempfile.TemporaryDirectory() as private:
        allowed = Path(private) / "allowed"
        allowed.write_text(f'signer namespaces="{NAMESPACE}" {key}\n', encoding="utf-8")
        command = ["ssh-keygen", "-Y", "verify", "-f", str(allowed), "-I", "signer"]
        command += ["-n", NAMESPACE, "-s", str(folder / SIGNATURE)]
        failed = ""
        try:
            done = subprocess.run(
                command, input=signed.encode(), capture_output=True, timeout=PATIENCE
            )
        except (FileNotFoundError, subprocess.TimeoutExpired) as error:
            failed = getattr(error, "strerror", f"it took more than {PATIENCE} s")
        if failed:
            raise OSError(
                f"a signature is verified by ssh-keygen, which cannot be run ({failed}); install "
                "OpenSSH 8.1 or newer"
            )
    if done.returncode == 0:
        return ""
    return f"{SIGNATURE} is no signature by this key for {NAMESPACE}; {REMEDY}"


def _public_key(path: Path) -> str:
    """Return a public key without its comment."""
    try:
        words = read_file(path, MOST_KEY).decode(errors="replace").split()
    except OSError as error:
        raise OSError(f"{path}: {error.strerror}; give an SSH public key") from None
    if len(words) < 2 or not words[0].startswith(KINDS):
        raise ValueError(
            f"{path} is no SSH public key; give one such as ~/.ssh/id_ed25519.pub, and never the "
            "private key"
        )
    return " ".join(words[:2])
