"""Error against the share of outliers, and the breakdown points of Kim & Jung (2025).

    python benchmarks/experiments_gdppca/contamination.py        # some minutes
    python benchmarks/experiments_gdppca/contamination.py --draw-only

n = 2000, d = 10, eigenvalues 10, 5, 1, ..., 1, two components. Two ways to contaminate: the paper's
cluster (`make_contaminated`); and a line, rows 1000 z u with Gaussian z and u orthogonal to the
components, where outliers that meet each other harm as much as those that meet others. Private
lines have epsilon 1, delta 1e-5, replace-one.

Marked, from the eigenvalues phi of the clean rows' Kendall matrix (spherical, so ||g|| = 1):

- Theorem 3.3: no breakdown below (phi_2 - phi_3) / 8, whatever the outliers are.
- Theorem 3.4: where its term alpha (2 - alpha) (1 + 1/phi_1) phi_1/(phi_2 - phi_3) is 1, so that
  the bound says nothing. The theorem leaves a constant open; here it is 1.
- The line must win where 1 - (1 - alpha)^2, the share of pairs with an outlier, makes its direction
  overtake component 2: alpha = 1 - (1 + phi_2 - phi_3)^(-1/2).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import sqrt
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # for baselines and experiments_files

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from baselines._common import top_rows
from experiments_files import DRAW_ONLY, options, spread
from figures import DELTA, OURS, SPECTRUM, K, without_warnings

from skdppca import DPGauss
from skdppca.datasets import Draw, make_contaminated, make_gaussian
from skdppca.metrics import sin_theta
from skdppca.records.pairs import Kernel, complete_sum

NAME, N, D, EPSILON, REPEATS, FAR = "gdppca_contamination", 2000, 10, 1.0, 20, 1000.0
CELL = ["outliers", "share", "method"]
SHARES = (0.0, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3)
NO_PRIVACY = " (no privacy)"

PRIVATE: dict[str, Callable] = {
    "GDPPCA spherical": OURS["GDPPCA spherical"],
    "GDPPCA private centre": OURS["GDPPCA private centre"],
    "DPGauss spherical": lambda d: DPGauss(K, clip="spherical"),
}
STYLES = {
    "Kendall" + NO_PRIVACY: ("#D55E00", ":", "o"),
    "PCA" + NO_PRIVACY: ("#000000", ":", "x"),
    "GDPPCA spherical": ("#D55E00", "-", "o"),
    "GDPPCA private centre": ("#CC79A7", "-", "^"),
    "DPGauss spherical": ("#009E73", "-", "D"),
}


def cluster(share: float, rng: np.random.Generator) -> Draw:
    return make_contaminated(N, D, *SPECTRUM, fraction=share, random_state=rng)


def line(share: float, rng: np.random.Generator) -> Draw:
    draw = make_gaussian(N, D, *SPECTRUM, random_state=rng)
    u = rng.normal(size=D)
    u -= draw.components.T @ (draw.components @ u)
    count = round(share * N)
    draw.X[:count] = FAR * rng.normal(size=(count, 1)) * (u / np.linalg.norm(u))
    return draw


OUTLIERS: dict[str, Callable[[float, np.random.Generator], Draw]] = {
    "cluster": cluster,
    "line": line,
}


def kendall(X: np.ndarray) -> np.ndarray:
    upper = np.triu(complete_sum(X, Kernel())) * 2 / (len(X) * (len(X) - 1))
    return upper + np.triu(upper, 1).T


def components(X: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    found = {
        "Kendall" + NO_PRIVACY: top_rows(kendall(X), K),
        "PCA" + NO_PRIVACY: top_rows(np.cov(X, rowvar=False), K),
    }
    told = {"epsilon": EPSILON, "delta": DELTA, "adjacency": "replace-one", "random_state": seed}
    for name, build in PRIVATE.items():
        found[name] = without_warnings(build(D).set_params(**told).fit, X).components_
    return found


def measure(repeats: int) -> pd.DataFrame:
    rows = []
    for number, (name, contaminate) in enumerate(OUTLIERS.items()):
        for share in SHARES:
            for repeat in range(repeats):
                rng = np.random.default_rng([number, round(share * N), repeat])
                draw = contaminate(share, rng)
                for method, V in components(draw.X, int(rng.integers(2**32))).items():
                    rows.append((name, share, method, repeat, sin_theta(V, draw.components)))
    return pd.DataFrame(rows, columns=[*CELL, "repeat", "sin_theta"])


def breakdown_points() -> pd.DataFrame:
    """Shares of outliers that the theorems name, of one clean draw."""
    X = make_gaussian(N, D, *SPECTRUM, random_state=0).X
    phi = np.linalg.eigvalsh(kendall(X))[::-1]
    gap = phi[K - 1] - phi[K]
    points = {
        "Theorem 3.3": gap / 8,
        "Theorem 3.4": 1 - sqrt(1 - gap / (1 + phi[0])),
        "a line must win": 1 - 1 / sqrt(1 + gap),
    }
    return pd.DataFrame({"what": points.keys(), "share": points.values()})


def draw_figure(summary: pd.DataFrame, points: pd.DataFrame, path: Path) -> None:
    sheet, axes = plt.subplots(1, len(OUTLIERS), figsize=(11.5, 4.2), sharey=True)
    for ax, outliers in zip(axes, OUTLIERS, strict=True):
        for method, (colour, dashes, marker) in STYLES.items():
            mine = (summary["outliers"] == outliers) & (summary["method"] == method)
            at = summary[mine]
            ax.errorbar(
                at["share"], at["sin_theta_mean"], 1.96 * at["sin_theta_mean_error"],
                color=colour, ls=dashes, marker=marker, ms=4.5, lw=1.4, label=method,
            )  # fmt: skip
        for name, share in points.itertuples(index=False):
            ax.axvline(share, color="#888888", lw=0.9, ls=(0, (4, 3)))
            side = "left" if name == points["what"].iloc[-1] else "right"
            ax.text(share, 0.45, f" {name} ", rotation=90, fontsize=7, color="#444444", ha=side)
        ax.set_xlabel(f"share of outliers: a {outliers}")
        ax.grid(color="#e4e4e4", linewidth=0.7)
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_ylim(0, 1.02)
    axes[0].set_ylabel("sin-theta error, mean and 95 % interval")
    handles, labels = axes[0].get_legend_handles_labels()
    sheet.legend(handles, labels, loc="center right", frameon=False, fontsize=8)
    sheet.tight_layout(rect=(0, 0, 0.82, 1))
    sheet.savefig(path, dpi=110)
    plt.close(sheet)


def main() -> None:
    asked = options(__doc__, repeats=REPEATS, draw_only=DRAW_ONLY)
    folder = asked.folder
    saved, marks = folder / f"{NAME}_summary.csv", folder / f"{NAME}_points.csv"
    if not asked.draw_only:
        rows = measure(asked.repeats)
        spread(rows, CELL, "sin_theta").to_csv(saved, index=False, float_format="%.6g")
        breakdown_points().to_csv(marks, index=False, float_format="%.4g")
    draw_figure(pd.read_csv(saved), pd.read_csv(marks), folder / f"{NAME}.png")


if __name__ == "__main__":
    main()
