"""What pages of the theory say of rare fits, error bars and the noise, where nothing else shows it.

    python benchmarks/bench_theory.py          # minutes on one core

- *centre*: the captured share of two components by `PrivatePCA`, epsilon 1, of rows far from the
  origin: as it is, and if the rows are never taken to lie off the point where the search ended.
  A spread is the root of the total variance. Rows and noise are drawn anew for every fit.
- *variances*: released variances of five components over the exact ones, those of `sklearn`'s PCA,
  and their error bars of 95 %. A cell is a law, a number of rows and an epsilon, with 8 fits. A row
  has all cells of a method: in how many each variance has a bar, how many of these bars hold the
  exact variance (and in the worst cell), the least and largest median of released over exact, and
  those of the other cells.
- *outliers*: the first variance that `DPGauss` releases over the exact one, and whether its bar
  holds the exact one, with outliers too few to be seen in the histogram of norms.
- *quantiles*: the largest relative error of SciPy's ``ndtri`` below 1/2, against mpmath.

All seeds are fixed, delta = 1e-6, add-remove.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any
from unittest import mock

import numpy as np
from _common import Measured, kept, measure
from _untuned_tables import turned
from mpmath import mp
from scipy.special import ndtri
from sklearn.datasets import load_iris

import skdppca
from skdppca import DPGauss, PrivatePCA
from skdppca.exceptions import NotReleasedError
from skdppca.metrics import zeta_squared
from skdppca.noise.discrete import NDTRI_ERROR
from skdppca.plotting._noise_of_fits import variance_intervals

NOISE_SEED = 1_000_000  # rows are seeded by small numbers: noise of their stream would follow them
DELTA = 1e-6
# Rows, columns, and spreads from the origin.
FAR = {
    "150 x 8, 20 spreads": (150, 8, 20.0),
    "180 x 15, 50 spreads": (180, 15, 50.0),
    "200 x 10, 3 spreads": (200, 10, 3.0),
    "iris": None,
    "250 x 12, 10 spreads": (250, 12, 10.0),
}
METHODS = ("PrivatePCA", "DPGauss", "KDPPCA", "DPPowerMethod")
OUTLIERS, TIMES_AS_FAR = 0.02, 8.0
K, LEVEL = 5, 0.95
SIZES, EPSILONS = (1000, 3000, 12_000), (0.3, 1.0, 3.0)
FIRST_SEED = 90_000


def far_rows(name: str, seed: int) -> np.ndarray:
    """Normal rows whose variances fall as ``j**-1.5``, or iris."""
    setting = FAR[name]
    if setting is None:
        return np.asarray(load_iris().data)
    n, d, spreads = setting
    rng, variances = np.random.default_rng(seed), np.arange(1, d + 1) ** -1.5
    mean = rng.standard_normal(d)
    mean *= spreads * np.sqrt(variances.sum()) / np.linalg.norm(mean)
    return rng.standard_normal((n, d)) * np.sqrt(variances) + mean


def loss(name: str, seed: int) -> float:
    X = far_rows(name, seed)
    pca = PrivatePCA(2, epsilon=1.0, random_state=seed + NOISE_SEED, delta=DELTA)
    return zeta_squared(pca.fit(X), np.cov(X.T))


def losses(name: str, pairs: bool, fits: int) -> list[float]:
    """Of fits that may, or may not, find that rows lie off the centre and take pairs."""
    never = mock.patch("skdppca.mechanisms.centre._may_be_told", return_value=False)
    with nullcontext() if pairs else never:
        return [loss(name, seed) for seed in range(fits)]


def centre(fits: int) -> Iterator[dict]:
    for name in FAR:
        row: dict[str, object] = {"rows": name}
        for way, pairs in {"about c": False, "with pairs": True}.items():
            shares = 1 - np.array(kept(losses, name, pairs, fits))
            row |= {f"{way}, median": f"{np.median(shares):.3f}"}
            row |= {f"{way}, 1st percentile": f"{np.quantile(shares, 0.01):.3f}"}
        yield row


Table = Callable[[np.random.Generator, int], np.ndarray]


def lognormal(rng: np.random.Generator, n: int) -> np.ndarray:
    """Exponentials of correlated normal numbers: 25 features of skewness about 3."""
    loadings = np.random.default_rng(1).standard_normal((25, 5)) / np.arange(1, 6)
    scores = rng.standard_normal((n, 5)) @ loadings.T + 0.7 * rng.standard_normal((n, 25))
    return np.exp(0.7 * scores / np.sqrt((loadings**2).sum(axis=1) + 0.49))


def counts(rng: np.random.Generator, n: int) -> np.ndarray:
    """Poisson numbers whose rates are six gamma scores times fixed weights: 40 features."""
    weights = np.random.default_rng(2).gamma(0.7, size=(6, 40))
    return rng.poisson(1.5 * rng.gamma(1.0, size=(n, 6)) @ weights).astype(float)


def one_hot(rng: np.random.Generator, n: int) -> np.ndarray:
    """Eight questions of 2 to 6 answers, which follow from three hidden classes: 31 features."""
    shared = np.random.default_rng(3)
    hidden, columns = rng.choice(3, n, p=[0.5, 0.3, 0.2]), []
    for answers in (2, 2, 3, 4, 4, 5, 5, 6):
        chances = shared.dirichlet(np.full(answers, 0.8), 3).cumsum(axis=1)[hidden]
        chosen = (chances < rng.random(n)[:, None]).sum(axis=1).clip(0, answers - 1)
        columns.append(np.eye(answers)[chosen])
    return np.hstack(columns)


def one_hot_with_numbers(rng: np.random.Generator, n: int) -> np.ndarray:
    answers = one_hot(rng, n)
    return np.hstack([answers, 0.6 * rng.standard_normal((n, 5)) + answers[:, :5]])


LAWS: dict[str, Table] = {
    "power law 1/j": lambda rng, n: turned(rng, n, 40, 1.0, 2.0),
    "power law 1/j^1.5": lambda rng, n: turned(rng, n, 25, 1.5, 2.0),
    "lognormal": lognormal,
    "counts": counts,
    "one-hot": one_hot,
    "one-hot with numbers": one_hot_with_numbers,
}


def line(
    table: str, size: int, epsilon: float, factory: Callable[..., Any], fits: int
) -> dict[str, object]:
    ratios, held = [], []
    for seed in range(FIRST_SEED, FIRST_SEED + fits):
        rng = np.random.default_rng(seed)
        X = LAWS[table](rng, size)
        exact = np.linalg.eigvalsh(np.cov(X.T))[::-1][:K]
        pca = factory(K, epsilon=epsilon, delta=1e-6, random_state=seed + NOISE_SEED).fit(X)
        try:
            ratios.append(pca.explained_variance_ / exact)
        except NotReleasedError:
            continue
        ends = variance_intervals(pca, LEVEL)
        drawn = ~np.isnan(ends[:, 0])
        held += list(((ends[:, 0] <= exact) & (exact <= ends[:, 1]))[drawn])
    medians = np.median(ratios, axis=0) if ratios else np.array([np.nan])
    return {
        "median": f"{np.median(ratios):.2f}" if ratios else "",
        "least": f"{medians.min():.2f}" if ratios else "",
        "largest": f"{medians.max():.2f}" if ratios else "",
        "with a bar": f"{len(held) / (K * fits):.2f}",
        "bars that hold": f"{np.mean(held):.2f}" if held else "",
    }


def summed_up(method: str, fits: int) -> dict:
    """All cells of one method, in one row."""
    cells = [
        kept(line, law, n, epsilon, getattr(skdppca, method), fits)
        for law in LAWS
        for n in SIZES
        for epsilon in EPSILONS
    ]
    barred = [cell for cell in cells if cell["bars that hold"]]
    bare = [cell for cell in cells if cell["least"] and not cell["bars that hold"]]
    shares = np.array([float(cell["with a bar"]) for cell in barred])
    holding = np.array([float(cell["bars that hold"]) for cell in barred])
    return {
        "method": method,
        "cells": len(cells),
        "cells with bars": len(barred),
        "bars that hold, %": f"{100 * np.average(holding, weights=shares):.1f}",
        "in the worst cell, %": f"{100 * holding.min():.0f}",
        "least cell": min((cell["median"] for cell in barred), key=float),
        "largest cell": max((cell["median"] for cell in barred), key=float),
        "least component": min((cell["least"] for cell in barred), key=float),
        "largest component": max((cell["largest"] for cell in barred), key=float),
        "least component without bars": min((cell["least"] for cell in bare), key=float),
    }


def outliers(epsilon: float, fits: int) -> dict:
    """On 3000 normal rows of variances 1 / j; outliers replace rows, along the last axis."""
    ratios, held = [], []
    for seed in range(fits):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((3000, 20)) * np.arange(1, 21) ** -0.5
        far = rng.random(3000) < OUTLIERS
        X[far] = 0
        X[far, -1] = TIMES_AS_FAR * np.sqrt((np.arange(1, 21) ** -1.0).sum())
        X[far, -1] *= rng.choice([-1, 1], far.sum())
        exact = np.linalg.eigvalsh(np.cov(X.T))[-1]
        pca = DPGauss(5, epsilon=epsilon, random_state=seed + NOISE_SEED, delta=DELTA).fit(X)
        low, high = variance_intervals(pca, 0.95)[0]
        ratios.append(pca.explained_variance_[0] / exact)
        if not np.isnan(low):
            held.append(bool(low <= exact <= high))
    return {
        "epsilon": f"{epsilon:g}",
        "released over exact": f"{np.median(ratios):.2f}",
        "fits": fits,
        "with a bar": len(held),
        "bars that hold": sum(held),
    }


def quantile_error(u: float) -> float:
    """Relative error of ndtri at u: a Newton step in 60 digits is exact to far more than float."""
    z = mp.mpf(float(ndtri(u)))
    density = mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi)
    return float(abs((mp.ncdf(z) - mp.mpf(u)) / density / z))


def quantiles(points: int) -> dict:
    """A third by their logarithm, a third evenly, and a third where ndtri changes its formula."""
    rng = np.random.default_rng(0)
    third = points // 3
    u = np.r_[
        2.0 ** rng.uniform(-64, -1, third),
        rng.uniform(0.01, 0.5, third),
        np.exp(-2) * rng.uniform(0.95, 1.05, points - 2 * third),
    ]
    with mp.workdps(60):
        errors = [quantile_error(one) for one in u.tolist()]
    worst = int(np.argmax(errors))
    return {
        "points": points,
        "largest error": f"{errors[worst]:.2e}",
        "at": f"{u[worst]:.4g}",
        "assumed": f"{NDTRI_ERROR:.2e}",
        "assumed over largest": f"{NDTRI_ERROR / errors[worst]:.1f}",
    }


if __name__ == "__main__":
    measure(
        __doc__,
        {
            "theory_quantiles": Measured(lambda _: [kept(quantiles, 200_000)]),
            "theory_outliers": Measured(lambda n: [kept(outliers, e, n) for e in (1.0, 3.0)], 20),
            "theory_centre": Measured(centre, 1000, {"fits": "{} a cell"}),
            "theory_variances": Measured(
                lambda n: (summed_up(method, n) for method in METHODS),
                8,
                {"fits": f"{{}} a cell, k = {K}"},
            ),
        },
    )
