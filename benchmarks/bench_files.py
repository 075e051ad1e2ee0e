"""Time and memory of a fit to a Parquet file, beside a bare scan of the file.

Run ``python benchmarks/bench_files.py``: it writes a table of 50 000 000 x 50 float32 (11 GB) to
TMPDIR, row groups of 2^20 rows, and removes it at the end; ``--repeats 1000000`` are fewer rows.
Every case is a fresh process. Peak memory is VmHWM of /proc/self/status, the most that was ever
resident, libraries included. A *scan* reads all columns to numpy arrays, batch by batch, as
`pyarrow.parquet.ParquetFile.iter_batches` gives them; *to_batches* is the same through
`pyarrow.dataset.Dataset.to_batches`, which holds row groups. `IncrementalPCA` of scikit-learn is
not private, and reads the table once. The file is in the page cache as far as memory goes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any
from unittest import mock

import numpy as np
from _common import Measured, measure
from timing import fresh, status

FEATURES = 50
ROW_GROUP = 2**20

# Case -> how it is called in the table; a fit's has its threads.
CASES = {
    "scan": "scan, no PCA",
    "to_batches": "to_batches, no PCA",
    "DPGauss 1": "DPGauss",
    "DPGauss 2": "DPGauss, n_jobs=2",
    "PrivatePCA 2": "PrivatePCA, n_jobs=2",
    "KDPPCA 2": "KDPPCA, n_jobs=2",
    "IncrementalPCA": "scikit-learn's IncrementalPCA (NOT PRIVATE)",
}


def write(path: Path, n_rows: int) -> None:
    """Write the table row group by row group."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    schema = pa.schema([(f"x{j}", pa.float32()) for j in range(FEATURES)])
    with pq.ParquetWriter(path, schema) as file:
        for start in range(0, n_rows, ROW_GROUP):
            size = min(ROW_GROUP, n_rows - start)
            columns = [
                rng.standard_normal(size, dtype=np.float32) * (1 + j % 7) for j in range(FEATURES)
            ]
            file.write_table(pa.table(columns, schema=schema), row_group_size=ROW_GROUP)


def batches(path: str) -> Iterator[Any]:
    import pyarrow.parquet as pq

    from skdppca.out_of_core.files import PIECE_ENTRIES

    file = pq.ParquetFile(path, pre_buffer=False, buffer_size=2**18)
    yield from file.iter_batches(PIECE_ENTRIES // FEATURES)


def read(source: Iterator[Any]) -> int:
    """Read all numbers, and return how many passes that was."""
    for batch in source:
        for column in batch.columns:
            column.to_numpy(zero_copy_only=False)
    return 1


def passes(fit: Callable[[], object]) -> int:
    """Call a fit to a file, and count how often it reads the file."""
    from skdppca.out_of_core.files import Files

    with mock.patch.object(Files, "pieces", autospec=True, side_effect=Files.pieces) as pieces:
        fit()
    return pieces.call_count


def incremental(path: str) -> int:
    from sklearn.decomposition import IncrementalPCA

    pca = IncrementalPCA(10)
    for batch in batches(path):
        columns = [column.to_numpy(zero_copy_only=False) for column in batch.columns]
        if len(batch) >= 10:
            pca.partial_fit(np.column_stack(columns))
    return 1


def measured(path: str, case: str) -> dict[str, float]:
    """Run a case in this process."""
    import pyarrow.dataset as ds

    import skdppca

    start = perf_counter()
    if case == "scan":
        count = read(batches(path))
    elif case == "to_batches":
        count = read(ds.dataset(path).to_batches())
    elif case == "IncrementalPCA":
        count = incremental(path)
    else:
        method, n_jobs = case.split()
        pca = getattr(skdppca, method)(10, n_jobs=int(n_jobs))
        count = passes(lambda: pca.fit(ds.dataset(path)))
    return {"peak": status("VmHWM"), "seconds": perf_counter() - start, "passes": count}


def rows(n: int) -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "X.parquet")
        write(path, n)
        found = {case: fresh(measured, str(path), case) for case in CASES}
    bare = found["scan"]["seconds"]
    for case, name in CASES.items():
        count, seconds = found[case]["passes"], found[case]["seconds"]
        yield {
            "what": name,
            "passes": count,
            "seconds": f"{seconds:.1f}",
            "scans": f"{seconds / bare:.1f}",
            "a pass, of a scan": f"{seconds / count / bare:.2f}",
            "peak MB": f"{found[case]['peak'] / 1e6:.0f}",
        }


if __name__ == "__main__":
    told = {"data": f"{{}} x {FEATURES} float32 in Parquet"}
    measure(__doc__, {"files": Measured(rows, 50_000_000, told)})
