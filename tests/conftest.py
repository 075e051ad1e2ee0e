"""What holds for all tests."""

import gc
import os
from dataclasses import replace

import pytest

from skdppca.privacy import charging

# No plan is read from the user's cache, and none is left there: constants are patched here.
os.environ["SKDPPCA_CACHE"] = ""

# The warning about unaccounted fits comes once a process. It has come already, or it would depend
# on the order of the tests which of them sees it.
charging._unaccounted = 2


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Collect no garbage among what stays until the last test: it takes a tenth of all time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture
def quick_plans(monkeypatch):
    """Plans simulate 4 fits a method: for tests of which no figure of a plan decides."""
    from skdppca.planner import answers
    from skdppca.planner.simulation import Effort

    few = Effort(4, 4, 0.0)
    efforts = replace(answers.EFFORTS, recommended=few, others=few, skewed=few)
    monkeypatch.setattr(answers, "EFFORTS", efforts)
