"""Memory of a fit to a file that is larger than it may use.

Run ``python benchmarks/bench_memory.py``. A fresh process maps 2000000 x 100 float32 (800 MB) and
fits DPGauss, told nothing. What counts is RssAnon of /proc/self/status, sampled every 5 ms: the
process's own pages, interpreter and libraries' data included. Pages of the mapped file are not in
it: the kernel shows them as RssFile, keeps them as long as nobody needs the memory, and drops them
at no cost; ``ru_maxrss`` cannot tell the two apart.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from threading import Event, Thread
from time import perf_counter

import numpy as np
from _common import machine, save, show

N, D = 2_000_000, 100
TARGET = 300e6


def write(path: Path, n: int) -> None:
    """Write the rows part by part, so that this process stays small too."""
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, D))
    for start in range(0, n, 100_000):
        part = X[start : start + 100_000]
        part[...] = rng.standard_normal(part.shape, dtype=np.float32) + 3
    X.flush()


def own_memory() -> int:
    """Bytes of RssAnon."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return 1024 * int(line.split()[1])
    raise RuntimeError("/proc/self/status has no RssAnon; this benchmark needs Linux 4.5 or newer")


def measure(path: str, n_jobs: int) -> None:
    """Fit in this process and print what it took."""
    from skdppca import DPGauss

    X = np.load(path, mmap_mode="r")
    before = peak = own_memory()
    done = Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.005):
            peak = max(peak, own_memory())

    watcher = Thread(target=watch)
    watcher.start()
    start = perf_counter()
    DPGauss(10, n_jobs=n_jobs).fit(X)
    seconds = perf_counter() - start
    done.set()
    watcher.join()
    most = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"before": before, "peak": peak, "ru_maxrss": most, "seconds": seconds}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=N)
    parser.add_argument("--measure", nargs=2, metavar=("FILE", "N_JOBS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.measure[0], int(options.measure[1]))
        return
    facts = machine()
    size = 4 * options.rows * D
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        free = shutil.disk_usage(folder).free
        if free < 1.5 * size:
            sys.exit(f"{folder} has {free / 1e6:.0f} MB free; set TMPDIR to where 1.2 GB are free")
        path = Path(folder, "X.npy")
        write(path, options.rows)
        for n_jobs in (1, 2):
            command = [sys.executable, __file__, "--measure", str(path), str(n_jobs)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            found = json.loads(done.stdout)
            rows.append(
                {
                    "data": f"{options.rows} x {D} float32, {size / 1e6:.0f} MB",
                    "n_jobs": n_jobs,
                    "peak MB": f"{found['peak'] / 1e6:.0f}",
                    "of it before the fit": f"{found['before'] / 1e6:.0f}",
                    "with the file's pages": f"{found['ru_maxrss'] / 1e6:.0f}",
                    "seconds": f"{found['seconds']:.1f}",
                    "target": f"under {TARGET / 1e6:.0f} MB",
                    "reached": "yes" if found["peak"] < TARGET else "no",
                }
            )
    save("memory", rows, facts)
    show(rows, facts)


if __name__ == "__main__":
    main()
