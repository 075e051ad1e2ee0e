"""Analyze Gauss, then private corrections of its top eigenvectors' products."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...linalg import decreasing_eigh
from ...mechanisms.block_mean import BlockMean
from ...mechanisms.clipping import Clip, clip_radius, expected_norms
from ...mechanisms.gram import release_gram
from ...mechanisms.steps import chained, geometric, iterate, left_by, radius_mus
from ...private_data import PrivateData
from ...statistics import clip_measure
from ..subspace import SubspaceMechanism

__all__ = ["ResidualGaussMechanism"]

# Shares of mu^2: of each radius, usually at most; and of what radii leave, of the start.
RADIUS, START = 0.018, 0.2

# From refinement to refinement, of the cost of the means.
RATIO = 1.45

# An eigenvalue of the start is worth refining if it is so many times the noise-only spectrum's end.
VISIBLE = 4.0

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
        d = data.n_features
        # 1. S: the mean Gram matrix, with noise of sd s0; its radius, and those of all refinements
        n_radii = 1 + self.n_iter
        mus_radius = np.zeros(n_radii)
        if data.norm_bound is None:
            mus_radius = radius_mus(data, RADIUS * n_radii, n_radii)
        rest = left_by(mus_radius, data.left)
        S, s0, radius = _start(data, mus_radius[0], rest * math.sqrt(START))
        mus = rest * np.sqrt((1 - START) * geometric(RATIO, self.n_iter))
        todo = list(chained(BlockMean(data), mus_radius[1:], mus, radius**2))
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


def _start(data: PrivateData, mu_radius: float, mu: float) -> tuple[np.ndarray, float, float]:
    """DPGauss's matrix over n, the sd of its noise, and the radius that records are clipped to."""
    radius = data.norm_bound
    if data.exact or radius is None:
        measure = clip_measure(data.centre, 0.0, data.public.grouped)
        dim = data.n_features * (data.n_features + 1) // 2
        name = "clipping norm"
        radius = clip_radius(data, measure, dim, mu, mu_radius, name, expected=expected_norms(data))
    gram = release_gram(data.portion(mu), Clip(radius))
    return gram.matrix / data.n, gram.noise_sd / data.n, radius
