"""What the papers claim, as numbers from the result tables in doc/experiments/.

    python benchmarks/headlines.py

Slopes of log error in log d, log n and the log of the eigengap, beside the theorems' exponents,
go into ``headlines_d.csv``, ``headlines_n.csv`` and ``headlines_gap_release.csv``; the ratio of
printed k-DP-PCA to printed DP-Gauss-1 into ``headlines_ratio.csv``. Run it after any figure of
`experiments` and after ``bench_gap.py slopes``.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from experiments_files import PUBLISHED

# Errors above this are no power law: they cannot grow beyond 1.
SATURATED = 0.3
FEWEST_POINTS = 3
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


@dataclass(frozen=True)
class Sweep:
    """A panel of Düngler & Sanyal's figures."""

    figure: str
    panel: str = ""  # begins so

    def rows(self, folder: Path) -> pd.DataFrame:
        summary = pd.read_csv(folder / f"figure_{self.figure}_summary.csv")
        return summary[summary["panel"].str.startswith(self.panel)]


SWEEPS = {
    "d": {"figure 1c": Sweep("1c"), "figure 4": Sweep("4", "n = 10000, eigenvalues")},
    "n": {"figure 1a": Sweep("1a"), "figure 1b": Sweep("1b"), "figure 4": Sweep("4", "d = 200")},
}


def slope(x: np.ndarray, y: np.ndarray) -> float:
    """Least squares of log y in log x, where y is not saturated; NaN of too few points."""
    known = y < SATURATED
    if known.sum() < FEWEST_POINTS:
        return float("nan")
    return float(np.polyfit(np.log(x[known]), np.log(y[known]), 1)[0])


def slopes(folder: Path, against: str) -> pd.DataFrame:
    """One row a method, one column a figure; "-" where fewer than three points are known."""
    table: dict[str, dict[str, str]] = {method: {"method": method} for method in KINDS}
    for figure, sweep in SWEEPS[against].items():
        rows = sweep.rows(folder)
        for method, row in table.items():
            mine = rows[rows["method"] == method].astype({"x": float})
            row[figure] = _shown(mine["x"], mine["zeta_squared_median"])
    for method, row in table.items():
        row["theorem"] = f"{THEORY[against][KINDS[method]]:g}"
    return pd.DataFrame(table.values())


def gap_slopes(folder: Path) -> pd.DataFrame:
    """One row a noise of `SmoothSensitivityPCA` and what is varied."""
    measured = pd.read_csv(folder / "gap_slopes.csv")
    table = []
    for noise, exponents in GONEN.items():
        for against, theorem in exponents.items():
            mine = measured[(measured["noise"] == noise) & (measured["against"] == against)]
            table.append((noise, against, _shown(mine["x"], mine["median"]), f"{theorem:g}"))
    return pd.DataFrame(table, columns=["noise", "against", "slope", "theorem"])


def _shown(x: pd.Series, y: pd.Series) -> str:
    found = slope(x.to_numpy(float), y.to_numpy(float))
    return "-" if np.isnan(found) else f"{found:.2f}"


def ratios(folder: Path) -> pd.DataFrame:
    """zeta^2 of k-DP-PCA over DP-Gauss-1's, both printed: below 1 k-DP-PCA is better."""
    table = {}
    for figure, sigma in (("1b", 0.001), ("1a", 0.025)):
        rows = Sweep(figure).rows(folder).set_index(["method", "x"])["zeta_squared_median"]
        ratio = rows["k-DP-PCA" + PRINTED] / rows["DP-Gauss-1" + PRINTED]
        table[f"sigma = {sigma}"] = ratio.map(lambda value: f"{float(f'{value:.2g}'):g}")
    return pd.DataFrame(table).rename_axis("n").T.rename_axis("k-DP-PCA / DP-Gauss-1")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=PUBLISHED, help="of the tables")
    folder = parser.parse_args().folder
    tables = {
        "d": slopes(folder, "d"),
        "n": slopes(folder, "n"),
        "gap_release": gap_slopes(folder),
        "ratio": ratios(folder).reset_index(),
    }
    for name, table in tables.items():
        table.to_csv(folder / f"headlines_{name}.csv", index=False)
        print(table.to_string(index=False), end="\n\n")


if __name__ == "__main__":
    main()
