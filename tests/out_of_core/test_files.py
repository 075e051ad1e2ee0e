"""Tables in files: the same releases as from memory, and nothing but sums leaves them."""

import os
import tracemalloc
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from skdppca import DPGauss, PrivacyAccountant, PrivatePCA
from skdppca.decomposition import METHODS
from skdppca.exceptions import TableChangedError
from skdppca.out_of_core import batches as batches_of_files
from skdppca.out_of_core import files as reader
from skdppca.out_of_core.files import FileRecords, Files
from skdppca.statistics import ClippedGram, Count, CountBeyond, Shifted, Spreads

from ..benchmark_modules import BENCHMARKS, load
from ..estimators import SUMS
from ..secret_rows import refused
from .test_pieces import assert_same_release

pytestmark = pytest.mark.usefixtures("small_pieces")

N, NAMES = 400, list("abcdef")
RNG = np.random.default_rng(3)
ROWS = RNG.normal(size=(N, len(NAMES))) * np.arange(len(NAMES), 0, -1) + 5.0
PATIENTS = np.sort(RNG.integers(0, 120, N))
HOLED = np.where(RNG.random(ROWS.shape) < 0.1, np.nan, ROWS)
TABLE = pd.DataFrame(ROWS, columns=NAMES)

# A cell that no message may quote.
SECRET = "s3cret"
ONCE = r"give the pyarrow\.dataset\.Dataset"


def parquet(folder, frame, row_group_size=90):
    frame.to_parquet(folder / "t.parquet", row_group_size=row_group_size, index=False)
    return ds.dataset(folder / "t.parquet")


def csv_files(folder, frame):
    for i, part in enumerate((frame[:150], frame[150:150], frame[150:])):
        part.to_csv(folder / f"{i}.csv", index=False, float_format="%.17g")
    schema = pa.Schema.from_pandas(frame, preserve_index=False)
    return ds.dataset(folder, format="csv", schema=schema)


def feather(folder, frame):
    frame.to_feather(folder / "t.feather", chunksize=33)
    return ds.dataset(folder / "t.feather", format="feather")


def several(folder, frame):
    for i in range(3):
        frame[i * 150 : (i + 1) * 150].to_parquet(folder / f"{i}.parquet", index=False)
    return ds.dataset(folder)


