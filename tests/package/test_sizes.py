"""The check of `make lint` on the size of the project."""

import json

import pytest

from ..benchmark_modules import ROOT, load

check = load("measure_size", ROOT / ".ci")
SOURCE = '''"""Two lines

of a docstring."""

# a comment
class One:
    """A docstring."""

    text = """a string,
    of two lines"""


def two(
    a,
):
    return [a]  # code
'''


def test_code_is_what_is_no_docstring_comment_or_blank_line(tmp_path):
    path = tmp_path / "source.py"
    path.write_text(SOURCE)
    size = check.size_of(path)
    assert size == {"code": 7, "nodes": 18, "lines": 16, "files": 1, "classes": 1}


def test_packing_lines_leaves_the_nodes(tmp_path):
    sizes = []
    for text in ("a = 1\nb = 2\n", "a = 1; b = 2\n"):
        (tmp_path / "source.py").write_text(text)
        sizes.append(check.size_of(tmp_path / "source.py"))
    assert sizes[0]["nodes"] == sizes[1]["nodes"]
    assert sizes[0]["code"] > sizes[1]["code"]


@pytest.mark.parametrize(
    ("name", "number", "is_beyond"),
    [
        ("package: code", 11, True),
        ("package: code", 10, False),
        ("core: branches covered by its tests, %", 9.9, True),
        ("core: branches covered by its tests, %", 10, False),
    ],
)
def test_a_number_beyond_its_limit_is_found(name, number, is_beyond):
    assert check.is_beyond(name, number, 10) == is_beyond


def test_every_number_has_a_limit(monkeypatch):
    monkeypatch.setattr(check, "traced", lambda fit: dict.fromkeys(("files", "functions", "deep")))
    limits = json.loads(check.LIMITS.read_text())
    numbers = check.measured(check.rooms(check.ROOT / "skdppca" / "noise"))
    always = {name for name in limits if "covered" not in name}  # which the full run measures
    assert {name for name in numbers if "covered" not in name} == always
