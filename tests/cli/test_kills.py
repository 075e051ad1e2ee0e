"""A fit that is killed leaves a release that verifies, or stops the next one before its charge."""

import contextlib
import io
import os
import signal
import time

import numpy as np
import pytest

from skdppca import PrivacyLedger
from skdppca.cli import main
from skdppca.report import verify

from .conftest import NAMES

KILLS = 30
COST = ("--epsilon", "0.1", "--delta", "1e-7", "--no-pictures", "-k", "1")


def run(arguments):
    """The exit status and the errors of a command in this process."""
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        status = main(list(map(str, arguments)))
    return status, said.getvalue()


def killed_after(seconds, arguments):
    """Run a command in a child, and kill it. Return whether it had ended by itself."""
    child = os.fork()
    if child == 0:
        run(arguments)
        os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1] == 0


def is_whole(out, *ledgers):
    return out.is_dir() and verify(out, ledger=list(ledgers)).agrees


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("grows", [False, True], ids=["fit", "update"])
def test_no_charge_is_spent_in_silence(tmp_path, grows):
    table = tmp_path / "t.csv"
    rows = np.random.default_rng(0).standard_normal((300, len(NAMES)))
    np.savetxt(table, rows, delimiter=",", header=",".join(NAMES), comments="")
    draw, took, ended = np.random.default_rng(int(grows)), 0.0, 0
    for number in range(KILLS + 1):
        folder = tmp_path / str(number)
        folder.mkdir()
        out, ledger = folder / "out", PrivacyLedger.create(folder / "ledger", 5.0, 1e-5)
        first = PrivacyLedger.create(folder / "first", 5.0, 1e-5) if grows else ledger
        into = ("--update" if grows else "--out", out)
        if grows:
            assert run(("fit", table, *COST, *into, "--ledger", first.path))[0] == 0
        command = ("fit", table, *COST, *into, "--ledger", ledger.path)
        if number == 0:
            begun = time.monotonic()
            assert run(command)[0] == 0
            took = time.monotonic() - begun
            continue
        ended += killed_after(draw.uniform(0.0, 1.2 * took), command)
        spent, new = len(ledger.receipts) > 0, is_whole(out, *{first, ledger})
        if grows and not new:
            places = (out, out.with_name("out.previous"))
            assert any(is_whole(place, first) for place in places)
        status, said = run(command)
        if spent and not new:
            assert status == 2 and "cut short" in said
            assert len(ledger.receipts) == 1
    assert ended < KILLS
