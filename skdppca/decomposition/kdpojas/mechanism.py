"""k-DP-Ojas in full passes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...linalg import decreasing_eigh
from ...mechanisms.block_mean import BlockMean
from ...mechanisms.steps import iterate, orthonormal_start, steps
from ...private_data import PrivateData
from ..subspace import SubspaceMechanism

__all__ = ["RATE", "KDPOjasMechanism", "width"]

# The learning rate that "auto" stands for, and the growth of the budget from step to step; with
# these random starts fail less often than with a rate of 4 and equal budgets.
RATE, RATIO = 8.0, 1.2

# Share of the budget for the clipping radii, and how many first steps search one: later the
# gradients hardly change in length, and a step with a known radius reads the records only once.
RANGE_SHARE, SEARCHES = 0.08, 5


# More directions than components: a random start of no more is close to orthogonal to one of them
# too often, and all steps are spent on turning there.
OVERSAMPLING = 4


def width(k: int, n_features: int) -> int:
    """How many directions lead to k components."""
    return min(n_features, k + OVERSAMPLING)


@dataclass(frozen=True)
class KDPOjasMechanism(SubspaceMechanism):
    """k-DP-Ojas (Düngler & Sanyal, Algorithm 3) with full passes that compose exactly.

    The printed noise rests on amplification by shuffling beyond where it holds; this is the
    Gaussian mechanism on the whole sum, `n_iter` times.

    Parameters
    ----------
    n_iter : int
    rate : float
        ``eta_t = rate / (t ||W^T G||)``.
    """

    n_iter: int
    rate: float

    def directions(self, data: PrivateData, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Clipped gradient after clipped gradient, from a random start."""
        todo = steps(BlockMean(data), "reuse", self.n_iter, RATIO, RANGE_SHARE, SEARCHES)
        start = orthonormal_start(width(k, data.n_features), data.n_features, None, data.noise)
        directions, core = iterate(list(todo), start, self.rate, predicts=False)
        # those that hold most of what the last step saw
        values, rotation = decreasing_eigh(core)
        return rotation[:k] @ directions, np.diag(values[:k])
