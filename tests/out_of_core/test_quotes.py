"""Quotation marks that are out of place would swallow other records."""

import csv
import io
import re

import numpy as np
import pytest

from skdppca.out_of_core.batches import well_quoted


def lines(text):
    return io.StringIO(text, newline="")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a,b\n1,2\n",
        '"a","b"\r\n"1","2"\r\n',
        '1,"5"" tube"\n',
        '1,""\n"",2',
        '1,"a\nb"\n',
        '1,"a\r\nb\rc",2\r',
        '"""",1\n',
    ],
)
def test_marks_around_whole_cells_are_well(text):
    assert well_quoted(lines(text), ",")


@pytest.mark.parametrize(
    "text",
    [
        '1," open\n2,3\n',
        '1,a"b\n',
        '1, "a"\n',
        '1,"a"b\n',
        '1,"a" \n',
        '3,"4',
        '""a",1\n',
        '1,"a\n2,b" c\n',
    ],
)
def test_marks_within_or_behind_a_cell_are_not(text):
    assert not well_quoted(lines(text), ",")


CELL = r'(?:"(?:[^"]|"")*"|[^",\r\n]*)'
RFC_4180 = re.compile(rf"{CELL}(?:(?:,|\r\n|\r|\n){CELL})*")


def test_it_agrees_with_the_grammar_of_rfc_4180():
    """5000 tables of hostile cells as csv writes them, and each with two marks more."""
    rng = np.random.default_rng(0)
    letters = ["a", '"', ",", "\n", "\r", "", " ", ";"]
    accepted = 0
    for _ in range(5000):
        rows = [["".join(rng.choice(letters, 3)) for _ in range(2)] for _ in range(3)]
        written = io.StringIO(newline="")
        csv.writer(written).writerows(rows)
        text = written.getvalue()
        assert well_quoted(lines(text), ",")
        broken = text
        for place in rng.integers(len(text) + 1, size=2):  # one alone is never well
            broken = broken[:place] + '"' + broken[place:]
        found = well_quoted(lines(broken), ",")
        assert found == (RFC_4180.fullmatch(broken) is not None)
        accepted += found
    assert 0 < accepted < 5000


def test_another_mark_is_looked_for_where_it_is_one():
    assert well_quoted(lines("'a','b\"'\n"), ",", mark="'")
    assert not well_quoted(lines("1,' open\n2,3\n"), ",", mark="'")
