"""GDPPCA and PrivatePCA beside what the R package ``dppca`` computes, on its example's law.

Run ``python benchmarks/bench_dppca.py``; half a minute. The package (0.1.0 of 2026)
releases the eigenvectors of the spherical Kendall matrix with the noise that Kim & Jung print
(``baselines/g_dppca.py``), for replace-one. It is an R package and **was not run**: its formulas
are computed here. Its data ``gau`` are 5000 rows of five normal clusters in 20 dimensions. Here
they are drawn from the same law by numpy, and 1000 of them taken.

- *captured*: the share of the best possible variance of these rows along two components, delta
  1e-6, median of 20.
- *variance*: how far the first variance is from that of the rows along the same component, as a
  share of it, median. ``dppca`` takes the mean of squared scores clipped at ``C_clip``, which has
  no default: here it is told the best of six quantiles of the data's own scores, which is not
  private. Half of its budget goes to the directions, as it divides it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from time import perf_counter

import numpy as np
from _common import arguments, machine, save
from baselines import g_dppca
from baselines._common import classical_sd

from skdppca import GDPPCA, DPGauss, PrivatePCA
from skdppca.exceptions import SeededNoiseWarning
from skdppca.metrics import captured_variance

CLUSTER, D, N, K, DELTA = 1000, 20, 1000, 2, 1e-6
# Mean of the first five and of the next five columns, and variance of all, of each cluster.
CLUSTERS = ((0, 0, 1), (5, 0, 1), (-3, 0, 5), (0, -1, 5), (0, 3, 8))
EPSILONS = (0.5, 1.0, 3.0)
NOISE_SEED = (
    1_000_000  # rows are seeded by the numbers from 0: one stream for both would follow them
)
QUANTILES = (0.5, 0.75, 0.9, 0.95, 0.99, 1.0)

WAYS: dict[str, Callable] = {
    f"{name}, {adjacency}": partial(method, adjacency=adjacency)
    for adjacency in ("replace-one", "add-remove")
    for name, method in {"PrivatePCA": PrivatePCA, "DPGauss": DPGauss, "GDPPCA": GDPPCA}.items()
}


def gau(seed: int) -> np.ndarray:
    """1000 of 5000 rows from the law of the package's example."""
    rng = np.random.default_rng(seed)
    clusters = []
    for first, second, variance in CLUSTERS:
        mean = np.repeat([first, second, 0.0], [5, 5, D - 10])
        clusters.append(mean + np.sqrt(variance) * rng.standard_normal((CLUSTER, D)))
    return rng.permutation(np.concatenate(clusters))[:N]


def theirs(X: np.ndarray, epsilon: float, seed: int) -> tuple[np.ndarray, list[float]]:
    """Components at the whole budget; how far the first variance is off, for each quantile."""
    rng = np.random.default_rng(seed + NOISE_SEED)
    components = g_dppca(X, K, epsilon, DELTA, rng)
    first = g_dppca(X, K, epsilon / 2, DELTA / 2, rng)[0]
    squares = (X @ first - np.mean(X @ first)) ** 2
    off = []
    for bound in np.quantile(squares, QUANTILES):
        # its budget for the scree is divided by the number of components
        sd = classical_sd(bound / (N - 1), epsilon / 2 / K, DELTA / 2 / K)
        off.append(
            _off(np.minimum(squares, bound).sum() / (N - 1) + rng.normal(scale=sd), X, first)
        )
    return components, off


def _off(variance: float, X: np.ndarray, component: np.ndarray) -> float:
    exact = np.var(X @ component, ddof=1)
    return abs(variance - exact) / exact


def rows(repeats: int) -> list[dict]:
    table = []
    for epsilon in EPSILONS:
        # captured share, and how far the variance is off: one, or one a quantile
        found: dict[str, list[list[float]]] = {name: [] for name in ("dppca, replace-one", *WAYS)}
        for seed in range(repeats):
            X = gau(seed)
            covariance = np.cov(X.T)
            components, off = theirs(X, epsilon, seed)
            found["dppca, replace-one"].append(
                [captured_variance(components, covariance=covariance), *off]
            )
            for name, way in WAYS.items():
                pca = way(K, epsilon=epsilon, delta=DELTA, random_state=seed + NOISE_SEED).fit(X)
                here = _off(pca.explained_variance_[0], X, pca.components_[0])
                found[name].append([captured_variance(pca, covariance=covariance), here])
        for name, fits in found.items():
            captured, *off = np.median(fits, axis=0)
            row = {"method": name, "epsilon": f"{epsilon:g}", "captured": f"{captured:.3f}"}
            table.append(row | {"relative error of a variance": f"{min(off):.3f}"})
            print(*table[-1].values(), flush=True)
    return table


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--repeats", type=int, default=20)
    repeats = parser.parse_args().repeats
    warnings.simplefilter("ignore", SeededNoiseWarning)
    facts, start = machine(), perf_counter()
    table = rows(repeats)
    facts |= {"repeats": f"median of {repeats}, seeds from 0"}
    facts["seconds"] = f"{perf_counter() - start:.0f}"
    save("dppca", table, facts)


if __name__ == "__main__":
    main()
