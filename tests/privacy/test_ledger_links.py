import fcntl
import os
import resource
import shutil
import signal
from pathlib import Path

import pytest

from skdppca.exceptions import LedgerError
from skdppca.privacy import GaussianEvent, PrivacyLedger
from skdppca.privacy.chain import Chain
from skdppca.privacy.journal import settle

NOTION = {"adjacency": "add-remove", "unit": "row"}
SMALL = GaussianEvent(1e-4)
REFUSED = "copy it, do not link it"


@pytest.fixture
def linked(ledger, folder):
    """Another name of the ledger, in another folder."""
    os.mkdir(f"{folder}/other")
    os.link(ledger.path, f"{folder}/other/linked.ledger")
    return f"{folder}/other/linked.ledger"


def crash(ledger):
    """Kill a charge when its journal is complete and the ledger is half written."""
    child = os.fork()
    if child == 0:
        try:
            # The journal has three of the nine pages; the kernel kills what writes the last one.
            limit = os.path.getsize(ledger.path) // 2
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            ledger.charge(SMALL, **NOTION)
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == signal.SIGXFSZ
    assert os.path.getsize(f"{ledger.path}-journal") > 0


@pytest.fixture
def half_written(folder):
    """A ledger of 60 charges whose 61st was killed while it was written."""
    ledger = PrivacyLedger.create(f"{folder}/crashed.ledger", 1.0, 1e-6)
    for _ in range(60):
        ledger.charge(SMALL, **NOTION)
    crash(ledger)
    return ledger.path


@pytest.fixture
def crashed(folder):
    """The same, killed before it wrote the first page."""
    ledger = PrivacyLedger.create(f"{folder}/crashed.ledger", 1.0, 1e-6)
    for _ in range(60):
        ledger.charge(SMALL, **NOTION)
    whole = Path(ledger.path).read_bytes()
    crash(ledger)
    with open(ledger.path, "r+b") as file:
        file.write(whole)
    return ledger.path


def test_no_crash_undoes_charges_through_another_name(crashed, folder):
    os.mkdir(f"{folder}/other")
    os.link(crashed, f"{folder}/other/linked.ledger")
    for name in (f"{folder}/other/linked.ledger", crashed):
        with pytest.raises(LedgerError, match=REFUSED):
            PrivacyLedger(name)
    os.unlink(f"{folder}/other/linked.ledger")
    assert PrivacyLedger(crashed).charge(SMALL, **NOTION).row == 61


def test_a_ledger_with_a_hard_link_is_neither_read_nor_charged(ledger, linked):
    for use in (
        lambda: PrivacyLedger(linked),
        lambda: PrivacyLedger(ledger.path),
        lambda: ledger.receipts,
        lambda: ledger.statement(),
        lambda: ledger.verify(),
        lambda: ledger.charge(SMALL, **NOTION),
    ):
        with pytest.raises(LedgerError, match=REFUSED) as error:
            use()
        assert "-samefile" in str(error.value)
    assert "copy it, do not link it" in ledger._repr_html_()
    os.unlink(linked)
    assert len(ledger.receipts) == 3


@pytest.mark.parametrize("use", ["charged", "released"])
def test_a_link_that_is_made_during_a_charge_refuses_it(ledger, folder, monkeypatch, use):
    receipt, grant = ledger.receipts[0], getattr(Chain, use)

    def linking(chain, *args):
        os.link(ledger.path, f"{folder}/linked.ledger")
        return grant(chain, *args)

    monkeypatch.setattr(Chain, use, linking)
    with pytest.raises(LedgerError, match=f"{REFUSED}.*nothing was released"):
        if use == "charged":
            ledger.charge(SMALL, **NOTION)
        else:
            ledger.record(receipt, "0" * 64)
    os.unlink(f"{folder}/linked.ledger")
    opened = PrivacyLedger(ledger.path)
    assert (len(opened.receipts), opened.releases) == (3, ())


def test_a_link_that_was_removed_is_forgotten(ledger, linked):
    os.unlink(linked)
    assert ledger.charge(SMALL, **NOTION).row == 4


