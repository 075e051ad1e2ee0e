"""The mechanism of DPPowerMethod: count, centre, private power iterations, variances."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..mechanisms.base import Spender
from ..mechanisms.block_mean import BlockMean
from ..mechanisms.gram_product import ClippedProduct, Product, power_method
from ..mechanisms.norm_product import Bound, NormProduct, clip_norms
from ..mechanisms.steps import geometric, orthonormal_start
from ..noise import NoiseSource
from ..records import Interactions, LargestEntries, Records
from ._adaptive import AdaptiveMechanism
from ._base import Release

__all__ = ["DPPowerMechanism"]

# More directions than components, so that the first passes miss none.
LEAST_OVERSAMPLING = 10

# Share of the budget of the passes for the radii that their products are clipped to.
RANGE_SHARE = 0.08


@dataclass(frozen=True)
class DPPowerMechanism(AdaptiveMechanism):
    """Private power method (Hardt & Price 2014; Nicolas et al. 2025, Algorithms 1 and 2).

    It differs from the papers in that the clipping norm is private as well, that the noise has the
    exact scale of the Gaussian mechanism (the proof of Theorem 3.2 has a slip, METHODS 9), that
    later passes cost more, and in the sensitivities.
    """

    n_iter: int
    oversampling: int | None
    budget_ratio: float
    clip: str
    bound: Bound

    def __call__(self, records: Records, noise: NoiseSource) -> Release:
        if self.bound.floor is not None:
            # One interaction more or less replaces one of so many rows, each of norm at most 1.
            public = replace(self.public, adjacency="replace-one", n_records=records.private_n)
            told = replace(self, public=public, norm_bound=1.0)
            return super(DPPowerMechanism, told).__call__(
                Interactions(records, self.bound.floor), noise
            )
        if self.bound.most is not None:
            records = LargestEntries(records, self.bound.most)
        return super().__call__(records, noise)

    def directions(
        self, mean: BlockMean, k: int, spender: Spender, noise: NoiseSource
    ) -> tuple[np.ndarray, np.ndarray]:
        d = mean.records.n_features
        more = max(LEAST_OVERSAMPLING, k) if self.oversampling is None else self.oversampling
        p = min(d, k + more)
        shares = geometric(self.budget_ratio, self.n_iter)
        # 1. what the records are clipped to
        product, mu = self._product(mean, p, shares[-1], spender, noise)
        # 2. the passes, with all that is left
        mus = [mu * math.sqrt(share) for share in shares]
        return power_method(product, orthonormal_start(p, d, None, noise), mus, k)

    def _product(
        self, mean: BlockMean, p: int, last: float, spender: Spender, noise: NoiseSource
    ) -> tuple[Product, float]:
        """How products are asked for, and what all of them may cost."""
        bound, whole = self.bound, spender.left
        if self.clip == "auto" and bound == Bound() and mean.norm_bound is None:
            mu_radius = whole * math.sqrt(RANGE_SHARE / self.n_iter)
            told = (mean.records, mean.n, mean.centre, mu_radius, mean.public)
            product = ClippedProduct(*told, spender, noise)
            return product, whole * math.sqrt(1 - RANGE_SHARE)
        mu = whole * math.sqrt(last)
        clipped = clip_norms(mean, p, mu, self.clip == "spherical", spender, noise)
        told = (mean.records, mean.n, mean.centre, clipped, bound, mean.public)
        return NormProduct(*told, spender, noise), spender.left
