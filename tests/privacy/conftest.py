import builtins
import os
import pickle
import shutil
import signal
import sys
import tempfile
import time
from random import Random

import pytest

from skdppca.privacy import GaussianEvent, PrivacyAccountant, PrivacyLedger, composition


@pytest.fixture
def in_child():
    """Run a function in a forked child; return what it returned or the exception it raised."""

    def start(work):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                try:
                    result = work()
                except BaseException as error:
                    result = error
                with os.fdopen(writer, "wb") as pipe:
                    pickle.dump(result, pipe)
            finally:
                os._exit(0)
        os.close(writer)

        def result():
            with os.fdopen(reader, "rb") as pipe:
                answer = pickle.load(pipe)
            os.waitpid(child, 0)
            return answer

        return result

    return start


def kill_at_random(work, kills, check):
    """Kill one of four children that work for ever, again and again, and start another one."""
    random = Random(0)

    def start():
        child = os.fork()
        if child == 0:
            try:
                work()
            finally:
                os._exit(1)
        return child

    def kill(child):
        os.kill(child, signal.SIGKILL)
        assert os.waitpid(child, 0)[1] == signal.SIGKILL

    children = [start() for _ in range(4)]
    for number in range(kills):
        time.sleep(random.uniform(0, 0.02))
        kill(children.pop(random.randrange(4)))
        if number % 10 == 0:
            check()
        children.append(start())
    for child in children:
        kill(child)


@pytest.fixture
def folder():
    """A folder that other users can enter, in memory where there is such a file system."""
    memory = "/dev/shm"
    path = tempfile.mkdtemp(dir=memory if os.access(memory, os.W_OK) else None)
    os.chmod(path, 0o755)
    yield path
    os.chmod(path, 0o755)
    shutil.rmtree(path)


@pytest.fixture(params=["memory", "ledger"])
def make(request, folder):
    """Return a maker of accountants, in memory or in a file: one interface, one set of claims."""
    names = iter(range(100))

    def make(epsilon=1.0, delta=1e-6, **notion):
        if request.param == "ledger":
            return PrivacyLedger.create(f"{folder}/{next(names)}.ledger", epsilon, delta, **notion)
        return PrivacyAccountant(epsilon, delta, **notion)

    return make


@pytest.fixture
def without_dp_accounting(monkeypatch):
    """The extra is not installed, and no price is known from before."""
    for name in [name for name in sys.modules if name.startswith("dp_accounting")]:
        monkeypatch.delitem(sys.modules, name)
    original = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.startswith("dp_accounting"):
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    composition._pld_epsilon.cache_clear()
    composition._rdp_epsilon.cache_clear()


@pytest.fixture
def ledger(folder):
    """A ledger with three charges."""
    ledger = PrivacyLedger.create(f"{folder}/study.ledger", 1.0, 1e-6)
    for _ in range(3):
        ledger.charge(GaussianEvent(1e-4), adjacency="add-remove", unit="row")
    return ledger
