"""Figure 1 of Liu et al. (2022), "DP-PCA": the range of a minibatch's gradients and their mean.

    python benchmarks/experiments/gradients.py
    python benchmarks/experiments/gradients.py --draw-only

The paper's: d = 2, a batch of 400 gradients A_i w (blue) and their mean (red); Gaussian rows on the
left (Remark 3.4), x_i = +-v + n_i with small noise on the right (Example 4.1). Chosen here:
covariance diag(1, 1/4), sigma = 0.1 (the panel "by example"), w at 45 degrees to v. Two circles are
added: what norm clipping adds noise to (Private Oja: around 0, through the longest gradient), and
what a range adds noise to (DP-PCA, and `KDPPCA`: around the mean, through the farthest gradient).

The table has both radii, medians of 100 batches, for more sigma: the right one falls with sigma,
the left one does not.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # for experiments_files

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from experiments_files import experiment, panel

BATCH, BATCHES = 400, 100
W = np.array([1.0, 1.0]) / np.sqrt(2)
GAUSSIAN = "Gaussian rows"
SIGMAS = (0.3, 0.1, 0.03, 0.01)
SHOWN = {GAUSSIAN: "Gaussian rows", "sigma = 0.1": r"Example 4.1, $\sigma$ = 0.1"}


def rows(data: str, rng: np.random.Generator) -> np.ndarray:
    """A batch: Gaussian rows, or signs times v = (1, 0) plus noise."""
    noise = rng.normal(size=(BATCH, 2))
    if data == GAUSSIAN:
        return noise * [1.0, 0.5]
    signs = rng.choice([-1.0, 1.0], size=(BATCH, 1))
    return signs * [1.0, 0.0] + float(data.removeprefix("sigma = ")) * noise


def gradients(data: str, seed: int) -> np.ndarray:
    """``A_i w = x_i (x_i . w)``, shape (400, 2)."""
    X = rows(data, np.random.default_rng(seed))
    return X * (X @ W)[:, None]


def radii(G: np.ndarray) -> tuple[float, float, float]:
    """Length of the mean, of the longest gradient, and the farthest gradient's distance from it."""
    mean = G.mean(axis=0)
    lengths = (np.linalg.norm(rows, axis=1).max() for rows in (mean[None], G, G - mean))
    return tuple(map(float, lengths))


def measure(_: object) -> pd.DataFrame:
    table = []
    for data in (GAUSSIAN, *(f"sigma = {sigma:g}" for sigma in SIGMAS)):
        found = np.median([radii(gradients(data, seed)) for seed in range(BATCHES)], axis=0)
        table.append([data, *(f"{value:.3f}" for value in (*found, found[2] / found[0]))])
    columns = ["rows", "mean", "longest", "farthest from the mean", "farthest / mean"]
    return pd.DataFrame(table, columns=columns)


def draw(_: pd.DataFrame) -> plt.Figure:
    sheet, axes = plt.subplots(1, len(SHOWN), figsize=(9, 4))
    for ax, (data, title) in zip(axes, SHOWN.items(), strict=True):
        G = gradients(data, 0)
        mean, (_, longest, farthest) = G.mean(axis=0), radii(G)
        ax.plot(*G.T, ".", color="#0072B2", ms=3, alpha=0.6, label="gradients")
        ax.annotate("", mean, (0, 0), arrowprops={"arrowstyle": "-|>", "color": "#D55E00", "lw": 2})
        ax.plot([], [], color="#D55E00", lw=2, label="their mean")
        for centre, radius, style, label in (
            ((0, 0), longest, "--", "norm clipping"),
            (mean, farthest, "-", "range"),
        ):
            circle = plt.Circle(
                centre, radius, fill=False, color="#444444", ls=style, lw=1, label=label
            )
            ax.add_patch(circle)
        reach = 1.1 * max(longest, farthest + np.abs(mean).max())
        ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
        panel(ax, title)
    handles, labels = axes[-1].get_legend_handles_labels()
    sheet.legend(handles, labels, loc="center right", frameon=False, fontsize=8)
    sheet.tight_layout(rect=(0, 0, 0.85, 1))
    return sheet


if __name__ == "__main__":
    experiment(__doc__, "liu_figure_1", measure, draw)
