"""One cheap cell of every table of accuracy, beside the best figure that was ever published of it.

    python benchmarks/canaries.py                 # every cell now, beside its best: 5 minutes
    python benchmarks/canaries.py --only tails    # cells whose names hold this

``canaries.csv`` holds the cells; ``tests/benchmarks/test_no_regression.py`` compares them. A figure
is the median (or mean) of a loss over fits; so is what is measured now, on other seeds. Its
columns:

- ``cell``: its name, and the key of what measures it here.
- ``statistic``: median or mean.
- ``best``: the smallest figure that was ever published, and ``half_digit`` half of its last digit,
  as it was printed. Where a loss of 0.024 +- 0.0005 was printed as a share of 0.976, so it is here.
- ``best_fits``: how many fits that figure is of; ``commit``: the one that published it.
- ``aim``: what the figure is to reach instead, if that is not the best; it is taken as exact.
  One cell has an aim above its best: since a1fc62d radii are found by histograms, which cannot run
  off as searches did, and groups that are all but equal lose by their half octaves.
- ``fits``: how many are made now.
- ``spread``: standard deviation of one fit's log-loss, or sd / mean for a mean. Of the published
  fits where the interval of their median tells it; else (p75 - p25) / 1.349 of fits of the package
  when the row was written.

**Error rate.** Of a method that is as good as it was, the log of the ratio of the two figures is
about normal with mean 0 and standard deviation ``c spread sqrt(1 / fits + 1 / best_fits)``;
c = sqrt(pi / 2) for medians, 1 for means. A ratio above ``exp(z sd)``, with z that of ``LEVEL``
over the number of cells, is a regression: a false one is seen for at most LEVEL of all choices of
seeds, all cells together.
"""

from __future__ import annotations

import argparse
import csv
import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from time import perf_counter

import bench_accuracy
import bench_adaptive
import bench_gdppca
import bench_methods
import bench_missing
import bench_outliers
import bench_planner
import bench_scale
import bench_tails
import numpy as np
from scipy.stats import norm
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

import skdppca
from skdppca.datasets import make_spiked
from skdppca.metrics import captured_variance
from skdppca.planner import plan

FILE = Path(__file__).with_suffix(".csv")
FIRST_SEED = 930_000  # not that of any table
LEVEL = 0.01

# Tables of results/ without a cell here: they hold no accuracy, or what is said.
NOT_GUARDED = {
    "accuracy_peers": "other packages",
    "covariances": "other algorithms",
    "untuned": "bench_untuned.py compares versions",
    "untuned_tails": "the same",
    "adaptive_speed": "time",
    "cluster": "time",
    "cluster_weak": "time",
    "constants": "changes of constants",
    "files": "time",
    "gdppca_speed": "time",
    "memory": "memory",
    "methods_speed": "time",
    "noise": "time",
    "planner_floors": "of predictions, which the tests of the planner judge",
    "planner_skewed": "the same",
    "sites_fits": "bytes",
    "sites_iteration": "bytes",
    "sites_questions": "bytes",
    "speed": "time",
    "speed_peers": "time",
}

Measure = Callable[[int], float]


@dataclass(frozen=True)
class Canary:
    """A row of ``canaries.csv``."""

    cell: str
    statistic: str
    best: float
    half_digit: float
    best_fits: int
    commit: str
    aim: float | None
    fits: int
    spread: float

    @property
    def table(self) -> str:
        """Of results/, or of doc/experiments/."""
        return self.cell.split(":")[0]

    @property
    def reach(self) -> float:
        """The figure that today's is compared with."""
        return self.best + self.half_digit if self.aim is None else self.aim

    def allowed(self, cells: int) -> float:
        """The factor over it that chance alone explains."""
        published = 0.0 if self.aim is not None else 1 / self.best_fits
        sd = self.spread * math.sqrt(1 / self.fits + published)
        if self.statistic == "median":
            sd *= math.sqrt(math.pi / 2)
        return math.exp(norm.isf(LEVEL / cells) * sd)

    def figure(self, losses: np.ndarray) -> float:
        return float(np.median(losses) if self.statistic == "median" else np.mean(losses))


