"""Figures 2 to 5 of Kim & Jung (2025): mean sin-theta error on three laws, beside their baselines.

    python benchmarks/experiments_gdppca/figures.py                       # 100 repeats, an hour
    python benchmarks/experiments_gdppca/figures.py --figures 5 --repeats 20
    python benchmarks/experiments_gdppca/figures.py --nsggd 20            # below; ten minutes more
    python benchmarks/experiments_gdppca/figures.py --draw-only           # from the summaries

Figures 2, 3 and 4: Gaussian, t_1 and contaminated Gaussian rows at epsilon 0.5, delta 1e-5, n from
250 to 2000, d = 5, 10, 25. Figure 5: all three at n = 2000, d = 10, epsilon from 0.1 to 4. The
eigenvalues are 10, 5, 1, ..., 1, two components are asked for, a record is exchanged (replace-one).
The paper's vectors are along the axes, here the space is turned at random; no method sees that.

Every cell is kept as soon as it is known, and seeded by its place, so that a run can be stopped and
goes on where it was. The picture and its summary, one row a point, go into ``doc/experiments/``.
NSGGD takes n^2 steps and is
left out beyond n = 500, but for Figure 5: ``--nsggd REPEATS`` runs all its cells and repeats at
once, as printed and with the gradient's sign turned.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # for baselines and experiments_files

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from _common import SAVE, kept
from baselines import analyze_gauss_max, g_dppca, nsggd, nsggd_chains, sgpca
from bench_gdppca import COMPONENTS_ONLY, SPECTRUM, K
from experiments_files import DRAW_ONLY, PUBLISHED, RAW, options, panel, spread

from skdppca import GDPPCA, DPGauss
from skdppca.datasets import Draw, make_contaminated, make_elliptical, make_gaussian
from skdppca.metrics import sin_theta

COLUMNS = ["law", "n", "d", "epsilon", "method", "repeat", "sin_theta"]
DELTA = 1e-5
SIZES, DIMENSIONS = (250, 500, 750, 1000, 1500, 2000), (5, 10, 25)
EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
NSGGD_MAX_N = 500
NOT_PRIVATE = " (not private)"

LAWS: dict[str, Callable] = {
    "Gaussian": make_gaussian,
    "t_1": lambda *args, **more: make_elliptical(*args, df=1, **more),
    "5 % contaminated": make_contaminated,
}
FIGURES = {
    2: [("Gaussian", n, d, 0.5) for d in DIMENSIONS for n in SIZES],
    3: [("t_1", n, d, 0.5) for d in DIMENSIONS for n in SIZES],
    4: [("5 % contaminated", n, d, 0.5) for d in DIMENSIONS for n in SIZES],
    5: [(law, 2000, 10, epsilon) for law in LAWS for epsilon in EPSILONS],
}

# Only components are compared, so ours spend nothing on other things.
OURS = {
    "GDPPCA spherical": lambda d: GDPPCA(K, **COMPONENTS_ONLY),
    "GDPPCA winsorized": lambda d: GDPPCA(
        K, kernel="winsorized", norm_bound=d**0.5, **COMPONENTS_ONLY
    ),
    "GDPPCA private centre": lambda d: GDPPCA(K, centering="private", variance_share=0.0),
    "DPGauss": lambda d: DPGauss(K),
}
PRINTED = {
    "g-DPPCA as printed" + NOT_PRIVATE: g_dppca,
    "AG" + NOT_PRIVATE: analyze_gauss_max,
    "SGPCA" + NOT_PRIVATE: lambda *args: sgpca(*args, (10.0, 1.0)),
    "NSGGD" + NOT_PRIVATE: nsggd,
}
# Signs of the step, in Figure 5.
NSGGD = {"NSGGD" + NOT_PRIVATE: -1, "NSGGD, sign turned" + NOT_PRIVATE: 1}
STYLES = {
    "GDPPCA spherical": ("#D55E00", "-", "o"),
    "GDPPCA winsorized": ("#E69F00", "-", "s"),
    "GDPPCA private centre": ("#CC79A7", "-", "^"),
    "DPGauss": ("#009E73", "-", "D"),
    "g-DPPCA as printed" + NOT_PRIVATE: ("#D55E00", "--", "o"),
    "AG" + NOT_PRIVATE: ("#009E73", "--", "D"),
    "SGPCA" + NOT_PRIVATE: ("#0072B2", "--", "v"),
    "NSGGD" + NOT_PRIVATE: ("#56B4E9", "--", "P"),
    "NSGGD, sign turned" + NOT_PRIVATE: ("#999999", "--", "X"),
}


def components(method: str, X: np.ndarray, epsilon: float, seed: int) -> np.ndarray:
    d = X.shape[1]
    if method in PRINTED:
        rng = np.random.default_rng([1, seed])
        return PRINTED[method](X, K, epsilon, DELTA, rng)
    pca = OURS[method](d).set_params(
        epsilon=epsilon, delta=DELTA, adjacency="replace-one", random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a seed is not private
        return pca.fit(X).components_


def measure(number: int, repeats: int, nsggd_repeats: int) -> pd.DataFrame:
    """Return one row a cell, method and repeat; those that this commit has measured are kept."""
    rows = []
    for repeat in range(repeats):
        for cell in FIGURES[number]:
            rows += kept(one_cell, cell, repeat)
    if number == 5 and nsggd_repeats:
        rows += kept(nsggd_cells, nsggd_repeats)
    return pd.DataFrame(rows, columns=COLUMNS)


def one_cell(cell: tuple, repeat: int) -> list[list]:
    _, n, _, epsilon = cell
    methods = [m for m in (*OURS, *PRINTED) if not (m.startswith("NSGGD") and n > NSGGD_MAX_N)]
    draw = draw_of(cell, repeat)
    seeds = int(np.random.SeedSequence(seed_of(cell, repeat)).generate_state(1)[0])
    return [
        [*cell, m, repeat, rounded(components(m, draw.X, epsilon, seeds), draw.components)]
        for m in methods
    ]


def seed_of(cell: tuple, repeat: int) -> list[int]:
    law, n, d, _ = cell
    return [list(LAWS).index(law), n, d, repeat]


def draw_of(cell: tuple, repeat: int) -> Draw:
    """Data of a repeat: the same for every method and epsilon."""
    law, n, d, _ = cell
    rng = np.random.default_rng(seed_of(cell, repeat))
    return LAWS[law](n, d, *SPECTRUM, random_state=rng)


def rounded(V: np.ndarray, truth: np.ndarray) -> float:
    return float(f"{sin_theta(V, truth):.5g}")


def nsggd_cells(repeats: int) -> list[list]:
    """The lines of `NSGGD` in Figure 5, all at once."""
    keys = [(*cell, m, repeat) for cell in FIGURES[5] for m in NSGGD for repeat in range(repeats)]
    draws = [draw_of(key[:4], key[-1]) for key in keys]
    found = nsggd_chains(
        [draw.X for draw in draws], K, [key[3] for key in keys], DELTA,
        np.random.default_rng([2, repeats]), [NSGGD[key[4]] for key in keys],
    )  # fmt: skip
    return [
        [*key, rounded(V, draw.components)] for key, V, draw in zip(keys, found, draws, strict=True)
    ]


def summary_of(number: int, folder: Path) -> Path:
    return folder / f"gdppca_figure_{number}_summary.csv"


def draw_figure(number: int, folder: Path) -> None:
    if not summary_of(number, folder).exists():
        print(f"figure {number}: nothing measured yet")
        return
    summary = pd.read_csv(summary_of(number, folder))
    by, x = ("law", "epsilon") if number == 5 else ("d", "n")
    values = list(dict.fromkeys(cell[0 if number == 5 else 2] for cell in FIGURES[number]))
    sheet, axes = plt.subplots(1, 3, figsize=(13.5, 4.2), sharey=True)
    for ax, value in zip(axes, values, strict=True):
        for method, (colour, dashes, marker) in STYLES.items():
            points = summary[(summary[by] == value) & (summary["method"] == method)].sort_values(x)
            if points.empty:  # not measured: nothing for the legend to name
                continue
            error = points["sin_theta_mean_error"].fillna(0)
            filled = colour if dashes == "-" else "white"
            ax.errorbar(
                points[x], points["sin_theta_mean"], 1.96 * error, color=colour, ls=dashes,
                marker=marker, ms=4.5, mfc=filled, lw=1.4, label=method,
            )  # fmt: skip
        title, xlabel = (value, r"$\varepsilon$") if number == 5 else (f"d = {value}", "n")
        panel(ax, title, xlabel)
        ax.set_xscale("log" if number == 5 else "linear")
        ax.set_ylim(0, 1.02)
    axes[0].set_ylabel("sin-theta error, mean and 95 % interval")
    handles, labels = axes[0].get_legend_handles_labels()
    title = "n = 2000, d = 10" if number == 5 else f"{FIGURES[number][0][0]}, epsilon = 0.5"
    sheet.suptitle(title, x=0.01, ha="left", fontsize=11)
    sheet.legend(handles, labels, loc="center right", frameon=False, fontsize=8)
    counts = sorted({summary["trials"].min(), summary["trials"].max()})
    repeats = " to ".join(map(str, counts))
    sheet.text(
        0.01, 0.01, f"{repeats} repeats a point. Dashed: NOT PRIVATE.", fontsize=7.5, color="#444"
    )
    sheet.tight_layout(rect=(0, 0.03, 0.81, 1))
    sheet.savefig(folder / f"gdppca_figure_{number}.png", dpi=110)
    plt.close(sheet)


def main() -> None:
    numbers = {"type": int, "nargs": "+", "default": [*FIGURES], "choices": FIGURES}
    nsggd = {"type": int, "default": 0, "help": "repeats of NSGGD, in figure 5 alone"}
    asked = options(__doc__, repeats=100, figures=numbers, nsggd=nsggd, draw_only=DRAW_ONLY)
    os.environ[SAVE] = str(RAW if asked.folder == PUBLISHED else asked.folder / "raw")
    for number in asked.figures:
        if not asked.draw_only:
            rows = measure(number, asked.repeats, asked.nsggd)
            summary = spread(rows, COLUMNS[:5], COLUMNS[-1])
            summary.to_csv(summary_of(number, asked.folder), index=False, float_format="%.6g")
        draw_figure(number, asked.folder)


if __name__ == "__main__":
    main()
