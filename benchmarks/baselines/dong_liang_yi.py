"""GaussCov, SeparateCov, AdaptiveCov (Dong, Liang & Yi, NeurIPS 2022): private on paper.

*Differentially Private Covariance Revisited*, for rho-zCDP. Here the noise is numpy's, in floating
point, and the caller tells what nobody knows: the rows are centred at their own mean, the number of
rows is public, and the radius is read off the data. So this copy is **NOT PRIVATE**.

Neighbours. The paper exchanges a record, which moves a sum of ``x x^T`` by sqrt(2) in Frobenius
norm (rows of norm 1). Under add-remove, as in our tables, it is 1: `SENSITIVITY`. The same holds
for the eigenvalues together, by Hoffman & Wielandt; the trace and the queries of the sparse vector
technique move by 1 either way.

The budget. Gaussian noise of rho-zCDP is GDP with mu = sqrt(2 rho), and GDP composes exactly, so
SeparateCov has rho = mu(epsilon, delta)^2 / 2: more than the paper's own conversion gives it. The
sparse vector technique of AdaptiveCov is epsilon0-DP with epsilon0 = sqrt(rho) / 2, hence GDP with
mu0 = 2 Phi^-1(e^epsilon0 / (1 + e^epsilon0)); `adaptive_rho` solves for rho.

The bounds on the noise in AdaptiveCov are those of the theorems, at beta = .1. The authors' program
divides the first term of SeparateCov's by 6, so that it is taken more often.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log, sqrt

import numpy as np
from _steps import mirrored_noise, top_rows
from scipy.optimize import brentq
from scipy.stats import norm

from skdppca.privacy import mu_of

SENSITIVITY = {"replace-one": sqrt(2), "add-remove": 1.0}
BETA = 0.1
# Shares of rho in AdaptiveCov: the trace, the clipping norm, the matrix.
TRACE, CLIP, MATRIX = 1 / 8, 1 / 8, 3 / 4
# Clipping norms are halved at most so many times.
HALVINGS = 40


def gauss_rho(epsilon: float, delta: float) -> float:
    """What Gaussian mechanisms have together."""
    return mu_of(epsilon, delta) ** 2 / 2


def adaptive_rho(epsilon: float, delta: float) -> float:
    """What AdaptiveCov has: one part of it is epsilon0-DP, and dearer in GDP than in zCDP."""
    whole = gauss_rho(epsilon, delta)

    def excess(rho: float) -> float:
        return (1 - CLIP) * rho + gdp_of_pure(sqrt(2 * CLIP * rho)) ** 2 / 2 - whole

    return float(brentq(excess, 1e-9 * whole, whole))


def gdp_of_pure(epsilon: float) -> float:
    """mu of an epsilon-DP mechanism: randomised response is the worst of them."""
    return float(-2 * norm.ppf(1 / (1 + exp(epsilon))))


def clipped(X: np.ndarray, radius: float) -> np.ndarray:
    norms = np.linalg.norm(X, axis=1)
    return X * np.minimum(1.0, radius / np.maximum(norms, 1e-300))[:, None]


def gauss_cov(
    X: np.ndarray, radius: float, rho: float, rng: np.random.Generator, adjacency: str
) -> np.ndarray:
    """Algorithm 1: the matrix with noise. NOT PRIVATE."""
    Y = clipped(X, radius)
    sd = SENSITIVITY[adjacency] * radius**2 / (len(X) * sqrt(2 * rho))
    return Y.T @ Y / len(X) + mirrored_noise(X.shape[1], sd, rng)


def separate(
    X: np.ndarray, radius: float, rho: float, rng: np.random.Generator, adjacency: str
) -> np.ndarray:
    """Algorithm 2: eigenvectors and eigenvalues apart, half of rho each. NOT PRIVATE."""
    Y = clipped(X, radius)
    vectors = np.linalg.eigh(gauss_cov(Y, radius, rho / 2, rng, adjacency))[1]
    sd = SENSITIVITY[adjacency] * radius**2 / (len(X) * sqrt(rho))
    values = np.linalg.eigvalsh(Y.T @ Y / len(X)) + sd * rng.normal(size=X.shape[1])
    return vectors * values @ vectors.T


def adaptive(
    X: np.ndarray, radius: float, rho: float, rng: np.random.Generator, adjacency: str
) -> np.ndarray:
    n, d = X.shape
    Y = clipped(X, radius) / radius  # in the unit ball, as printed
    norms = np.linalg.norm(Y, axis=1)
    # 1. an upper bound on the trace
    trace = np.sum(norms**2) / n + rng.normal(scale=1 / (n * sqrt(2 * TRACE * rho)))
    trace = min(max(trace + sqrt(log(8 / BETA) / (TRACE * rho)) / n, 1e-16), 1.0)
    # 2. what noise the two would have at clipping norm tau
    bounds = [noise_bounds(n, d, MATRIX * rho, trace, 0.5**i, adjacency) for i in range(HALVINGS)]
    # 3. the first tau that takes more away than the noise is
    lost = excess(norms) - n * np.min(bounds, axis=1)
    i = above_threshold(lost, sqrt(2 * CLIP * rho), rng)
    tau = min(0.5 ** (i - 1), 1.0)
    # 4. the better of the two, there
    gauss, apart = bounds[min(i, HALVINGS - 1)]
    better = gauss_cov if gauss <= apart else separate
    return better(Y, tau, MATRIX * rho, rng, adjacency)


def noise_bounds(
    n: int, d: int, rho: float, trace: float, tau: float, adjacency: str
) -> tuple[float, float]:
    """Frobenius norms that the noise of GaussCov and of SeparateCov stays below, at norm tau."""
    beta = 0.75 * BETA
    scale = SENSITIVITY[adjacency] / (sqrt(2) * sqrt(rho) * n)
    largest = wigner_norm(d, beta / 2)
    radius = sqrt(d + 2 * sqrt(d * log(2 / beta)) + 2 * log(2 / beta))
    gauss = scale * wigner_frobenius(d, beta) * tau**2
    first = 2**1.25 * sqrt(trace * scale * largest) * tau
    return gauss, first + sqrt(2) * scale * radius * tau**2


def wigner_norm(d: int, beta: float) -> float:
    """A bound on the spectral norm of `mirrored_noise` at sd 1 (Bandeira & van Handel 2016)."""
    theta = min((log(d) / d) ** 0.3, 0.5) if d > 1 else 0.5
    middle = 2 * sqrt(d) + 6 * sqrt(log(d) / log(1 + theta))
    return (1 + theta) * middle + sqrt(2 * log(2 / beta))


def wigner_frobenius(d: int, beta: float) -> float:
    """A bound on its Frobenius norm (Laurent & Massart 2000)."""
    tail = log(2 / beta)
    return sqrt(d**2 + 2 * sqrt(d * tail) * (1 + sqrt(2 * (d - 1))) + 6 * tail)


def excess(norms: np.ndarray) -> np.ndarray:
    """By how much squares of norms above tau = 1, 1/2, 1/4, ... exceed tau^2, at most, summed.

    A norm in (2^-l, 2^(1-l)] counts as the upper end, so a record adds at most 1 to any of them.
    """
    upper = 2.0 ** np.minimum(np.ceil(np.log2(np.maximum(norms, 1e-300))), 0.0)
    taus = 0.5 ** np.arange(HALVINGS)
    return np.array([np.sum((upper**2 - tau**2)[upper > tau]) for tau in taus])


def above_threshold(queries: np.ndarray, epsilon: float, rng: np.random.Generator) -> int:
    """The sparse vector technique for queries that one record moves by 1: the first above 0."""
    threshold = rng.laplace(scale=2 / epsilon)
    for i, query in enumerate(queries):
        if query + rng.laplace(scale=4 / epsilon) >= threshold:
            return i
    return len(queries)


def _covariance(
    matrix: Callable[..., np.ndarray], rho_of: Callable[[float, float], float]
) -> Callable[..., np.ndarray]:
    def top(
        X: np.ndarray,
        k: int,
        epsilon: float,
        delta: float,
        rng: np.random.Generator,
        radius: float,
        adjacency: str = "add-remove",
    ) -> np.ndarray:
        """Top k eigenvectors, as rows. NOT PRIVATE."""
        return top_rows(matrix(X, radius, rho_of(epsilon, delta), rng, adjacency), k)

    return top


separate_cov = _covariance(separate, gauss_rho)
adaptive_cov = _covariance(adaptive, adaptive_rho)  # Algorithm 4
