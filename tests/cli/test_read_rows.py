import codecs
import os
import re
import sys
import zipfile
from itertools import permutations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from skdppca import DPGauss
from skdppca.cli._column_names import Wanted
from skdppca.cli._csv_files import CsvFormat
from skdppca.cli._read_rows import ArrayRows, opened
from skdppca.privacy.installing import how_to_install

from .conftest import NAMES, assert_refused

# A cell that must not be seen in any message.
SECRET = "s3cret"


def read(*paths, groups=None, may_miss=False, columns=None, drop=(), **form):
    """All rows, and the group of every row."""
    want = Wanted(groups, columns, drop, may_miss=may_miss)
    rows = opened(paths, want, CsvFormat(**form))
    if isinstance(rows, ArrayRows):
        return rows.X, None
    reader = DPGauss(unit=groups or "row", missing="mean" if may_miss else "error")
    X, numbers = rows.in_memory(reader)
    return pd.DataFrame(X, columns=rows.names), numbers


def test_all_formats_give_the_same_rows(tmp_path, rows, table):
    frame = pd.DataFrame(rows, columns=NAMES)
    frame.set_index(np.arange(len(rows)) * 2).to_parquet(tmp_path / "t.parquet")  # no feature
    frame.to_feather(tmp_path / "t.feather")
    np.save(tmp_path / "t.npy", rows)
    np.savez(tmp_path / "dense.npz", rows=rows)
    sparse.save_npz(tmp_path / "sparse.npz", sparse.csc_array(rows))
    for name in ("table.csv", "t.parquet", "t.feather", "t.npy", "dense.npz", "sparse.npz"):
        X, groups = read(tmp_path / name)
        X = X.toarray() if sparse.issparse(X) else np.asarray(X)
        assert groups is None
        assert np.array_equal(X, rows), name


def test_an_npy_file_is_mapped_and_not_loaded(tmp_path, rows):
    np.save(tmp_path / "t.npy", rows)
    assert isinstance(read(tmp_path / "t.npy")[0], np.memmap)
    with pytest.raises(
        ValueError, match="--groups, --columns, --drop and --scale private:A,B need a table"
    ):
        read(tmp_path / "t.npy", groups="patient")


@pytest.mark.parametrize(
    ("first", "names"),
    [
        ("größe, bp 1,_x,dosis (mg)", ["größe", " bp 1", "_x", "dosis (mg)"]),
        ("uric_acid,covid,COVID,who", ["uric_acid", "covid", "COVID"]),
        ("\ufeffa,who,b,c", ["a", "b", "c"]),
    ],
)
def test_names_may_hold_other_letters_and_end_as_labels_do(tmp_path, first, names):
    (tmp_path / "t.csv").write_text(f"{first}\n1,2,3,4\n3,4,5,6\n", encoding="utf-8")
    grouped = "who" if "who" in first else None
    X, groups = read(tmp_path / "t.csv", groups=grouped)
    assert list(X.columns) == names
    assert groups is None if grouped is None else list(groups) == [0, 1]


def test_columns_of_mixed_number_types_become_floats_and_single_precision_stays(tmp_path):
    frame = pd.DataFrame({"a": [1, 2], "b": [True, False], "c": pd.array([1, 2], "Int64")})
    frame.to_parquet(tmp_path / "t.parquet")
    X, _ = read(tmp_path / "t.parquet")
    assert set(X.dtypes) == {np.dtype(float)}
    pd.DataFrame({"a": np.ones(2, np.float32)}).to_parquet(tmp_path / "single.parquet")
    assert read(tmp_path / "single.parquet")[0].dtypes.iloc[0] == np.float32


def test_a_first_line_of_numbers_is_not_taken_for_names(tmp_path, rows):
    np.savetxt(tmp_path / "t.csv", rows, delimiter=",")
    with pytest.raises(ValueError, match="--no-header"):
        read(tmp_path / "t.csv")
    X, _ = read(tmp_path / "t.csv", header=False)
    assert X.shape == rows.shape
    assert list(X.columns) == ["x0", "x1", "x2", "x3"]
    X, _ = read(tmp_path / "t.csv", header=True)
    assert len(X) == len(rows) - 1


