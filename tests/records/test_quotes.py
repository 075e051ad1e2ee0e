"""Quotation marks that are out of place would swallow other records."""

import csv
import io

import numpy as np
import pytest

from skdppca.records.quotes import well_quoted


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


def test_what_is_well_quoted_reads_back_as_it_was_written():
    """Against the csv module: 2000 tables of hostile cells, and each with one mark added."""
    rng = np.random.default_rng(0)
    letters = ["a", '"', ",", "\n", "\r", "", " ", ";"]
    accepted = 0
    for _ in range(2000):
        rows = [["".join(rng.choice(letters, 3)) for _ in range(2)] for _ in range(3)]
        text = io.StringIO(newline="")
        csv.writer(text).writerows(rows)
        assert well_quoted(lines(text.getvalue()), ",")
        place = rng.integers(len(text.getvalue()) + 1)
        broken = text.getvalue()[:place] + '"' + text.getvalue()[place:]
        if well_quoted(lines(broken), ","):  # then every reader agrees on what it says
            read = list(csv.reader(lines(broken), strict=True))
            again = io.StringIO(newline="")
            csv.writer(again).writerows(read)
            assert list(csv.reader(lines(again.getvalue()))) == read
            accepted += 1
    assert accepted < 1000
