"""Every cited figure is the one of its table."""

import pytest

from ..benchmark_modules import load

PUBLISHED = load("published")
TABLE = "data,epsilon,DPGauss\ndigits,1,0.975\ndigits,10,0.02\n"
KEY = "one | epsilon=1 | DPGauss"


@pytest.fixture
def faults(tmp_path, monkeypatch):
    """Check a page and a docstring whose figure has a row in figures.csv."""
    (tmp_path / "one.csv").write_text(TABLE)
    monkeypatch.setattr(PUBLISHED, "ROOT", tmp_path)
    monkeypatch.setattr(PUBLISHED.keys._common, "RESULTS", tmp_path)
    PUBLISHED.keys._table.cache_clear()

    def faults(name, page, text, key=KEY):
        for path, content in (
            (name, page),
            ("doc/figures.csv", f"file,text,key\na.py,{text},{key}"),
        ):
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(content)
        (tmp_path / "a.py").write_text('"""It captured .975 of\nit, or 98 %, and not .96."""')
        return PUBLISHED.faults()

    return faults


def test_every_figure_of_the_documentation_is_found():
    assert PUBLISHED.faults() == []


@pytest.mark.parametrize(
    "page", ["doc/a.rst", "doc/_shared/a.inc", "doc/tutorials/1.py", "examples/a.py"]
)
@pytest.mark.parametrize(("table", "faulty"), [("one", 0), ("two", 1)])
def test_a_key_without_a_figure_is_a_fault(faults, page, table, faulty):
    cited = f"It is :measured:`{table} | epsilon=1\n| DPGauss`."
    assert len(faults(page, cited, ".975 of it")) == faulty


@pytest.mark.parametrize(
    ("text", "key", "faulty"),
    [
        (".975 of it", KEY, False),
        ("98 %", KEY, False),
        (".96", KEY, True),
        (".97 of it", KEY, True),  # the file prints another
        (".975 of it", "two | epsilon=1 | DPGauss", True),
        ("captured", KEY, True),
    ],
)
def test_a_printed_figure_agrees_with_its_key_as_far_as_it_is_printed(faults, text, key, faulty):
    assert bool(faults("doc/a.rst", "", text, key)) == faulty
