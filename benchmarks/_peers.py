"""Other packages' private PCA, each in an environment of its own and under a time limit."""

from __future__ import annotations

import json
import subprocess
import tempfile
import venv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Peer:
    """A package, what pip installs with it, and how it is called (in ``_peer_worker.py``)."""

    name: str
    requirements: tuple[str, ...]

    @property
    def folder(self) -> Path:
        return HERE / f".env-{self.name}"

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"


# The versions that the newest release of each imports with, where scikit-learn 1.9 breaks it.
PEERS = {
    "diffprivlib": Peer("diffprivlib", ("diffprivlib", "scikit-learn<1.6")),
    "diffprivlib-newest": Peer("diffprivlib-newest", ("diffprivlib", "scikit-learn>=1.9")),
    "opendp": Peer("opendp", ("opendp[scikit-learn]",)),
}


def prepare(peer: Peer) -> None:
    """Create the environment once; delete the folder to have it made anew."""
    stamp = peer.folder / ".requirements"
    wanted = " ".join(peer.requirements)
    if stamp.exists() and stamp.read_text() == wanted:
        return
    venv.create(peer.folder, with_pip=True, clear=True)
    pip = [str(peer.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *peer.requirements], check=True)
    stamp.write_text(wanted)


def run(peer: Peer, X: np.ndarray, k: int, epsilon: float, limit: float) -> dict:
    """Fit in a process of its own.

    Returns
    -------
    dict
        ``seconds`` of the fit and ``components`` (k, d), or ``failure`` in words; ``versions``.
        The limit holds for the whole process, so for the import too.
    """
    with tempfile.TemporaryDirectory() as folder:
        data, out = Path(folder, "X.npy"), Path(folder, "components.npy")
        np.save(data, X)
        worker = HERE / "_peer_worker.py"
        package = peer.name.removesuffix("-newest")
        command = [peer.python, worker, package, data, out, k, epsilon]
        try:
            done = subprocess.run(
                [str(part) for part in command], capture_output=True, text=True, timeout=limit
            )
        except subprocess.TimeoutExpired:
            return {"failure": f"did not finish in {limit:g} s"}
        if done.returncode:
            last = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
            return {"failure": _without_paths(last)}
        answer = json.loads(done.stdout.splitlines()[-1])
        return answer | {"components": np.load(out)}


def _without_paths(lines: list[str]) -> str:
    """The error itself, which is the last line that is not indented."""
    error = next((line for line in reversed(lines) if line[:1].strip() and ":" in line), lines[-1])
    return error.split(" (/")[0]
