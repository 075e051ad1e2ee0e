"""A lower bound, by experiment, on the Gaussian-DP parameter of a release (METHODS 14)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import ndtri
from scipy.stats import beta


def mu_lower_bound(without: np.ndarray, with_record: np.ndarray, alpha: float) -> float:
    """What a test that sees one number of the release proves of its mu.

    A threshold is chosen on the first half of the runs; on the other half its false and true
    positive rates are bounded with one-sided Clopper-Pearson intervals at alpha / 2 each. For a
    mu-GDP release the result exceeds mu with probability at most `alpha`.
    """
    half = len(without) // 2
    bounds = []
    for sign in (1, -1):
        a, b = sign * without, sign * with_record
        candidates = np.unique(
            np.quantile(np.concatenate([a[:half], b[:half]]), np.linspace(0, 1, 200))
        )
        powers = [_difference(a[:half] > t, b[:half] > t, 0.5) for t in candidates]
        best = candidates[int(np.argmax(powers))]
        bounds.append(_difference(a[half:] > best, b[half:] > best, alpha / 2))
    return max(bounds)


def _difference(false: np.ndarray, true: np.ndarray, alpha: float) -> float:
    """Phi^-1(TPR_low) - Phi^-1(FPR_high), Bonferroni over both rates."""
    n, x, y = len(false), int(false.sum()), int(true.sum())
    high = beta.ppf(1 - alpha / 2, x + 1, n - x) if x < n else 1.0
    low = beta.ppf(alpha / 2, y, n - y + 1) if y else 0.0
    return float(ndtri(low) - ndtri(high)) if 0 < low and high < 1 else -np.inf


def collect(release: Callable[[int], float], runs: int) -> np.ndarray:
    """The number that `release` shows, for as many seeds."""
    return np.array([release(seed) for seed in range(runs)])
