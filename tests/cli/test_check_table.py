"""``skdppca fit --check`` lists all that is wrong with a table, and tells nothing else of it."""

import gzip

import numpy as np
import pandas as pd
import pytest

from .conftest import assert_refused, charges

BAD = pd.DataFrame(
    {
        "patient_id": ["zq2", "zq1", "zq2"],
        "visit": ["2024-01-03", "2024-02-03", "04.03.2024"],
        "crp": ["<0.517", "1.2", "1.5"],
        "sex": ["qm", "qf", "qf"],
        "age": [31.25, np.nan, 44.75],
        "bmi": ["22,513", "23,5", "21"],
        "dose": ["5 mg", "6", "7"],
        "lab": [".", "1.25", "1.5"],
        "flag": [True, False, True],
        "weight": [70.125, np.inf, 71.5],
        "sample_id": [1, 2, 3],
    }
)
SAID = {
    "label and no feature": ["sample_id"],
    "not numeric, dates or times": ["visit"],
    "not numeric, detection limits": ["crp"],
    "not numeric, text": ["sex"],
    "not numeric, decimals after a comma": ["bmi"],
    "not numeric, numbers with a unit": ["dose"],
    "not numeric, marks of missing values": ["lab"],
    "- missing values": ["age"],
    "infinite values": ["weight"],
    "not sorted by": ["patient_id"],
}


@pytest.fixture
def check(run, tmp_path):
    """Check a table that was written to a file."""

    def command(frame, *more, kind="csv"):
        path = tmp_path / f"t.{kind}"
        if kind == "csv":
            frame.to_csv(path, index=False)
        else:
            frame.to_parquet(path)
        return run("fit", path, "--check", *more)

    return command


@pytest.mark.parametrize(
    ("columns", "kind"),
    [(["sex", "age"], "csv"), (["sex", "age"], "parquet"), (["sex", "visit"], "csv")],
)
def test_a_fit_that_refuses_text_says_how_to_list_all_that_is_wrong(
    check, run, tmp_path, kind, columns
):
    check(BAD[["patient_id", *columns]], kind=kind)
    path, out = tmp_path / f"t.{kind}", tmp_path / "out"
    budget = ("--epsilon", "1", "--delta", "1e-6", "--out", out)
    result = run("fit", path, "--groups", "patient_id", *budget)
    assert_refused(result)
    assert result.err.endswith("; skdppca fit --check lists all that is wrong with a table\n")
    listed = run("fit", path, "--groups", "patient_id", "--check")
    assert listed.status == 1 and "not numeric, text: " in listed.out


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_all_that_is_wrong_is_listed_at_once_by_column_and_kind(check, kind):
    result = check(BAD, "--groups", "patient_id", kind=kind)
    assert result.status == 1 and result.err == ""
    faults = [line for line in result.out.splitlines() if line.startswith("- ")]
    told = dict(SAID)
    if kind == "parquet":  # states its types, so a comma is text
        told["not numeric, text"] = ["sex", "bmi"]
        del told["not numeric, decimals after a comma"]
    for what, names in told.items():
        (line,) = [fault for fault in faults if what in fault]
        assert all(repr(name) in line for name in names), what
        others = {*BAD} - {*names, "patient_id"}
        assert not any(repr(name) in line for name in others), what
    assert len(faults) == len(told)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_no_cell_is_quoted_and_no_row_is_counted(check, kind):
    said = check(BAD, "--groups", "patient_id", kind=kind).out
    cells = [str(cell) for column in BAD for cell in BAD[column] if len(str(cell)) > 3]
    assert not [cell for cell in cells if cell in said and cell not in ("True", "False")]
    longer = pd.concat([BAD, BAD.tail(1)] * 3)
    assert check(longer, "--groups", "patient_id", kind=kind).out == said


def test_a_good_table_has_no_fault_and_needs_no_epsilon_and_no_out(check, rows, tmp_path, ledger):
    result = check(pd.DataFrame(rows, columns=list("abcd")), "--ledger", ledger)
    assert result.status == 0 and not charges(ledger)
    assert "no fault was found in its 4 features. Nothing was charged." in result.out
    assert "Columns keep their units" in result.out
    table = pd.DataFrame(rows, columns=list("abcd"))
    assert "Columns keep their units" not in check(table, "--scale", "private").out
    assert {path.name for path in tmp_path.iterdir()} == {"t.csv", ledger.name}


@pytest.mark.parametrize("missing", ["mean", "error"])
def test_missing_values_are_no_fault_where_they_are_filled(check, missing):
    frame = pd.DataFrame({"a": [1.0, np.nan, 2.0], "b": [1.0, 2.0, 3.0]})
    result = check(frame, "--missing", missing)
    assert result.status == (missing == "error")


WORDS = "who,crp\na,zlow\nb,high\n"
TEXTS = [
    ("a,b\n", (), ["is empty"], "zq"),
    # a first line that may be a record is not quoted, whatever an option that is wrong says
    ("31.5,zqx\n32.5,zqy\n", (), ["pass --header if", "not numeric, text: column 2"], "zq"),
    *(
        ("zqx_id,zqy\nzqa,zqb\n", options, ["no column is numeric"], "zq")
        for options in ((), ("--groups", "patient"), ("--drop", "ward"), ("--columns", "age"))
    ),
    ("zqx,zqy\n1,2\n", ("--columns", "age"), ["--columns age: t.csv has no such"], "\n1"),
    # columns keep their names beside one without a name, and if an option names one of them
    (
        ",patient_id,crp,age\n1,a,<0.5,31.5\n2,b,1.5,32.5\n",
        ("--groups", "patient_id"),
        ["has no name for column 1", "not numeric, detection limits: 'crp'"],
        "31.5",
    ),
    (WORDS, ("--groups", "who"), ["not numeric, text: 'crp'"], "zlow"),
    (WORDS, (), ["not numeric, text: column 1, column 2"], "crp"),
    # labels are listed once
    (
        "patient_id,age,ward\nA,1.5,x\nB,2.5,y\n",
        (),
        ["pass --groups patient_id", "not numeric, text: 'ward'"],
        "text: 'patient_id'",
    ),
]


