"""DPPowerMethod beside DPGauss on sparse rows: captured variance, time, memory.

    python benchmarks/experiments_power/sparse_rows.py          # minutes: DPGauss is d x d

Each method runs in a process of its own. Memory is the peak over what the process held before the
fit. Nothing is told of the data but, where it says so, the largest number of non-zeros in a row.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

sys.path.append(str(Path(__file__).parents[1]))  # for _common and timing

import numpy as np
from _common import Measured, measure
from _matrices import topics
from _papers import BalcanPowerMethod, NicolasPowerMethod
from scipy.sparse.linalg import svds
from timing import fresh, status

from skdppca import DPGauss, DPPowerMethod

N, D, K, EPSILON, LENGTH = 100_000, 10_000, 5, 2.0, 50

METHODS = {
    "DPPowerMethod": (DPPowerMethod, {}),
    "replace-one": (DPPowerMethod, {"adjacency": "replace-one"}),
    "norms, tight, D = 50": (DPPowerMethod, {"clip": "norm", "max_nonzero": LENGTH}),
    "norms, tight": (DPPowerMethod, {"clip": "norm"}),
    "norms, nicolas, D = 50": (NicolasPowerMethod, {"clip": "norm", "max_nonzero": LENGTH}),
    "norms, balcan, D = 50": (BalcanPowerMethod, {"clip": "norm", "max_nonzero": LENGTH}),
    "DPGauss": (DPGauss, {}),
}


def one(name: str) -> dict[str, float]:
    """Fit in this process."""
    X = topics(N, D, LENGTH)
    factory, parameters = METHODS[name]
    pca = factory(K, epsilon=EPSILON, center=False, random_state=0, **parameters)
    Path("/proc/self/clear_refs").write_text("5")  # VmHWM begins anew
    before, start = status("VmHWM"), perf_counter()
    pca.fit(X)
    found = {"seconds": perf_counter() - start, "memory": status("VmHWM") - before}
    return found | {"captured": float(np.sum((X @ pca.components_.T) ** 2))}


def rows(_: int) -> Iterator[dict[str, object]]:
    best = np.sum(svds(topics(N, D, LENGTH), k=K, random_state=0)[1] ** 2)
    for name in METHODS:
        found = fresh(one, name)
        yield {
            **{"method": name, "rows": N, "features": D},
            "captured": f"{found['captured'] / best:.4g}",
            "seconds": f"{found['seconds']:.4g}",
            "megabytes": f"{found['memory'] / 2**20:.4g}",
        }


if __name__ == "__main__":
    measure(__doc__, {"power_sparse_rows": Measured(rows)})
