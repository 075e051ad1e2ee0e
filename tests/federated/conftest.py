"""Sites of tests need not survive a power cut, and to write for one takes most of their time."""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

# Without the extra only what is said of that is tested.
if not find_spec("cryptography"):
    others = Path(__file__).parent.glob("test_*.py")
    collect_ignore = [file.name for file in others if file.name != "test_extra.py"]


@pytest.fixture
def made(tmp_path):
    """A study of three sites."""
    from .local_sites import X, make, parts_of

    return make(tmp_path, parts_of(X, 3))


@pytest.fixture
def talk(made):
    """A run of that study, which all sites have agreed to."""
    from .local_sites import Reply, Talk

    talk = Talk(made)
    assert all(isinstance(reply, Reply) for reply in talk.hello().values())
    return talk


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda file: None)
