"""Error of SmoothSensitivityPCA against n, for all its noises, beside DPGauss.

    python benchmarks/bench_gap.py          # also draws doc/experiments/gap_k1.png and gap_k3.png

Rows of norm 1, d = 50, k components .3 above a flat bulk; norm_bound and mean public, epsilon .5,
delta 1e-6. The sine of the largest angle to the components without noise: the privacy error alone.

- *gap*: against n; median and the range of 80 % of the fits.
- *gap_crossing*: the gap release's error over DPGauss's, for gaps of so many records over mu.
- *gap_slopes*: against n, d and the gap around n = 1e5, d = 50, gap .3. ``headlines.py`` takes the
  slopes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from _common import Measured, load, measure
from _steps import top_rows
from experiments_files import PUBLISHED, plt

from skdppca import DPGauss, SmoothSensitivityPCA
from skdppca.metrics import sin_theta
from skdppca.privacy import mu_of

SIZES = [1000, 3000, 10_000, 30_000, 100_000]
D, GAP = 50, 0.3
SWEEPS = {
    "d": (12, 25, 50, 100, 200),
    "n": (10_000, 30_000, 100_000, 300_000),
    "gap": (0.03, 0.1, 0.3, 0.6),
}
GAPS_OVER_MU = [30, 45, 60, 75, 100, 150, 300, 1000]
PUBLIC = {"epsilon": 0.5, "delta": 1e-6, "norm_bound": 1.0, "center": False}
METHODS: dict[str, Callable[..., Any]] = {
    "DPGauss": DPGauss,
    **{
        noise: partial(SmoothSensitivityPCA, noise=noise, variance_share=0.0)
        for noise in ("gap-release", "student", "cauchy", "gaussian")
    },
}


def rows(n: int, k: int, d: int = D, gap: float = GAP) -> np.ndarray:
    variances = np.full(d, (1 - gap * k) / d)
    variances[:k] += gap
    return np.random.default_rng(n).choice([-1.0, 1.0], size=(n, d)) * np.sqrt(variances)


def errors(name: str, X: np.ndarray, k: int, seeds: range, **told: str) -> list[float]:
    pcas = (METHODS[name](k, random_state=seed, **PUBLIC, **told) for seed in seeds)
    exact = top_rows(X.T @ X, k)
    return [sin_theta(pca.fit(X), exact) for pca in pcas]


def by_rows(repeats: int) -> Iterator[dict[str, Any]]:
    for k, n in itertools.product((1, 3), SIZES):
        X = rows(n, k)
        for name in METHODS:
            found = np.quantile(errors(name, X, k, range(repeats)), [0.5, 0.1, 0.9])
            numbers = dict(zip(("median", "low", "high"), found, strict=True))
            yield {"k": k, "n": n, "method": name} | numbers


def crossing(repeats: int) -> Iterator[dict[str, Any]]:
    for adjacency, k in itertools.product(("add-remove", "replace-one"), (1, 3)):
        mu = mu_of(PUBLIC["epsilon"], PUBLIC["delta"])
        for gap in GAPS_OVER_MU:
            X = rows(round(gap / mu / GAP), k)
            values = np.linalg.eigvalsh(X.T @ X)
            ours, gauss = (
                np.median(errors(name, X, k, range(repeats), adjacency=adjacency))
                for name in ("gap-release", "DPGauss")
            )
            found = {"gap_mu": (values[-k] - values[-k - 1]) * mu, "ratio": ours / gauss}
            yield {"adjacency": adjacency, "k": k, "n": len(X)} | {
                name: round(float(number), 3) for name, number in found.items()
            }


def slopes(repeats: int) -> Iterator[dict[str, Any]]:
    for against, values in SWEEPS.items():
        for value in values:
            X = rows(**{"n": 100_000, "k": 1, "d": D, "gap": GAP, against: value})
            for noise in ("gap-release", "cauchy"):
                median = float(np.median(errors(noise, X, 1, range(repeats))))
                yield {"against": against, "x": value, "noise": noise, "median": median}


def draw(k: int) -> None:
    """Draw a picture from the saved table."""
    figure, axes = plt.subplots(figsize=(6, 4))
    for name in METHODS:
        points = [row for row in load("gap")[0] if (row["k"], row["method"]) == (str(k), name)]
        sizes = [int(row["n"]) for row in points]
        median, low, high = ([float(row[at]) for row in points] for at in ("median", "low", "high"))
        axes.loglog(sizes, median, marker="o", label=name)
        axes.fill_between(sizes, low, high, alpha=0.15)
    axes.set(xlabel="n", ylabel="sine of the largest angle", title=f"k = {k}, d = {D}, gap 0.3 n")
    axes.legend()
    figure.tight_layout()
    figure.savefig(PUBLISHED / f"gap_k{k}.png", dpi=120)


if __name__ == "__main__":
    told = {"repeats": "{}, seeds from 0"}
    tables = {"gap": by_rows, "gap_crossing": crossing, "gap_slopes": slopes}
    measure(__doc__, {name: Measured(rows, 20, told) for name, rows in tables.items()})
    for k in (1, 3):
        draw(k)
