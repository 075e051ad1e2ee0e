"""Time and memory of fits on a dask cluster, beside memory and beside other packages.

Run ``python benchmarks/bench_cluster.py``. Every case reads a file of 10000000 x 100 float32 (4 GB;
set TMPDIR) in a fresh process, with two threads or workers at most. Peak memory is the
largest RssAnon of that process and all its children together, sampled every 100 ms: pages of the
mapped file do not count, but what a worker has read of it does.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from _common import Measured, measure
from timing import fresh, status, watched, write

N, D, K = 10_000_000, 100, 10
PARTITION = 100_000


def slices(n: int) -> list[tuple[int, int]]:
    return [(start, min(start + PARTITION, n)) for start in range(0, n, PARTITION)]


def read(path: str, start: int, stop: int) -> np.ndarray:
    """Some rows, in the memory of whoever reads them."""
    return np.array(np.load(path, mmap_mode="r")[start:stop])


def as_dask(path: str, n: int | None = None) -> Any:
    """The file as a dask array that is read partition by partition, in every pass."""
    import dask
    import dask.array as da

    rows, d = np.load(path, mmap_mode="r").shape
    lazy = dask.delayed(read, pure=False)
    return da.concatenate(
        [da.from_delayed(lazy(path, a, b), (b - a, d), np.float32) for a, b in slices(n or rows)]
    )


def in_memory(path: str) -> Callable[[], object]:
    from skdppca import DPGauss

    X = np.load(path)
    return lambda: DPGauss(K, n_jobs=2).fit(X)


def with_threads(path: str) -> Callable[[], object]:
    import dask

    from skdppca import DPGauss

    dask.config.set(scheduler="threads", num_workers=2)
    X = as_dask(path)
    return lambda: DPGauss(K).fit(X)


def with_processes(path: str, n_workers: int, persist: bool = False) -> Callable[[], object]:
    from distributed import Client, wait

    from skdppca import DPGauss

    # until this process ends
    here = {"host": "127.0.0.1", "dashboard_address": None, "memory_limit": 0}
    Client(n_workers=n_workers, threads_per_worker=1, **here)
    DPGauss(K).fit(as_dask(path, 2 * n_workers * PARTITION))  # the workers import what they need
    X = as_dask(path)
    if persist:
        X = X.persist()
        wait(X)
    return lambda: DPGauss(K).fit(X)


def incremental(path: str) -> Callable[[], object]:
    from sklearn.decomposition import IncrementalPCA

    def fit() -> None:
        pca = IncrementalPCA(K)
        for start, stop in slices(np.load(path, mmap_mode="r").shape[0]):
            pca.partial_fit(read(path, start, stop))

    return fit


CASES: dict[str, Callable[[str], Callable[[], object]]] = {
    "DPGauss, array in memory, 2 threads": in_memory,
    "DPGauss, dask, 2 threads": with_threads,
    "DPGauss, dask, 1 process": lambda path: with_processes(path, 1),
    "DPGauss, dask, 2 processes": lambda path: with_processes(path, 2),
    "DPGauss, dask, 2 processes, X persisted": lambda path: with_processes(path, 2, True),
    "scikit-learn IncrementalPCA, not private": incremental,
}


def family(pid: int) -> list[int]:
    """A process and all that it started."""
    found = [pid]
    for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in tasks.read_text().split():
            found += family(int(child))
    return found


def own_memory() -> int:
    """Bytes of RssAnon of this process and its children."""
    total = 0
    for pid in family(os.getpid()):
        with suppress(OSError, RuntimeError):  # it has ended
            total += status("RssAnon", pid)
    return total


def processor_seconds() -> float:
    """Of this process and its children, so far."""
    ticks = 0
    for pid in family(os.getpid()):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])  # user and system
    return ticks / os.sysconf("SC_CLK_TCK")


def measured(case: str, path: str) -> dict[str, float]:
    """Run a case in this process."""
    fit = CASES[case](path)
    used = processor_seconds()
    found = watched(fit, own_memory, 0.1)
    return found | {"processor": processor_seconds() - used}


def rows(n: int) -> Iterator[dict[str, str]]:
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "X.npy")
        write(path, n, D)
        for case in CASES:
            found = fresh(measured, case, str(path), **one_thread)
            yield {
                "case": case,
                "seconds": f"{found['seconds']:.1f}",
                "processor seconds": f"{found['processor']:.1f}",
                "peak MB": f"{found['peak'] / 1e6:.0f}",
            }


if __name__ == "__main__":
    told = {
        "dask": version("dask"),
        "data": f"{{}} x {D} float32, partitions of {PARTITION} rows",
    }
    measure(__doc__, {"cluster": Measured(rows, N, told)})
