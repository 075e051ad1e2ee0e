"""What the printed methods and the attacks on them share. **NOT PRIVATE**: numpy's noise."""

from __future__ import annotations

from collections.abc import Callable
from math import log, sqrt

import numpy as np
from scipy.stats import beta


def symmetric(d: int, sd: float, rng: np.random.Generator) -> np.ndarray:
    """vecd^-1 of i.i.d. N(0, sd^2): off the diagonal the sd is sd / sqrt(2)."""
    upper = np.triu(rng.normal(scale=sd / sqrt(2), size=(d, d)), 1)
    return upper + upper.T + np.diag(rng.normal(scale=sd, size=d))


def classical_sd(sensitivity: float, epsilon: float, delta: float) -> float:
    """Proposition 1.1: the noise of the Gaussian mechanism, for epsilon below 1."""
    return sensitivity * sqrt(2 * log(1.25 / delta)) / epsilon


def epsilon_bound(
    event: Callable[[np.ndarray, np.random.Generator], bool],
    neighbours: tuple[np.ndarray, np.ndarray],
    delta: float,
    runs: int,
    alpha: float = 1e-4,
) -> float:
    """A lower bound on epsilon from so many runs on either of two neighbours."""
    rare, frequent = (
        sum(bool(event(X, np.random.default_rng([side, run]))) for run in range(runs))
        for side, X in enumerate(neighbours)
    )
    return epsilon_of_counts(rare, frequent, runs, delta, alpha)


def epsilon_of_counts(
    rare: int, frequent: int, runs: int, delta: float, alpha: float = 1e-4
) -> float:
    """A lower bound on epsilon that an event proves, with probability at least 1 - alpha.

    (epsilon, delta)-DP asks that P(event | second) <= e^epsilon P(event | first) + delta. Both
    probabilities are bounded by one-sided Clopper-Pearson intervals at alpha / 2.
    """
    high = beta.ppf(1 - alpha / 2, rare + 1, runs - rare) if rare < runs else 1.0
    low = beta.ppf(alpha / 2, frequent, runs - frequent + 1) if frequent else 0.0
    return log((low - delta) / high) if low > delta else 0.0


def one_outlier(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows along the first axis; and the same with the last exchanged for one far along another."""
    X = np.zeros((n, d))
    X[:, 0] = np.linspace(-1, 1, n)
    other = X.copy()
    other[-1] = 0.0
    other[-1, 1] = 1e6
    return X, other


def outlier_bound(
    method: Callable[..., np.ndarray],
    epsilon: float = 0.5,
    delta: float = 1e-5,
    n: int = 5000,
    runs: int = 2000,
) -> float:
    """A lower bound on the epsilon of a release that claims `epsilon`.

    The event: the first component is the outlier's axis rather than the others'.
    """

    def event(X: np.ndarray, rng: np.random.Generator) -> bool:
        first = method(X, 1, epsilon, delta, rng)[0]
        return abs(first[1]) > abs(first[0])

    return epsilon_bound(event, one_outlier(n, 2), delta, runs)
