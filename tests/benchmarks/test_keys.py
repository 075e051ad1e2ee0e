"""A key finds the figure of its table, or fails."""

import pytest

from ..benchmark_modules import load

KEYS = load("keys")
TABLE = """# repeats: median of 9, delta 1e-06
data,epsilon,DPGauss,other
"digits, 1797 x 64",1,0.975 (0.970),1 - 8e-04
"digits, 1797 x 64",10,1 - 8e-04,0.5
"digits of others",1,0.25,x
"""


@pytest.fixture(autouse=True)
def table(tmp_path, monkeypatch):
    (tmp_path / "one.csv").write_text(TABLE)
    monkeypatch.setattr(KEYS._common, "RESULTS", tmp_path)
    KEYS._table.cache_clear()


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("one | data=digits; epsilon=1 | DPGauss", ".975"),
        ("one | data=digits; epsilon=1.0 | DPGauss #2", ".970"),
        ("one | data=digits; epsilon=10 | DPGauss", "1 - 8e-04"),
        ("one | data=digits; epsilon=10 | DPGauss -> .4f", ".9992"),
        ("1 - one | data=digits; epsilon=10 | DPGauss -> .1e", "8.0e-04"),
        ("one | data=digits; epsilon=1 | DPGauss -> .0%", "98 %"),
        ("one | data=digits; epsilon=1 | DPGauss // one | epsilon=10 | other -> .2f", "1.95"),
        ("least one | epsilon=1 | DPGauss", ".25"),
        ("largest one | epsilon=1 | DPGauss", ".975"),
        ("one | # | repeats", "9"),
        ("one | # | repeats #2", "1e-06"),
    ],
)
def test_a_key_is_printed_as_its_table_or_its_format_says(key, text):
    assert KEYS.figure(key).text == text
    assert set(KEYS.tables(key)) == {"one"}


@pytest.mark.parametrize(
    "key",
    [
        "two | epsilon=10 | DPGauss",
        "one | epsilon=1 | DPGauss",  # two rows
        "one | epsilon=3 | DPGauss",  # none
        "one | delta=1 | DPGauss",
        "one | epsilon=10 | KDPPCA",
        "one | data=digits of others | other",  # no number
        "one | epsilon=10 | DPGauss #2",
        "one | epsilon=10 | DPGauss -> digits",
        "1 - one | epsilon=10 | DPGauss",  # computed, and no format
        "one | DPGauss",
    ],
)
def test_a_key_without_its_figure_is_refused(key):
    with pytest.raises(KEYS.MissingFigure):
        KEYS.figure(key)


@pytest.mark.parametrize(
    ("key", "half"),
    [
        ("one | data=digits; epsilon=1 | DPGauss", 0.0005),
        ("1 - one | data=digits; epsilon=1 | DPGauss #2", 0.0005),
        ("one | data=digits; epsilon=10 | DPGauss -> .1f", 5e-5),
        ("least one | epsilon=1 | DPGauss", 0.005),
        ("one | # | repeats", 0.5),
    ],
)
def test_half_a_digit_is_that_of_the_figure_as_its_table_prints_it(key, half):
    assert KEYS.half_digit(key) == pytest.approx(half)