@pytest.mark.parametrize(("text", "options", "says", "never"), TEXTS)
def test_names_are_quoted_only_where_they_are_no_record(run, tmp_path, text, options, says, never):
    (tmp_path / "t.csv").write_text(text)
    result = run("fit", tmp_path / "t.csv", "--check", *options)
    assert result.status == 1 and never not in result.out + result.err
    assert all(said in result.out for said in says)


def test_an_array_is_checked_as_a_fit_checks_it(run, tmp_path):
    np.save(tmp_path / "t.npy", np.array([[1.0, np.nan]]))
    result = run("fit", tmp_path / "t.npy", "--check")
    assert result.status == 1 and "contains NaN" in result.out and "--missing mean" in result.out


def test_what_a_check_passes_a_fit_takes_and_the_reverse(check, run, tmp_path, budget):
    rng = np.random.default_rng(0)
    cells = ["1", " 2", "+3", "1e3", ".5", "5.", "1_0", "0x1", "1 2", "true", "NaN", "inf", "-", ""]
    for cell in cells:
        frame = pd.DataFrame(rng.standard_normal((200, 2)), columns=["a", "b"]).astype(object)
        frame.loc[7, "a"] = cell
        checked = check(frame)
        out = tmp_path / f"out{len(list(tmp_path.iterdir()))}"
        options = ("-k", 1, "--no-pictures", "--header", "--out", out)
        fitted = run("fit", tmp_path / "t.csv", *budget, *options)
        assert (checked.status == 0) == (fitted.status == 0), cell


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "--epsilon, --delta, --out"),
        (("--check", "--json"), "--check has no JSON output"),
        (("--update", "release"), "required: --epsilon, --delta;"),
    ],
)
def test_a_fit_still_needs_its_budget_and_a_check_prints_no_json(run, table, options, says):
    assert_refused(run("fit", table, *options), says)


def test_of_many_columns_the_first_are_named_and_all_with_details(check):
    wide = pd.DataFrame(np.nan, index=range(3), columns=[f"rs{i}" for i in range(30)])
    assert "missing values: all 30 features;" in check(wide).out
    wide["rs29"] = 1.0
    assert "'rs7', 21 more columns (--details names them);" in check(wide).out
    assert "'rs27', 'rs28';" in check(wide, "--details").out


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1,234", "12,345.5", "999"], "thousands separators"),
        (["1,234", "1,2"], "decimals after a comma"),
        (["-1,5", "0,234"], "decimals after a comma"),
        (["−2.5", "1"], "another notation"),
        (["(2.5)", "2.5-"], "another notation"),
        (["1.5D+03", "0x1A"], "another notation"),
        (["$2.50", "3 €"], "amounts of money"),
        (["12 %", "5 mg"], "numbers with a unit"),
    ],
)
def test_numbers_as_people_write_them_are_named_with_a_remedy(check, cells, kind):
    out = check(pd.DataFrame({"cost": cells, "age": range(len(cells))})).out
    (line,) = [line for line in out.splitlines() if line.startswith("- ")]
    assert f"not numeric, {kind}: 'cost'; " in line
    assert not any(cell in line.partition("; ")[0] for cell in cells if len(cell) > 1)


def test_numbers_with_thousands_separators_are_not_taken_for_decimals(check):
    out = check(pd.DataFrame({"cost": ["46,040", "1,234"], "age": [1, 2]})).out
    assert "write 1,234 as 1234; only if it is 1.234, pass --decimal ','" in out


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (gzip.compress(b"a,b\n1,2\n"), "is packed"),
        (b"PK\x03\x04\xff\xfe", "is a workbook or an archive"),
        ("a,b\n1,2\n".encode("utf-16"), "is in UTF-16"),
        ("a,b\n1,2\n".encode("utf-16-le"), "is in UTF-16"),
        (b"sep=,\na,b\n1,2\n", "begins with sep="),
        (b"a,b\n1,2,3\n4,5,6\n", "one name less in its first line"),
        (b"a b c\n1 2 3\n", "has blanks between cells"),
        (b"# made in 2024 by us\na,b\n1,2\n", "begins with a comment"),
    ],
    ids=[
        "gzip",
        "zip",
        "utf-16",
        "utf-16 without a mark",
        "sep",
        "short head",
        "blanks",
        "comment",
    ],
)
def test_a_file_that_is_no_plain_csv_is_named_for_what_it_is(run, tmp_path, content, says):
    (tmp_path / "t.csv").write_bytes(content)
    result = run("fit", tmp_path / "t.csv", "--check")
    assert result.status == 1 and says in result.out


@pytest.mark.parametrize("kind", ["xlsx", "sav", "gz", "tsv"])
def test_files_of_other_programs_are_named_with_a_way_out(run, tmp_path, kind):
    (tmp_path / f"t.{kind}").write_bytes(b"PK")
    assert f"t.{kind} is of no known kind (" in run("fit", tmp_path / f"t.{kind}", "--check").out
