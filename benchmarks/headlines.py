"""What the papers claim, as numbers from the result tables in doc/experiments/.

    python benchmarks/headlines.py

Slopes of log error in the log of what a theorem names, beside the theorem's exponent:

- ``headlines_d``, ``headlines_n``, ``headlines_sigma``: Düngler & Sanyal, Liu et al.;
- ``headlines_gap_release``: Gonen & Gilad-Bachrach; ``headlines_kendall``: Kim & Jung;
  ``headlines_power``: Nicolas et al.

And ``headlines_ratio``: printed k-DP-PCA over printed DP-Gauss-1; ``headlines_epsilon``: how many
times less epsilon the bound of Nicolas et al. needs than that of Balcan et al. Run it after any of
the experiments, ``bench_gap.py`` and ``bench_rates.py``.
"""

from __future__ import annotations

from pathlib import Path

import _common
import numpy as np
import pandas as pd
from experiments_files import PUBLISHED

# Errors above this are no power law: they cannot grow beyond 1.
SATURATED = 0.3
FEWEST_POINTS = 3
DASH = "--"  # one alone would be a list on a page
PRINTED = " as printed (not private)"

SAMPLING, LINEAR, SUPERLINEAR = "PCA (no privacy)", "linear in d", "superlinear in d"
# Privacy costs d / n of sin in Düngler & Sanyal's theorems, and d^(3/2) / n with noise on d x d.
KINDS = {
    SAMPLING: SAMPLING,
    **dict.fromkeys(("ResidualGauss", "KDPPCA", "KDPOjas", "k-DP-PCA" + PRINTED), LINEAR),
    **dict.fromkeys(
        ("DPGauss", *(f"DP-{name}{PRINTED}" for name in ("Gauss-1", "Gauss-2", "Power-Method"))),
        SUPERLINEAR,
    ),
}
# Exponents of zeta^2, which is sin^2.
THEORY = {
    "d": {SAMPLING: 1.0, LINEAR: 2.0, SUPERLINEAR: 3.0},
    "n": {SAMPLING: -1.0, LINEAR: -2.0, SUPERLINEAR: -2.0},
}
# Gonen & Gilad-Bachrach, Theorems 1 and 2: sin ~ sqrt(d) / (n gap), and d^(3/2) in the pure case.
GONEN = {
    "gap-release": {"d": 0.5, "n": -1.0, "gap": -1.0},
    "cauchy": {"d": 1.5, "n": -1.0, "gap": -1.0},
}
# Nicolas et al., Theorem 4.1 with mu_1 <= 1: sin ~ sqrt(d) / (epsilon gap), the gap of a sum of n.
POWER = {"n": -1.0, "epsilon": -1.0, "d": 0.5, "gap": -1.0}
# zeta^2 in sigma: Corollary 2 (signed rows), and Theorem 1 where only z z^T differs (groups), with
# V ~ d sigma^4 and gamma ~ sigma^2. What Corollary 4 adds for clipped norms does not fall.
SIGMA = {
    SAMPLING: (2.0, 4.0),
    "KDPPCA": (2.0, 4.0),
    "ResidualGauss": (None, None),
    "KDPOjas": (0.0, 0.0),
    "DPGauss": (None, None),
}
# Kim & Jung: what Theorem 3.2 says of the privacy noise; d by Proposition 3.5, er(Sigma) sqrt(d).
KENDALL = {"n": -1.0, "epsilon": -1.0}
SPIKES, ONE_EPSILON = (10.0, 5.0), 1.0
NICOLAS, BALCAN = "exact noise, sqrt2 rho", "exact noise, sqrt(2p) max|Q|"


def sweep(folder: Path, figure: str, panel: str = "") -> pd.DataFrame:
    """Panels of one of Düngler & Sanyal's figures whose titles begin so."""
    summary = pd.read_csv(folder / f"figure_{figure}_summary.csv")
    return summary[summary["panel"].str.startswith(panel)]


SWEEPS = {
    "d": {"figure 1c": "", "figure 4": "n = 10000, eigenvalues"},
    "n": {"figure 1a": "", "figure 1b": "", "figure 4": "d = 200"},
}


def slope(x: np.ndarray, y: np.ndarray, saturated: float = SATURATED) -> float:
    """Least squares of log y in log x, where y is not saturated; NaN of too few points."""
    known = y < saturated
    if known.sum() < FEWEST_POINTS:
        return float("nan")
    return float(np.polyfit(np.log(x[known]), np.log(y[known]), 1)[0])


def slopes(folder: Path, varied: str) -> pd.DataFrame:
    """One row a method, one column a figure; a dash where fewer than three points are known."""
    table: dict[str, dict[str, str]] = {method: {"method": method} for method in KINDS}
    for figure, panel in SWEEPS[varied].items():
        rows = sweep(folder, figure.removeprefix("figure "), panel)
        for method, row in table.items():
            mine = rows[rows["method"] == method].astype({"x": float})
            row[figure] = _shown(mine["x"], mine["zeta_squared_median"])
    for method, row in table.items():
        row["theorem"] = f"{THEORY[varied][KINDS[method]]:g}"
    return pd.DataFrame(table.values())


def stored(name: str) -> pd.DataFrame:
    return pd.DataFrame(_common.load(name)[0]).astype({"x": float, "median": float})


def against(measured: pd.DataFrame, exponents: dict[str, float]) -> list[tuple[str, str, str]]:
    """What is varied, the slope, and the theorem's exponent."""
    rows = ((name, measured[measured["against"] == name]) for name in exponents)
    return [(name, _shown(m["x"], m["median"]), f"{exponents[name]:g}") for name, m in rows]


