"""Readers of a ledger hold its lock briefly, and leave room for a charge."""

import fcntl
import os
import signal
import time

import pytest

from skdppca.privacy import GaussianEvent, PrivacyLedger
from skdppca.privacy import ledger as ledger_module
from skdppca.privacy.chain import Chain

NOTION = {"adjacency": "add-remove", "unit": "row"}
SMALL = GaussianEvent(1e-4)


@pytest.fixture
def taken(ledger):
    """Whether another process that asks for the lock has to wait."""
    other = os.open(ledger.path, os.O_RDONLY)

    def taken():
        try:
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        fcntl.flock(other, fcntl.LOCK_UN)
        return False

    yield taken
    os.close(other)


@pytest.fixture
def while_verified(monkeypatch, taken):
    """Whether the lock was taken, for every row that was verified."""
    found, followed = [], Chain.followed

    def following(*row):
        found.append(taken())
        return followed(*row)

    monkeypatch.setattr(Chain, "followed", following)
    return found


@pytest.mark.parametrize("use", ["open", "verify", "catch up"])
def test_no_row_is_verified_under_the_lock_of_a_reader(ledger, while_verified, use):
    if use == "open":
        PrivacyLedger(ledger.path)
    elif use == "verify":
        ledger.verify()
    else:
        other = PrivacyLedger(ledger.path)
        ledger.charge(SMALL, **NOTION)
        assert len(other.receipts) == 4
    assert while_verified == [False] * (4 if use == "catch up" else 3)


def test_a_charge_that_lags_far_behind_verifies_the_rows_before_it_locks(
    ledger, while_verified, monkeypatch
):
    monkeypatch.setattr(ledger_module, "_MOST_LOCKED", 1000)
    other = PrivacyLedger(ledger.path)
    while_verified.clear()
    for _ in range(5):
        ledger.charge(SMALL, **NOTION)
    assert other.charge(SMALL, **NOTION).row == 9
    assert while_verified == [False] * 5
    ledger.charge(SMALL, **NOTION)
    assert while_verified == [False] * 5 + [True]  # one row takes no time


@pytest.mark.slow  # 20 seconds of two cores
def test_readers_without_a_pause_leave_room_for_charges(ledger, monkeypatch):
    monkeypatch.setattr(ledger_module, "_BUSY_SECONDS", 20)
    read = ledger_module._read

    def lingering(*args):
        result = read(*args)
        time.sleep(0.005)  # many times as long as it is away
        return result

    def start():
        child = os.fork()
        if child == 0:
            try:
                monkeypatch.setattr(ledger_module, "_read", lingering)
                os.write(writer, b".")
                while True:
                    assert ledger.receipts
            finally:
                os._exit(1)
        return child

    reader, writer = os.pipe()
    children = [start() for _ in range(4)]
    try:
        for _ in children:
            os.read(reader, 1)
        rows = [ledger.charge(SMALL, **NOTION).row for _ in range(5)]
        assert all(os.waitpid(child, os.WNOHANG) == (0, 0) for child in children)
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        os.close(reader)
        os.close(writer)
    assert rows == [4, 5, 6, 7, 8]