@pytest.mark.parametrize("header", ["who,a\n", ""])
@pytest.mark.parametrize(
    "labels", [("01", "1", "1.0"), ("9223372036854775809", "9223372036854775811")]
)
@pytest.mark.parametrize("other", ["x", "2.5"])
def test_which_labels_are_alike_does_not_depend_on_another_record(tmp_path, header, labels, other):
    lines = "".join(f"{label},1\n" for label in labels)
    column = "who" if header else "x0"
    found = []
    for more in ("", f"{other},1\n"):
        (tmp_path / "t.csv").write_text(header + "".join(sorted([*lines.splitlines(True), more])))
        _, groups = read(tmp_path / "t.csv", groups=column, header=bool(header))
        found.append(len(set(groups)) - bool(more))
    assert found == [len(labels)] * 2


# Files of one table, the options, and what the refusal says.
GROUPS = {"groups": "who"}
COMMAS = {"delimiter": ";", "decimal": ","}
REFUSED = [
    # a first line that may be a record is never quoted
    *(
        (f"{first}\n1,2\n3,4\n", {}, "--no-header")
        for first in (
            *("True,False", "?,-", "<5,>7", "2020-01-01,x", " 1 ,x", "5 mg,x", "a,FALSE"),
            f"{SECRET},1",
        )
    ),
    *(
        (f"{SECRET},{SECRET}2\nx,y\n", options, "no column is numeric")
        for options in ({}, GROUPS, {"columns": ["a"]}, {"drop": ["a"]})
    ),
    (f"{SECRET},{SECRET}\nx,y\n", GROUPS, "no column is numeric"),
    (f"{SECRET}_id,b_id\nx,y\n", {}, "no column is numeric"),
    # cells that are no numbers
    (f"a,b\n1,{SECRET}\n2,3\n", {}, "not numeric, text: 'b'; encode categories"),
    (f'a,b\n"1,5","{SECRET}"\n', {}, "no column is numeric; pass --decimal"),
    (f'a,b\n2,"1,5"\n{SECRET},1\n', {"drop": ["a"]}, "pass --decimal ','"),
    *((f"a;b\n{cell};1\n", COMMAS, "not numeric, .*: 'a'; ") for cell in ("1.5", "1.234,5")),
    *(
        (f"a,b\n{cell},2\n3,4\n", {}, "not numeric, .*: 'a'; ")
        for cell in (" ", "na", "None", "Null", ".", "-", "?", "true")
    ),
    ("a,b\n1,\n2,3\n", {}, "missing values: 'b'; pass --missing mean"),
    ("a,b\n1,True\n2,\n", {}, "missing values: 'b'"),
    *(("a,b\n1,inf\n2,3\n", {"may_miss": miss}, "infinite values: 'b'") for miss in (0, 1)),
    # names
    *(
        (f"{name},b\n{SECRET},2\n3,4\n", {}, f"pass --groups '?{name}")
        for name in (
            *("id", "ID", "patient_id", "Patient-ID", "case id", "patientId"),
            *("IID", "fid", "eid"),
        )
    ),
    ("patient_id,visit_id,b\n1,1,2\n", {"groups": "patient_id"}, "'visit_id'"),
    ("age,height\n1,2\n", {"groups": "patient"}, "no such column; it has 'age', 'height'"),
    (",a\n0,1\n1,2\n", {}, "row.names = FALSE"),
    ("na,k\n140,4\n139,5\n", {}, "If 'na' is a name, as of sodium, rename the column."),
    ("Unnamed: 0,a\n0,1\n1,2\n", {}, "--drop 'Unnamed: 0'"),
    ("a,a\n1,2\n", {}, "two columns 'a'"),
    # labels
    *(
        ("who,b\nx,1\n,2\n", GROUPS | {"may_miss": miss}, "missing labels in 'who'")
        for miss in (False, True)
    ),
    ("who,a\nMüller,1\n".encode("latin-1"), GROUPS, "is not in UTF-8"),
    # the form of a file
    (f"a,größe\n1,{SECRET}\n".encode("latin-1"), {}, "iconv -f latin1 -t utf-8"),
    (f"a,b\n1,{SECRET}ß\n".encode("latin-1"), {}, "is not in UTF-8"),
    (codecs.BOM_UTF16_LE + f"a,{SECRET}\n".encode("utf-16-le"), {}, "is in UTF-16; convert it"),
    (f"a;b\n{SECRET};2\n", {}, "';' between cells.*pass --delimiter ';', and pass --decimal ','"),
    (f"a\tb\n{SECRET}\t2\n", {}, "pass --delimiter tab"),
    (f"a,b\n1,2\n{SECRET}\n", {}, "a line with more or fewer cells than its first line"),
    (f"a,b\n1,2\n3,4,{SECRET}\n", {}, "a line with more or fewer cells"),
    (f"a,b\n1,2,{SECRET}\n", {}, "one name less in its first line"),
    (f'a,b\n1,2\n"{SECRET},3\n4,5\n', {}, "one that ends no cell"),
    (f'a,b\n1,2\n3,"{SECRET}"4,5\n', {}, "one that ends no cell"),
    ("a,b\n", {}, "give at least one row"),
    ("", {}, "is empty"),
]


