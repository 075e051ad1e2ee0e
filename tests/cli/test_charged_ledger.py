"""What a run says that fails after its charge."""

import os
import signal

import pytest

from skdppca import PrivacyLedger, releasing
from skdppca.cli._charged_ledger import Charged, told
from skdppca.cli._terminal import Ended
from skdppca.out_of_core import files
from skdppca.privacy.accountant import accounts_of
from skdppca.report import _directory
from skdppca.report._directory import Directory

from .conftest import assert_refused, charges

SECRET = "s3cret"


def raising(error):
    def fail(*_, **__):
        raise error

    return fail


@pytest.fixture
def after_the_charge(monkeypatch):
    """Do something right after a ledger was charged, before anything is computed."""

    def install(action):
        charge = releasing.charge

        def charged(accountant, *terms, **more):
            receipt = charge(accountant, *terms, **more)
            if any(isinstance(one, Charged) for one in accounts_of(accountant)):
                action()
            return receipt

        monkeypatch.setattr(releasing, "charge", charged)

    return install


@pytest.mark.parametrize(
    ("error", "status", "says"),
    [
        (MemoryError(f"Unable to allocate an array with shape {SECRET}"), 2, "out of memory"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (RuntimeError(SECRET), 2, "a fault of skdppca (RuntimeError)"),
    ],
)
def test_what_ends_a_fit_after_its_charge_says_so(
    fit, ledger, tmp_path, after_the_charge, error, status, says
):
    after_the_charge(raising(error))
    result = fit("--ledger", ledger)
    assert result.status == status
    assert result.err.startswith(f"skdppca: error: {says}") and result.err.count("\n") == 1
    assert f"was charged (row 1 of {ledger})" in result.err
    assert "nothing was written to" in result.err and SECRET not in result.err
    assert charges(ledger) == 1
    assert not (tmp_path / "out").exists()


@pytest.fixture
def heard(name):
    """The usual handler of a signal: in the background, and under nohup, it may be ignored."""
    number = getattr(signal, name, None)
    if number is None:
        pytest.skip("a signal that this system does not have")
    usual = signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL
    before = signal.signal(number, usual)
    yield number
    signal.signal(number, before)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_signal_to_end_after_the_charge_says_so(fit, ledger, after_the_charge, heard):
    number = heard
    after_the_charge(lambda: os.kill(os.getpid(), number))
    before = signal.getsignal(number)
    result = fit("--ledger", ledger)
    assert result.status == 128 + number
    assert "interrupted; the fit was charged (row 1" in result.err
    assert signal.getsignal(number) is before


def test_a_signal_that_is_ignored_stays_so(fit, ledger, after_the_charge):
    after_the_charge(lambda: os.kill(os.getpid(), signal.SIGTERM))
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        assert fit("--ledger", ledger).status == 0
    finally:
        signal.signal(signal.SIGTERM, before)


def test_an_interrupt_while_the_charge_is_written_leaves_it_open(fit, ledger, monkeypatch):
    extend = PrivacyLedger._extend

    def interrupted(self, grant):
        extend(self, grant)
        raise KeyboardInterrupt

    monkeypatch.setattr(PrivacyLedger, "_extend", interrupted)
    result = fit("--ledger", ledger)
    assert result.status == 130
    assert f"may have been charged (skdppca ledger show {ledger}" in result.err
    assert charges(ledger) == 1


@pytest.mark.parametrize(
    ("error", "status"), [(MemoryError(SECRET), 2), (KeyboardInterrupt(), 130)]
)
def test_what_ends_a_fit_before_its_charge_says_so(fit, ledger, monkeypatch, error, status):
    monkeypatch.setattr("skdppca.cli._fit_command.opened", raising(error))
    result = fit("--ledger", ledger)
    assert result.status == status and result.err.count("\n") == 1
    assert "nothing was charged" in result.err and SECRET not in result.err
    assert charges(ledger) == 0


def test_a_full_disk_after_the_charge_is_told_and_leaves_what_could_be_written(
    fit, ledger, tmp_path, monkeypatch
):
    add = Directory.add

    def filling(self, name, write):
        if name in ("components.csv", "report.html"):
            raise OSError(28, "No space left on device")
        add(self, name, write)

    monkeypatch.setattr(Directory, "add", filling)
    result = fit("--ledger", ledger)
    assert_refused(result, "components.csv (No space left on device)")
    assert "was charged (row 1" in result.err
    apart = tmp_path / "out.next"
    assert {path.name for path in apart.iterdir()} == {"components.npz", "report.json"}
    assert f"{apart}/ has components.npz, report.json" in result.err


def test_an_interrupt_while_files_are_written_names_them(fit, ledger, monkeypatch):
    add = Directory.add

    def interrupted(self, name, write):
        if name == "report.json":
            raise KeyboardInterrupt
        add(self, name, write)

    monkeypatch.setattr(Directory, "add", interrupted)
    result = fit("--ledger", ledger)
    assert result.status == 130
    assert "was charged (row 1" in result.err
    assert "/ has components.npz, components.csv" in result.err


def test_without_a_ledger_a_failure_to_write_says_that_nothing_was_charged(fit, monkeypatch):
    monkeypatch.setattr(_directory.os, "fsync", raising(OSError(28, "No space left on device")))
    assert_refused(fit(), "nothing was charged; nothing was written to")


def test_an_error_after_the_charge_has_no_context(ledger, tmp_path):
    account = Charged(ledger)
    account.begun = True
    directory = Directory(tmp_path / "out", tmp_path)
    with pytest.raises(Ended) as caught:
        told(raising(RuntimeError(SECRET)), account, directory)
    assert caught.value.__context__ is None


def test_a_file_that_changes_after_the_charge_is_told(fit, ledger, table, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "PIECE_ENTRIES", 400)
    monkeypatch.setattr(files, "KEPT_ENTRIES", 0)
    pieces, passes = files.Files.pieces, []

    def changing(self, *more):
        passes.append(self)
        if len(passes) == 2:
            table.write_text(f"{table.read_text()}{SECRET},1,2,3\n")
        return pieces(self, *more)

    monkeypatch.setattr(files.Files, "pieces", changing)
    result = fit("--ledger", ledger)
    assert_refused(result, "was changed or removed", f"row 1 of {ledger}")
    assert SECRET not in result.err
    assert charges(ledger) == 1 and not (tmp_path / "out").exists()
