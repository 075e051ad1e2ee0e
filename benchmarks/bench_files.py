"""Time and memory of a fit to a Parquet file, beside a bare scan of the file.

Run ``python benchmarks/bench_files.py``: it writes a table of 50 000 000 x 50 float32 (11 GB) to
TMPDIR, row groups of 2^20 rows, and removes it at the end; ``--rows 1000000`` makes a small one.
Every case is a fresh process. Peak memory is VmHWM of /proc/self/status, the most that was ever
resident, libraries included. A *scan* reads all columns to numpy arrays, batch by batch, as
`pyarrow.parquet.ParquetFile.iter_batches` gives them; *to_batches* is the same through
`pyarrow.dataset.Dataset.to_batches`, which holds row groups. `IncrementalPCA` of scikit-learn is
not private, and reads the table once. The file is in the page cache as far as memory goes.
"""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from _common import arguments, machine, save, show
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

    from skdppca.records.files import PIECE_ENTRIES

    file = pq.ParquetFile(path, pre_buffer=False, buffer_size=2**18)
    yield from file.iter_batches(PIECE_ENTRIES // FEATURES)


def read(source: Iterator[Any]) -> int:
    """Read all numbers, and return how many passes that was."""
    for batch in source:
        for column in batch.columns:
            column.to_numpy(zero_copy_only=False)
    return 1


def fit(path: str, method: str, n_jobs: int) -> int:
    """Fit, and return the number of passes."""
    import pyarrow.dataset as ds

    import skdppca
    from skdppca.records.files import Files

    passes, pieces = 0, Files.pieces

    def counted(self: Files, *more: Any) -> Any:
        nonlocal passes
        passes += 1
        return pieces(self, *more)

    Files.pieces = counted
    getattr(skdppca, method)(10, n_jobs=n_jobs).fit(ds.dataset(path))
    return passes


def incremental(path: str) -> int:
    from sklearn.decomposition import IncrementalPCA

    pca = IncrementalPCA(10)
    for batch in batches(path):
        columns = [column.to_numpy(zero_copy_only=False) for column in batch.columns]
        if len(batch) >= 10:
            pca.partial_fit(np.column_stack(columns))
    return 1


def measure(path: str, case: str) -> None:
    """Run a case in this process and print what it took."""
    import pyarrow.dataset as ds

    import skdppca  # noqa: F401

    warnings.simplefilter("ignore")
    start = perf_counter()
    if case == "scan":
        passes = read(batches(path))
    elif case == "to_batches":
        passes = read(ds.dataset(path).to_batches())
    elif case == "IncrementalPCA":
        passes = incremental(path)
    else:
        method, n_jobs = case.split()
        passes = fit(path, method, int(n_jobs))
    seconds = perf_counter() - start
    print(json.dumps({"peak": status("VmHWM"), "seconds": seconds, "passes": passes}))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--measure", nargs=2, metavar=("FILE", "CASE"))
    options = parser.parse_args()
    if options.measure:
        measure(*options.measure)
        return
    facts = machine()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "X.parquet")
        write(path, options.rows)
        size = f"{options.rows} x {FEATURES} float32, {path.stat().st_size / 1e9:.1f} GB"
        facts["data"] = f"{size} in Parquet"
        found = {case: fresh(__file__, "--measure", path, case) for case in CASES}
    bare = found["scan"]["seconds"]
    rows = [
        {
            "what": name,
            "passes": found[case]["passes"],
            "seconds": f"{found[case]['seconds']:.1f}",
            "scans": f"{found[case]['seconds'] / bare:.1f}",
            "a pass, of a scan": f"{found[case]['seconds'] / found[case]['passes'] / bare:.2f}",
            "peak MB": f"{found[case]['peak'] / 1e6:.0f}",
        }
        for case, name in CASES.items()
    ]
    if options.rows == parser.get_default("rows"):
        save("files", rows, facts)
    else:
        show(rows, facts)


if __name__ == "__main__":
    main()
