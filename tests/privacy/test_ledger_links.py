import os
import resource
import shutil
import signal
from pathlib import Path

import pytest

from skdppca.exceptions import LedgerError
from skdppca.privacy import GaussianEvent, PrivacyLedger
from skdppca.privacy.chain import Chain

NOTION = {"adjacency": "add-remove", "unit": "row"}
SMALL = GaussianEvent(1e-4)
REFUSED = "copy it, do not link it"


@pytest.fixture
def linked(ledger, folder):
    """Another name of the ledger, in another folder."""
    os.mkdir(f"{folder}/other")
    os.link(ledger.path, f"{folder}/other/linked.ledger")
    return f"{folder}/other/linked.ledger"


@pytest.fixture
def crashed(folder):
    """A ledger of 60 charges whose 61st was killed when its journal was complete."""
    ledger = PrivacyLedger.create(f"{folder}/crashed.ledger", 1.0, 1e-6)
    for _ in range(60):
        ledger.charge(SMALL, **NOTION)
    whole = Path(ledger.path).read_bytes()
    child = os.fork()
    if child == 0:
        try:
            # The journal has three of the nine pages; the kernel kills what writes the ledger.
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) // 2, len(whole) // 2))
            ledger.charge(SMALL, **NOTION)
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == signal.SIGXFSZ
    with open(ledger.path, "r+b") as file:  # as if it had come before the first page was written
        file.write(whole)
    assert os.path.getsize(f"{ledger.path}-journal") > 0
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
