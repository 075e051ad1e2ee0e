"""Analyze Gauss, then private corrections of its top eigenvectors' products."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from ...linalg import decreasing_eigh
from ...mechanisms.block_mean import BlockMean
from ...mechanisms.clipping import Clip, excess_records
from ...mechanisms.gram import release_gram
from ...mechanisms.steps import Step, geometric, iterate
from ...private_data import PrivateData
from ...statistics import clip_measure
from ..subspace import SubspaceMechanism

__all__ = ["ResidualGaussMechanism"]

# Shares of mu^2, before they are made to add up: the start, all refinements, and each radius.
START, REFINEMENTS, RADIUS = 0.2, 0.8, 0.02

# From refinement to refinement, of the cost of the means.
RATIO = 1.45

# An eigenvalue of the start is worth refining if it is so many times the noise-only spectrum's end.
VISIBLE = 4.0

# The most records that the start clips.
MAX_EXCESS = 0.5

# Clipping bias that is left in a refinement, as a share of its correction's square: without it
# the variance of the estimate is thought too small, and it sticks.
LEFT_OVER_BIAS = 0.1


@dataclass(frozen=True)
class ResidualGaussMechanism(SubspaceMechanism):
    """Analyze Gauss, then private corrections of its top eigenvectors' products.

    Parameters
    ----------
    n_iter : int
        Refinements.
    rate : float
        The t-th takes ``min(1, rate / t)`` of its correction; infinite for no damping.
    """

    n_iter: int
    rate: float

    def directions(self, data: PrivateData, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The noisy matrix, and its refinements."""
        d, mean = data.n_features, BlockMean(data)
        mu_radius, mu_start, *mus = self._divide(data)
        todo: list[Step] = [partial(mean, mu_radius=mu_radius, mu=mu) for mu in mus]
        # 1. S: the mean Gram matrix, with noise of sd s0
        S, s0 = _start(data, mu_radius, mu_start)
        values, W = decreasing_eigh(S)
        if s0 == 0:
            return W[:k], np.diag(values[:k])
        if values[k - 1] < VISIBLE * math.sqrt(2 * d) * s0:
            # 2. nothing to refine: the power iteration, from the best directions there are
            return iterate(todo, W[:k], "auto", predicts=True)
        # 3. v: the variance of S W; each refinement is weighted against it
        v0 = variance = s0**2 / 2
        W_old = None
        for t, step in enumerate(todo, start=1):
            W = decreasing_eigh(S)[1][:k]
            C = W @ S
            if W_old is not None:
                turned = float(np.linalg.norm(W - (W @ W_old.T) @ W_old))
                variance += v0 * turned**2 / k
            gradient = step(W, C)
            weight = variance / (variance + gradient.noise_sd**2) * min(1.0, self.rate / t)
            D = weight * (gradient.mean - C)
            # 4. the symmetric matrix nearest to S that maps W to S W + D
            S = S + D.T @ W + W.T @ D - W.T @ ((W @ D.T + D @ W.T) / 2) @ W
            miss = float(np.mean((gradient.mean - C) ** 2))
            variance = (1 - weight) * variance + LEFT_OVER_BIAS * weight**2 * miss
            W_old = W
        values, W = decreasing_eigh(S)
        return W[:k], np.diag(values[:k])

    def _divide(self, data: PrivateData) -> list[float]:
        """What a radius, the start and the refinements cost: together all that is left."""
        radius = RADIUS if data.norm_bound is None else 0.0
        shares = np.array([radius, START, *REFINEMENTS * geometric(RATIO, self.n_iter)])
        total = shares.sum() + radius * self.n_iter
        return [data.left * math.sqrt(share) if share else 0.0 for share in shares / total]


def _start(data: PrivateData, mu_radius: float, mu: float) -> tuple[np.ndarray, float]:
    """DPGauss's matrix over n, and the sd of its noise."""
    d, radius = data.n_features, data.norm_bound
    if data.exact:
        radius = math.inf
    elif radius is None:
        excess = min(excess_records(data.n, d * (d + 1) // 2, mu, mu_radius), MAX_EXCESS * data.n)
        measure = clip_measure(data.centre, 0.0, data.public.grouped)
        radius = data.radius(measure, excess, mu_radius, "clipping norm")
    gram = release_gram(data.portion(mu), Clip(radius))
    return gram.matrix / data.n, gram.noise_sd / data.n