def test_a_ledger_that_was_renamed_by_a_link_is_charged(ledger, linked):
    os.unlink(ledger.path)
    assert PrivacyLedger(linked).charge(SMALL, **NOTION).row == 4


def test_a_copy_that_nobody_can_write_is_read(ledger, linked, folder):
    shutil.copy(linked, f"{folder}/copy.ledger")
    os.chmod(f"{folder}/copy.ledger", 0o444)
    assert len(PrivacyLedger(f"{folder}/copy.ledger").receipts) == 3


@pytest.mark.parametrize("suffix", ["-journal", "-wal"])
def test_a_journal_with_a_hard_link_is_refused(ledger, folder, suffix):
    Path(ledger.path + suffix).touch()
    os.link(ledger.path + suffix, f"{folder}/linked")
    for use in (lambda: PrivacyLedger(ledger.path), lambda: ledger.charge(SMALL, **NOTION)):
        with pytest.raises(LedgerError, match=f"{suffix}: .*{REFUSED}"):
            use()


@pytest.mark.parametrize("count", [0, 1])
def test_a_file_system_that_does_not_count_links_is_no_error(ledger, monkeypatch, count):
    stat = os.stat

    def uncounted(*args, **kwargs):
        values = list(stat(*args, **kwargs))
        values[3] = count
        return os.stat_result(values)

    monkeypatch.setattr(os, "stat", uncounted)
    assert ledger.charge(SMALL, **NOTION).row == 4


def test_a_ledger_that_a_crash_left_half_written_is_repaired_by_its_journal(half_written):
    ledger = PrivacyLedger(half_written)
    assert len(ledger.receipts) == 60
    assert not os.path.exists(f"{half_written}-journal")
    assert ledger.charge(SMALL, **NOTION).row == 61


@pytest.mark.parametrize("n_charges", [1, 3])
def test_a_journal_undoes_no_charge_that_was_made_under_another_name(crashed, folder, n_charges):
    os.rename(crashed, f"{folder}/renamed.ledger")
    renamed = PrivacyLedger(f"{folder}/renamed.ledger")
    receipts = [renamed.charge(SMALL, **NOTION) for _ in range(n_charges)]
    os.rename(f"{folder}/renamed.ledger", crashed)
    PrivacyLedger(crashed).verify(*receipts)
    assert not os.path.exists(f"{crashed}-journal")


def test_a_half_written_ledger_refuses_the_journal_of_an_earlier_crash(crashed, folder):
    os.rename(crashed, f"{folder}/renamed.ledger")
    renamed = PrivacyLedger(f"{folder}/renamed.ledger")
    receipts = [renamed.charge(SMALL, **NOTION) for _ in range(3)]
    crash(renamed)
    os.rename(f"{folder}/renamed.ledger", crashed)
    with pytest.raises(LedgerError, match=r"-journal: it is of an earlier crash.*; delete it, and"):
        PrivacyLedger(crashed)
    os.unlink(f"{crashed}-journal")  # as the error says
    os.rename(crashed, f"{folder}/renamed.ledger")
    PrivacyLedger(f"{folder}/renamed.ledger").verify(*receipts)


def test_a_journal_that_another_program_writes_is_left_alone(crashed):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with open(crashed, "r+b") as file:  # as SQLite locks it
                fcntl.lockf(file, fcntl.LOCK_EX, 1, 0x40000001)
                os.write(writer, b".")
                signal.pause()
        finally:
            os._exit(0)
    os.read(reader, 1)
    try:
        assert settle(crashed, lambda db: True)
        assert os.path.exists(f"{crashed}-journal")
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reader)
        os.close(writer)
    assert settle(crashed, lambda db: True)
    assert not os.path.exists(f"{crashed}-journal")


def test_what_is_no_complete_journal_is_left_to_sqlite(ledger):
    for content in (b"", b"notes", bytes(5000)):
        Path(f"{ledger.path}-journal").write_bytes(content)
        assert len(PrivacyLedger(ledger.path).receipts) == 3
    assert ledger.charge(SMALL, **NOTION).row == 4
