"""Readers that wait: what is in memory follows from blocks, pages and batches, not from rows."""

import gzip
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from skdppca import DPGauss, PrivacyAccountant
from skdppca.out_of_core import batches as reader
from skdppca.out_of_core import files
from skdppca.out_of_core.files import Files

from ..secret_rows import refused

NAMES = list("abcd")
FLOATS = pa.schema([(name, pa.float64()) for name in NAMES])
BLOCK = 2**15

# A cell that no message may quote.
SECRET = "s3cret"


def table(n, seed=0):
    rows = np.random.default_rng(seed).normal(size=(n, len(NAMES)))
    return pa.table(list(rows.T), schema=FLOATS)


def written(folder, kind, rows):
    """A file whose blocks, record batches and pages hold some 10 kB."""
    path = folder / f"t.{kind}"
    if kind == "csv":
        csv.write_csv(rows, path)
        form = ds.CsvFileFormat(read_options=csv.ReadOptions(block_size=BLOCK))
        return ds.dataset(path, format=form, schema=FLOATS)
    if kind == "arrow":
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, FLOATS) as writer:
            writer.write_table(rows, max_chunksize=1000)
        return ds.dataset(path, format="ipc")
    pq.write_table(rows, path, row_group_size=2000, use_dictionary=False)
    return ds.dataset(path)


@pytest.mark.slow
@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize("kind", ["csv", "arrow", "parquet"])
def test_nothing_is_read_on_while_a_slow_user_has_a_batch(kind, filtered, tmp_path, monkeypatch):
    """Of a csv 32 blocks wait, and few more are at work; of others, two batches are held."""
    monkeypatch.setattr(files, "PIECE_ENTRIES", 1000 * len(NAMES))
    monkeypatch.setattr(reader, "BUFFER_BYTES", 2**16, raising=False)
    X = written(tmp_path, kind, table(250_000))
    X = X.filter(ds.field("a") > -1e9) if filtered else X
    pool, n_rows, most = pa.default_memory_pool(), 0, 0
    before = pool.bytes_allocated()
    for batch in Files(X, NAMES)._batches():
        n_rows += len(batch)
        time.sleep(0.003)
        most = max(most, pool.bytes_allocated() - before)
    assert n_rows == 250_000
    assert most < 50 * BLOCK


FILTERS = {
    "none": None,
    "a feature": ds.field("a") > 1.5,
    "no feature": ds.field("b") != "y",
    "a folder": ds.field("k") == 2,
    "several": (ds.field("b") != "y") & (ds.field("a") > 1) & (ds.field("k") < 3),
    "nothing left": ds.field("a") > 9,
}


@pytest.mark.parametrize("columns", [["k"], ["a", "k"], ["absent"], ["k", "a", "absent"]])
@pytest.mark.parametrize("keep", FILTERS)
@pytest.mark.parametrize("kind", ["csv", "ipc", "parquet"])
def test_rows_are_those_that_pyarrow_reads_as_a_whole(kind, keep, columns, tmp_path):
    """Features stand in files, in names of folders, or in neither."""
    rows = pa.table({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "z"]})
    for k in (1, 2, 3):
        ds.write_dataset(rows, tmp_path / f"k={k}", format=kind)
    kinds = {"a": pa.float64(), "b": pa.string(), "k": pa.int32(), "absent": pa.float64()}
    schema = pa.schema(list(kinds.items()))
    X = ds.dataset(tmp_path, format=kind, partitioning="hive", schema=schema)
    if FILTERS[keep] is not None:
        X = X.filter(FILTERS[keep])
    found = pa.Table.from_batches(reader.batches(X, columns), X.to_table(columns=columns).schema)
    assert found.equals(X.to_table(columns=columns))


def test_a_filter_keeps_the_order_of_groups(tmp_path):
    rows = table(40_000).append_column("who", pa.array(np.arange(40_000) // 3))
    pq.write_table(rows, tmp_path / "t.parquet", row_group_size=7000)
    X = ds.dataset(tmp_path / "t.parquet").filter(ds.field("a") > 0)
    assert not Files(X, NAMES, "who").check().unsorted


@pytest.mark.parametrize("typed", [False, True])
def test_text_in_the_last_block_of_a_csv_is_refused_before_the_charge(typed, tmp_path):
    lines = ["a,b,c,d", *["1,1,1,1"] * 90, f"1,1,1,{SECRET}", ""]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    form = ds.CsvFileFormat(read_options=csv.ReadOptions(block_size=60))
    X = ds.dataset(tmp_path / "t.csv", format=form, schema=FLOATS if typed else None)
    pca = DPGauss(2, accountant=PrivacyAccountant(10.0, 1e-3))
    assert SECRET not in refused(pca, X, "cannot be read", kinds=ValueError)


@pytest.mark.parametrize("kind", ["csv", "arrow"])
@pytest.mark.parametrize("filtered", [False, True])
def test_kept_or_read_again_or_in_memory_a_seeded_fit_has_the_same_bits(
    kind, filtered, tmp_path, monkeypatch
):
    rows = table(5000)
    X, found = written(tmp_path, kind, rows), set()
    if filtered:
        X = X.filter(ds.field("b") < 1)
        rows = rows.filter(ds.field("b") < 1)
    for kept in (0, 10**9):
        monkeypatch.setattr(files, "KEPT_ENTRIES", kept)
        found.add(DPGauss(2, random_state=0).fit(X).components_.tobytes())
    found.add(DPGauss(2, random_state=0).fit(rows.to_pandas()).components_.tobytes())
    assert len(found) == 1


def test_a_csv_that_is_compressed_is_read(tmp_path):
    frame = table(100).to_pandas()
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(frame.to_csv(index=False).encode()))
    X = ds.dataset(tmp_path / "t.csv.gz", format="csv", schema=FLOATS)
    found = pa.Table.from_batches(reader.batches(X, NAMES)).to_pandas()
    pd.testing.assert_frame_equal(found, frame)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_a_csv_in_another_encoding_is_refused_and_no_column_is_taken_for_empty(encoding, tmp_path):
    """Pyarrow keeps the encoding of a dataset to itself."""
    (tmp_path / "t.csv").write_text("größe,b\n1,2\n", encoding=encoding)
    form = ds.CsvFileFormat(read_options=csv.ReadOptions(encoding=encoding))
    X = ds.dataset(tmp_path / "t.csv", format=form)
    with pytest.raises(ValueError, match="UTF-8"):
        DPGauss(1, missing="mean").fit(X)
