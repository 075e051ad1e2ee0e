"""One cheap cell of every table of accuracy, beside what is and what was ever published of it.

    python benchmarks/canaries.py                 # every cell now; fails if one does not hold
    python benchmarks/canaries.py --only tails    # cells whose names hold this

``canaries.csv`` holds the cells; ``tests/benchmarks/test_no_regression.py`` compares them: with the
best, which must still be reached, and with the table, which must not have moved to either side.
 A figure is the median (or mean) of a loss over fits; so is what is measured now, on
other seeds. `registry.unguarded` has the tables without a cell. The columns:

- ``cell``: its name, and the key of what measures it here.
- ``statistic``: median or mean.
- ``best``: the smallest figure that was ever published, and ``half_digit`` half of its last digit,
  as it was printed. Where a loss of 0.024 +- 0.0005 was printed as a share of 0.976, so it is here.
- ``best_fits``: how many fits that figure is of; ``commit``: the one that published it.
- ``aim``: what the figure is to reach instead, if that is not the best; it is taken as exact.
  Cells of groups have aims above their best: since a1fc62d radii are found by histograms, which
  cannot run off as searches did, and groups that are all but equal lose by their half octaves.
- ``fits``: how many are made now.
- ``spread``: standard deviation of one fit's log-loss, or sd / mean for a mean. Of the published
  fits where the interval of their median tells it; else (p75 - p25) / 1.349 of fits of the package
  when the row was written.
- ``published``: the key of the figure in its table; empty if no table has it. ``published_fits``:
  how many fits that figure is of.

**Error rate.** Of a method that is as good as it was, the log of the ratio of the two figures is
about normal with mean 0 and standard deviation ``c spread sqrt(1 / fits + 1 / best_fits)``;
c = sqrt(pi / 2) for medians, 1 for means. A ratio above ``exp(z sd)``, with z that of ``LEVEL``
over the number of cells, is a regression: a false one is seen for at most LEVEL of all choices of
seeds, all cells together. So is a false move, with ``published_fits``, and half of that level to
each side. The published figure may be off by half of its last digit, as its table prints it.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from time import process_time
from typing import Any

sys.path.append(str(Path(__file__).with_name("experiments_power")))  # for its modules

import _matrices
import _methods
import bench_accuracy
import bench_adaptive
import bench_cohorts
import bench_explained
import bench_gap
import bench_gdppca
import bench_guide
import bench_methods
import bench_missing
import bench_outliers
import bench_planner
import bench_rates
import bench_scale
import bench_tails
import bench_theory
import bench_untuned
import dense_rows
import keys
import numpy as np
import relative_error
from scipy import sparse
from scipy.sparse.linalg import svds
from scipy.stats import norm
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

import skdppca
from skdppca.datasets import make_spiked
from skdppca.metrics import captured_variance
from skdppca.planner import plan
from skdppca.plotting._noise_of_fits import variance_intervals

FILE = Path(__file__).with_suffix(".csv")
FIRST_SEED = 930_000  # not that of any table
LEVEL = 0.01

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
    aim: float  # 0: none
    fits: int
    spread: float
    published: str
    published_fits: int

    @property
    def table(self) -> str:
        """Of results/, or of doc/experiments/ (without ``_summary``)."""
        return self.cell.split(":")[0]

    @property
    def tied(self) -> bool:
        """Whether a stored table has the figure."""
        return bool(self.published)

    @property
    def reach(self) -> float:
        """The figure that today's is compared with."""
        return self.aim or self.best + self.half_digit

    def allowed(self, cells: int) -> float:
        """The factor over it that chance alone explains."""
        return self._by_chance(0.0 if self.aim else 1 / self.best_fits, LEVEL / cells)

    def moved(self, figure: float, cells: int) -> bool:
        """Whether chance does not explain how far today's figure is from the published one."""
        published, half = keys.value(self.published), keys.half_digit(self.published)
        factor = self._by_chance(1 / self.published_fits, LEVEL / (2 * cells))
        return not (published - half) / factor <= figure <= (published + half) * factor

    def faults(self, figure: float, cells: int) -> list[str]:
        """What is wrong with today's figure."""
        found, most = [], self.reach * self.allowed(cells)
        if figure > most:
            found.append(
                f"WORSE: {figure:.3g}, but it was {self.best:.3g} in {self.commit} and may be "
                f"{most:.3g} at most"
            )
        if self.tied and self.moved(figure, cells):
            found.append(f"MOVED: {figure:.3g}, published {keys.value(self.published):.3g}")
        return found

    def _by_chance(self, other: float, level: float) -> float:
        """The factor between today's figure and another, of 1 / other fits."""
        sd = self.spread * math.sqrt(1 / self.fits + other)
        if self.statistic == "median":
            sd *= math.sqrt(math.pi / 2)
        return math.exp(norm.isf(level) * sd)

    def figure(self, losses: np.ndarray) -> float:
        return float(np.median(losses) if self.statistic == "median" else np.mean(losses))


