"""What is wrong with the form of a .csv, and which of its texts are numbers."""

import codecs

import numpy as np
import pytest
from pyarrow.csv import ConvertOptions

from skdppca.cli._csv import Form
from skdppca.cli._files import loaded
from skdppca.cli._read import opened

from .conftest import charges, is_one_line_error

SECRET = "s3cret"


def read(path, groups=None, **form):
    """All rows of a .csv, NaN where a cell is empty."""
    return loaded(opened([path], groups, Form(**form), True), True)[0]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (f"a,größe\n1,{SECRET}\n".encode("latin-1"), "iconv -f latin1 -t utf-8"),
        (f"a,b\n1,{SECRET}ß\n".encode("latin-1"), "is not in UTF-8"),
        (codecs.BOM_UTF16_LE + f"a,{SECRET}\n".encode("utf-16-le"), "iconv -f utf-16"),
        (f"a;b\n{SECRET};2\n".encode(), "pass --delimiter ';', and pass --decimal ','"),
        (f"a\tb\n{SECRET}\t2\n".encode(), "pass --delimiter tab"),
        (f'a,b\n"1,5","{SECRET}"\n'.encode(), "has no numeric column"),
        (f'a,b\n2,"1,5"\n{SECRET},1\n'.encode(), "pass --decimal ','"),
        (f"a,b\n1,2\n{SECRET}\n".encode(), "a line with more or fewer cells"),
        (f"a,b\n1,2\n3,4,{SECRET}\n".encode(), "a line with more or fewer cells"),
        (f'a,b\n1,2\n"{SECRET},3\n4,5\n'.encode(), "one that ends no cell"),
        (f'a,b\n1,2\n3,"{SECRET}"4,5\n'.encode(), "one that ends no cell"),
        (b"", "is empty"),
    ],
)
@pytest.mark.parametrize("place", [0, 1])
def test_the_form_of_a_file_is_told_with_a_remedy_and_no_cell(
    run, tmp_path, ledger, budget, content, says, place
):
    names = ("good.csv", "bad.csv") if place else ("bad.csv",)
    (tmp_path / "good.csv").write_text("x0,x1\n1,2\n")
    (tmp_path / "bad.csv").write_bytes(content)
    files = [tmp_path / name for name in names]
    more = ("--ledger", ledger, "--out", tmp_path / "out", *(["--header"] if place else []))
    result = run("fit", *files, *budget, *more)
    assert is_one_line_error(result)
    assert "bad.csv" in result.err and SECRET not in result.err
    assert place or says in result.err
    assert charges(ledger) == 0


def test_a_fault_in_the_column_of_groups_is_told_too(tmp_path):
    (tmp_path / "t.csv").write_bytes("who,a\nMüller,1\n".encode("latin-1"))
    with pytest.raises(ValueError, match="is not in UTF-8") as caught:
        read(tmp_path / "t.csv", "who")
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    ("delimiter", "decimal"), [(";", ","), ("\t", "."), ("|", ","), (",", ",")]
)
def test_a_table_of_another_form_is_read(tmp_path, delimiter, decimal):
    rows = [["1.5", "-2e3"], ["", "0.25"]]
    cells = [[f'"{cell.replace(".", decimal)}"' for cell in row] for row in [["a", "b"], *rows]]
    (tmp_path / "t.csv").write_text("\n".join(map(delimiter.join, cells)))
    X = read(tmp_path / "t.csv", delimiter=delimiter, decimal=decimal)
    np.testing.assert_array_equal(X, [[1.5, -2e3], [np.nan, 0.25]])


@pytest.mark.parametrize("cell", ["1.5", "1.234,5"])
def test_a_point_is_no_part_of_a_number_with_a_comma(tmp_path, cell):
    (tmp_path / "t.csv").write_text(f"a;b\n{cell};1\n")
    with pytest.raises(ValueError, match="not numeric: 'a'"):
        read(tmp_path / "t.csv", delimiter=";", decimal=",")


def test_the_options_say_what_form_a_table_has(run, tmp_path, rows, budget):
    lines = ["a;b;c;d", *(";".join(f"{x:.17g}".replace(".", ",") for x in row) for row in rows)]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    form = ("--delimiter", ";", "--decimal", ",")
    result = run(
        "fit", tmp_path / "t.csv", *form, *budget, "--no-pictures", "--out", tmp_path / "o"
    )
    assert (result.status, result.err) == (0, "")


@pytest.mark.parametrize("mark", ["x", "", ";;", "\n"])
def test_an_unknown_delimiter_is_refused(run, tmp_path, budget, mark):
    result = run("fit", "t.csv", *budget, "--delimiter", mark, "--out", tmp_path / "out")
    assert is_one_line_error(result) and "--delimiter" in result.err


# The list of doc/guide/missing_values.rst.
EMPTY = (
    "|NA|N/A|n/a|#N/A|#N/A N/A|#NA|NULL|null|NaN|nan|-NaN|-nan|1.#IND|-1.#IND|1.#QNAN|-1.#QNAN"
).split("|")


def test_the_documented_list_is_that_of_the_reader():
    assert set(EMPTY) == set(ConvertOptions().null_values)


@pytest.mark.parametrize("cell", [*EMPTY, *(f'"{text}"' for text in EMPTY), "NAN", "+nan", "-NAN"])
def test_documented_texts_are_empty_cells(tmp_path, cell):
    (tmp_path / "t.csv").write_text(f"a,b\n{cell},2\n3,4\n")
    np.testing.assert_array_equal(read(tmp_path / "t.csv"), [[np.nan, 2], [3, 4]])


@pytest.mark.parametrize("cell", [" ", "na", "None", "Null", ".", "-", "?"])
def test_other_texts_are_no_empty_cells(tmp_path, cell):
    (tmp_path / "t.csv").write_text(f"a,b\n{cell},2\n3,4\n")
    with pytest.raises(ValueError, match="not numeric: 'a'"):
        read(tmp_path / "t.csv")


@pytest.mark.parametrize("note", ['" note', 'no "te', '"note" 5'])
def test_a_mark_that_one_record_leaves_open_swallows_no_other(run, tmp_path, ledger, budget, note):
    rows = "".join(f"{i},{-i},note\n" for i in range(50))
    (tmp_path / "t.csv").write_text(f"a,b,notes\n{rows}1,2,{note}\n{rows}1,2,{note}\n{rows}")
    for columns in (["--drop", "notes"], ["--columns", "a,b"]):
        result = run(
            *("fit", tmp_path / "t.csv", *columns, *budget),
            *("--ledger", ledger, "--out", tmp_path / "out"),
        )
        assert is_one_line_error(result) and "quotation mark" in result.err
    assert charges(ledger) == 0


@pytest.mark.parametrize("link", [False, True])
def test_a_file_that_is_given_twice_is_refused(run, table, tmp_path, ledger, budget, link):
    other = tmp_path / "again.csv" if link else table
    if link:
        other.symlink_to(table)
    result = run("fit", table, other, *budget, "--ledger", ledger, "--out", tmp_path / "out")
    assert is_one_line_error(result) and "is given twice" in result.err
    assert charges(ledger) == 0
