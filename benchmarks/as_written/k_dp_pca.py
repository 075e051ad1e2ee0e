"""k-DP-PCA as printed (Düngler & Sanyal 2025, Algorithms 1, 2, 6 and 7): **NOT PRIVATE**.

Why (doc/methods/kdppca.rst, and doc/theory/gaussian_dp.rst on parallel parts): batches are cut by
position, so that under add/remove one record shifts all later batches; the step sizes are made of
population eigenvalues; and both histograms here answer with the fullest noisy bin among the
*non-empty* ones, so a bin that one record alone occupies shows that record. That last leak is not
the paper's: it calls a learner that may answer "bottom", and prints no threshold. With one, the
histograms would answer nothing for batches below about 10^4 records. Nor is it a leak that
Algorithm 2 reads the same half of a batch in lines 3 and 4: either has half of the budget, and
halves compose.

From Appendix G: K = a = 1, tau = 0.01, B = sqrt(n), eta_t. Unprinted, or printed with a slip, and
chosen here: C_1 = 1; the number of subsets is C_1 log(1/(delta tau))/epsilon, but at most the
number of differences, so that no subset is empty; a count's noise is Lap(2/epsilon) (the lemma that
Algorithm 7 refers to is not named); a step whose range is "bottom" is left out; B in Algorithm 7 is
the number of gradients given to it.
"""

from __future__ import annotations

from math import ceil, isqrt, log, sqrt

import numpy as np

from ._records import FAILURE, Model, deflated, project, random_unit


def k_dp_pca(factors: np.ndarray, k: int, model: Model, rng: np.random.Generator) -> np.ndarray:
    """Algorithm 1; k orthonormal rows. NOT PRIVATE."""
    n = len(factors)
    B = isqrt(n)

    def one(part: np.ndarray, found: np.ndarray) -> np.ndarray:
        rates = _learning_rates(model, len(found), len(part) // B, n)
        return modified_dp_pca(part, found, model, B, rates, rng)

    return deflated(factors, k, one)


def _learning_rates(model: Model, i: int, steps: int, n: int) -> np.ndarray:
    """eta_t^i of Appendix G.1."""
    value, following = model.eigenvalues[i], model.eigenvalues[i + 1]
    t = np.arange(1, steps + 1)
    return 1 / (20 * model.sigma * value + (value - following) * t / log(n))


def modified_dp_pca(
    factors: np.ndarray,
    found: np.ndarray,
    model: Model,
    B: int,
    rates: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Algorithm 2, with P = I - found^T found; a unit row. NOT PRIVATE."""
    d = factors.shape[2]
    # 1. a random start in the image of P
    w = random_unit(d, found, rng)
    # 2. for t = 1, ..., T
    for t, rate in enumerate(rates):
        half = factors[B * t : B * t + B // 2]
        # w is in the image of P: P A P w = P F^T (F w)
        gradients = project(np.einsum("nm,nmd->nd", half @ w, half), found)
        told = model.epsilon / 2, model.delta / 2, FAILURE / (2 * len(rates))
        # 3. range of the gradients
        spread = private_range(gradients, *told, rng)
        if spread is None:
            continue
        # 4. their mean, of the same half
        g = private_mean(gradients, spread, *told, rng)
        # 5., 6. a step of Oja
        w = project(w + rate * project(g, found), found)
        w /= np.linalg.norm(w)
    return w


def private_range(
    gradients: np.ndarray, epsilon: float, delta: float, tau: float, rng: np.random.Generator
) -> float | None:
    """Algorithm 6: about the top eigenvalue of the gradients' covariance. NOT PRIVATE."""
    # 1., 2. differences of pairs
    pairs = len(gradients) // 2
    differences = gradients[1 : 2 * pairs : 2] - gradients[0 : 2 * pairs : 2]
    if not pairs:
        return None
    # 3. subsets of b differences
    subsets = min(ceil(log(1 / (delta * tau)) / epsilon), pairs)
    b = pairs // subsets
    G = differences[: subsets * b].reshape(subsets, b, -1)
    # 4. top eigenvalues, of the b x b matrices that have the same ones
    top = np.linalg.eigvalsh(G @ G.transpose(0, 2, 1) / b)[:, -1]
    # 5., 6. histogram over powers of 2^(1/4)
    bins, counts = np.unique(np.floor(4 * np.log2(top[top > 0])), return_counts=True)
    # 7. bottom, if all bins are empty
    if not len(bins):
        return None
    # 10., 11. the left edge of the fullest noisy bin
    noisy = counts + rng.laplace(scale=2 / epsilon, size=len(bins))
    return float(2.0 ** (bins[noisy.argmax()] / 4))


def private_mean(
    gradients: np.ndarray,
    spread: float,
    epsilon: float,
    delta: float,
    tau: float,
    rng: np.random.Generator,
) -> np.ndarray:
    """Algorithm 7: the mean of gradients truncated around a rough one. NOT PRIVATE."""
    B, d = gradients.shape
    # 1. width of the bins
    width = 2**0.25 * sqrt(spread) * log(25) ** 2
    # 2.-5. the left edge of the fullest noisy bin, coordinate by coordinate
    epsilon_j = epsilon / (4 * sqrt(2 * d * log(4 / delta)))
    edges = _fullest_bins(gradients, width, 2 / epsilon_j, rng)
    # 6., 7. truncate
    reach = 3 * sqrt(spread) * log(B * d / tau)
    truncated = np.clip(gradients, edges - reach, edges + reach)
    # 9. mean plus noise
    sd = 4 * reach * sqrt(2 * d * log(2.5 / delta)) / (epsilon * B)
    return truncated.mean(axis=0) + rng.normal(scale=sd, size=d)


def _fullest_bins(
    gradients: np.ndarray, width: float, noise_scale: float, rng: np.random.Generator
) -> np.ndarray:
    """Left edges, one a column, of the non-empty bins (jw, (j+1)w] with the most noisy points."""
    n, d = gradients.shape
    sorted_bins = np.sort(np.ceil(gradients / width) - 1, axis=0).T
    first = np.ones((d, n), bool)
    first[:, 1:] = sorted_bins[:, 1:] != sorted_bins[:, :-1]
    starts = np.flatnonzero(first)
    counts = np.diff(starts, append=n * d)
    noisy = counts + rng.laplace(scale=noise_scale, size=len(counts))
    column = starts // n
    by_column = np.lexsort((noisy, column))
    fullest = by_column[np.searchsorted(column[by_column], np.arange(d), side="right") - 1]
    return sorted_bins.ravel()[starts[fullest]] * width