def losses(cell: str, fits: int) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # all data are drawn or public
        return np.array([MEASURES[cell](FIRST_SEED + run) for run in range(fits)])


# --- cells

Sample = Callable[[int, float, int], skdppca.datasets.Draw]  # of n, sigma and a seed
DIGITS = load_digits().data
ROWS = "digits, 1797 x 64"
LAWS = bench_gdppca.LAWS
EXCHANGED = {"adjacency": "replace-one"}
NOISE_SEED = bench_theory.NOISE_SEED


def of_seed(measure: Callable[..., float]) -> Callable[..., Measure]:
    """Give a measure all but the seed, its last argument."""
    return lambda *told: partial(measure, *told)


def missed(pca: skdppca.PrivatePCA, X: np.ndarray, k: int | None = None) -> float:
    return 1 - captured_variance(pca.fit(X), X, k)


@of_seed
def adaptive(sample: Sample, n: int, sigma: float, method: str, seed: int) -> float:
    build = {method: bench_adaptive.METHODS[method]}
    return bench_adaptive.losses(sample(n, sigma, seed), build, seed)[method]


def spiked_at(d: int, *eigenvalues: float) -> Sample:
    k = len(eigenvalues)
    return lambda n, sigma, seed: make_spiked(n, d, k, eigenvalues, sigma, random_state=seed)


@of_seed
def methods(name: str, method: str, epsilon: float, seed: int) -> float:
    make, k = bench_methods.DATA[name]
    return 1 - bench_methods.share(getattr(skdppca, method), make(seed), k, epsilon, seed)


@of_seed
def tails(name: str, method: str, seed: int) -> float:
    return 1 - bench_tails.share(getattr(skdppca, method), name, seed)


@of_seed
def outliers(law: str, way: str, seed: int) -> float:
    draw = bench_outliers.LAWS[law](random_state=seed)
    return 1 - bench_outliers.captured(bench_outliers.WAYS[way], draw, 1.0, seed)


@of_seed
def missing(name: str, share: float, seed: int) -> float:
    table = bench_missing.TABLES[name](seed)
    X = bench_missing.holed(table.X, share, seed)
    return 1 - bench_missing.measured(skdppca.PrivatePCA, table, X, seed, missing="mean")[0]


@of_seed
def scale(name: str, epsilon: float, seed: int) -> float:
    X = bench_scale.datasets()[name]
    components = bench_scale.WAYS['scale="private"'](skdppca.DPGauss, X, epsilon, seed)
    return 1 - captured_variance(components, StandardScaler().fit_transform(X))


@cache
def expected() -> skdppca.planner.Plan:
    return plan(3_000, 15, 2, 1.0, spectrum="power-law")


