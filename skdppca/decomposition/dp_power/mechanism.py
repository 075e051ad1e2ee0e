"""What DPPowerMethod releases: products of the Gram matrix, and the directions they lead to."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from ...mechanisms.base import Release
from ...mechanisms.clipping import CLIPPING, Clip, clip_radius, clip_records, expected_products
from ...private_data import Answer, PrivateData
from ...statistics import (
    Interactions,
    LargestEntries,
    NormProduct,
    ProductSum,
    ResidualNorms,
)
from ..iterative.iteration import Directions, orthonormal_start
from ..iterative.steps import geometric, left_by, radius_mus
from ..iterative.subspace import SubspaceMechanism
from .power_method import Product, power_method


@dataclass(frozen=True)
class PowerConstants:
    """How passes over the records are made."""

    # More directions than components, so that the first passes miss none; round.
    least_oversampling: int = 10
    # Share of the passes' mu^2 for the radii that their products are clipped to; a guess.
    range_share: float = 0.08
    # Weight of the noise in the number of clipped products: 32 was better than 8 on power laws, the
    # digits, clusters and sparse rows, and 64 no better.
    noise_weight: float = 32.0


POWER = PowerConstants()


def width(k: int, n_features: int, oversampling: int | Literal["auto"]) -> int:
    """How many directions lead to k components; "auto" adds k of them, and no fewer than 10."""
    more = max(POWER.least_oversampling, k) if isinstance(oversampling, str) else oversampling
    return min(n_features, k + more)


@dataclass(frozen=True)
class DPPowerMechanism(SubspaceMechanism):
    """Private power method (Hardt & Price 2014; Nicolas et al. 2025, Algorithms 1 and 2).

    It differs from the papers in that the clipping norm is private as well, that the noise has the
    exact scale of the Gaussian mechanism, that later passes cost more, and in the sensitivities.

    Parameters
    ----------
    n_iter : int
    oversampling : int or "auto"
    budget_ratio : float
        The square of a pass's mu over that of the pass before.
    clip : {"auto", "norm", "spherical"}
    max_nonzero : int or None
        Rows keep no more of their largest entries.
    degree_floor : int or None
        Neighbours differ in one interaction, and no user is divided by less; None: in one record.
    """

    n_iter: int
    oversampling: int | Literal["auto"]
    budget_ratio: float
    clip: str
    max_nonzero: int | None
    degree_floor: int | None

    # What is asked of records whose norms are clipped.
    norm_product: ClassVar[type[NormProduct]] = NormProduct

    def run(self, data: PrivateData) -> Release:
        """Release the directions and, if they are paid for, the variances along them."""
        if self.degree_floor is not None:
            # One interaction more or less exchanges one of the rows, whose norms are at most 1.
            public = replace(data.public, adjacency="replace-one")
            told = replace(data, public=public, norm_bound=1.0)
            return super().run(told.through(Interactions(self.degree_floor)))
        if self.max_nonzero is not None:
            data = data.through(LargestEntries(self.max_nonzero))
        return super().run(data)

    def directions(self, data: PrivateData, k: int) -> Directions:
        """Spend all of the budget on k directions."""
        d = data.n_features
        p = width(k, d, self.oversampling)
        shares = geometric(self.budget_ratio, self.n_iter)
        # 1. how products are asked for: each is clipped, or the records' norms are, once
        if self.clip == "auto" and self.max_nonzero is None and data.norm_bound is None:
            product, mu = self._of_clipped_products(data)
        else:
            last = data.remaining * math.sqrt(shares[-1])
            clip = clip_records(data, d * p, last, self.clip == "spherical")
            mu = data.remaining
            product = partial(self._of_clipped_norms, data, clip)
        # 2. the passes, with all that is left
        mus = [mu * math.sqrt(share) for share in shares]
        return power_method(product, orthonormal_start(p, d, None, data.noise), mus, k)

    def _of_clipped_products(self, data: PrivateData) -> tuple[Product, float]:
        """Products that are clipped, record by record, and what their radii leave of the budget."""
        mus_radius = radius_mus(data, POWER.range_share, self.n_iter)
        return ClippedProducts(data, list(mus_radius)), left_by(mus_radius, data.remaining)

    def _of_clipped_norms(
        self, data: PrivateData, clip: Clip, W: np.ndarray, mu: float
    ) -> tuple[np.ndarray, float]:
        """``W A / n`` of records whose norms are clipped; the noise follows W."""
        asked = self.norm_product(
            centre=data.centre,
            directions=W,
            radius=clip.radius,
            spherical=clip.spherical,
            grouped=data.public.grouped,
            most=self.max_nonzero,
            floor=self.degree_floor,
        )
        return _over_n(data.ask(asked, mu, "product"), data.n)


@dataclass
class ClippedProducts:
    """``W A / n``; every record's product with W is clipped to a private radius.

    Parameters
    ----------
    data : PrivateData
    mus_radius : list of float
        What the next radii cost.
    last : float, optional
        The last one.
    """

    data: PrivateData
    mus_radius: list[float]
    last: float | None = None

    def __call__(self, W: np.ndarray, mu: float) -> tuple[np.ndarray, float]:
        """Release one more, at `mu` and the cost of its radius."""
        data, W = self.data, np.ascontiguousarray(W)
        products = ResidualNorms(data.centre, None, W, np.zeros_like(W))
        # 1. R: how long the products are
        self.last = clip_radius(
            data,
            products,
            W.size,
            mu,
            self.mus_radius.pop(0),
            "radius of the product",
            weight=POWER.noise_weight,
            most=CLIPPING.most_clipped_unscaled,
            expected=expected_products(data, self.last),
        )
        # 2. their clipped sum
        return _over_n(data.ask(ProductSum(products, self.last), mu, "product"), data.n)


def _over_n(answer: Answer, n: float) -> tuple[np.ndarray, float]:
    return answer.value / n, answer.noise_sd / n
