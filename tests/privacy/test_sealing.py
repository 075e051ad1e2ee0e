import gc
import os
import pickle
import subprocess
import sys
import threading
import time

import pytest

from skdppca.exceptions import SealedAccountantError
from skdppca.privacy import GaussianEvent, PrivacyAccountant

BUDGET = {"epsilon": 1.0, "delta": 1e-6}
NOTION = {"adjacency": "add-remove", "unit": "row"}
SMALL = GaussianEvent(0.01)
RECEIPT = PrivacyAccountant(**BUDGET).charge(SMALL, **NOTION)


def test_the_process_that_made_it_gets_the_same_accountant_back():
    accountant = PrivacyAccountant(**BUDGET)
    assert pickle.loads(pickle.dumps({"accountant": accountant}))["accountant"] is accountant


def assert_sealed(accountant):
    assert repr(accountant).startswith("<sealed PrivacyAccountant(epsilon=1.0")
    assert (accountant.epsilon, accountant.unit) == (1.0, "row")
    for use in (
        lambda: accountant.charge(SMALL, **NOTION),
        lambda: accountant.spent,
        lambda: accountant.remaining,
        lambda: accountant.receipts,
        lambda: accountant.releases,
        lambda: accountant.record(RECEIPT, "0" * 64),
        lambda: accountant.verify(),
    ):
        with pytest.raises(SealedAccountantError, match=r"PrivacyLedger\.create"):
            use()


def test_an_accountant_that_is_gone_comes_back_sealed():
    token = pickle.dumps(PrivacyAccountant(**BUDGET))
    gc.collect()
    assert_sealed(pickle.loads(token))


def test_a_fork_holds_it_sealed(in_child):
    accountant = PrivacyAccountant(**BUDGET)
    token = pickle.dumps(accountant)

    def child():
        assert_sealed(accountant)
        assert_sealed(pickle.loads(token))

    assert in_child(child)() is None
    accountant.charge(SMALL, **NOTION)


def test_a_fork_with_a_recycled_process_id_holds_it_sealed(in_child):
    accountant = PrivacyAccountant(**BUDGET)
    pid = os.getpid()

    def child():
        os.getpid = lambda: pid
        assert_sealed(accountant)

    assert in_child(child)() is None


def test_a_fork_during_a_charge_can_still_use_its_own_accountants(in_child):
    # Without the lock that is held across forks the child would wait for a thread it lacks.
    accountant, stop = PrivacyAccountant(**BUDGET), threading.Event()

    def work():
        while not stop.is_set():
            accountant.charge(GaussianEvent(1e-6), **NOTION)
            time.sleep(0.0005)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(10):
            child = in_child(lambda: PrivacyAccountant(**BUDGET).charge(SMALL, **NOTION).row)
            assert child() == 1
    finally:
        stop.set()
        thread.join()


def test_another_process_gets_it_sealed_and_returns_the_original():
    accountant = PrivacyAccountant(**BUDGET)
    script = """
import pickle, sys
from tests.privacy.test_sealing import assert_sealed
token = sys.stdin.buffer.read()
accountant = pickle.loads(token)
assert pickle.loads(token) is accountant
assert_sealed(accountant)
sys.stdout.buffer.write(pickle.dumps(accountant))
"""
    command, token = [sys.executable, "-c", script], pickle.dumps(accountant)
    answer = subprocess.run(command, input=token, capture_output=True, check=True)
    assert pickle.loads(answer.stdout) is accountant
