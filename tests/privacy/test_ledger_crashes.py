import math
import os
import pickle
import resource
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from skdppca.exceptions import BudgetExceeded, LedgerError
from skdppca.privacy import GaussianEvent, PrivacyLedger, mu_of

NOTION = {"adjacency": "add-remove", "unit": "row"}
SMALL = GaussianEvent(1e-4)
NOBODY = 65534


def test_a_crash_before_the_commit_charges_nothing_and_blocks_nobody(ledger, in_child):
    def child():
        db = sqlite3.connect(ledger.path, isolation_level=None)
        db.execute("BEGIN EXCLUSIVE")
        db.execute("INSERT INTO chain VALUES (4, 'x', 'y')")
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(EOFError):
        in_child(child)()
    assert ledger.charge(SMALL, **NOTION).row == 4
    ledger.verify()


def test_a_ledger_that_is_held_too_long_says_so(ledger, monkeypatch):
    monkeypatch.setattr("skdppca.privacy.ledger._BUSY_SECONDS", 0.05)
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="another process held it"):
            ledger.charge(SMALL, **NOTION)
    assert ledger.charge(SMALL, **NOTION).row == 4


def test_four_processes_are_granted_exactly_what_fits(folder, in_child):
    # Room for 500 and a half of 800 charges.
    ledger = PrivacyLedger.create(f"{folder}/study.ledger", 1.0, 1e-6)
    share = GaussianEvent(mu_of(1.0, 1e-6) / math.sqrt(500.5))
    token = pickle.dumps(ledger)

    def child():
        own, rows = pickle.loads(token), []
        for _ in range(200):
            try:
                rows.append(own.charge(share, **NOTION).row)
            except BudgetExceeded:
                pass
        return rows

    children = [in_child(child) for _ in range(4)]
    rows = [row for child in children for row in child()]
    assert sorted(rows) == list(range(1, 501))
    ledger.verify()
    assert len(ledger.receipts) == 500
    assert ledger.spent.epsilon <= 1.0


def test_kill_in_the_middle_never_leaves_a_release_without_a_charge(folder):
    ledger = PrivacyLedger.create(f"{folder}/study.ledger", 1.0, 1e-6)
    released = Path(folder) / "released"
    released.touch()
    for kill in range(20):
        before = released.stat().st_size
        child = os.fork()
        if child == 0:
            try:
                output = os.open(released, os.O_WRONLY | os.O_APPEND)
                while True:
                    ledger.charge(SMALL, **NOTION)
                    os.write(output, b".")
            finally:
                os._exit(1)
        while released.stat().st_size < before + 2 and os.waitpid(child, os.WNOHANG) == (0, 0):
            time.sleep(0.001)
        time.sleep(0.0003 * kill)  # each time at another point of a charge
        os.kill(child, signal.SIGKILL)
        assert os.waitpid(child, 0)[1] == signal.SIGKILL
        charged = len(PrivacyLedger(ledger.path).receipts)
        assert released.stat().st_size <= charged <= released.stat().st_size + kill + 1


def test_a_read_only_file_is_read_but_never_charged(ledger, folder, in_child):
    os.chmod(ledger.path, 0o444)
    os.chmod(folder, 0o555)

    def child():
        if os.getuid() == 0:  # whom permissions do not bind
            os.setuid(NOBODY)
        opened = PrivacyLedger(ledger.path)
        assert len(opened.receipts) == 3
        opened.charge(SMALL, **NOTION)

    error = in_child(child)()
    assert type(error) is LedgerError
    assert "make the file and its folder writable" in str(error) and ledger.path in str(error)
    assert len(ledger.receipts) == 3


def test_an_unreadable_file_says_so(ledger, in_child):
    os.chmod(ledger.path, 0)

    def child():
        if os.getuid() == 0:
            os.setuid(NOBODY)
        PrivacyLedger(ledger.path)

    error = in_child(child)()
    assert type(error) is LedgerError
    assert "readable and writable for this user" in str(error)


def limit_files_to(size):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_a_full_disk_refuses_the_charge_and_keeps_the_ledger(ledger, in_child):
    size = os.path.getsize(ledger.path)

    def child():
        limit_files_to(size)
        rows = []
        try:
            while True:
                rows.append(ledger.charge(SMALL, **NOTION).row)
        except LedgerError as error:
            return rows, str(error)

    rows, message = in_child(child)()
    assert "disk" in message and "nothing was released" in message
    ledger.verify()
    assert [receipt.row for receipt in ledger.receipts] == [1, 2, 3, *rows]
    assert ledger.charge(SMALL, **NOTION).row == len(rows) + 4


def test_a_full_disk_leaves_no_half_made_ledger(folder, in_child):
    def child():
        limit_files_to(1000)
        PrivacyLedger.create(f"{folder}/study.ledger", 1.0, 1e-6)

    error = in_child(child)()
    assert type(error) is LedgerError
    assert os.listdir(folder) == []
