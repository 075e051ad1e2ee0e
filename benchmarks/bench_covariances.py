"""Published private covariances beside PrivatePCA and DPGauss, which are told nothing.

Run ``python benchmarks/bench_covariances.py``. SeparateCov and AdaptiveCov (Dong, Liang & Yi 2022)
and CoinPress (Biswas et al. 2020) are our implementations of the printed algorithms
(``baselines/``), at the same (epsilon, delta) under add-remove, converted through Gaussian
differential privacy, which is at least what their papers' conversions give them. They **cheat**:
they are told the data's own mean and the number of rows; SeparateCov and AdaptiveCov the best of
`RADII` for the cell (quantiles of the norms), and CoinPress the largest variance and the best
number of steps. "DPGauss, mean told" is told the mean and nothing else. Tables, losses and cells
are those of ``bench_untuned.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

import numpy as np
from _common import Measured, kept, measure
from _untuned_tables import TABLES, table
from baselines import adaptive_cov, coinpress, separate_cov
from bench_untuned import COMPONENTS, DELTA, EPSILONS, FIRST_SEED, cell, fitted_loss

from skdppca.metrics import zeta_squared

OURS = ("PrivatePCA", "DPGauss")
MEAN_TOLD = "DPGauss, mean told"
PEERS = ("SeparateCov", "AdaptiveCov", "CoinPress")
RADII = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
STEPS = (1, 2, 3)
SHOWN = 5  # the number of components in the table

Method = Callable[..., np.ndarray]


def losses(
    method: Method, Z: np.ndarray, covariance: np.ndarray, epsilon: float, reps: int
) -> np.ndarray:
    """Medians over fits, a number of components each: one noisy matrix serves them all."""
    wanted = [k for k in COMPONENTS if k < Z.shape[1]]
    found = []
    for run in range(reps):
        rng = np.random.default_rng([FIRST_SEED, run])
        components = method(Z, wanted[-1], epsilon, DELTA, rng)
        found.append([zeta_squared(components[:k], covariance) for k in wanted])
    return np.median(found, axis=0)


def peers(name: str, epsilon: float, reps: int) -> dict[str, np.ndarray]:
    X, covariance = table(name)
    Z = X - X.mean(axis=0)
    radii = np.quantile(np.linalg.norm(Z, axis=1), RADII)
    largest = np.linalg.eigvalsh(covariance)[-1]
    ways = {
        "SeparateCov": [partial(separate_cov, radius=radius) for radius in radii],
        "AdaptiveCov": [partial(adaptive_cov, radius=radius) for radius in radii],
        "CoinPress": [partial(coinpress, upper=largest, steps=steps) for steps in STEPS],
    }
    return {
        peer: np.min([losses(way, Z, covariance, epsilon, reps) for way in theirs], axis=0)
        for peer, theirs in ways.items()
    }


def mean_told(name: str, k: int, epsilon: float, reps: int) -> float:
    X, covariance = table(name)
    told = {"epsilon": epsilon, "mean": X.mean(axis=0)}
    runs = range(FIRST_SEED, FIRST_SEED + reps)
    fits = [fitted_loss("DPGauss", X, covariance, k, random_state=run, **told) for run in runs]
    return float(np.median(fits))


def rows_of(name: str, epsilon: float, reps: int) -> list[dict]:
    rows = []
    found = peers(name, epsilon, reps)
    n, d = table(name)[0].shape
    for i, k in enumerate(k for k in COMPONENTS if k < d):
        ours = cell((name, k, epsilon), dict.fromkeys(OURS, reps))["losses"]
        row = {method: float(np.median(ours[method])) for method in OURS}
        row[MEAN_TOLD] = mean_told(name, k, epsilon, reps)
        row |= {method: float(found[method][i]) for method in PEERS}
        rows.append({"data": f"{name}, {n} x {d}", "k": k, "epsilon": f"{epsilon:g}"} | row)
    return rows


def rows(repeats: int) -> Iterator[dict]:
    for name, epsilon in product(TABLES, EPSILONS):
        yield from kept(rows_of, name, epsilon, repeats)


def summary(rows: list[dict]) -> dict[str, str]:
    """How each peer's loss compares with that of PrivatePCA, over all cells of an epsilon."""
    found = {}
    for epsilon, method in product(EPSILONS, (MEAN_TOLD, *PEERS)):
        cells = [row for row in rows if row["epsilon"] == f"{epsilon:g}"]
        ratios = np.array([row[method] / row["PrivatePCA"] for row in cells])
        found[f"epsilon {epsilon:g}, {method} over PrivatePCA, {len(cells)} cells"] = (
            f"geometric mean {np.exp(np.log(ratios).mean()):.2f}, least {ratios.min():.2f}, "
            f"below 1 in {np.mean(ratios < 1):.0%}"
        )
    return found


def shown(row: dict) -> dict[str, str] | None:
    """A row of the table, which has five components alone."""
    if row["k"] != SHOWN:
        return None
    best = min(row[method] for method in PEERS)
    texts = {method: f"{row[method]:.2g}" for method in (*OURS, MEAN_TOLD, *PEERS)}
    return {**row, **texts, "best peer / PrivatePCA": f"{best / row['PrivatePCA']:.2f}"}


if __name__ == "__main__":
    told = {"repeats": f"median of {{}}, delta {DELTA:g}, add-remove"}
    measure(__doc__, {"covariances": Measured(rows, 15, told, summary, shown)})
