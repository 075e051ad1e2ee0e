"""Memory of a fit to a file that is larger than it may use.

Run ``python benchmarks/bench_memory.py``. A fresh process maps 800 MB of float32 and fits a method,
no public facts: DPGauss 2000000 x 100, the others 1000000 x 200. What counts is RssAnon of
/proc/self/status, sampled every 5 ms: the process's own pages, interpreter and libraries' data
included. Pages of the mapped file are not in it: the kernel shows them as RssFile, keeps them as
long as nobody needs the memory, and drops them at no cost; ``ru_maxrss`` cannot tell the two apart.
"""

from __future__ import annotations

import json
import resource
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from _common import arguments, machine, save
from timing import fresh, status, watched

# Method, rows, columns, threads.
CASES = (
    ("DPGauss", 2_000_000, 100, 1),
    ("DPGauss", 2_000_000, 100, 2),
    ("KDPPCA", 1_000_000, 200, 1),
    ("KDPOjas", 1_000_000, 200, 1),
    ("ResidualGauss", 1_000_000, 200, 1),
)


def write(path: Path, n: int, d: int) -> None:
    """Write the rows part by part, so that this process stays small too."""
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, d))
    for start in range(0, n, 100_000):
        part = X[start : start + 100_000]
        part[...] = rng.standard_normal(part.shape, dtype=np.float32) + 3
    X.flush()


def measure(path: str, method: str, n_jobs: int) -> None:
    """Fit in this process and print what it took."""
    import skdppca

    estimator = getattr(skdppca, method)(10, n_jobs=n_jobs)
    X = np.load(path, mmap_mode="r")
    found = watched(lambda: estimator.fit(X), partial(status, "RssAnon"), 0.005)
    most = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps(found | {"ru_maxrss": most}))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--measure", nargs=3, metavar=("FILE", "METHOD", "N_JOBS"))
    options = parser.parse_args()
    if options.measure:
        path, method, n_jobs = options.measure
        measure(path, method, int(n_jobs))
        return
    facts = machine()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path, written = Path(folder, "X.npy"), None
        for method, n, d, n_jobs in CASES:
            size = 4 * n * d
            if written != (n, d):
                path.unlink(missing_ok=True)
                if shutil.disk_usage(folder).free < 1.5 * size:
                    sys.exit(f"{folder} has no {1.5 * size / 1e9:.1f} GB free; set TMPDIR to more")
                write(path, n, d)
                written = n, d
            found = fresh(__file__, "--measure", path, method, n_jobs)
            rows.append(
                {
                    "method": method,
                    "data": f"{n} x {d} float32, {size / 1e6:.0f} MB",
                    "n_jobs": n_jobs,
                    "peak MB": f"{found['peak'] / 1e6:.0f}",
                    "of it before the fit": f"{found['before'] / 1e6:.0f}",
                    "with the file's pages": f"{found['ru_maxrss'] / 1e6:.0f}",
                    "seconds": f"{found['seconds']:.1f}",
                }
            )
    save("memory", rows, facts)


if __name__ == "__main__":
    main()
