"""DPPowerMethod beside DPGauss on sparse rows: captured variance, time, memory.

    python benchmarks/experiments_power/sparse_rows.py                  # minutes: DPGauss is d x d
    python benchmarks/experiments_power/sparse_rows.py --features 2000

Each method runs in a process of its own. Memory is the peak over what the process held before the
fit. Nothing is told of the data but, where it says so, the largest number of non-zeros in a row.
"""

from __future__ import annotations

import multiprocessing
import sys
import warnings
from pathlib import Path
from time import perf_counter

sys.path.append(str(Path(__file__).parents[1]))  # for experiments_files

import numpy as np
import pandas as pd
from _matrices import topics
from _papers import BalcanPowerMethod, NicolasPowerMethod
from experiments_files import options
from scipy.sparse.linalg import svds

from skdppca import DPGauss, DPPowerMethod
from skdppca.exceptions import SeededNoiseWarning

SIZE = {"rows": 100_000, "features": 10_000}
K, EPSILON, LENGTH = 5, 2.0, 50

METHODS = {
    "DPPowerMethod": (DPPowerMethod, {}),
    "replace-one": (DPPowerMethod, {"adjacency": "replace-one"}),
    "norms, tight, D = 50": (DPPowerMethod, {"clip": "norm", "max_nonzero": LENGTH}),
    "norms, tight": (DPPowerMethod, {"clip": "norm"}),
    "norms, nicolas, D = 50": (NicolasPowerMethod, {"clip": "norm", "max_nonzero": LENGTH}),
    "norms, balcan, D = 50": (BalcanPowerMethod, {"clip": "norm", "max_nonzero": LENGTH}),
    "DPGauss": (DPGauss, {}),
}


def peak(reset: bool = False) -> float:
    """Largest resident set so far, or since the last reset, in MB (Linux)."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def one(name: str, n: int, d: int, seed: int, answers) -> None:
    warnings.simplefilter("ignore", SeededNoiseWarning)
    X = topics(n, d, LENGTH)
    factory, parameters = METHODS[name]
    pca = factory(K, epsilon=EPSILON, center=False, random_state=seed, **parameters)
    before, started = peak(reset=True), perf_counter()
    pca.fit(X)
    answers.put((perf_counter() - started, peak() - before, pca.components_))


def main():
    numbers = {name: {"type": int, "default": n} for name, n in SIZE.items()}
    methods = {"nargs": "+", "default": [*METHODS]}
    asked = options(__doc__, **numbers, methods=methods)
    X = topics(asked.rows, asked.features, LENGTH)
    best = np.sum(svds(X, k=K, random_state=0)[1] ** 2)
    rows = []
    context = multiprocessing.get_context("spawn")
    for name in asked.methods:
        answers = context.SimpleQueue()
        told = (name, asked.rows, asked.features, 0, answers)
        process = context.Process(target=one, args=told)
        process.start()
        seconds, memory, V = answers.get()
        process.join()
        captured = np.sum((X @ V.T) ** 2) / best
        rows.append((name, asked.rows, asked.features, captured, seconds, memory))
        print("{}: captured {:.3f}, {:.2f} s, {:.0f} MB".format(name, *rows[-1][3:]), flush=True)
    columns = ["method", "rows", "features", "captured", "seconds", "megabytes"]
    frame = pd.DataFrame(rows, columns=columns)
    frame.to_csv(asked.folder / "power_sparse_rows.csv", index=False, float_format="%.4g")


if __name__ == "__main__":
    main()