@pytest.mark.parametrize(("content", "options", "says"), REFUSED)
def test_a_csv_is_refused_by_its_columns_and_never_by_its_cells(tmp_path, content, options, says):
    path = tmp_path / "t.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=says) as caught:
        read(path, **options)
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None and caught.value.__cause__ is None


FOLDERS = [
    ({"a.csv": "x,y\n1,2\n", "b.csv": "x,z\n1,2\n"}, "b.csv has other columns than a.csv"),
    ({"a.csv": "x,y\n1,2\n", "b.csv": "x\n1\n"}, "b.csv has other columns than a.csv"),
    ({"a.csv": "x,y\n1,2\n", "b.csv": "y,x\n1,2\n"}, "or has them in another order"),
    ({"a.csv": "x,y\n1,2\n", "b.csv": "x,y\n1,2,3\n1,2\n"}, "^b.csv has a line with more"),
    ({"a.csv": "x,y\n1,2\n", "b.csv": "x;y\n1;2\n"}, "^b.csv has ';' between cells"),
    ({"a.csv": "x,y\n1,2\n", "b.npy": ""}, r"several kinds \(.csv, .npy\)"),
    ({"a.npy": "", "b.npy": ""}, "one at a time"),
    ({"a.csv": "x,y\n1,2\n", "b.csv": f"x,y\n{SECRET},2\n"}, "not numeric, text: 'x'"),
    ({"a.parquet": f"PAR1{SECRET}PAR1"}, "Parquet"),
    ({"a.npy": f"\x93NUMPY{SECRET}"}, "numpy.save"),
    ({"a.npz": f"PK\x03\x04{SECRET}"}, "numpy.savez"),
]


@pytest.mark.parametrize(("contents", "says"), FOLDERS)
def test_files_of_a_folder_must_be_one_table(tmp_path, contents, says):
    for name, text in contents.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=says) as caught:
        read(tmp_path)
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None and caught.value.__cause__ is None