@contextmanager
def public_data() -> Iterator[None]:
    """No accountant, and seeded noise: all data here are drawn or public."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def losses(cell: str, fits: int) -> np.ndarray:
    with public_data():
        return np.array([MEASURES[cell](FIRST_SEED + run) for run in range(fits)])


# --- cells


def adaptive(
    method: str, sample: Callable[[int, float, int], skdppca.datasets.Draw], n: int, sigma: float
) -> Measure:
    build = {method: bench_adaptive.METHODS[method]}
    return lambda seed: bench_adaptive.losses(sample(n, sigma, seed), build, seed)[method]


def spiked_50(n: int, sigma: float, seed: int) -> skdppca.datasets.Draw:
    return make_spiked(n, 50, 2, (10, 5), sigma, random_state=seed)


def deflation(seed: int) -> float:
    draw = make_spiked(4_000, 100, 2, (10.0, 5.0), 0.5, random_state=seed)
    build = {"reuse": bench_adaptive.METHODS["KDPPCA, deflation"]}
    return bench_adaptive.losses(draw, build, seed)["reuse"]


def accuracy(seed: int) -> float:
    X = load_digits().data
    return 1 - captured_variance(bench_accuracy.nothing_told(X, 1.0, seed), X, 10)


def methods(name: str, method: str, seed: int, epsilon: float = 1.0) -> float:
    make, k = bench_methods.DATA[name]
    X, groups, covariance, told = make(seed)
    pca = getattr(skdppca, method)(
        k, epsilon=epsilon, delta=bench_methods.DELTA, random_state=seed, **told
    )
    return 1 - bench_methods.captured(pca.fit(X, groups=groups).components_, covariance)


def tails(name: str, method: str, seed: int) -> float:
    return 1 - bench_tails.share(getattr(skdppca, method), name, seed)


def outliers(law: str, way: str, seed: int) -> float:
    draw = bench_outliers.LAWS[law](seed)
    return 1 - bench_outliers.captured(bench_outliers.WAYS[way], draw, 1.0, seed)


def missing(name: str, share: float, seed: int) -> float:
    table = bench_missing.TABLES[name](seed)
    X = bench_missing.holed(table.X, share, seed)
    found = bench_missing.measured(skdppca.PrivatePCA, table, X, seed, missing="mean")
    return 1 - float(found[0])


def scale(name: str, epsilon: float, seed: int) -> float:
    X = bench_scale.datasets()[name]
    fit = bench_scale.WAYS['scale="private"']
    components = fit(skdppca.DPGauss, X, epsilon, seed)
    return 1 - captured_variance(components, StandardScaler().fit_transform(X))


def gdppca(seed: int) -> float:
    draw = bench_gdppca.LAWS["Gaussian"](500, 5, *bench_gdppca.SPECTRUM, random_state=seed)
    return bench_gdppca.error(draw, seed, **bench_gdppca.COMPONENTS_ONLY)


@cache
def expected() -> skdppca.planner.Plan:
    return plan(3_000, 15, 2, 1.0, spectrum="power-law")


def planner(seed: int) -> float:
    rng = np.random.default_rng(seed)
    X, _, judged, _ = bench_planner.draw(expected(), np.array(expected().variances), 2, rng)
    pca = skdppca.ResidualGauss(2, epsilon=1.0, delta=expected().delta, random_state=seed)
    return 1 - captured_variance(pca.fit(X), judged)


def sites(seed: int) -> float:
    """Without the seed: sites draw their noise from the system."""
    import bench_sites  # it needs the extra federated

    table = bench_sites.data("digits", load_digits().data)
    estimator, _ = bench_sites.over_sites(skdppca.DPGauss, table, 3, 2)
    return table.loss(estimator.components_)


def sites_local(seed: int) -> float:
    X = load_digits().data
    pca = skdppca.DPPowerMethod(5, epsilon=1.0, delta=1e-6, random_state=seed)
    return 1 - captured_variance(pca.fit(X), X)


ROWS, POWER = "digits, 1797 x 64", "power law, 3000 x 50"
MEASURES: dict[str, Measure] = {
    "adaptive_accuracy: groups 1000, sigma .025, ResidualGauss": adaptive(
        "ResidualGauss", bench_adaptive.spiked, 1_000, 0.025
    ),
    "adaptive_accuracy: groups 10000, sigma .025, ResidualGauss": adaptive(
        "ResidualGauss", bench_adaptive.spiked, 10_000, 0.025
    ),
    "adaptive_accuracy: groups 10000, sigma 1, ResidualGauss": adaptive(
        "ResidualGauss", bench_adaptive.spiked, 10_000, 1.0
    ),
    "groups 5000 x 50, sigma .025, ResidualGauss": adaptive(
        "ResidualGauss", spiked_50, 5_000, 0.025
    ),
    "figure_1b: groups 3000, sigma .001, ResidualGauss": adaptive(
        "ResidualGauss", bench_adaptive.spiked, 3_000, 0.001
    ),
    "adaptive_accuracy: groups 1000, sigma .025, KDPPCA": adaptive(
        "KDPPCA", bench_adaptive.spiked, 1_000, 0.025
    ),
    "figure_1b: groups 1000, sigma .001, KDPPCA": adaptive(
        "KDPPCA", bench_adaptive.spiked, 1_000, 0.001
    ),
    "adaptive_accuracy: sign rows 1000, sigma .025, ResidualGauss": adaptive(
        "ResidualGauss", bench_adaptive.signs, 1_000, 0.025
    ),
    "adaptive_accuracy: sign rows 1000, sigma .025, KDPPCA": adaptive(
        "KDPPCA", bench_adaptive.signs, 1_000, 0.025
    ),
    "adaptive_accuracy: sign rows 10000, sigma .025, ResidualGauss": adaptive(
        "ResidualGauss", bench_adaptive.signs, 10_000, 0.025
    ),
    "figure_4: Gaussian rows 3000, sigma 1, ResidualGauss": adaptive(
        "ResidualGauss", bench_adaptive.gaussian, 3_000, 1.0
    ),
    "adaptive_accuracy: Gaussian rows 10000, sigma 1, ResidualGauss": adaptive(
        "ResidualGauss", bench_adaptive.gaussian, 10_000, 1.0
    ),
    "adaptive_accuracy: Gaussian rows 10000, sigma 1, KDPOjas": adaptive(
        "KDPOjas", bench_adaptive.gaussian, 10_000, 1.0
    ),
    "adaptive_deflation: k = 2, reuse": deflation,
    "accuracy: digits, k = 10, epsilon 1": accuracy,
    "methods_accuracy: digits, epsilon 1, ResidualGauss": partial(methods, ROWS, "ResidualGauss"),
    "methods_accuracy: breast cancer, epsilon 1, DPGauss": partial(
        methods, "breast cancer, 569 x 30", "DPGauss"
    ),
    "methods_accuracy: clear gap, epsilon .1, DPGauss": partial(
        methods, "clear gap, 5000 x 100", "DPGauss", epsilon=0.1
    ),
    "methods_accuracy: noise dominates, epsilon 1, KDPOjas": partial(
        methods, "noise dominates, 5000 x 100", "KDPOjas"
    ),
    **{
        f"tails: digits, {method}": partial(tails, ROWS, method)
        for method in (
            "PrivatePCA",
            "DPGauss",
            "KDPPCA",
            "KDPOjas",
            "DPPowerMethod",
            "GDPPCA",
        )
    },
    "tails: power law, ResidualGauss": partial(tails, POWER, "ResidualGauss"),
    "tails: spikes in noise, SmoothSensitivityPCA": partial(
        tails, "spikes in noise, 5000 x 50", "SmoothSensitivityPCA"
    ),
    "outliers: Gaussian, epsilon 1, PrivatePCA": partial(outliers, "Gaussian", "PrivatePCA"),
    "outliers: 5 % outliers, epsilon 1, DPGauss, spherical": partial(
        outliers, "5 % outliers", "DPGauss, spherical"
    ),
    "missing_digits: 10 %, PrivatePCA": partial(missing, "digits", 0.1),
    "missing_mixed: 30 %, PrivatePCA": partial(missing, "mixed", 0.3),
    "scale: as it is, epsilon 3": partial(scale, "as it is", 3.0),
    "scale: resampled, epsilon .1": partial(scale, "resampled", 0.1),
    "gdppca_accuracy: Gaussian, d = 5, n = 500, add-remove": gdppca,
    "planner: 3000 x 15, ResidualGauss": planner,
    "sites: digits, DPGauss, 3 sites": sites,
    "sites_local: digits, DPPowerMethod, one place": sites_local,
}


def canaries() -> list[Canary]:
    with FILE.open(newline="") as file:
        return [
            Canary(
                row["cell"],
                row["statistic"],
                float(row["best"]),
                float(row["half_digit"]),
                int(row["best_fits"]),
                row["commit"],
                float(row["aim"]) if row["aim"] else None,
                int(row["fits"]),
                float(row["spread"]),
            )
            for row in csv.DictReader(file)
        ]


def verdict(canary: Canary, figure: float, cells: int) -> str:
    if figure <= canary.reach:
        return "reached"
    return "by chance" if figure <= canary.reach * canary.allowed(cells) else "WORSE"


def spread(canary: Canary, found: np.ndarray) -> float:
    if canary.statistic == "mean":
        return float(found.std(ddof=1) / found.mean())
    low, high = np.quantile(np.log(found), [0.25, 0.75])
    return float(high - low) / 1.349


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="cells whose names hold this")
    parser.add_argument("--fits", type=int, help="instead of the table's")
    options = parser.parse_args()
    every = canaries()
    for canary in every:
        if options.only not in canary.cell:
            continue
        start = perf_counter()
        found = losses(canary.cell, options.fits or canary.fits)
        figure = canary.figure(found)
        print(
            f"{verdict(canary, figure, len(every)):9}  {canary.cell}: {figure:.3g}, to reach "
            f"{canary.reach:.3g} x {canary.allowed(len(every)):.2f} (best {canary.best:g}, "
            f"{canary.commit}); spread {spread(canary, found):.2f}; "
            f"{perf_counter() - start:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
