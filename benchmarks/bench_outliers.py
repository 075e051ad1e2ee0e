"""Outliers, heavy tails and long rows: what every way to bound the records makes of them.

Run ``python benchmarks/bench_outliers.py``. A cell holds the captured share of the best possible
variance of the law's own covariance (t: scatter matrix; outliers left out), of two components: the
median over fresh draws, and the 5th percentile in brackets. 2000 rows of 50 features, delta = 1e-6,
add-remove, no public facts but the budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from _common import Measured, measure

from skdppca import GDPPCA, DPGauss, PrivatePCA
from skdppca.datasets import Draw, make_contaminated, make_elliptical, make_gaussian
from skdppca.metrics import zeta_squared

N, D, K = 2000, 50, 2
SPECTRUM = ([9.0, 4.0], 1.0)
BUDGET = {"delta": 1e-6}
EPSILONS = (1.0, 10.0)
FIRST_SEED, NOISE_SEED = 70_000, 1_000_000

# One row of this norm; the share of long rows.
FAR, LONG = 1e6, 0.1

WAYS: dict[str, Callable[..., Any]] = {
    "PrivatePCA": PrivatePCA,
    "DPGauss": DPGauss,
    "DPGauss, spherical": partial(DPGauss, clip="spherical"),
    "GDPPCA": GDPPCA,
    "GDPPCA, private centre": partial(GDPPCA, centering="private"),
}


def one_far_row(random_state: int) -> Draw:
    draw = make_gaussian(N, D, *SPECTRUM, random_state=random_state)
    draw.X[0] *= FAR / np.linalg.norm(draw.X[0])
    return draw


def long_rows(random_state: int) -> Draw:
    """All that the components explain beyond the other directions lies in a tenth of the rows."""
    draw = make_gaussian(N, D, *SPECTRUM, random_state=random_state)
    rng = np.random.default_rng([random_state, 1])
    signal = rng.standard_normal((N, K)) * np.sqrt(SPECTRUM[0])
    signal *= (rng.random(N) < LONG)[:, None] / np.sqrt(LONG)
    X = SPECTRUM[1] * rng.standard_normal((N, D)) + signal @ draw.components
    return draw._replace(X=X)


LAWS: dict[str, Callable[..., Draw]] = {
    "Gaussian": partial(make_gaussian, N, D, *SPECTRUM),
    "Gaussian, variances 1/j": partial(make_gaussian, N, D, 1 / np.arange(1, D + 1), 0.0),
    "t, 3 degrees of freedom": partial(make_elliptical, N, D, *SPECTRUM, df=3),
    "t, 1 degree of freedom": partial(make_elliptical, N, D, *SPECTRUM, df=1),
    "5 % outliers": partial(make_contaminated, N, D, *SPECTRUM),
    "one row of norm 1e6": one_far_row,
    "signal in 10 % of the rows": long_rows,
}


def captured(way: Callable[..., Any], draw: Draw, epsilon: float, seed: int) -> float:
    # Draws are seeded by the same numbers: noise of the same stream would follow the data.
    pca = way(K, epsilon=epsilon, random_state=seed + NOISE_SEED, **BUDGET).fit(draw.X)
    return 1 - zeta_squared(pca.components_, draw.covariance)


def accuracy(repeats: int) -> Iterator[dict[str, object]]:
    for law, draw in LAWS.items():
        draws = [draw(random_state=seed) for seed in range(FIRST_SEED, FIRST_SEED + repeats)]
        for epsilon in EPSILONS:
            row: dict[str, object] = {"rows": law, "epsilon": f"{epsilon:g}"}
            for name, way in WAYS.items():
                shares = [captured(way, x, epsilon, FIRST_SEED + i) for i, x in enumerate(draws)]
                median, low = np.quantile(shares, (0.5, 0.05))
                row[name] = f"{median:.3f} ({low:.3f})"
            yield row


if __name__ == "__main__":
    told = {"repeats": f"{{}}, seeds from {FIRST_SEED}"}
    measure(__doc__, {"outliers": Measured(accuracy, 100, told)})