def gap_slopes() -> pd.DataFrame:
    """One row a noise of `SmoothSensitivityPCA` and what is varied."""
    measured = stored("gap_slopes")
    table = [
        (noise, *row)
        for noise, exponents in GONEN.items()
        for row in against(measured[measured["noise"] == noise], exponents)
    ]
    return pd.DataFrame(table, columns=["noise", "against", "slope", "theorem"])


def power_slopes() -> pd.DataFrame:
    """One row for each thing that was varied."""
    measured = stored("rates")
    table = against(measured[measured["experiment"] == "power"], POWER)
    return pd.DataFrame(table, columns=["against", "slope", "theorem"])


def sigma_slopes(folder: Path) -> pd.DataFrame:
    """One row a method: zeta^2 in sigma, of signed rows (k = 1) and of groups (figure 2b)."""
    signed = stored("rates").replace({"method": {"not private": SAMPLING}})
    groups = sweep(folder, "2b").astype({"x": float})
    table = []
    for method, theorems in SIGMA.items():
        row, grouped = signed[signed["method"] == method], groups[groups["method"] == method]
        shown = [DASH if theorem is None else f"{theorem:g}" for theorem in theorems]
        of_groups = _shown(grouped["x"], grouped["zeta_squared_median"])
        table.append((method, _shown(row["x"], row["median"]), shown[0], of_groups, shown[1]))
    columns = ["method", "signed rows", "Corollary 2", "groups", "Theorem 1, groups"]
    return pd.DataFrame(table, columns=columns)


def kendall_slopes(folder: Path) -> pd.DataFrame:
    """One row a law and what is varied: mean sin-theta of GDPPCA and of g-DPPCA as printed."""
    figures = [pd.read_csv(folder / f"gdppca_figure_{number}_summary.csv") for number in (2, 3, 5)]
    of_n, of_epsilon = pd.concat(figures[:2]), figures[2]
    table = []
    for law in ("Gaussian", "t_1"):
        at = {
            "n": ("d = 5", of_n[of_n["d"] == 5]),
            "d": ("n = 2000", of_n[of_n["n"] == 2000]),
            "epsilon": ("at most 1", of_epsilon[of_epsilon["epsilon"] <= ONE_EPSILON]),
        }
        for against, (setting, rows) in at.items():
            found = []
            for method in ("GDPPCA spherical", "g-DPPCA as printed (not private)"):
                mine = rows[(rows["law"] == law) & (rows["method"] == method)]
                error = mine["sin_theta_mean"]
                found.append(_shown(mine[against], error, np.sqrt(SATURATED)))
            dimensions = np.sort(of_n["d"].unique()).astype(float)
            theorem = KENDALL.get(against) or slope(dimensions, _effective(dimensions), np.inf)
            table.append((law, against, setting, *found, f"{theorem:.2g}"))
    columns = ["rows", "against", "at", "GDPPCA", "g-DPPCA as printed (not private)", "theorem"]
    return pd.DataFrame(table, columns=columns)


def _effective(d: np.ndarray) -> np.ndarray:
    """The effective rank of two spikes in d dimensions, times the root of d."""
    return (sum(SPIKES) + d - len(SPIKES)) / SPIKES[0] * np.sqrt(d)


def epsilon_ratios(folder: Path) -> pd.DataFrame:
    """Epsilon that Balcan's bound needs for an error, over that of the bound of Nicolas et al.

    Both have exact noise. The curve of Balcan's bound is interpolated in log-log; errors that it
    does not reach are left out.
    """
    summary = pd.read_csv(folder / "power_relative_error_summary.csv")
    table = []
    for (matrix, floor), rows in summary.groupby(["matrix", "floor"], sort=False):
        error = rows.set_index(["method", "epsilon"])["relative_error_median"]
        tight, loose = error[NICOLAS], error[BALCAN].sort_values()
        tight = tight[tight.between(loose.iloc[0], loose.iloc[-1])]
        log_needed = np.interp(np.log(tight), np.log(loose), np.log(loose.index.to_numpy(float)))
        ratio = np.exp(log_needed) / tight.index
        table.append((matrix, floor, f"{ratio.min():.1f}", f"{ratio.max():.1f}"))
    return pd.DataFrame(table, columns=["matrix", "floor", "least", "largest"])


def _shown(x: pd.Series, y: pd.Series, saturated: float = SATURATED) -> str:
    found = slope(x.to_numpy(float), y.to_numpy(float), saturated)
    return DASH if np.isnan(found) else f"{found:.2f}"


def ratios(folder: Path) -> pd.DataFrame:
    """zeta^2 of k-DP-PCA over DP-Gauss-1's, both printed: below 1 k-DP-PCA is better."""
    table = {}
    for figure, sigma in (("1b", 0.001), ("1a", 0.025)):
        rows = sweep(folder, figure).set_index(["method", "x"])["zeta_squared_median"]
        ratio = rows["k-DP-PCA" + PRINTED] / rows["DP-Gauss-1" + PRINTED]
        table[f"sigma = {sigma}"] = ratio.map(lambda value: f"{float(f'{value:.2g}'):g}")
    return pd.DataFrame(table).rename_axis("n").T.rename_axis("k-DP-PCA / DP-Gauss-1")


def headlines(folder: Path) -> dict[str, pd.DataFrame]:
    """All tables by their names."""
    return {
        "d": slopes(folder, "d"),
        "n": slopes(folder, "n"),
        "sigma": sigma_slopes(folder),
        "gap_release": gap_slopes(),
        "power": power_slopes(),
        "kendall": kendall_slopes(folder),
        "ratio": ratios(folder).reset_index(),
        "epsilon": epsilon_ratios(folder),
    }


if __name__ == "__main__":
    for name, table in headlines(PUBLISHED).items():
        table.to_csv(PUBLISHED / f"headlines_{name}.csv", index=False)
        print(table.to_string(index=False), end="\n\n")
