"""The check of `make lint` on words without a number, and on circles between rooms."""

import pytest

from ..benchmark_modules import ROOT, load

check = load("check_words_and_rooms", ROOT / ".ci")


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """Make a package `planted` of these modules."""

    def made(**modules):
        folder = tmp_path / "planted"
        folder.mkdir()
        for module, source in {"__init__": "", **modules}.items():
            (folder / f"{module}.py").write_text(source)
        monkeypatch.syspath_prepend(tmp_path)

    return made


@pytest.mark.parametrize("space", [" ", "\n", "\n    # "])
@pytest.mark.parametrize("word", ["many", "much"])
def test_words_without_a_number_are_found(space, word):
    assert check.numberless(f"first\n# So{space}{word} rows are read.") == [2]


@pytest.mark.parametrize(
    "back",
    [
        "from . import above",
        "def f():\n    from .above import g",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .above import g",
    ],
    ids=["at the top", "lazy", "typing"],
)
def test_a_circle_is_found_however_it_is_imported(planted, back):
    planted(above="from . import below", below=back)
    arrows = check.arrows_of("planted")
    assert arrows == {("planted.above", "planted.below"), ("planted.below", "planted.above")}
    assert check.circles_of(arrows) == [["planted.above", "planted.below"]]


def test_a_circle_by_way_of_a_third_room_is_one():
    assert check.circles_of({("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")}) == [["a", "b", "c"]]


@pytest.mark.parametrize(
    ("docstring", "fragments"),
    [
        ("Return the sum.\n\nOf rows.", 1),
        ("Draw.\n\nParameters\n----------\nx : float\n    Of a row.\ny : int\n    Its place.", 1),
        ("Draw what is left\nof a row, or\nAs many.", 0),
        ("As the rows are.", 1),
    ],
)
def test_fragments_open_a_paragraph_or_an_entry(docstring, fragments):
    assert check.fragments_of(docstring) == fragments


def test_a_comment_that_opens_with_a_riddle_is_found_by_its_first_line(tmp_path):
    (tmp_path / "skdppca").mkdir()
    source = "# What it is.\n# As a whole.\nx = 1\n    # Of all.\ny = 2  # How far\n#: Those\n"
    (tmp_path / "skdppca" / "module.py").write_text(source)
    assert list(check.comments(tmp_path)) == ["What it is.", "Of all."]