def planner(seed: int) -> float:
    rng = np.random.default_rng(seed)
    X, _, judged = bench_planner.draw(expected(), np.array(expected().variances), rng)
    pca = skdppca.ResidualGauss(2, epsilon=1.0, delta=expected().delta, random_state=seed)
    return 1 - captured_variance(pca.fit(X), judged)


def planner_skewed(seed: int) -> float:
    X = bench_planner.skewed("normal", 4_000, 20, seed)
    return missed(skdppca.ResidualGauss(2, epsilon=0.5, delta=1e-6, random_state=seed), X)


def sites(seed: int) -> float:
    """Without the seed: sites draw their noise from the system."""
    import bench_sites  # it needs the extra federated

    table = bench_sites.data("digits", DIGITS)
    estimator, _ = bench_sites.over_sites(skdppca.DPGauss, table, 3, 2)
    return table.loss(estimator.components_)


@of_seed
def untuned(name: str, seed: int) -> float:
    X, covariance = bench_untuned.table(name)
    return bench_untuned.fitted_loss("PrivatePCA", X, covariance, 5, epsilon=3.0, random_state=seed)


@of_seed
def variances(what: str, seed: int) -> float:
    """The largest relative error of a released variance, or the middle length of an error bar."""
    X = bench_theory.LAWS["power law 1/j"](np.random.default_rng(seed), 3000)
    exact = np.linalg.eigvalsh(np.cov(X.T))[::-1][: bench_theory.K]
    seed += NOISE_SEED if what == "bars" else 0
    pca = skdppca.DPGauss(bench_theory.K, epsilon=1.0, delta=1e-6, random_state=seed).fit(X)
    if what == "errors":
        return float(np.abs(pca.explained_variance_ / exact - 1).max())
    ends = variance_intervals(pca, bench_theory.LEVEL)
    return float(np.median((ends[:, 1] - ends[:, 0]) / exact))


@of_seed
def kim_jung(law: str, n: int, d: int, way: dict[str, Any], seed: int) -> float:
    draw = LAWS[law](n, d, *bench_gdppca.SPECTRUM, random_state=seed)
    return bench_gdppca.error(draw, seed, **way, **bench_gdppca.COMPONENTS_ONLY)


@of_seed
def gap(n: int, d: int, seed: int) -> float:
    X = bench_gap.rows(n, 1, d)
    return bench_gap.errors("gap-release", X, 1, range(seed, seed + 1))[0]


def explained(seed: int) -> float:
    draw = bench_explained.gaussian(2_000, 50, 1.0)(random_state=seed)
    return bench_explained.loss(skdppca.ResidualGauss, draw, 2, seed)


def loadings(seed: int) -> float:
    """The share of entries of the exact components that lie beyond the bars."""
    pca = skdppca.DPGauss(3, epsilon=1.0, random_state=seed).fit(DIGITS)
    return 1 - bench_guide.within_bars(pca, np.linalg.eigh(np.cov(DIGITS.T))[1].T[::-1][:3])


@cache
def topics() -> tuple[sparse.csr_array, float]:
    """The sparse rows of power_sparse_rows, and what five components capture at best."""
    X = _matrices.topics(100_000, 10_000, 50)
    return X, float(np.sum(svds(X, k=5, random_state=0)[1] ** 2))


def sparse_rows(seed: int) -> float:
    X, best = topics()
    pca = skdppca.DPPowerMethod(5, epsilon=2.0, center=False, random_state=seed).fit(X)
    return float(1 - np.sum((X @ pca.components_.T) ** 2) / best)


@cache
def interactions() -> tuple[sparse.csr_array, tuple[np.ndarray, np.ndarray]]:
    """The generated matrix of Figures 1 and 2 of Nicolas et al., and what an error is judged by."""
    X = _matrices.power_law()
    return X, relative_error.exact(X, 1)


def filtered(seed: int) -> float:
    X, judged = interactions()
    return relative_error.error(_methods.ours(X, 1, 2.0, seed), *judged)


def accuracy(seed: int) -> float:
    return 1 - captured_variance(bench_accuracy.nothing_told(DIGITS, 1.0, seed), DIGITS, 10)


