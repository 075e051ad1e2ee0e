"""Captured variance of standardised features, where the features come in their own units.

Run ``python benchmarks/bench_scale.py``. The raw breast cancer data: scales differ by 10^4. What
counts is the share of the variance of the **standardised** features that the components capture, of
the most that so many can. The columns: ``scale="private"``, no public facts; the standard
deviations given as public scales; no scaling; and behind a `StandardScaler` fitted on the same
data, which voids the guarantee: **not private**, a ceiling. "Resampled" draws 11380 of the rows,
with replacement. Constants were tuned on other seeds, and on wine.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from _common import Measured, measure
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

import skdppca
from skdppca.decomposition import BasePrivatePCA
from skdppca.metrics import captured_variance

DELTA = 1e-6
K = 2
EPSILONS = (0.01, 0.1, 1.0, 3.0, 10.0, 100.0)
RESAMPLED = 11380
OTHERS = ("ResidualGauss", "KDPPCA", "KDPOjas", "GDPPCA", "DPPowerMethod")

Fit = Callable[[type[BasePrivatePCA], np.ndarray, float, int], np.ndarray]


def datasets() -> dict[str, np.ndarray]:
    X = load_breast_cancer().data
    drawn = np.random.default_rng(0).integers(0, len(X), RESAMPLED)
    return {"as it is": X, "resampled": X[drawn]}


def _fit(
    method: type[BasePrivatePCA], X: np.ndarray, epsilon: float, seed: int, **told: object
) -> np.ndarray:
    return method(K, epsilon=epsilon, delta=DELTA, random_state=seed, **told).fit(X).components_


WAYS: dict[str, Fit] = {
    'scale="private"': lambda m, X, e, s: _fit(m, X, e, s, scale="private"),
    "public scales": lambda m, X, e, s: _fit(m, X, e, s, scale=X.std(axis=0)),
    "no scaling": lambda m, X, e, s: _fit(m, X, e, s),
    "StandardScaler (NOT PRIVATE)": lambda m, X, e, s: _fit(
        m, StandardScaler().fit_transform(X), e, s
    ),
}


def row(name: str, X: np.ndarray, method: str, epsilon: float, repeats: int) -> dict:
    Z = StandardScaler().fit_transform(X)
    found = {
        way: np.array(
            [
                captured_variance(fit(getattr(skdppca, method), X, epsilon, seed), Z)
                for seed in range(repeats)
            ]
        )
        for way, fit in WAYS.items()
    }
    mine = found['scale="private"']
    return (
        {"data": name, "rows": len(X), "method": method, "epsilon": f"{epsilon:g}"}
        | {way: f"{np.median(runs):.3f}" for way, runs in found.items()}
        | {"private, quartiles": "{:.3f} to {:.3f}".format(*np.quantile(mine, [0.25, 0.75]))}
        | {"no number": int(sum(np.isnan(runs).sum() for runs in found.values()))}
    )


def rows(repeats: int) -> list[dict]:
    cases = [
        *(("as it is", "DPGauss", epsilon) for epsilon in EPSILONS),
        *(("resampled", "DPGauss", epsilon) for epsilon in (0.1, 0.3, 1.0, 10.0)),
        *(("resampled", method, 1.0) for method in OTHERS),
    ]
    data = datasets()
    return [row(name, data[name], method, epsilon, repeats) for name, method, epsilon in cases]


if __name__ == "__main__":
    told = {"repeats": "median of {}, seeds 0, 1, ..."}
    measure(__doc__, {"scale": Measured(rows, 20, told)})
