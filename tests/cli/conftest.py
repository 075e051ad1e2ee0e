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


def people(n, seed=0):
    return np.random.default_rng(seed).standard_normal((n, len(NAMES))) * [4, 3, 2, 1] + 10


def csv_of(path, rows, names=NAMES):
    np.savetxt(path, rows, delimiter=",", header=",".join(names), comments="", fmt="%.17g")
    return path


@pytest.fixture
def rows():
    return people(300)


@pytest.fixture
def table(tmp_path, rows):
    return csv_of(tmp_path / "table.csv", rows)


@pytest.fixture
def ledger(tmp_path, run):
    path = tmp_path / "study.ledger"
    assert run("ledger", "create", path, "--epsilon", 2, "--delta", 1e-6).status == 0
    return path


@pytest.fixture
def fit(run, table, budget, tmp_path):
    """Fit the table, or other data, into ``out``, without pictures unless they are wanted."""

    def command(*more, data=table, pictures=False):
        quick = () if pictures else ("--no-pictures",)
        return run("fit", data, *budget, "--out", tmp_path / "out", *quick, *more)

    return command


@pytest.fixture
def release(fit, tmp_path):
    assert fit().status == 0
    return tmp_path / "out"


@pytest.fixture
def budget():
    """The options that every fit needs."""
    return ("--epsilon", 1, "--delta", 1e-6)


def charges(ledger):
    return len(PrivacyLedger(ledger).receipts)


def assert_refused(result, *says, ledger=None):
    """Assert an error of one line that says all of this, and no charge of the ledger."""
    assert result.status == 2 and result.err.startswith("skdppca: error: ")
    assert result.err.count("\n") == 1 and all(one in result.err for one in says), result.err
    assert ledger is None or charges(ledger) == 0
