"""How much smaller the bound of Nicolas et al. (2025) is: their Table 2, and Figure 3.

    python benchmarks/experiments_power/coherence.py --data FOLDER   # or SKDPPCA_DATA; 4 minutes
    python benchmarks/experiments_power/coherence.py --draw-only

Table 2, on the matrices at hand: mu_0 and mu_1, the largest entry and the longest row of the
eigenvectors of ``R^T diag(1 / deg) R``; the prior bound ``mu_0 sqrt(p ln n)`` over sqrt p, and the
paper's mu_1. All eigenvectors are an orthogonal matrix, whose rows have length 1: mu_1 is 1 on
every matrix, and says nothing. So the last rows have what the noise of a run follows: with
p = 32 and L = 3 passes without noise, the largest ``sqrt p max |X_ij|`` and ``max ||X_i||``.

Figure 3: the ratio r(k, n) of ``sqrt k max |X_ij|`` to ``max ||X_i||`` for the random start, and
their Approximation C.1, which takes squares of Gaussians for Gaussians; beside it the same with the
quantiles of chi-squared. The paper's: n = 8000 and 12000, k = 64, 128, ..., 4000, 5 runs. Chosen
here: the first k columns of one QR serve for every k, so points of a run are not independent.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from math import log, sqrt
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # for experiments_files and _steps

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from _matrices import GENERATED, SAVED, load
from _methods import L, P, weighted
from _papers import largest_entry
from _steps import power_iterations
from experiments_files import DATA, experiment, panel
from scipy.stats import chi2

from skdppca.statistics.products import coherence

SIZES, MOST, STEP, RUNS = (8000, 12_000), 4000, 64, 5
LINES = {
    "ratio": ("measured", "o", "#D55E00"),
    "approximation": ("Approximation C.1", "-", "#0072B2"),
    "chi_squared": ("quantiles of chi-squared", "--", "#000000"),
}


def table(data: Path | None) -> pd.DataFrame:
    """One column a matrix."""
    columns = {}
    for name in (*SAVED, GENERATED):
        X = load(name, data)
        if X is None:
            print(f"{name}: no file, left out")
            continue
        users, items = X.shape
        scaled = weighted(X, 1)
        U = np.linalg.eigh((scaled.T @ scaled).toarray())[1].T
        mu_0, mu_1 = float(np.abs(U).max()), coherence(U)
        seen = directions_of_a_run(scaled)
        columns[name] = {
            "users": users,
            "items": items,
            "interactions": X.nnz,
            "mu_0": f"{mu_0:.2f}",
            "mu_1, their bound": f"{mu_1:.2f}",
            "prior bound / sqrt p": f"{mu_0 * sqrt(log(items)):.2f}",
            "prior bound, p = 32": f"{mu_0 * sqrt(P * log(items)):.2f}",
            "in a run, their bound": f"{max(map(coherence, seen)):.2f}",
            "in a run, prior bound": f"{max(map(largest_entry, seen)):.2f}",
        }
    return pd.DataFrame(columns).rename_axis("data").reset_index()


def directions_of_a_run(rows) -> list[np.ndarray]:
    """What the passes multiply by, the random start first."""
    seen: list[np.ndarray] = []

    def product(Q: np.ndarray) -> np.ndarray:
        seen.append(Q.T)
        return rows.T @ (rows @ Q)

    power_iterations(product, rows.shape[1], P, L, np.random.default_rng(0))
    return seen


def ratios(n: int, runs: int) -> pd.DataFrame:
    """r(k, n): measured, approximated, and with the quantiles of chi-squared."""
    sizes = np.arange(STEP, MOST + 1, STEP)
    tops = np.zeros((2, len(sizes)))
    for run in range(runs):
        entries = np.random.default_rng([n, run]).normal(size=(n, MOST))
        squares = np.linalg.qr(entries)[0] ** 2
        largest = np.maximum.accumulate(squares.max(axis=0))[sizes - 1]
        rows = np.cumsum(squares, axis=1, out=squares)[:, sizes - 1].max(axis=0)
        tops += np.sqrt([sizes * largest, rows]) / runs
    return pd.DataFrame(
        {
            "n": n,
            "k": sizes,
            "ratio": tops[0] / tops[1],
            "approximation": [approximation(k, n) for k in sizes],
            "chi_squared": np.sqrt(sizes * chi2.isf(1 / (sizes * n), 1) / chi2.isf(1 / n, sizes)),
        }
    )


def approximation(k: int, n: int) -> float:
    """Approximation C.1."""
    mu = n / (n - 2)
    sigma = sqrt(2 * n**2 * (n - 1) / ((n - 2) ** 2 * (n - 4)))
    prior = sigma * k / n * sqrt(2 * log(k * n)) + k * mu / n
    ours = sigma * sqrt(k) / n * sqrt(2 * log(n)) + k * mu / n
    return sqrt(prior / ours)


def draw(found: pd.DataFrame) -> plt.Figure:
    sheet, axes = plt.subplots(1, len(SIZES), figsize=(9, 3.6), sharey=True)
    for ax, n in zip(axes, SIZES, strict=True):
        mine = found[found["n"] == n]
        for column, (label, style, colour) in LINES.items():
            ax.plot(mine["k"], mine[column], style, color=colour, ms=2.5, lw=1.4, label=label)
        panel(ax, f"n = {n}", "directions k")
        ax.set_ylim(0, 1.1 * found["ratio"].max())
    axes[0].set_ylabel("prior bound over theirs, random start")
    axes[-1].legend(frameon=False, fontsize=8)
    sheet.tight_layout()
    return sheet


def measure(asked: Namespace) -> pd.DataFrame:
    found = table(asked.data)
    found.to_csv(asked.folder / "power_coherence.csv", index=False)
    print(found.to_string(index=False))
    return pd.concat([ratios(n, asked.repeats) for n in SIZES])


if __name__ == "__main__":
    experiment(__doc__, "power_bounds_ratio_summary", measure, draw, repeats=RUNS, data=DATA)
