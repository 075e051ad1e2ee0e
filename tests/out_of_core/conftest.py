import pytest


@pytest.fixture
def small_pieces(monkeypatch):
    """Several pieces of files, of 70 rows of six columns, and none that is held in memory."""
    from skdppca.out_of_core import files

    monkeypatch.setattr(files, "PIECE_ENTRIES", 70 * 6)
    monkeypatch.setattr(files, "KEPT_ENTRIES", 0)