def test_a_file_without_rows_may_stand_beside_others(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("x,y\n")
    assert len(read(tmp_path)[0]) == 1


def test_types_of_typed_files_are_refused_too(tmp_path):
    pd.DataFrame({"a": [1.0], "b": [2.0]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="--groups b: the column has the type double"):
        read(tmp_path / "t.parquet", groups="b")


@pytest.mark.parametrize(
    ("name", "write", "says"),
    [
        ("t.npy", lambda path: np.save(path, np.ones(5)), "Expected 2D array"),
        ("t.npy", lambda path: np.save(path, np.ones((5, 2), complex)), "Complex data"),
        ("t.npy", lambda path: np.save(path, np.array([[SECRET]], object)), "numpy.save"),
        ("t.npy", lambda path: np.save(path, np.full((5, 2), np.nan)), "contains NaN"),
        ("t.npz", lambda path: np.savez(path, a=np.ones(1), b=np.ones(1)), "holds 'a', 'b'"),
        ("t.txt", lambda path: path.write_text(SECRET), ".parquet"),
        ("t.csv", lambda path: None, "check the path"),
    ],
)
def test_a_bad_file_is_one_line_with_a_remedy(fit, tmp_path, name, write, says):
    write(tmp_path / name)
    result = fit(data=tmp_path / name)
    assert_refused(result, says)
    assert SECRET not in result.err


EMPTY = {
    "t.csv": lambda path: path.write_text("a,b,c\n1,,True\n2,3,\n"),
    "t.parquet": lambda path: pd.DataFrame(
        {"a": [1, 2], "b": pd.array([None, 3], "Int64"), "c": pd.array([True, None], "boolean")}
    ).to_parquet(path),
    "t.npy": lambda path: np.save(path, [[1, np.nan, 1], [2, 3, np.nan]]),
    "t.npz": lambda path: np.savez(path, X=[[1, np.nan, 1], [2, 3, np.nan]]),
}


@pytest.mark.parametrize(("name", "write"), EMPTY.items(), ids=list(EMPTY))
def test_empty_cells_are_nan_where_they_are_allowed(tmp_path, name, write):
    write(tmp_path / name)
    X, _ = read(tmp_path / name, may_miss=True)
    np.testing.assert_array_equal(np.asarray(X), [[1, np.nan, 1], [2, 3, np.nan]])
    with pytest.raises(ValueError, match=r"missing='mean'|--missing mean"):
        read(tmp_path / name)


def test_without_pyarrow_the_error_names_the_extra(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=re.escape(how_to_install("cli"))):
        read(table)


# The parts of a sparse matrix, as scipy.sparse.save_npz writes them.
SPARSE = {
    "data": np.ones(3),
    "indices": np.array([0, 1, 2], np.int32),
    "indptr": np.array([0, 1, 2, 3], np.int32),
    "shape": np.array([3, 3]),
    "format": np.array(b"csr"),
}


@pytest.mark.parametrize(
    "parts",
    [
        {"indices": np.array([0, 1, 10**8], np.int32)},
        {"indices": np.array([0, 1, -5], np.int32)},
        {"indptr": np.array([0, 5, 2, 3], np.int32)},
        {"indptr": np.array([0, 1, 2, 1000], np.int32)},
        {"data": np.array([SECRET, 1, 2], object)},
        {"format": np.array(b"zzz")},
        {"format": np.array(b"coo"), "row": np.array([0, 1, 9]), "col": np.array([0, 1, 2])},
        {"shape": np.array([3, 10**15])},
    ],
)
def test_a_malformed_sparse_matrix_is_refused_before_the_charge(fit, tmp_path, ledger, parts):
    np.savez(tmp_path / "t.npz", **(SPARSE | parts))
    assert_refused(fit("-k", 1, "--ledger", ledger, data=tmp_path / "t.npz"), ledger=ledger)


def huge_array():
    """The head of an array of 10^15 bytes, and little more."""
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (100000000000, 1250), }".ljust(117)
    return b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + head + b"\n" + bytes(80)


@pytest.mark.parametrize(
    ("name", "says"), [("t.npz", "does not fit into memory"), ("t.npy", "numpy.save")]
)
def test_a_file_that_claims_to_be_huge_is_refused(tmp_path, name, says):
    (tmp_path / "t.npy").write_bytes(huge_array())
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
        archive.writestr("rows.npy", huge_array())
    with pytest.raises(ValueError, match=says):
        read(tmp_path / name)


@pytest.mark.parametrize("error", [AssertionError(SECRET), OverflowError(SECRET), MemoryError()])
def test_no_error_of_a_library_leaves_reading(tmp_path, rows, monkeypatch, error):
    np.save(tmp_path / "t.npy", rows)

    def broken(*_, **__):
        raise error

    monkeypatch.setattr("skdppca.cli._read_rows.check_rows", broken)
    with pytest.raises(ValueError) as caught:
        read(tmp_path / "t.npy")
    assert SECRET not in str(caught.value) and caught.value.__context__ is None


@pytest.mark.parametrize("name", ["t.csv", "t.npy", "t.parquet"])
def test_a_device_or_a_directory_is_never_read(fit, tmp_path, ledger, name):
    (tmp_path / name).symlink_to("/dev/null")
    (tmp_path / f"folder-{name}").mkdir()
    for path, says in ((name, "is a pipe or a device"), (f"folder-{name}", "without files")):
        assert_refused(fit("--ledger", ledger, data=tmp_path / path), says, ledger=ledger)


def test_a_pipe_is_no_ledger(fit, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert_refused(fit("--ledger", tmp_path / "pipe"), "there is no such file")


@pytest.mark.filterwarnings("error")
def test_reading_warns_of_nothing(tmp_path):
    lines = ["a,who", "1e308,0", "-1e308,0"]
    lines += [f"{i},{f'{i:04}' if i < 4000 else 'x'}" for i in range(5000)]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    read(tmp_path / "t.csv", groups="who")


def three_files(folder, rows):
    frame = pd.DataFrame(rows, columns=NAMES).assign(who=np.arange(len(rows)) // 4)
    for kind in ("csv", "parquet"):
        (folder / kind / "deeper").mkdir(parents=True)
        paths = [folder / kind / f"{name}.{kind}" for name in ("a", "b", "deeper/c")]
        for path, part in zip(paths, np.array_split(np.arange(len(rows)), 3), strict=True):
            write = getattr(frame.iloc[part], f"to_{kind}")
            write(path, index=False, **({"float_format": "%.17g"} if kind == "csv" else {}))
        (folder / kind / "_SUCCESS").touch()
        (folder / kind / ".hidden").touch()
    return frame


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_several_files_and_a_folder_are_one_table(tmp_path, rows, kind):
    three_files(tmp_path, rows)
    folder = tmp_path / kind
    files = [folder / f"{name}.{kind}" for name in ("a", "b", "deeper/c")]
    with pytest.raises(ValueError, match="the table is not sorted by 'who'"):
        read(*files[::-1], groups="who")
    for paths in ([folder], files, [*files[:2], folder / "deeper"]):
        X, groups = read(*paths, groups="who")
        np.testing.assert_array_equal(X, rows)
        assert groups.tolist() == (np.arange(len(rows)) // 4).tolist()


@pytest.mark.parametrize(
    ("columns", "drop", "left"),
    [
        (["pulse", "age"], (), ["pulse", "age"]),
        (None, ["height", "who"], ["age", "weight", "pulse"]),
    ],
)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_columns_are_chosen_by_name(tmp_path, rows, columns, drop, left, kind):
    frame = three_files(tmp_path, rows)
    X, _ = read(tmp_path / kind, columns=columns, drop=drop)
    assert list(X.columns) == left
    np.testing.assert_array_equal(X, frame[left])


def test_a_column_that_is_dropped_may_hold_anything(tmp_path):
    (tmp_path / "t.csv").write_text(f'a,note,b\n1,"{SECRET},\n{SECRET}",2\n3,,4\n')
    X, _ = read(tmp_path / "t.csv", drop=["note"])
    assert X.to_numpy().tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--columns", "age,size"), "--columns size: table.csv has no such column"),
        (("--drop", "size"), "--drop size: table.csv has no such column"),
        (("--drop", "agee"), "did you mean age?"),
        (("--drop", ",".join(NAMES)), "no column is left"),
        (("--columns", "age,age"), "a name twice"),
        (("--columns", "age,,pulse"), "--columns '': table.csv has no such column"),
        (("--columns", "age", "--drop", "pulse"), "not allowed with"),
    ],
)
def test_a_wrong_choice_of_columns_is_refused(fit, ledger, options, says):
    assert_refused(fit("--ledger", ledger, *options), says, ledger=ledger)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_groups_that_are_not_sorted_are_refused_before_the_charge(run, fit, tmp_path, kind):
    ledger = tmp_path / "groups.ledger"
    run("ledger", "create", ledger, "--epsilon", 2, "--delta", 1e-6, "--unit", "who")
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "who": [SECRET, "x", SECRET]})
    getattr(frame, f"to_{kind}")(tmp_path / f"t.{kind}", index=False)
    result = fit("--ledger", ledger, "--groups", "who", data=tmp_path / f"t.{kind}")
    assert_refused(result, "is not sorted by 'who'", ledger=ledger)
    assert SECRET not in result.err


