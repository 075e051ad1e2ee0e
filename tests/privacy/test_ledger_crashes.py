import errno
import fcntl
import hashlib
import math
import os
import pickle
import resource
import shutil
import signal
import threading
from pathlib import Path

import pytest

from skdppca.exceptions import BudgetExceeded, LedgerCutWarning, LedgerError
from skdppca.privacy import GaussianEvent, PrivacyLedger, mu_of
from skdppca.privacy import ledger as ledger_module

from .conftest import kill_at_random

NOTION = {"adjacency": "add-remove", "unit": "row"}
SMALL = GaussianEvent(1e-4)
DIGEST = "0" * 64
NOBODY = 65534


def test_a_crash_within_a_write_charges_nothing_and_blocks_nobody(ledger, in_child, monkeypatch):
    write = ledger_module._write_at

    def cut_off(file, text, place):
        write(file, text[: len(text) // 2], place)
        os.kill(os.getpid(), signal.SIGKILL)

    def child():
        monkeypatch.setattr(ledger_module, "_write_at", cut_off)
        ledger.charge(SMALL, **NOTION)

    with pytest.raises(EOFError):
        in_child(child)()
    left = Path(ledger.path).read_bytes().rpartition(b"\n")[2]
    with pytest.warns(LedgerCutWarning, match="ends within a row"):
        assert len(PrivacyLedger(ledger.path).receipts) == 3
    receipt = ledger.charge(SMALL, **NOTION)
    assert (receipt.row, receipt.cut) == (4, hashlib.sha256(left).hexdigest())
    PrivacyLedger(ledger.path).verify(receipt)


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


def release_for_ever(ledger, event, released):
    """Charge, record and write what was released, until killed."""
    output = os.open(released, os.O_WRONLY | os.O_APPEND)
    while True:
        try:
            receipt = ledger.charge(event, **NOTION)
            row = ledger.record(receipt, DIGEST)
            os.write(output, f"{receipt.row} {row.row}\n".encode())
        except BudgetExceeded:
            pass


@pytest.mark.slow
def test_kills_in_the_middle_leave_no_release_without_a_charge(folder):
    """It takes one to two minutes."""
    kills = 250
    room = 20 * kills
    ledger = PrivacyLedger.create(f"{folder}/study.ledger", 1.0, 1e-6)
    share = GaussianEvent(mu_of(1.0, 1e-6) / math.sqrt(room + 0.5))
    released = Path(folder) / "released"
    released.touch()
    kill_at_random(lambda: release_for_ever(ledger, share, released), kills, ledger.verify)
    ledger.verify()
    rows = [tuple(map(int, line.split())) for line in released.read_text().splitlines()]
    recorded = {(row.charge, row.row) for row in ledger.releases}
    assert rows and len(set(rows)) == len(rows) and set(rows) <= recorded
    assert len(recorded) - len(rows) <= kills + 4
    # A kill between the two rows leaves a charge without a release.
    assert len(ledger.receipts) == len(recorded) + len(ledger.unrecorded)
    assert len(ledger.receipts) <= room
    assert len(ledger.unrecorded) <= kills + 4
    assert ledger.spent.epsilon <= 1.0


def test_a_kill_between_charge_and_record_leaves_a_charge_without_a_release(ledger, in_child):
    def child():
        ledger.charge(SMALL, **NOTION)
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(EOFError):
        in_child(child)()
    assert [receipt.row for receipt in ledger.unrecorded] == [1, 2, 3, 4]
    assert ledger.record(ledger.receipts[3], DIGEST).row == 5


def test_no_charge_is_lost_while_threads_open_and_close_the_file(ledger, in_child):
    # a process loses locks of POSIX, other than these, when a thread closes the file
    def child():
        def work():
            while True:
                os.close(os.open(ledger.path, os.O_RDONLY))

        for _ in range(2):
            threading.Thread(target=work, daemon=True).start()
        return [ledger.charge(SMALL, **NOTION).row for _ in range(25)]

    children = [in_child(child) for _ in range(4)]
    rows = [row for child in children for row in child()]
    assert sorted(rows) == list(range(4, 104))
    ledger.verify()
    assert len(ledger.receipts) == 103


@pytest.mark.parametrize("use", [lambda x: x.charge(SMALL, **NOTION), PrivacyLedger.verify])
def test_a_ledger_that_is_locked_too_long_says_so(ledger, monkeypatch, use):
    monkeypatch.setattr("skdppca.privacy.ledger._BUSY_SECONDS", 0.05)
    with open(ledger.path) as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(LedgerError, match="it is locked; another process held it"):
            use(ledger)
    assert ledger.charge(SMALL, **NOTION).row == 4


def test_a_file_system_without_locks_is_refused(ledger, monkeypatch):
    def flock(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(LedgerError, match=r"No locks available.*keep the ledger on a local disk"):
        ledger.charge(SMALL, **NOTION)


def moved(path):
    os.rename(path, f"{path}.moved")


def deleted(path):
    os.unlink(path)


def replaced(path):
    shutil.copy(path, f"{path}.copy")
    os.replace(f"{path}.copy", path)


def deleted_and_copied_back(path):
    content = Path(path).read_bytes()
    os.unlink(path)
    Path(path).write_bytes(content)


@pytest.mark.parametrize("change", [moved, deleted, replaced, deleted_and_copied_back])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("use", ["charge", "record"])
def test_a_file_that_changes_during_a_charge_is_an_error(ledger, monkeypatch, change, when, use):
    receipt = ledger.receipts[0]
    write = ledger_module._write_at

    def changing(file, text, place):
        if when == "before":
            change(ledger.path)
        written = write(file, text, place)
        if when == "after":
            change(ledger.path)
        return written

    monkeypatch.setattr(ledger_module, "_write_at", changing)
    with pytest.raises(LedgerError, match="nothing was released") as error:
        if use == "charge":
            ledger.charge(SMALL, **NOTION)
        else:
            ledger.record(receipt, DIGEST)
    assert ledger.path in str(error.value)


@pytest.fixture
def as_other_user(in_child):
    """Run a function as a user whom permissions bind."""

    def run(work):
        def child():
            if os.getuid() == 0:
                os.setuid(NOBODY)
            return work()

        return in_child(child)()

    return run


def test_a_read_only_file_is_read_but_never_charged(ledger, folder, as_other_user):
    os.chmod(ledger.path, 0o444)
    os.chmod(folder, 0o555)

    def charge():
        opened = PrivacyLedger(ledger.path)
        assert len(opened.receipts) == 3
        opened.charge(SMALL, **NOTION)

    error = as_other_user(charge)
    assert type(error) is LedgerError
    assert "to charge it writable" in str(error) and ledger.path in str(error)
    assert len(ledger.receipts) == 3


def test_an_unreadable_file_says_so(ledger, as_other_user):
    os.chmod(ledger.path, 0)
    error = as_other_user(lambda: PrivacyLedger(ledger.path))
    assert type(error) is LedgerError
    assert "make the file readable" in str(error)


def test_another_user_of_the_folder_charges_the_same_ledger(ledger, folder, as_other_user):
    os.chmod(folder, 0o777)
    os.chmod(ledger.path, 0o666)
    for row in (4, 5):
        found = as_other_user(lambda: PrivacyLedger(ledger.path).charge(SMALL, **NOTION).row)
        assert found == row
    assert ledger.charge(SMALL, **NOTION).row == 6


def limit_files_to(size):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_a_full_disk_refuses_the_charge_and_keeps_the_ledger(ledger, in_child):
    size = os.path.getsize(ledger.path)

    def child():
        limit_files_to(size + 1000)
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


def test_a_release_that_cannot_be_stored_leaves_its_charge(ledger, in_child):
    receipt = ledger.charge(SMALL, **NOTION)

    def child():
        limit_files_to(os.path.getsize(ledger.path))
        ledger.record(receipt, DIGEST)

    error = in_child(child)()
    assert type(error) is LedgerError
    assert "the charge in row 4 stands, and nothing was released" in str(error)
    assert ledger.receipts[-1] == receipt and ledger.releases == ()
    assert ledger.record(receipt, DIGEST).charge == 4


def test_a_full_disk_leaves_no_half_made_ledger(folder, in_child):
    def child():
        limit_files_to(100)
        PrivacyLedger.create(f"{folder}/study.ledger", 1.0, 1e-6)

    error = in_child(child)()
    assert type(error) is LedgerError
    assert os.listdir(folder) == []
