"""Captured variance on dense Gaussian rows of power-law variances, beside DPGauss.

python benchmarks/experiments_power/dense_rows.py
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

sys.path.append(str(Path(__file__).parents[1]))  # for _common

import numpy as np
from _common import Measured, measure

from skdppca import DPGauss, DPPowerMethod

N, D, K, EPSILON = 20_000, 1000, 5, 1.0
DECAYS = (1.0, 1.5, 2.0)
METHODS = {
    "DPPowerMethod": (DPPowerMethod, {}),
    "replace-one": (DPPowerMethod, {"adjacency": "replace-one"}),
    "norms": (DPPowerMethod, {"clip": "norm"}),
    "DPGauss": (DPGauss, {}),
}


def drawn(decay: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and their variances."""
    variances = np.arange(1, D + 1.0) ** -decay
    return np.random.default_rng(seed).normal(size=(N, D)) * np.sqrt(variances), variances


def fitted(name: str, X: np.ndarray, variances: np.ndarray, seed: int) -> tuple[float, float]:
    """What a fit captures, and its seconds."""
    factory, parameters = METHODS[name]
    pca, started = factory(K, epsilon=EPSILON, random_state=seed, **parameters), perf_counter()
    V = pca.fit(X).components_
    seconds = perf_counter() - started
    return float(np.sum(V**2 @ variances) / variances[:K].sum()), seconds


def rows(repeats: int) -> Iterator[dict[str, object]]:
    for decay in DECAYS:
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in METHODS}
        for seed in range(repeats):
            data = drawn(decay, seed)
            for name, pairs in found.items():
                pairs.append(fitted(name, *data, seed))
        for name, pairs in found.items():
            captured, seconds = np.median(pairs, axis=0)
            told = {"decay": decay, "method": name, "trials": repeats}
            yield told | {"captured_median": f"{captured:.5g}", "seconds": f"{seconds:.5g}"}


if __name__ == "__main__":
    measure(__doc__, {"power_dense_rows_summary": Measured(rows, 5)})
