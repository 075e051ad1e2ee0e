"""Error of SmoothSensitivityPCA against n, for all its noises, beside DPGauss.

    python benchmarks/bench_gap.py [repeats]
    python benchmarks/bench_gap.py crossing [repeats]
    python benchmarks/bench_gap.py slopes [repeats]

Rows of norm 1, d = 50, k components .3 above a flat bulk; norm_bound and mean public, epsilon .5,
delta 1e-6. The sine of the largest angle to the components without noise: the privacy error alone.
Writes doc/experiments/gap.csv and doc/experiments/gap_k1.png, gap_k3.png; "crossing": the gap
release's error over DPGauss's, for gaps of so many records over mu, doc/experiments/
gap_crossing.csv; "slopes": the error against n, d and the gap around n = 1e5, d = 50, gap .3,
doc/experiments/gap_slopes.csv, of which ``headlines.py`` takes the slopes.
"""

from __future__ import annotations

import csv
import itertools
import sys
import warnings
from pathlib import Path

import matplotlib
import numpy as np

from skdppca import DPGauss, SmoothSensitivityPCA
from skdppca.exceptions import SeededNoiseWarning
from skdppca.metrics import sin_theta
from skdppca.privacy import mu_of

matplotlib.use("Agg")
from matplotlib import pyplot as plt

OUT = Path(__file__).parents[1] / "doc" / "experiments"
SIZES = [1000, 3000, 10_000, 30_000, 100_000]
D, GAP = 50, 0.3
SWEEPS = {
    "d": (12, 25, 50, 100, 200),
    "n": (10_000, 30_000, 100_000, 300_000),
    "gap": (0.03, 0.1, 0.3, 0.6),
}
GAPS_OVER_MU = [30, 45, 60, 75, 100, 150, 300, 1000]
PUBLIC = {"epsilon": 0.5, "delta": 1e-6, "norm_bound": 1.0, "center": False}
METHODS = {
    "DPGauss": lambda k, seed: DPGauss(k, random_state=seed, **PUBLIC),
    **{
        f"{noise}": lambda k, seed, noise=noise: SmoothSensitivityPCA(
            k, noise=noise, variance_share=0.0, random_state=seed, **PUBLIC
        )
        for noise in ("gap-release", "student", "cauchy", "gaussian")
    },
}


def rows(n: int, k: int, d: int = D, gap: float = GAP) -> np.ndarray:
    variances = np.full(d, (1 - gap * k) / d)
    variances[:k] += gap
    return np.random.default_rng(n).choice([-1.0, 1.0], size=(n, d)) * np.sqrt(variances)


def measure(repeats: int) -> list[dict]:
    table = []
    for k in (1, 3):
        for n in SIZES:
            X = rows(n, k)
            exact = np.linalg.eigh(X.T @ X)[1].T[::-1][:k]
            for name, build in METHODS.items():
                errors = [sin_theta(build(k, seed).fit(X), exact) for seed in range(repeats)]
                low, median, high = np.quantile(errors, [0.1, 0.5, 0.9])
                found = {"median": median, "low": low, "high": high}
                table.append({"k": k, "n": n, "method": name} | found)
                print(f"k={k} n={n:>6} {name:<12} {median:.4f}", flush=True)
    return table


def crossing(repeats: int) -> list[dict]:
    table = []
    for adjacency, k in itertools.product(("add-remove", "replace-one"), (1, 3)):
        told = {**PUBLIC, "adjacency": adjacency}
        mu = mu_of(told["epsilon"], told["delta"])
        for gap in GAPS_OVER_MU:
            X = rows(round(gap / mu / GAP), k)
            values, vectors = np.linalg.eigh(X.T @ X)
            errors = [
                np.median([sin_theta(pca.fit(X), vectors.T[-k:]) for pca in pcas])
                for pcas in (
                    [
                        SmoothSensitivityPCA(k, variance_share=0.0, random_state=s, **told)
                        for s in range(repeats)
                    ],
                    [DPGauss(k, random_state=s, **told) for s in range(repeats)],
                )
            ]
            found = {"gap_mu": (values[-k] - values[-k - 1]) * mu, "ratio": errors[0] / errors[1]}
            found = {name: round(float(number), 3) for name, number in found.items()}
            table.append({"adjacency": adjacency, "k": k, "n": len(X)} | found)
            print(*table[-1].values(), flush=True)
    return table


def slopes(repeats: int) -> list[dict]:
    table = []
    for against, values in SWEEPS.items():
        for value in values:
            X = rows(**{"n": 100_000, "k": 1, "d": D, "gap": GAP, against: value})
            exact = np.linalg.eigh(X.T @ X)[1].T[-1:]
            for noise in ("gap-release", "cauchy"):
                build = METHODS[noise]
                errors = [sin_theta(build(1, seed).fit(X), exact) for seed in range(repeats)]
                found = {"noise": noise, "median": float(np.median(errors))}
                table.append({"against": against, "x": value} | found)
                print(*table[-1].values(), flush=True)
    return table


def save(name: str, table: list[dict]) -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    with (OUT / name).open("w", newline="") as file:
        writer = csv.DictWriter(file, table[0])
        writer.writeheader()
        writer.writerows(table)


def draw(table: list[dict], k: int) -> None:
    figure, axes = plt.subplots(figsize=(6, 4))
    for name in METHODS:
        points = [row for row in table if row["k"] == k and row["method"] == name]
        sizes = [row["n"] for row in points]
        axes.loglog(sizes, [row["median"] for row in points], marker="o", label=name)
        axes.fill_between(
            sizes, [row["low"] for row in points], [row["high"] for row in points], alpha=0.15
        )
    axes.set(xlabel="n", ylabel="sine of the largest angle", title=f"k = {k}, d = {D}, gap 0.3 n")
    axes.legend()
    figure.tight_layout()
    figure.savefig(OUT / f"gap_k{k}.png", dpi=120)


def main() -> None:
    warnings.simplefilter("ignore", SeededNoiseWarning)
    repeats = int(sys.argv[-1]) if sys.argv[-1].isdigit() else 20
    if "crossing" in sys.argv:
        save("gap_crossing.csv", crossing(repeats))
        return
    if "slopes" in sys.argv:
        save("gap_slopes.csv", slopes(repeats))
        return
    table = measure(repeats)
    save("gap.csv", table)
    for k in (1, 3):
        draw(table, k)


if __name__ == "__main__":
    main()