def partitioned(folder, frame):
    """A feature stands in the names of folders, and one file lacks a feature that is empty."""
    table = pa.Table.from_pandas(frame.assign(f=np.arange(N) // 200), preserve_index=False)
    pq.write_to_dataset(table, folder, partition_cols=["f"])
    return ds.dataset(folder, partitioning="hive")


def filtered(folder, frame):
    more = pd.concat([frame, frame + np.nan])
    return parquet(folder, more).filter(pc.field("a").is_valid())


CASES = {
    "parquet": (parquet, TABLE, {}),
    "csv": (csv_files, TABLE, {}),
    "feather": (feather, TABLE, {}),
    "several files": (several, TABLE, {}),
    "folders": (partitioned, TABLE.assign(f=np.arange(N) // 200), {}),
    "filtered": (filtered, TABLE, {}),
    "threads": (parquet, TABLE, {"n_jobs": 2}),
    "private scales": (parquet, TABLE, {"scale": "private"}),
    "scales by column": (parquet, TABLE, {"scale": {NAMES[0]: "private", NAMES[1]: 2.5}}),
    "missing": (parquet, pd.DataFrame(HOLED, columns=NAMES), {"missing": "mean"}),
    "missing in csv": (csv_files, pd.DataFrame(HOLED, columns=NAMES), {"missing": "mean"}),
    "an empty column": (
        parquet,
        pd.DataFrame(HOLED, columns=NAMES).assign(**{NAMES[-1]: np.nan}),
        {"missing": "mean", "scale": "private"},
    ),
    "single precision": (parquet, TABLE.astype(np.float32), {}),
    "integers and truths": (parquet, TABLE.round().astype({"a": int, "b": "Int16", "c": bool}), {}),
    "no noise": (parquet, TABLE, {"epsilon": np.inf}),
    "groups": (parquet, TABLE, {"unit": "patient"}),
    "groups in csv": (csv_files, TABLE, {"unit": "patient"}),
    "groups in several files": (several, TABLE, {"unit": "patient"}),
    "large groups": (several, TABLE.assign(who=PATIENTS // 60), {"unit": "patient"}),
}


def both(name, case, folder):
    write, frame, parameters = CASES[case]
    grouped = "unit" in parameters
    if grouped and "who" not in frame:
        frame = frame.assign(who=PATIENTS)
    X = frame.drop(columns="who", errors="ignore")
    estimator = METHODS[name].estimator(2, **{"epsilon": 5.0, "random_state": 0, **parameters})
    memory = type(estimator)(**estimator.get_params())
    memory.fit(X.astype(float) if case.startswith("int") else X, groups=frame.get("who"))
    found = estimator.fit(write(folder, frame), groups="who" if grouped else None)
    return memory, found


def assert_same(memory, found):
    assert_same_release(found, memory)
    assert list(found.feature_names_in_) == NAMES and found.n_features_in_ == len(NAMES)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_table_in_files_gives_the_release_of_the_table_in_memory(case, tmp_path):
    assert_same(*both("DPGauss", case, tmp_path))


def test_random_parts_and_views_give_the_same_release(tmp_path):
    assert_same(*both("KDPPCA", "groups in several files", tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", SUMS[1:])
def test_every_method_gives_the_same_release_of_every_kind_of_files(name, case, tmp_path):
    assert_same(*both(name, case, tmp_path))


@pytest.mark.parametrize(("entries", "jobs"), [(60, 1), (66, 2), (10**6, 1)])
def test_the_size_of_pieces_changes_nothing(entries, jobs, tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "PIECE_ENTRIES", entries)
    X = several(tmp_path, TABLE.assign(who=PATIENTS))
    files = Files(X, NAMES, "who")
    valid = files.check()
    assert (valid.n_rows, valid.n_records) == (N, len(set(PATIENTS)))
    records = reader.FileRecords.of(files, valid, n_jobs=jobs)
    rows = np.concatenate([piece.rows for piece in files.pieces()])
    np.testing.assert_array_equal(rows, ROWS)
    sizes = np.concatenate([np.bincount(piece.groups) for piece in files.pieces()])
    np.testing.assert_array_equal(sizes, np.unique(PATIENTS, return_counts=True)[1])
    assert records.private_n == len(sizes)
    spreads = np.sqrt(np.bincount(np.unique(PATIENTS, return_inverse=True)[1], (ROWS**2).sum(1)))
    radius = np.median(spreads)
    far = CountBeyond(Spreads(np.zeros(ROWS.shape[1])), radius)
    assert records.total(far) == np.count_nonzero(spreads > radius)


def test_no_piece_is_larger_than_the_public_size(tmp_path):
    sizes = [len(piece.rows) for piece in Files(parquet(tmp_path, TABLE), NAMES).pieces()]
    assert sizes == [70] * 5 + [50]


LABELS = {
    "numbers": [3, 3, 10, 200],
    "text": ["10", "10", "9", "a"],
    "numbers as text": ["9", "9", "10", "200"],
    "categories": pd.Categorical(["b", "b", "c", "d"], categories=["d", "c", "b"]),
    "large numbers": np.array([0, 0, 1, 2**64 - 1], np.uint64),
}


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("entries", [6, 12, 600])
def test_labels_are_sorted_as_numbers_or_as_text(kind, entries, tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "PIECE_ENTRIES", entries)
    frame = TABLE[:4].assign(who=LABELS[kind])
    valid = Files(parquet(tmp_path, frame), NAMES, "who").check()
    assert not valid.unsorted and valid.n_records == 3


@pytest.mark.parametrize("entries", [6, 18, 600])
@pytest.mark.parametrize("labels", [[1, 2, 1], [2, 1, 1], ["b", "a", "b"], ["9", "10", "9"]])
def test_a_group_in_two_places_is_found_across_pieces(labels, entries, tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "PIECE_ENTRIES", entries)
    assert Files(parquet(tmp_path, TABLE[:3].assign(who=labels)), NAMES, "who").check().unsorted


@pytest.mark.parametrize("who", [[1, 2, 1], ["a", "b", "c"]], ids=["in no order", "in order"])
def test_batches_without_rows_say_nothing_of_labels(who, tmp_path):
    table = pa.table({"who": who})
    path = tmp_path / "X.arrow"
    with pa.ipc.new_file(path, table.schema) as file:
        for part in (table[:0], table[:2], table[:0], table[2:]):
            file.write_batch(pa.record_batch(part.to_pydict(), schema=table.schema))
    dataset = ds.dataset(path, format="ipc")
    assert reader.wrong_labels(dataset, "who") == (False, who == [1, 2, 1])


def with_cell(column, cell):
    frame = TABLE.astype(object)
    frame.loc[N - 1, column] = cell
    return frame.astype(float)


def csv_text(content):
    def write(folder):
        (folder / "t.csv").write_text(content)
        schema = pa.schema([("a", pa.float64()), ("b", pa.float64())])
        return ds.dataset(folder / "t.csv", format="csv", schema=schema)

    return write


def csv_format(**form):
    """A csv of another grammar than RFC 4180's."""

    def write(folder):
        TABLE.to_csv(folder / "t.csv", index=False)
        options = ds.CsvFileFormat(parse_options=pa.csv.ParseOptions(**form))
        return ds.dataset(folder / "t.csv", format=options)

    return write


def csv_twice(folder):
    TABLE.to_csv(folder / "t.csv", index=False)
    return ds.dataset([folder / "t.csv"] * 2, format="csv")


def parquet_twice(folder):
    return ds.dataset(parquet(folder, TABLE).files * 2)


def united_twice(folder):
    return ds.dataset([parquet(folder, TABLE)] * 2)


FRAMES = {
    "not numeric": (TABLE.assign(b=SECRET), None, "not numeric: 'b'"),
    "dates": (TABLE.assign(b=pd.Timestamp(2020, 1, 1)), None, "not numeric: 'b'"),
    "null": (TABLE.assign(c=pd.array([None] + [1] * (N - 1), "Int64")), None, "entries.* in 'c'"),
    "nan": (with_cell("e", np.nan), None, "missing='mean'"),
    "inf": (with_cell("e", np.inf), None, "infinite entries in 'e'"),
    "no rows": (TABLE[:0], None, "no rows"),
    "no columns": (TABLE[[]].assign(who=PATIENTS), "who", "0 feature"),
    "unsorted": (TABLE.assign(who=PATIENTS[::-1]), "who", r"X\.sort_by\('who'\)"),
    "unlabelled": (TABLE.assign(who=[*"a" * (N - 1), None]), "who", "missing labels"),
    "float labels": (TABLE.assign(who=PATIENTS / 2), "who", "whole numbers or text"),
    "no such column": (TABLE, "who", "no column of X; it has 'a'"),
    "labels in memory": (TABLE, PATIENTS, "must be the name of the column"),
}
BAD = {
    **{
        name: (partial(parquet, frame=frame), groups, says)
        for name, (frame, groups, says) in FRAMES.items()
    },
    "text in csv": (csv_text(f"a,b\n1,2\n3,{SECRET}\n"), None, "cannot be read"),
    "a cell more": (csv_text(f"a,b\n1,2\n3,4,{SECRET}\n"), None, "cannot be read"),
    "an open mark": (csv_text(f'a,b\n1,2\n3,"{SECRET}\n'), None, "quotation mark"),
    "two lines": (csv_text(f'a,b\n1,2\n"3\n{SECRET}",4\n'), None, "newlines_in_values=True"),
    "escapes": (csv_format(escape_char="\\"), None, "escape_char and double_quote"),
    "single marks": (csv_format(double_quote=False), None, "escape_char and double_quote"),
    "csv twice": (csv_twice, None, "names a file twice"),
    "parquet twice": (parquet_twice, None, "names a file twice"),
    "a dataset twice": (united_twice, None, "names a file twice"),
    "a scanner": (lambda folder: parquet(folder, TABLE).scanner(), None, ONCE),
    "a reader": (lambda folder: parquet(folder, TABLE).scanner().to_reader(), None, ONCE),
}


@pytest.mark.parametrize("case", BAD)
def test_a_table_that_cannot_be_used_is_refused_before_the_charge(case, tmp_path):
    write, groups, says = BAD[case]
    accountant = PrivacyAccountant(10.0, 1e-3, unit="row" if groups is None else "patient")
    pca = DPGauss(2, accountant=accountant, unit=accountant.unit)
    with pytest.raises((ValueError, TypeError), match=says) as caught:
        pca.fit(write(tmp_path), groups=groups)
    assert SECRET not in str(caught.value) and str(N) not in str(caught.value)
    assert caught.value.__context__ is None and caught.value.__cause__ is None
    assert accountant.receipts == () and not hasattr(pca, "components_")


def test_a_table_that_is_sorted_in_memory_is_fitted(tmp_path):
    X = parquet(tmp_path, TABLE.assign(who=PATIENTS[::-1])).sort_by("who")
    pca = DPGauss(2, epsilon=np.inf, unit="patient").fit(X, groups="who")
    assert pca.n_samples_ == len({*PATIENTS})


def test_groups_and_the_unit_go_together(tmp_path):
    X = parquet(tmp_path, TABLE.assign(who=PATIENTS))
    for unit, groups in (("patient", None), ("row", "who")):
        with pytest.raises(ValueError, match="unit="):
            DPGauss(unit=unit).fit(X, groups=groups)


def test_more_rows_than_the_guarantee_is_proven_for_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("skdppca.decomposition.validation.MAX_ROWS", N - 1)
    with pytest.raises(ValueError, match="more than"):
        DPGauss().fit(parquet(tmp_path, TABLE))


def test_columns_are_chosen_by_a_schema_and_an_index_of_pandas_is_no_feature(tmp_path):
    TABLE.set_index(PATIENTS).to_parquet(tmp_path / "t.parquet")
    X = ds.dataset(tmp_path / "t.parquet")
    assert list(DPGauss().fit(X).feature_names_in_) == NAMES
    chosen = X.replace_schema(pa.schema([X.schema.field(name) for name in ("d", "a")]))
    pca = DPGauss(epsilon=np.inf).fit(chosen)
    assert list(pca.feature_names_in_) == ["d", "a"]
    np.testing.assert_allclose(pca.mean_, TABLE[["d", "a"]].mean())


CHANGES = {
    "removed": os.remove,
    "another row": lambda path: pd.concat([TABLE, TABLE[:1]]).to_parquet(path),
    "another number": lambda path: (TABLE + 1).to_parquet(path),
    "other columns": lambda path: TABLE[["a"]].to_parquet(path),
    "no table": lambda path: path.write_text(SECRET),
    "only the time": lambda path: os.utime(path, ns=(1, 1)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changes_after_the_charge_ends_the_fit_and_says_so(
    change, tmp_path, monkeypatch
):
    X, pieces, passes = parquet(tmp_path, TABLE), Files.pieces, []

    def changing(self, *more):
        passes.append(self)
        if len(passes) == 3:
            CHANGES[change](tmp_path / "t.parquet")
        return pieces(self, *more)

    monkeypatch.setattr(Files, "pieces", changing)
    accountant = PrivacyAccountant(10.0, 1e-3)
    pca = DPGauss(2, accountant=accountant)
    with pytest.raises(TableChangedError, match="this fit stays charged") as caught:
        pca.fit(X)
    assert len(passes) == 3 and len(accountant.receipts) == 1
    assert not hasattr(pca, "components_") and not hasattr(pca, "privacy_")
    assert caught.value.__context__ is None and caught.value.__cause__ is None
    assert not any(str(n) in str(caught.value) for n in (N, N + 1, SECRET))


def test_want_of_memory_tells_no_shape(tmp_path, monkeypatch):
    def full(*_):
        raise MemoryError("Unable to allocate 1 GiB for an array with shape (12345, 6)")

    monkeypatch.setattr(reader, "numbers_of", full)
    with pytest.raises(MemoryError) as caught:
        DPGauss().fit(parquet(tmp_path, TABLE))
    assert "12345" not in str(caught.value) and caught.value.__context__ is None


@pytest.mark.parametrize("method", ["GDPPCA", "SmoothSensitivityPCA"])
def test_more_than_sums_is_refused_before_the_charge(method, tmp_path):
    pca = PrivatePCA(2, method=method, accountant=PrivacyAccountant(10.0, 1e-3))
    refused(pca, parquet(tmp_path, TABLE), "needs all of them in one place", kinds=TypeError)


def test_only_fit_reads_a_dataset(tmp_path):
    X = parquet(tmp_path, TABLE)
    pca = DPGauss(2).fit(X)
    for use in (pca.transform, pca.score, pca.score_samples):
        with pytest.raises(TypeError, match="batch by batch"):
            use(X)
    scores = [pca.transform(batch.to_pandas()) for batch in X.to_batches(columns=NAMES)]
    np.testing.assert_array_equal(np.concatenate(scores), pca.transform(TABLE))


def test_the_number_of_records_is_not_read_from_the_files_again(tmp_path):
    passes = []
    files = Files(parquet(tmp_path, TABLE), NAMES, tell=passes.append)
    records = reader.FileRecords.of(files, files.check())
    assert records.through(Shifted(np.ones(len(NAMES)))).total(Count()) == N
    assert passes == [0]


def test_a_small_table_is_read_once_and_gives_the_same_release(tmp_path, monkeypatch):
    passes, pieces = [], Files.pieces
    monkeypatch.setattr(Files, "pieces", lambda *a: passes.append(a) or pieces(*a))
    found = []
    for kept in (N * len(NAMES) - 1, N * len(NAMES)):
        passes.clear()
        monkeypatch.setattr(reader, "KEPT_ENTRIES", kept)
        pca = DPGauss(2, random_state=0).fit(parquet(tmp_path, TABLE))
        found.append((len(passes) == 1, pca.components_.tobytes()))
    assert found == [(False, found[0][1]), (True, found[0][1])]


@pytest.mark.slow
@pytest.mark.parametrize("grouped", [False, True])
def test_memory_does_not_grow_with_rows_or_row_groups(grouped, tmp_path, monkeypatch):
    """A million rows in one row group are 48 MB of numbers; a pass holds a few MB."""
    monkeypatch.setattr(reader, "PIECE_ENTRIES", 2**16)
    monkeypatch.setattr(batches_of_files, "BUFFER_BYTES", 2**20)
    n, pool, held, batches = 1_000_000, pa.default_memory_pool(), [], Files._batches
    frame = pd.DataFrame(RNG.normal(size=(n, len(NAMES))), columns=NAMES)
    X = parquet(tmp_path, frame.assign(who=np.arange(n) // 7), row_group_size=n)
    del frame

    def watched(self):
        for batch in batches(self):
            held.append(pool.bytes_allocated())
            yield batch

    monkeypatch.setattr(Files, "_batches", watched)
    files = Files(X, NAMES, "who" if grouped else None)
    before = pool.bytes_allocated()
    tracemalloc.start()
    records = reader.FileRecords.of(files, files.check())
    records.total(ClippedGram(np.zeros(len(NAMES)), 3.0, grouped=grouped))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 15e6
    assert max(held) - before < 25e6


@pytest.mark.slow
@pytest.mark.parametrize("case", ["DPGauss 1", "KDPPCA 2"])
def test_a_fit_to_a_million_rows_stays_within_600_mb(case, tmp_path, monkeypatch):
    """The benchmark at its small size: what was resident at most in a process of its own."""
    bench_files = load("bench_files")
    monkeypatch.syspath_prepend(BENCHMARKS)  # for the process that it starts
    bench_files.write(tmp_path / "X.parquet", 1_000_000)
    found = bench_files.fresh(bench_files.measured, str(tmp_path / "X.parquet"), case)
    assert found["peak"] < 600e6


def test_row_groups_of_one_file_are_no_file_twice(tmp_path):
    TABLE.to_parquet(tmp_path / "t.parquet", index=False, row_group_size=N // 2)
    whole = next(ds.dataset(tmp_path / "t.parquet").get_fragments())
    parts = [part for part in whole.split_by_row_group()]
    X = ds.FileSystemDataset(parts, whole.physical_schema, whole.format, whole.filesystem)
    assert len(X.files) == 2 and not Files(X, NAMES).names_twice()


@pytest.mark.parametrize("kept", [True, False])
def test_how_many_passes_are_told_does_not_depend_on_how_many_rows_there_are(
    kept, tmp_path, monkeypatch
):
    told = []
    monkeypatch.setattr(reader, "KEPT_ENTRIES", 10**9 if kept else 1)
    files = Files(parquet(tmp_path, TABLE), NAMES, None, told.append)
    records = FileRecords.of(files, files.check(), None, None, False)
    records.total(CountBeyond(Spreads(np.zeros(ROWS.shape[1])), 1.0))
    assert told == [0, 1]