def test_numbers_in_a_csv_are_sorted_as_numbers_too(tmp_path):
    (tmp_path / "t.csv").write_text("who,a\n" + "".join(f"{i},1\n" for i in range(1, 120)))
    assert len(set(read(tmp_path / "t.csv", groups="who")[1])) == 119


def labelled(folder, place):
    """Write a table with a label of people in a place, and return what to read."""
    rows = np.random.default_rng(0).normal(size=(40, 2))
    people, frame = np.repeat(np.arange(10), 4), pd.DataFrame(rows, columns=["a", "b"])
    if place == "folders":
        for person in range(10):
            part = folder / "table" / f"patient_id={person}"
            part.mkdir(parents=True)
            frame[people == person].to_parquet(part / "0.parquet", index=False)
        return folder / "table"
    levels = [people] if place == "index" else [people, np.arange(40)]
    names = ["patient_id", "visit"][: len(levels)]
    frame.set_index(pd.MultiIndex.from_arrays(levels, names=names)).to_parquet(folder / "t.parquet")
    return folder / "t.parquet"


@pytest.mark.parametrize("place", ["index", "indices", "folders"])
class TestLabelsBesideTheColumns:
    def test_groups_take_them(self, tmp_path, place):
        X, groups = read(labelled(tmp_path, place), groups="patient_id")
        assert list(X.columns) == ["a", "b"]
        assert groups.tolist() == np.repeat(np.arange(10), 4).tolist()

    def test_without_groups_they_are_refused(self, fit, tmp_path, ledger, place):
        result = fit("--ledger", ledger, data=labelled(tmp_path, place))
        assert_refused(result, "'patient_id' may say to whom each row belongs", ledger=ledger)

    def test_a_record_of_one_row_is_said_aloud(self, fit, tmp_path, place):
        assert fit("--unit", "row", data=labelled(tmp_path, place)).status == 0


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_label_of_people_is_dropped_only_where_the_unit_is_said(fit, tmp_path, kind):
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 5.0], "Patienten-ID": [1, 1]})
    getattr(frame, f"to_{kind}")(tmp_path / f"t.{kind}", index=False)
    dropped = ("--drop", "Patienten-ID")
    refused = "without --groups every row is protected alone"
    assert_refused(fit(*dropped, data=tmp_path / f"t.{kind}"), refused)
    assert fit(*dropped, "--unit", "row", data=tmp_path / f"t.{kind}").status == 0


@pytest.mark.parametrize("empty", [0, 1, 2])
def test_a_column_without_an_entry_in_one_file_is_missing_there(tmp_path, empty):
    for i in range(3):
        b = pa.nulls(2) if i == empty else pa.array([1.5, 2.5])
        pq.write_table(pa.table({"a": [1.0, 2.0], "b": b}), tmp_path / f"{i}.parquet")
    X, _ = read(tmp_path, may_miss=True)
    wanted = np.tile([1.5, 2.5], (3, 1))
    wanted[empty] = np.nan
    np.testing.assert_array_equal(X["b"], wanted.ravel())


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_text_in_one_file_is_refused_in_any_order(fit, tmp_path, order):
    columns, folder = [pa.nulls(1), pa.array(["x"]), pa.array([1.0])], tmp_path / "table"
    folder.mkdir()
    for place, i in enumerate(order):
        pq.write_table(pa.table({"a": [1.0], "b": columns[i]}), folder / f"{place}.parquet")
    assert_refused(fit("--missing", "mean", data=folder), "'b'")
