import pytest

from skdppca.records import _records


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Records lie in many blocks, groups of many rows in several, and there are many spans."""
    monkeypatch.setattr(_records, "BLOCK_ENTRIES", 16)
    monkeypatch.setattr(_records, "MIN_BLOCK_ROWS", 4)
    monkeypatch.setattr(_records, "SPAN_ROWS", 16)
