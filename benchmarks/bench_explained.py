"""Loss of four methods by the share of the variance that the components explain.

    python benchmarks/bench_explained.py          # 2 minutes on one core

Every figure is the median of zeta^2 = 1 - captured / optimal over fresh draws (digits: over the
noise); epsilon = 1, delta = 1e-6, add-remove, nothing told but the budget, and of groups that their
mean is 0. "Not private" is PCA. ``explained`` is the components' share of the variance of the law.
All seeds are fixed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from _common import Measured, measure
from sklearn.datasets import load_digits

from skdppca import KDPPCA, DPGauss, KDPOjas, ResidualGauss
from skdppca.datasets import Draw, make_gaussian, make_spiked
from skdppca.linalg import decreasing_eigh
from skdppca.metrics import zeta_squared

FIRST_SEED, NOISE_SEED = 350_000, 1_350_000
ROUNDING = 1e-15
BUDGET = {"epsilon": 1.0, "delta": 1e-6}
METHODS = {
    "not private": partial(DPGauss, epsilon=math.inf),
    "DPGauss": DPGauss,
    "ResidualGauss": ResidualGauss,
    "KDPPCA": KDPPCA,
    "KDPOjas": KDPOjas,
}


def digits(random_state: int) -> Draw:
    """The same rows for every seed; their own covariance is the law."""
    X = load_digits().data
    return Draw(X, None, None, np.cov(X.T))


def groups(spread: float) -> Callable[..., Draw]:
    return partial(make_spiked, 5000, 50, 2, (10, 5), spread)


def gaussian(n: int, d: int, sigma: float) -> Callable[..., Draw]:
    return partial(make_gaussian, n, d, (10, 5), sigma)


# Data, n, d, sigma or the spread within groups -> how they are drawn, k.
CELLS: dict[tuple[str, int, int, float | str], tuple[Callable[..., Draw], int]] = {
    **{("groups", 5000, 50, spread): (groups(spread), 2) for spread in (0.025, 1.0)},
    **{
        ("Gaussian rows", n, d, sigma): (gaussian(n, d, sigma), 2)
        for n, d, sigma in (
            (2000, 50, 1.0),
            (20_000, 50, 0.3),
            (20_000, 50, 1.0),
            (20_000, 50, 2.0),
            (20_000, 200, 0.3),
            (20_000, 200, 1.0),
        )
    },
    **{(f"digits, k = {k}", 1797, 64, ""): (digits, k) for k in (2, 10)},
}


def loss(method: Callable[..., Any], draw: Draw, k: int, seed: int, **told: Any) -> float:
    if draw.groups is not None:
        told |= {"unit": "matrix", "center": False}
    pca = method(k, random_state=seed, **BUDGET | told | getattr(method, "keywords", {}))
    return zeta_squared(pca.fit(draw.X, groups=draw.groups), draw.covariance)


def explained(repeats: int) -> Iterator[dict[str, object]]:
    for (data, n, d, sigma), (sample, k) in CELLS.items():
        runs = []
        for run in range(repeats):
            draw = sample(random_state=FIRST_SEED + run)
            seed = NOISE_SEED + run
            runs.append({name: loss(method, draw, k, seed) for name, method in METHODS.items()})
        values = decreasing_eigh(draw.covariance)[0]
        row: dict[str, object] = {"data": data, "n": n, "d": d, "sigma": sigma, "k": k}
        row["explained"] = f"{values[:k].sum() / values.sum():.2f}"
        medians = {name: float(np.median([one[name] for one in runs])) for name in METHODS}
        row |= {name: f"{loss:.1e}" if loss > ROUNDING else "0" for name, loss in medians.items()}
        yield row


if __name__ == "__main__":
    told = {"repeats": f"{{}}, seeds from {FIRST_SEED}"}
    measure(__doc__, {"explained": Measured(explained, 20, told)})
