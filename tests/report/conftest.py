import html
import json
import re
import shutil
import subprocess
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from skdppca import DPGauss, PrivacyLedger
from skdppca.report import Context, ReleaseReport

NAMES = ("age", "height", "weight", "pulse")
TITLE = "Vital <script>alert(1)</script> & signs"
CONTEXT = Context(purpose="Teach <b>statistics</b>", curator="Clinic", fitted_before="no")


@pytest.fixture(scope="session")
def frame():
    rows = np.random.default_rng(0).standard_normal((3000, len(NAMES))) * [4, 3, 2, 1] + 10
    return pd.DataFrame(rows, columns=NAMES)


@pytest.fixture(scope="session")
def made(frame, tmp_path_factory):
    """A ledger, a fit charged to it, its report and its files; and a fit without a ledger."""
    folder = tmp_path_factory.mktemp("made")
    ledger = PrivacyLedger.create(folder / "ledger", 3.0, 1e-6)
    ledger.charge_external("counts", mu=0.1, adjacency="add-remove")
    pca = DPGauss(2, accountant=ledger).fit(frame)
    report = ReleaseReport(pca, title=TITLE, context=CONTEXT)
    names = report.write(folder / "out")
    free = DPGauss(2).fit(frame)
    return SimpleNamespace(
        folder=folder, ledger=ledger, pca=pca, report=report, names=names, free=free
    )


@pytest.fixture
def copied(made, tmp_path):
    """A copy of the files and of the ledger, to be tampered with."""
    shutil.copytree(made.folder, tmp_path / "copy")
    return tmp_path / "copy"


@pytest.fixture
def out(copied):
    return copied / "out"


@pytest.fixture(scope="session")
def keys(tmp_path_factory):
    """Two SSH keys, by the paths of their private halves."""
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed")
    folder = tmp_path_factory.mktemp("keys")
    for name in ("officer", "other"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name]
        subprocess.run(command, check=True)
    return folder / "officer", folder / "other"


def sign(file, key, namespace="skdppca"):
    """Write the signature of a file beside it, and return it."""
    command = ["ssh-keygen", "-q", "-Y", "sign", "-n", namespace, "-f", key, file]
    subprocess.run(command, check=True, capture_output=True)
    return file.with_name(f"{file.name}.sig").read_bytes()


def text_of(report):
    """The words of a report's page."""
    page = report.html().partition("<body")[2]
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())


def document_of(out):
    return json.loads((out / "report.json").read_text())
