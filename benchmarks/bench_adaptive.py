"""Loss of the adaptive methods on the models of Düngler & Sanyal, beside DPGauss.

Run ``python benchmarks/bench_adaptive.py``. Every number is a median of zeta^2 = 1 - captured /
optimal over fresh draws; epsilon = 1, delta = 0.01, d = 200, add-remove, center=False, nothing told
but the budget. "No privacy" is the data's own PCA: the physical limit. The constants of the methods
were tuned on other models, dimensions and seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from _common import Measured, measure
from _steps import top_rows
from bench_explained import loss

from skdppca import KDPPCA, DPGauss, KDPOjas, ResidualGauss
from skdppca.datasets import Draw, make_gaussian, make_spiked
from skdppca.decomposition import BasePrivatePCA
from skdppca.metrics import zeta_squared

D = 200
FIRST_SEED = 7_000
BUDGET = {"epsilon": 1.0, "delta": 0.01, "center": False}

Build = Callable[[int], BasePrivatePCA]

METHODS: dict[str, Build] = {
    **{one.__name__: partial(one, **BUDGET) for one in (DPGauss, ResidualGauss, KDPPCA)},
    "KDPPCA, deflation": partial(KDPPCA, strategy="deflation", **BUDGET),
    "KDPOjas": partial(KDPOjas, **BUDGET),
}


def spiked(n: int, sigma: float, seed: int) -> Draw:
    return make_spiked(n, D, 2, (10, 5), sigma, random_state=seed)


def signs(n: int, sigma: float, seed: int) -> Draw:
    # +-10 v as in the paper, of variance 100
    return make_spiked(n, D, 1, 100, sigma, random_state=seed)


def gaussian(n: int, sigma: float, seed: int) -> Draw:
    return make_gaussian(n, D, (10, 5), sigma, random_state=seed)


# Model, draw, n, sigma.
CELLS = [
    ("groups", spiked, 1_000, 0.025),
    ("groups", spiked, 10_000, 0.025),
    ("groups", spiked, 10_000, 1.0),
    ("groups", spiked, 100_000, 0.025),
    ("Gaussian rows", gaussian, 10_000, 0.025),
    ("Gaussian rows", gaussian, 10_000, 1.0),
    ("signed rows", signs, 1_000, 0.025),
    ("signed rows", signs, 10_000, 0.025),
]


def losses(draw: Draw, methods: dict[str, Build], seed: int) -> dict[str, float]:
    k = len(draw.components)
    return {name: loss(build, draw, k, seed) for name, build in methods.items()}


def accuracy(repeats: int) -> Iterator[dict[str, object]]:
    for model, sample, n, sigma in CELLS:
        runs = []
        for seed in range(FIRST_SEED, FIRST_SEED + repeats):
            draw = sample(n, sigma, seed)
            exact = top_rows(draw.X.T @ draw.X, len(draw.components))
            limit = zeta_squared(exact, draw.covariance)
            runs.append({"no privacy": limit, **losses(draw, METHODS, seed)})
        medians = {name: float(np.median([run[name] for run in runs])) for name in runs[0]}
        row = {"data": model, "n": n, "sigma": sigma}
        row |= {name: f"{loss:.1e}" for name, loss in medians.items()}
        yield row


def deflations(repeats: int) -> Iterator[dict[str, object]]:
    """Records that every round sees, and records of its own, as k grows."""
    for k in (2, 5, 10):
        values = np.linspace(10, 5, k)
        builds = {
            way: partial(KDPPCA, strategy="deflation", sampling=way, **BUDGET)
            for way in ("reuse", "split")
        }
        runs = []
        for seed in range(FIRST_SEED, FIRST_SEED + repeats):
            draw = make_spiked(4_000, 100, k, values, 0.5, random_state=seed)
            runs.append(losses(draw, {**builds, "block": METHODS["KDPPCA"]}, seed))
        medians = {name: float(np.median([run[name] for run in runs])) for name in runs[0]}
        row = {"k": k, **{name: f"{loss:.1e}" for name, loss in medians.items()}}
        yield {**row, "split / reuse": f"{medians['split'] / medians['reuse']:.1f}"}


if __name__ == "__main__":
    told = {"repeats": f"{{}}, seeds from {FIRST_SEED}"}
    tables = {"adaptive_accuracy": accuracy, "adaptive_deflation": deflations}
    measure(__doc__, {name: Measured(rows, 20, told) for name, rows in tables.items()})
