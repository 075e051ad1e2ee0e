"""What is wrong with the form of a .csv, and which of its texts are numbers."""

from pathlib import Path

import numpy as np
import pytest
from pyarrow.csv import ConvertOptions

from skdppca import DPGauss
from skdppca.cli import _csv_files
from skdppca.cli._column_names import Wanted
from skdppca.cli._csv_files import USUAL, CsvFiles, CsvFormat
from skdppca.cli._read_rows import opened

from .conftest import assert_refused

SECRET = "s3cret"


def read(path, groups=None, **form):
    """All rows of a .csv, NaN where a cell is empty."""
    rows = opened([path], Wanted(groups, may_miss=True), CsvFormat(**form))
    return rows.in_memory(DPGauss(unit=groups or "row", missing="mean"))[0]


@pytest.mark.parametrize(
    ("delimiter", "decimal"), [(";", ","), ("\t", "."), ("|", ","), (",", ",")]
)
def test_a_table_of_another_form_is_read(tmp_path, delimiter, decimal):
    rows = [["1.5", "-2e3"], ["", "0.25"]]
    cells = [[f'"{cell.replace(".", decimal)}"' for cell in row] for row in [["a", "b"], *rows]]
    (tmp_path / "t.csv").write_text("\n".join(map(delimiter.join, cells)))
    X = read(tmp_path / "t.csv", delimiter=delimiter, decimal=decimal)
    np.testing.assert_array_equal(X, [[1.5, -2e3], [np.nan, 0.25]])


def test_the_options_say_what_form_a_table_has(fit, tmp_path, rows):
    lines = ["a;b;c;d", *(";".join(f"{x:.17g}".replace(".", ",") for x in row) for row in rows)]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    result = fit("--delimiter", ";", "--decimal", ",", data=tmp_path / "t.csv")
    assert (result.status, result.err) == (0, "")


@pytest.mark.parametrize("mark", ["x", "", ";;", "\n"])
def test_an_unknown_delimiter_is_refused(fit, mark):
    assert_refused(fit("--delimiter", mark), "--delimiter")


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


@pytest.mark.parametrize("note", ['" note', 'no "te', '"note" 5'])
def test_a_mark_that_one_record_leaves_open_swallows_no_other(fit, tmp_path, ledger, note):
    rows = "".join(f"{i},{-i},note\n" for i in range(50))
    (tmp_path / "t.csv").write_text(f"a,b,notes\n{rows}1,2,{note}\n{rows}1,2,{note}\n{rows}")
    for columns in (["--drop", "notes"], ["--columns", "a,b"]):
        result = fit(*columns, "--ledger", ledger, data=tmp_path / "t.csv")
        assert_refused(result, "quotation mark", ledger=ledger)


@pytest.mark.parametrize("link", [None, Path.symlink_to, Path.hardlink_to])
def test_a_file_that_is_given_twice_is_refused(run, table, tmp_path, ledger, budget, link):
    other = tmp_path / "again.csv" if link else table
    if link:
        link(other, table)
    result = run("fit", table, other, *budget, "--ledger", ledger, "--out", tmp_path / "out")
    assert_refused(result, "is given twice", ledger=ledger)


ENDS = ["\n", "\r\n", "\r"]


@pytest.fixture(params=[48, 2**20])
def block(request, monkeypatch):
    """Many blocks with few lines each, or one for all."""
    monkeypatch.setattr(_csv_files, "BLOCK_BYTES", request.param)
    monkeypatch.setattr(_csv_files, "CELL_BYTES", 1)


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("end", ENDS)
def test_a_blank_line_of_one_column_is_a_missing_value(tmp_path, end, header):
    cells = ["1", "", "", "2.5", '""', *["3"] * 60, "", "4", ""]
    (tmp_path / "t.csv").write_bytes(end.join([*["a"] * header, *cells, ""]).encode())
    expected = [[float(cell) if cell.strip('"') else np.nan] for cell in cells]
    np.testing.assert_array_equal(read(tmp_path / "t.csv", header=header), expected)


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize("last", ["", "\n"])
def test_what_ends_the_last_line_of_one_column_is_no_row(tmp_path, last):
    (tmp_path / "t.csv").write_text("a\n" + "1\n" * 60 + "2" + last)
    assert len(read(tmp_path / "t.csv")) == 61


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize("end", ENDS)
def test_blank_lines_of_several_columns_are_no_rows(tmp_path, end):
    lines = ["", "a,b", *["1,2"] * 30, "", *["3,"] * 30, "", ","]
    (tmp_path / "t.csv").write_bytes(end.join([*lines, "", ""]).encode())
    expected = [*[[1, 2]] * 30, *[[3, np.nan]] * 30, [np.nan, np.nan]]
    np.testing.assert_array_equal(read(tmp_path / "t.csv"), expected)


@pytest.mark.usefixtures("block")
def test_numbers_are_read_alike_whatever_the_first_ones_look_like(tmp_path):
    """Whole numbers, empty cells and zeros come first, decimals last."""
    rows = [*["1,,0"] * 60, "2.5,1e-3,.5"]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c", *rows, ""]))
    expected = [*[[1, np.nan, 0]] * 60, [2.5, 1e-3, 0.5]]
    np.testing.assert_array_equal(read(tmp_path / "t.csv"), expected)


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,b\n" + "1,2\n" * 100 + f"1,{SECRET}\n", "not numeric, text: 'b'"),
        ("a\n1\n2\n\n3\n", "missing values: 'a'; pass --missing mean"),
    ],
)
def test_what_is_no_number_is_refused_before_the_charge(fit, tmp_path, ledger, text, says):
    (tmp_path / "t.csv").write_text(text)
    result = fit("--ledger", ledger, data=tmp_path / "t.csv")
    assert_refused(result, says, ledger=ledger)
    assert SECRET not in result.err


def test_a_file_that_went_away_is_said_to_be_no_table(tmp_path):
    assert "gone.csv is not" in CsvFiles([tmp_path / "gone.csv"], USUAL, 1, {}).fault()
