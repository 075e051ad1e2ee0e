from types import SimpleNamespace

import numpy as np
import pytest

from skdppca import PrivacyLedger
from skdppca.cli import main

NAMES = ("age", "height", "weight", "pulse")


@pytest.fixture
def run(capsys):
    """Run a command line; what it printed, and its exit status."""

    def command(*arguments):
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as exit:
            status = exit.code
        out, err = capsys.readouterr()
        return SimpleNamespace(status=status, out=out, err=err)

    return command


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.standard_normal((300, len(NAMES))) * [4, 3, 2, 1] + 10


@pytest.fixture
def table(tmp_path, rows):
    path = tmp_path / "table.csv"
    np.savetxt(path, rows, delimiter=",", header=",".join(NAMES), comments="", fmt="%.17g")
    return path


@pytest.fixture
def ledger(tmp_path, run):
    path = tmp_path / "study.ledger"
    assert run("ledger", "create", path, "--epsilon", 2, "--delta", 1e-6).status == 0
    return path


@pytest.fixture
def fit(run, table, budget, tmp_path):
    """Fit the table into ``out``, without pictures unless they are wanted."""

    def command(*more, pictures=False):
        quick = () if pictures else ("--no-pictures",)
        return run("fit", table, *budget, "--out", tmp_path / "out", *quick, *more)

    return command


@pytest.fixture
def budget():
    """The options that every fit needs."""
    return ("--epsilon", 1, "--delta", 1e-6)


def charges(ledger):
    return len(PrivacyLedger(ledger).receipts)


def is_one_line_error(result):
    return (
        result.status == 2
        and result.err.startswith("skdppca: error: ")
        and result.err.count("\n") == 1
    )
