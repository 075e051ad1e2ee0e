"""What the printed methods share; **NOT PRIVATE**: population facts steer them.

Records are given by their factors, so that no d x d matrix is formed for any of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log, sqrt

import numpy as np

# Records whose scaled rows are copied at once.
BLOCK = 2048

# zeta of Appendix G.1, "uniformly across all methods"; also the failure probability tau.
FAILURE = 0.01


@dataclass(frozen=True)
class Model:
    """What the printed methods are told: of the population, what no private method could know.

    Parameters
    ----------
    eigenvalues : tuple of float
        Of E[A_i], decreasing: the k largest and the next one.
    sigma : float
        Standard deviation of the isotropic noise of the model.
    gamma : float
        Of Assumption A.4: sigma in the spiked model (Corollary 2), O(1) for Gaussian rows.
    epsilon, delta : float
        The budget.
    """

    eigenvalues: tuple[float, ...]
    sigma: float
    gamma: float
    epsilon: float
    delta: float

    def clip_2(self, n: int, d: int) -> float:
        """beta of Appendix G.1, with its unprinted constant C = 1."""
        return sqrt(self.eigenvalues[0]) + self.sigma * sqrt(d * log(n / FAILURE))

    def clip_1(self, n: int, d: int) -> float:
        """alpha of section 5."""
        noise = self.sigma * sqrt(d * log(n / FAILURE))
        return self.sigma * d + sqrt(self.eigenvalues[0] * d) + noise


def traces(factors: np.ndarray) -> np.ndarray:
    """tr(A_i) of every record, shape (n,)."""
    return np.einsum("nmd,nmd->n", factors, factors)


def root_traces(factors: np.ndarray) -> np.ndarray:
    """sum_j sqrt(A_i,jj) of every record, shape (n,)."""
    starts = range(0, len(factors), BLOCK)
    blocks = (factors[start : start + BLOCK] for start in starts)
    return np.concatenate([np.linalg.norm(block, axis=1).sum(axis=1) for block in blocks])


def weighted_sum(factors: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """sum_i weights_i A_i, shape (d, d)."""
    d = factors.shape[2]
    total = np.zeros((d, d))
    for start in range(0, len(factors), BLOCK):
        block = slice(start, start + BLOCK)
        rows = factors[block] * np.sqrt(weights[block])[:, None, None]
        rows = rows.reshape(-1, d)
        total += rows.T @ rows
    return total


def trace_clipped_sum(factors: np.ndarray, beta: float) -> np.ndarray:
    """X = sum_i A_i min(1, beta^2 / tr(A_i)), shape (d, d)."""
    return weighted_sum(factors, beta**2 / np.maximum(traces(factors), beta**2))


def deflated(
    factors: np.ndarray, k: int, one: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> np.ndarray:
    """Algorithm 1: each component from n/k fresh records and those found; k orthonormal rows."""
    m, found = len(factors) // k, np.empty((0, factors.shape[2]))
    for i in range(k):
        found = np.vstack([found, one(factors[m * i : m * (i + 1)], found)])
    return found


def random_unit(d: int, found: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """w_0 = P w'_0 / ||P w'_0||: uniform on the unit sphere, projected."""
    w = project(rng.normal(size=d), found)
    return w / np.linalg.norm(w)


def project(vectors: np.ndarray, found: np.ndarray) -> np.ndarray:
    """P v of every row v, where P = I - found^T found; P is never formed."""
    return vectors - (vectors @ found.T) @ found if len(found) else vectors
