"""Captured variance on dense Gaussian rows of power-law variances, beside DPGauss.

python benchmarks/experiments_power/dense_rows.py
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd

from skdppca import DPGauss, DPPowerMethod
from skdppca.exceptions import SeededNoiseWarning

RESULTS = Path(__file__).parents[2] / "doc" / "experiments"
N, D, K, EPSILON = 20_000, 1000, 5, 1.0
DECAYS = (1.0, 1.5, 2.0)

METHODS = {
    "DPPowerMethod": (DPPowerMethod, {}),
    "replace-one": (DPPowerMethod, {"adjacency": "replace-one"}),
    "norms": (DPPowerMethod, {"clip": "norm"}),
    "DPGauss": (DPGauss, {}),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=RESULTS, help="where the csv goes")
    options = parser.parse_args()
    warnings.simplefilter("ignore", SeededNoiseWarning)
    rows = []
    for decay in DECAYS:
        variances = np.arange(1, D + 1.0) ** -decay
        for seed in range(options.repeats):
            X = np.random.default_rng(seed).normal(size=(N, D)) * np.sqrt(variances)
            for name, (factory, parameters) in METHODS.items():
                pca = factory(K, epsilon=EPSILON, random_state=seed, **parameters)
                started = perf_counter()
                V = pca.fit(X).components_
                seconds = perf_counter() - started
                captured = np.sum(V**2 @ variances) / variances[:K].sum()
                rows.append((decay, name, seed, captured, seconds))
    columns = ["decay", "method", "seed", "captured", "seconds"]
    frame = pd.DataFrame(rows, columns=columns)
    frame.to_csv(options.folder / "power_dense_rows.csv", index=False, float_format="%.5g")
    table = frame.groupby(["decay", "method"], sort=False)[["captured", "seconds"]].median()
    print(table.round(4).to_string())


if __name__ == "__main__":
    main()
