"""Time and memory of SmoothSensitivityPCA on sparse rows, beside forming the Gram matrix.

    OMP_NUM_THREADS=1 python benchmarks/bench_gap_sparse.py [gap|gram]

200000 x 5000 rows, 8 million non-zeros, k = 3; norm_bound public, center=False, variance_share=0.
Without an argument both run, each in a process of its own: the peak is that of all of it, data and
imports included.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time

import numpy as np
from scipy import linalg, sparse

N, D, ENTRIES, K = 200_000, 5000, 40, 3


def rows() -> sparse.csr_array:
    """Every row has 40 entries: one of three that are frequent, and others."""
    rng = np.random.default_rng(0)
    columns = rng.integers(K, D, (N, ENTRIES), dtype=np.int32)
    columns[:, 0] = rng.choice(K, N, p=[0.4, 0.35, 0.25])
    values = rng.uniform(0.5, 1.0, (N, ENTRIES))
    values[:, 0] *= 4
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    starts = np.arange(0, N * ENTRIES + 1, ENTRIES, dtype=np.int32)
    return sparse.csr_array((values.ravel(), columns.ravel(), starts), (N, D))


def measure(what: str) -> None:
    from skdppca import SmoothSensitivityPCA

    X = rows()
    start = time.perf_counter()
    if what == "gap":
        pca = SmoothSensitivityPCA(K, norm_bound=1.0, center=False, variance_share=0.0).fit(X)
        found = pca.components_
    else:
        gram = (X.T @ X).toarray()
        chosen = (D - K, D - 1)
        found = linalg.eigh(gram, subset_by_index=chosen, overwrite_a=True)[1].T
    seconds = time.perf_counter() - start
    share = np.linalg.norm(found[:, :K]) ** 2 / K
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{what:<5} {seconds:6.1f} s {peak:6.0f} MB, of the span {share:.4f}", flush=True)


def main() -> None:
    if len(sys.argv) > 1:
        measure(sys.argv[1])
        return
    for what in ("gap", "gram"):
        subprocess.run([sys.executable, __file__, what], check=True, env=os.environ)


if __name__ == "__main__":
    main()
