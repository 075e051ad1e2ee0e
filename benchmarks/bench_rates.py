"""How the error falls with what theorems name, where no figure of a paper shows it.

    python benchmarks/bench_rates.py          # 2 minutes on one core

- *power*: the sine of the angle between the first component of `DPPowerMethod` and the one without
  noise, on rows of norm 1 whose first variance is ``gap`` above a flat bulk. Norm bound and mean
  are public, epsilon .5 and delta 1e-6 unless varied; medians.
- *signed*: the loss zeta^2 of one component on rows that agree up to a sign and noise of size
  sigma (Example 1 of Düngler & Sanyal, Example 4.1 of Liu et al.), 10000 x 200, epsilon 1, delta
  .01, mean public; medians. "not private" is PCA.

``headlines.py`` takes the slopes. All seeds are fixed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np
from _common import Measured, measure
from _steps import top_rows
from bench_explained import METHODS, loss
from bench_gap import rows

from skdppca import DPPowerMethod
from skdppca.datasets import make_spiked
from skdppca.metrics import sin_theta

NOISE_SEED = 1_000_000  # rows are seeded by small numbers: noise of their stream would follow them
N, D, GAP, EPSILON = 100_000, 50, 0.3, 0.5
POWER = {
    "n": (10_000, 30_000, 100_000, 300_000),
    "d": (12, 25, 50, 100, 200),
    "gap": (0.2, 0.3, 0.45, 0.7),
    "epsilon": (0.1, 0.3, 1.0, 3.0),
}
SIGNED = {"n_records": 10_000, "n_features": 200, "n_components": 1, "eigenvalues": [10.0]}
SIGMAS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)


def off(X: np.ndarray, epsilon: float, seed: int) -> float:
    public = {"delta": 1e-6, "norm_bound": 1.0, "center": False, "variance_share": 0.0}
    pca = DPPowerMethod(1, epsilon=epsilon, random_state=seed, **public)
    return sin_theta(pca.fit(X), top_rows(X.T @ X, 1))


def power(repeats: int) -> Iterator[dict]:
    """One row a value of what is varied."""
    for against, values in POWER.items():
        for value in values:
            setting = {"n": N, "d": D, "gap": GAP, "epsilon": EPSILON, against: value}
            epsilon = setting.pop("epsilon")
            X = rows(**setting, k=1)
            errors = [off(X, epsilon, seed) for seed in range(NOISE_SEED, NOISE_SEED + repeats)]
            yield _row("power", "DPPowerMethod", against, value, errors)


def signed(repeats: int) -> Iterator[dict]:
    """One row a method and sigma; all methods see the same rows."""
    for sigma in SIGMAS:
        losses: dict[str, list[float]] = {name: [] for name in METHODS}
        for seed in range(repeats):
            draw = make_spiked(**SIGNED, sigma=sigma, random_state=seed)
            for name, method in METHODS.items():
                told = {"delta": 0.01, "center": False}
                losses[name].append(loss(method, draw, 1, seed + NOISE_SEED, **told))
        for name, values in losses.items():
            yield _row("signed", name, "sigma", sigma, values)


def _row(experiment: str, method: str, against: str, value: float, errors: list[float]) -> dict:
    low, median, high = np.quantile(errors, [0.25, 0.5, 0.75])
    quantiles = {"median": f"{median:.3g}", "quartiles": f"{low:.3g} to {high:.3g}"}
    found = {"experiment": experiment, "method": method, "against": against, "x": f"{value:g}"}
    return found | quantiles


if __name__ == "__main__":
    rates = Measured(
        lambda repeats: chain(power(repeats), signed(repeats)), 12, {"repeats": "{}, seeds from 0"}
    )
    measure(__doc__, {"rates": rates})