def cohorts(seed: int) -> float:
    return 1 - bench_cohorts.captured_by_cohorts("digits 1797 x 64, epsilon 1", seed)


def drift(seed: int) -> float:
    return 1 - bench_cohorts.drifting(0.05, "auto", seed)[0]


MEASURES: dict[str, Measure] = {
    "adaptive_accuracy: groups 1000, sigma .025, ResidualGauss": adaptive(
        bench_adaptive.spiked, 1_000, 0.025, "ResidualGauss"
    ),
    "adaptive_accuracy: sign rows 1000, sigma .025, KDPPCA": adaptive(
        bench_adaptive.signs, 1_000, 0.025, "KDPPCA"
    ),
    "adaptive_accuracy: Gaussian rows 10000, sigma 1, KDPOjas": adaptive(
        bench_adaptive.gaussian, 10_000, 1.0, "KDPOjas"
    ),
    "adaptive_deflation: k = 2, reuse": adaptive(
        spiked_at(100, 10.0, 5.0), 4_000, 0.5, "KDPPCA, deflation"
    ),
    "accuracy: digits, k = 10, epsilon 1": accuracy,
    "methods_accuracy: clear gap, epsilon .1, DPGauss": methods(
        "clear gap, 5000 x 100", "DPGauss", 0.1
    ),
    **{
        f"tails: digits, {method}": tails(ROWS, method)
        for method in "PrivatePCA DPGauss KDPPCA KDPOjas DPPowerMethod GDPPCA".split()
    },
    "tails: power law, ResidualGauss": tails("power law, 3000 x 50", "ResidualGauss"),
    "tails: spikes in noise, SmoothSensitivityPCA": tails(
        "spikes in noise, 5000 x 50", "SmoothSensitivityPCA"
    ),
    "outliers: 5 % outliers, epsilon 1, DPGauss, spherical": outliers(
        "5 % outliers", "DPGauss, spherical"
    ),
    "cohorts: digits 1797 x 64, epsilon 1": cohorts,
    "missing_digits: 10 %, PrivatePCA": missing("digits", 0.1),
    "missing_mixed: 30 %, PrivatePCA": missing("mixed", 0.3),
    "scale: resampled, epsilon .1": scale("resampled", 0.1),
    "gdppca_accuracy: Gaussian, d = 5, n = 500, add-remove": kim_jung("Gaussian", 500, 5, {}),
    "planner: 3000 x 15, ResidualGauss": planner,
    "planner_skewed: normal, 4000 x 20, epsilon .5": planner_skewed,
    "covariances: digits, epsilon 3, PrivatePCA": untuned("digits"),
    "untuned: breast cancer, scaled, epsilon 3, PrivatePCA": untuned("breast cancer, scaled"),
    "untuned_tails: power law 1000 x 30, PrivatePCA": lambda seed: bench_untuned.tail(
        "power law 1000 x 30", "PrivatePCA", range(seed, seed + 1)
    )[0],
    "theory_variances: power law, n = 3000, epsilon 1, DPGauss": variances("errors"),
    "theory_variances: power law, n = 3000, epsilon 1, bars of DPGauss": variances("bars"),
    "figure_1a: groups 1000, DPGauss": adaptive(bench_adaptive.spiked, 1_000, 0.025, "DPGauss"),
    "figure_1b: groups 3000, sigma .001, KDPPCA": adaptive(
        bench_adaptive.spiked, 3_000, 0.001, "KDPPCA"
    ),
    "figure_1c: groups 10000 x 25, ResidualGauss": adaptive(
        spiked_at(25, 10, 5), 10_000, 0.025, "ResidualGauss"
    ),
    "figure_2a: gap 1, DPGauss": adaptive(spiked_at(200, 10, 1), 10_000, 0.1, "DPGauss"),
    "figure_2b: sigma 1, DPGauss": adaptive(bench_adaptive.spiked, 10_000, 1.0, "DPGauss"),
    "figure_2c: groups 1000, KDPOjas": adaptive(bench_adaptive.spiked, 1_000, 0.025, "KDPOjas"),
    "figure_3: k = 1, d = 50, ResidualGauss": adaptive(
        spiked_at(50, 10), 10_000, 0.025, "ResidualGauss"
    ),
    "figure_4: Gaussian rows 3000, sigma 1, ResidualGauss": adaptive(
        bench_adaptive.gaussian, 3_000, 1.0, "ResidualGauss"
    ),
    **{
        f"gdppca_figure_{number}: n = 500, d = 5, GDPPCA": kim_jung(law, 500, 5, EXCHANGED)
        for number, law in enumerate(LAWS, start=2)
    },
    "gdppca_figure_5: Gaussian, epsilon 1, GDPPCA": kim_jung(
        "Gaussian", 2_000, 10, {"epsilon": 1.0, **EXCHANGED}
    ),
    "power_relative_error: power law, epsilon 2, DPPowerMethod": filtered,
    "power_dense_rows: decay 2, DPPowerMethod": lambda seed: (
        1 - dense_rows.fitted("DPPowerMethod", *dense_rows.drawn(2.0, seed), seed)[0]
    ),
    "power_sparse_rows: DPPowerMethod": sparse_rows,
    "gap: k = 1, n = 1000, gap release": gap(1_000, 50),
    "gap_slopes: d = 25, gap release": gap(100_000, 25),
    "explained: Gaussian rows 2000 x 50, ResidualGauss": explained,
    "rates: n = 10000, DPPowerMethod": lambda seed: bench_rates.off(
        bench_gap.rows(10_000, 1), bench_rates.EPSILON, seed
    ),
    "cohorts_drift: turned by .05, auto": drift,
    "theory_centre: 200 x 10, with pairs": partial(bench_theory.loss, "200 x 10, 3 spreads"),
    "guide_ojas: Gaussian rows, block, reuse": lambda seed: bench_guide.ojas_loss(
        bench_guide.OJAS["20000 Gaussian rows, d = 30"](random_state=seed), "block", "reuse", seed
    ),
    "guide_search: one fit, epsilon 1": lambda seed: missed(
        skdppca.DPGauss(5, epsilon=1.0, random_state=seed), DIGITS
    ),
    "guide_loadings: digits, epsilon 1": loadings,
    "sites: digits, DPGauss, 3 sites": sites,
    "sites_local: digits, DPPowerMethod, one place": lambda seed: missed(
        skdppca.DPPowerMethod(5, epsilon=1.0, delta=1e-6, random_state=seed), DIGITS
    ),
}


def canaries() -> list[Canary]:
    """The rows of canaries.csv."""
    found = []
    with FILE.open(newline="") as file:
        for row in csv.DictReader(file):
            numbers = {
                name: float(row.pop(name) or 0) for name in ("best", "half_digit", "aim", "spread")
            }
            counts = {name: int(row.pop(name) or 0) for name in [*row] if name.endswith("fits")}
            found.append(Canary(**row, **numbers, **counts))
    return found


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
    every, wrong = canaries(), 0
    for canary in every:
        if options.only not in canary.cell:
            continue
        start = process_time()
        found = losses(canary.cell, options.fits or canary.fits)
        seconds = process_time() - start
        figure = canary.figure(found)
        faults = canary.faults(figure, len(every))
        wrong += bool(faults)
        known = f", published {keys.value(canary.published):.3g}" if canary.tied else ""
        print(
            f"{'; '.join(faults) or 'holds'}  {canary.cell}: {figure:.3g}, to reach "
            f"{canary.reach:.3g} x {canary.allowed(len(every)):.2f} (best {canary.best:g}, "
            f"{canary.commit}){known}; spread {spread(canary, found):.2f}; "
            f"{seconds:.1f} s",
            flush=True,
        )
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
