"""Figure 1 of Kim & Jung (2025): all pairs, disjoint pairs and ours, without privacy.

    python benchmarks/experiments_gdppca/pairs.py                # some minutes
    python benchmarks/experiments_gdppca/pairs.py --draw-only

Gaussian rows, d = 25, n from 250 to 2000; the loss is the Frobenius distance of the two projectors.
The paper's: the law, all pairs (a U-statistic) and n/2 disjoint ones, 1000 repetitions. Chosen
here: 100 repetitions; beside them `GDPPCA`'s incomplete design, 20 pairs a record, and PCA.
The last column is the squared loss over that of all pairs: what leaving some out costs in variance.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # for _steps and experiments_files

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from _steps import top_rows
from experiments_files import experiment, panel, spread
from figures import SIZES, SPECTRUM, K

from skdppca.datasets import make_gaussian
from skdppca.records.pairs import Kernel, complete_sum, cyclic_sum

D, REPEATS, OFFSETS = 25, 100, 10
CELL = ["kernel", "n", "method"]
KERNELS = {"spherical": Kernel(), "winsorized": Kernel(radius=D**0.5)}
ALL = "all pairs"
STYLES = {
    ALL: ("#D55E00", "o"),
    f"{2 * OFFSETS} pairs a record": ("#E69F00", "s"),
    "disjoint pairs": ("#0072B2", "^"),
    "PCA": ("#000000", "x"),
}


def matrices(X: np.ndarray, kernel: Kernel, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """What is decomposed, up to a factor."""
    half = len(X) // 2
    disjoint = kernel.apply(X[half : 2 * half] - X[:half])
    incomplete = cyclic_sum(X, rng.permutation(len(X)), OFFSETS, kernel)
    sums = (complete_sum(X, kernel), incomplete, disjoint.T @ disjoint, np.cov(X.T))
    return dict(zip(STYLES, sums, strict=True))


def distance(V: np.ndarray, W: np.ndarray) -> float:
    """``||V^T V - W^T W||_F`` of orthonormal rows."""
    return float(np.linalg.norm(V.T @ V - W.T @ W))


def measure(repeats: int) -> pd.DataFrame:
    rows = []
    for n in SIZES:
        for repeat in range(repeats):
            rng = np.random.default_rng([n, repeat])
            draw = make_gaussian(n, D, *SPECTRUM, random_state=rng)
            for name, kernel in KERNELS.items():
                for method, matrix in matrices(draw.X, kernel, rng).items():
                    upper = np.triu(matrix)
                    V = top_rows(upper + np.triu(upper, 1).T, K)
                    rows.append((name, n, method, repeat, distance(V, draw.components)))
    return pd.DataFrame(rows, columns=[*CELL, "repeat", "loss"])


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    squares = (rows["loss"] ** 2).groupby([rows[key] for key in CELL]).mean()
    summary = spread(rows, CELL, "loss")
    cells = summary[CELL].itertuples(index=False)
    over = [squares[tuple(cell)] / squares[cell.kernel, cell.n, ALL] for cell in cells]
    return summary.assign(squared_loss_ratio=over)


def draw_figure(summary: pd.DataFrame) -> plt.Figure:
    sheet, axes = plt.subplots(1, len(KERNELS), figsize=(9.5, 3.8), sharey=True)
    for ax, kernel in zip(axes, KERNELS, strict=True):
        for method, (colour, marker) in STYLES.items():
            mine = (summary["kernel"] == kernel) & (summary["method"] == method)
            points = summary[mine]
            error = 1.96 * points["loss_mean_error"]
            ax.errorbar(
                points["n"], points["loss_mean"], error, color=colour, marker=marker, ms=4.5,
                lw=1.4, label=method,
            )  # fmt: skip
        panel(ax, f"{kernel}, d = {D}", "n")
    axes[0].set_ylabel("distance of the projectors, mean")
    axes[-1].legend(frameon=False, fontsize=8)
    sheet.tight_layout()
    return sheet


if __name__ == "__main__":
    experiment(
        __doc__,
        "gdppca_figure_1_summary",
        lambda asked: summarise(measure(asked.repeats)),
        draw_figure,
        repeats=REPEATS,
    )
