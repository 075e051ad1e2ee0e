"""Released variances over the exact ones, and how many of the error bars hold these.

Run ``python benchmarks/bench_variances.py``. Exact are the variances of `sklearn`'s PCA: of all
rows, not clipped, without noise. Five components, delta = 1e-6, add-remove, no public facts but the
budget. A line is of one table, n, epsilon and method: the median over fresh rows and noise of
released over exact, of the component where it is least and of that where it is largest; the share
of variances with a bar (95 %), how many of these hold the exact one, and how long they are over it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from _common import arguments, kept, machine, save
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.preprocessing import StandardScaler

from skdppca import (
    GDPPCA,
    KDPPCA,
    DPGauss,
    DPPowerMethod,
    KDPOjas,
    PrivatePCA,
    ResidualGauss,
    SmoothSensitivityPCA,
)
from skdppca.exceptions import NotReleasedError, SeededNoiseWarning
from skdppca.plotting._noise_of_fits import variance_intervals

K, LEVEL = 5, 0.95
SIZES, EPSILONS = (1000, 3000, 12_000), (0.3, 1.0, 3.0)
FIRST_SEED, NOISE_SEED = 90_000, 1_000_000
FACTORIES: list[Callable[..., Any]] = [
    PrivatePCA,
    DPGauss,
    ResidualGauss,
    KDPPCA,
    DPPowerMethod,
    KDPOjas,
    SmoothSensitivityPCA,
    GDPPCA,
]

Table = Callable[[np.random.Generator, int], np.ndarray]


def power_law(power: float, d: int) -> Table:
    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        axes = np.linalg.qr(rng.standard_normal((d, d)))[0]
        return rng.standard_normal((n, d)) * np.arange(1, d + 1) ** (-power / 2) @ axes + 2

    return draw


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
    "power law 1/j": power_law(1.0, 40),
    "power law 1/j^1.5": power_law(1.5, 25),
    "lognormal": lognormal,
    "counts": counts,
    "one-hot": one_hot,
    "one-hot with numbers": one_hot_with_numbers,
}


def scaled(X: np.ndarray) -> np.ndarray:
    return np.asarray(StandardScaler().fit_transform(X))


REAL: dict[str, Callable[[], np.ndarray]] = {
    "digits": lambda: load_digits().data,
    "breast cancer, standardised": lambda: StandardScaler().fit_transform(
        load_breast_cancer().data
    ),
    "wine, standardised": lambda: scaled(load_wine().data),
}


def line(
    table: str, size: int | None, epsilon: float, factory: Callable[..., Any], fits: int
) -> dict[str, object]:
    ratios, held, widths, n = [], [], [], 0
    for seed in range(FIRST_SEED, FIRST_SEED + fits):
        rng = np.random.default_rng(seed)
        X = REAL[table]() if size is None else LAWS[table](rng, size)
        n = len(X)
        exact = np.linalg.eigvalsh(np.cov(X.T))[::-1][:K]
        pca = factory(K, epsilon=epsilon, delta=1e-6, random_state=seed + NOISE_SEED).fit(X)
        try:
            ratios.append(pca.explained_variance_ / exact)
        except NotReleasedError:
            continue
        ends = variance_intervals(pca, LEVEL)
        drawn = ~np.isnan(ends[:, 0])
        held += list(((ends[:, 0] <= exact) & (exact <= ends[:, 1]))[drawn])
        widths += list(((ends[:, 1] - ends[:, 0]) / exact)[drawn])
    medians = np.median(ratios, axis=0) if ratios else np.array([np.nan])
    row: dict[str, object] = {
        "rows": table,
        "n": n,
        "epsilon": f"{epsilon:g}",
        "method": factory.__name__,
        "median": f"{np.median(ratios):.2f}" if ratios else "",
        "least": f"{medians.min():.2f}" if ratios else "",
        "largest": f"{medians.max():.2f}" if ratios else "",
        "with a bar": f"{len(held) / (K * fits):.2f}",
        "bars that hold": f"{np.mean(held):.2f}" if held else "",
        "length": f"{np.median(widths):.2f}" if widths else "",
    }
    print(*row.values(), sep="  ", flush=True)
    return row


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--fits", type=int, default=12)
    parser.add_argument("--rows", nargs="*", default=[*LAWS, *REAL], help="some of the tables")
    parser.add_argument("--methods", nargs="*", default=[one.__name__ for one in FACTORIES])
    options = parser.parse_args()
    warnings.simplefilter("ignore", SeededNoiseWarning)
    facts = machine() | {"fits": f"{options.fits} a line, k = {K}"}
    rows = [
        kept(line, table, size, epsilon, factory, options.fits)
        for table in options.rows
        for size in (SIZES if table in LAWS else (None,))
        for epsilon in EPSILONS
        for factory in FACTORIES
        if factory.__name__ in options.methods
    ]
    save("variances", rows, facts)


if __name__ == "__main__":
    main()
