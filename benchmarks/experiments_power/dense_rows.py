"""Captured variance on dense Gaussian rows of power-law variances, beside DPGauss.

python benchmarks/experiments_power/dense_rows.py
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from time import perf_counter

sys.path.append(str(Path(__file__).parents[1]))  # for experiments_files

import numpy as np
import pandas as pd
from experiments_files import options, spread

from skdppca import DPGauss, DPPowerMethod
from skdppca.exceptions import SeededNoiseWarning

NAME = "power_dense_rows"
CELL = ["decay", "method"]
N, D, K, EPSILON = 20_000, 1000, 5, 1.0
DECAYS = (1.0, 1.5, 2.0)

METHODS = {
    "DPPowerMethod": (DPPowerMethod, {}),
    "replace-one": (DPPowerMethod, {"adjacency": "replace-one"}),
    "norms": (DPPowerMethod, {"clip": "norm"}),
    "DPGauss": (DPGauss, {}),
}


def main():
    asked = options(__doc__, repeats=5)
    warnings.simplefilter("ignore", SeededNoiseWarning)
    rows = []
    for decay in DECAYS:
        variances = np.arange(1, D + 1.0) ** -decay
        for seed in range(asked.repeats):
            X = np.random.default_rng(seed).normal(size=(N, D)) * np.sqrt(variances)
            for name, (factory, parameters) in METHODS.items():
                pca = factory(K, epsilon=EPSILON, random_state=seed, **parameters)
                started = perf_counter()
                V = pca.fit(X).components_
                seconds = perf_counter() - started
                captured = np.sum(V**2 @ variances) / variances[:K].sum()
                rows.append((decay, name, seed, captured, seconds))
    frame = pd.DataFrame(rows, columns=[*CELL, "seed", "captured", "seconds"])
    summary = summarise(frame)
    summary.to_csv(asked.folder / f"{NAME}_summary.csv", index=False, float_format="%.5g")
    print(summary[[*CELL, "captured_median", "seconds"]].round(4).to_string(index=False))


def summarise(frame):
    seconds = frame.groupby(CELL)["seconds"].median()
    return spread(frame, CELL, "captured").join(seconds, on=CELL)


if __name__ == "__main__":
    main()
