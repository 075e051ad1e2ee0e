"""What may run in the middle of a charge in the same thread: signal handlers, and what they do."""

import fcntl
import os
import pickle
import signal
import sys
from contextlib import suppress
from itertools import count

import pytest

from skdppca.privacy import GaussianEvent, PrivacyLedger, ReleaseRow
from skdppca.privacy.composition import Composition

NOTION = {"adjacency": "add-remove", "unit": "row"}
SMALL = GaussianEvent(1e-5)
DIGEST = "0" * 64


def interrupted(work, handler, places):
    """Return ``work()``, and how many places it has at which Python may run a signal handler.

    At those in `places`, `handler` runs. Python looks for signals when a function begins and when
    a call returns, which is where a profiler is called as well.
    """
    counter = count()

    def profile(frame, event, argument):
        if event in ("call", "c_return") and next(counter) in places:
            handler()

    sys.setprofile(profile)
    try:
        result = work()
    finally:
        sys.setprofile(None)
    return result, next(counter)


def release(accountant):
    receipt = accountant.charge(SMALL, **NOTION)
    return accountant.record(receipt, DIGEST)


def every(number, accountant):
    """Return the places to interrupt in a release; all of them, or about `number`."""
    release(accountant)  # fills caches
    _, n = interrupted(lambda: release(accountant), None, ())
    return range(0, n, n // number if number else 1)


USES = {
    "charge": lambda accountant, receipt: accountant.charge(SMALL, **NOTION),
    "charge_external": lambda accountant, receipt: accountant.charge_external(
        "counts", mu=1e-5, adjacency="add-remove"
    ),
    "record": lambda accountant, receipt: accountant.record(receipt, DIGEST),
    "spent": lambda accountant, receipt: accountant.spent,
    "receipts": lambda accountant, receipt: accountant.receipts,
    "verify": lambda accountant, receipt: accountant.verify(),
}


@pytest.mark.parametrize("use", USES)
def test_a_use_within_a_charge_is_refused_and_the_charge_succeeds(make, use):
    accountant = make()
    receipt = accountant.charge(SMALL, **NOTION)
    rows, refusals = [], []

    def handler():
        try:
            rows.append(getattr(USES[use](accountant, receipt), "row", None))
        except RuntimeError as error:
            refusals.append(str(error))
        except ValueError:  # it was recorded at an earlier place
            pass

    charge, n = interrupted(lambda: accountant.charge(SMALL, **NOTION), handler, range(10**6))
    assert len(refusals) > n / 2
    assert all("Let the handler set a flag" in refusal for refusal in refusals)
    accountant.verify(receipt, charge)
    all_rows = [row.row for row in (*accountant.receipts, *accountant.releases)]
    assert sorted(all_rows) == sorted({receipt.row, charge.row, *rows} - {None})


def test_no_charge_of_a_signal_handler_is_lost(make):
    accountant = make()
    granted, refused = [], []

    def handler(*_):
        try:
            granted.append(accountant.charge(SMALL, **NOTION).row)
        except RuntimeError as error:
            refused.append(error)

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.0011)
        while len(refused) < 20:
            granted.append(accountant.charge(SMALL, **NOTION).row)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert sorted(granted) == [receipt.row for receipt in accountant.receipts]
    assert sorted(granted) == list(range(1, len(granted) + 1))


def interrupt():
    raise KeyboardInterrupt


MANY = [15, pytest.param(None, marks=pytest.mark.slow)]


@pytest.mark.parametrize("number", MANY)
def test_an_interrupted_charge_leaves_the_accountant_in_order(make, monkeypatch, number):
    monkeypatch.setattr("skdppca.privacy.ledger._BUSY_SECONDS", 1)
    accountant = make()
    granted = []
    for place in every(number, accountant):
        with suppress(KeyboardInterrupt):
            interrupted(lambda: release(accountant), interrupt, {place})
        granted.append(release(accountant))
    accountant.verify(*granted)
    assert accountant.unrecorded  # some were interrupted after their charge
    charges = [row.charge for row in accountant.releases]
    assert len(charges) == len(set(charges))


def test_a_child_does_not_finish_the_charge_of_its_parent(make, monkeypatch):
    accountant = make()
    fits, parent = Composition.fits, os.getpid()
    reader, writer = os.pipe()

    def forking(*arguments):
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            if isinstance(accountant, PrivacyLedger):  # the end of the child does not unlock it
                other = os.open(accountant.path, os.O_RDONLY)
                with pytest.raises(BlockingIOError):
                    fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.close(other)
        return fits(*arguments)

    monkeypatch.setattr(Composition, "fits", forking)
    answer = "finished it"
    try:
        receipt = accountant.charge(SMALL, **NOTION)
    except RuntimeError as error:
        answer = str(error)
    finally:
        if os.getpid() != parent:
            os.write(writer, answer.encode())
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        assert "must not finish what its parent began" in pipe.read()
    assert accountant.receipts == (receipt,)


@pytest.mark.parametrize("number", MANY)
def test_a_fork_within_a_charge_gives_no_two_releases_for_it(make, number):
    accountant = make()
    refused = 0
    for place in every(number, accountant):
        reader, writer = os.pipe()
        parent, children = os.getpid(), []
        try:
            row, _ = interrupted(
                lambda: release(accountant),
                lambda: children.append(os.fork()),  # noqa: B023 (it is called at once)
                {place},
            )
        except Exception as error:  # the child's is told by the parent
            row = error
        finally:
            if os.getpid() != parent:
                with os.fdopen(writer, "wb") as pipe:
                    pickle.dump(row, pipe)
                os._exit(0)
        os.close(writer)
        if not children:  # this release had fewer places than the one that was counted
            os.close(reader)
            continue
        with os.fdopen(reader, "rb") as pipe:
            other = pickle.load(pipe)
        os.waitpid(children[0], 0)
        for outcome in (row, other):
            assert isinstance(outcome, (ReleaseRow, RuntimeError, ValueError)), repr(outcome)
        outcomes = [outcome for outcome in (row, other) if isinstance(outcome, ReleaseRow)]
        assert outcomes, "neither released"
        refused += len(outcomes) == 1
        # After the end of the release, both processes hold it. Else each has its own charge.
        if len(outcomes) == 2 and row != other:
            assert row.charge != other.charge
    accountant.verify()
    charges = [row.charge for row in accountant.releases]
    assert len(charges) == len(set(charges))
    assert refused
