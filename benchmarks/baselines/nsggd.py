"""NSGGD (Maunu, Yu & Lerman 2022, as in Kim & Jung's Algorithm 3): **NOT PRIVATE**.

Why: the noise of a step, ``B sqrt(2 T log(1/delta') / (n^2 epsilon'))``, has epsilon' under the
root instead of in front of it, so that for small epsilon it is too small by about
``sqrt(epsilon')``; and it is multiplied by the batch size, though a mean over a batch moves by
2 / B. At one pair of rows (n = T = B = 1 after line 1) the step is one Gaussian mechanism, and its
leak is seen at once.

Also, as printed the step goes *down* a gradient whose sign is already turned, away from the
components; `sign=1` turns it. Line 4's start is Algorithm 1, on rows of norm 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt

import numpy as np

from ._common import epsilon_of_counts
from .analyze_gauss_max import analyze_gauss_max

# Steps whose rows and noise are drawn at once, in all chains together.
CHUNK = 2**18


def nsggd(
    X: np.ndarray,
    k: int,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    sign: int = -1,
) -> np.ndarray:
    """Algorithm 3, with T = n^2 and rates 1 / n^2; k orthonormal rows. NOT PRIVATE."""
    return nsggd_chains([X], k, [epsilon], delta, rng, [sign])[0]


def nsggd_chains(
    Xs: Sequence[np.ndarray],
    k: int,
    epsilons: Sequence[float],
    delta: float,
    rng: np.random.Generator,
    signs: Sequence[int],
) -> np.ndarray:
    """Many runs of `nsggd` at once, on tables of one shape; shape (runs, k, d). NOT PRIVATE.

    T = n^2 steps of one are slow for what they cost at a time, not for what they compute.
    """
    # 1. directions of pairs
    half = len(Xs[0]) // 2
    Zs = np.array([X[half : 2 * half] - X[:half] for X in Xs])
    Zs /= np.linalg.norm(Zs, axis=2, keepdims=True)
    n, T = half, half**2
    (B,) = {max(int(n * sqrt(epsilon / (8 * T))), 1) for epsilon in epsilons}
    # 2., 3. noise
    sds = np.array([noise_sd(n, B, T, epsilon, delta) for epsilon in epsilons])
    # 4. start
    starts = [
        analyze_gauss_max(Z, k, epsilon / 2, delta / 2, rng).T
        for Z, epsilon in zip(Zs, epsilons, strict=True)
    ]
    # 5.-12. steps; chains are the last axis, so that all arithmetic is along it
    V = np.ascontiguousarray(np.array(starts).transpose(1, 2, 0))
    Zs = np.ascontiguousarray(Zs.transpose(2, 0, 1))
    rates, chains = np.array(signs) / T, np.arange(len(Zs[0]))
    chunk = max(CHUNK // V.size, 1)
    for start in range(0, T, chunk):
        steps = min(chunk, T - start)
        picks = rng.integers(n, size=(steps, B, len(chains)))
        noises = rng.normal(size=(steps, *V.shape)) * sds
        for pick, noise in zip(picks, noises, strict=True):
            x = Zs[:, chains, pick]
            V = _polar(V + rates * (_gradient(V, x) + noise))
    return V.transpose(2, 1, 0)


def _gradient(V: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Line 8 for rows x of shape (d, B, chains) and V of shape (d, k, chains)."""
    scores = np.einsum("dbr,dkr->bkr", x, V)
    rest = x - np.einsum("dkr,bkr->dbr", V, scores)
    lengths = np.sqrt(np.einsum("dbr,dbr->br", rest, rest))
    rest /= np.maximum(lengths, 1e-12)
    return np.einsum("dbr,bkr->dkr", rest, scores) / len(scores)


def _polar(V: np.ndarray) -> np.ndarray:
    """Line 10, the nearest orthonormal columns, by Newton's iteration: U W^T of the SVD.

    It doubles the digits in each round, and one small step has most of them already. It converges
    from singular values below sqrt 3, and steps that are larger are scaled first.
    """
    k = V.shape[1]
    identity = np.eye(k)[:, :, None]
    squares = np.einsum("dkr,dlr->klr", V, V)
    if (size := np.abs(squares).sum(axis=0).max(axis=0)).max() > 2:
        V, squares = V / np.sqrt(size), squares / size
    while np.abs(squares - identity).max() > 1e-9:
        V = np.einsum("dkr,klr->dlr", V, (3 * identity - squares) / 2)
        squares = np.einsum("dkr,dlr->klr", V, V)
    return V


def noise_sd(n: int, B: int, T: int, epsilon: float, delta: float) -> float:
    """Line 3, with epsilon' = epsilon / 2 and delta' = delta / 2."""
    return B * sqrt(2 * T * log(2 / delta) / (n**2 * epsilon / 2))


def attack(epsilon: float = 0.1, delta: float = 1e-5, runs: int = 1_000_000) -> float:
    """A lower bound on the epsilon' of one step that claims ``epsilon / 2``.

    One pair of rows: its gradient is a number in [-1, 1], either end by choice of the rows.
    """
    sd = noise_sd(1, 1, 1, epsilon, delta)
    draws = np.random.default_rng(0).normal(scale=sd, size=(2, runs))
    rare, frequent = (draws + np.array([[-1], [1]]) > 2.5 * sd).sum(axis=1)
    return epsilon_of_counts(int(rare), int(frequent), runs, delta / 2)
