"""The noisy product of the Gram matrix with a few directions, and the power iterations over it.

`ClippedProduct` is one way to it, `NormProduct` another: sums over blocks of records that lie here,
and Gaussian noise. Whatever else answers ``W A`` with noise of a known cost, from a distributed
array or a secure sum, is a `Product` too, and `power_method` asks nothing more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..linalg import qr_svd
from ..noise import NoiseSource
from ..records import Records, Residual
from .base import Public, Spender
from .block_mean import MAX_EXCESS, residual_norm_error
from .centre import clip_weights
from .gaussian import UNIT_ROUNDOFF, summation_error
from .radius import COUNT_SLACK, MIN_EXCESS, private_radius
from .sensitivity import ball_sum
from .steps import predict

__all__ = ["ClippedProduct", "Product", "power_method"]

# What a step asks: orthonormal rows W and a budget mu, to the noisy rows of W A (over n).
Product = Callable[[np.ndarray, float], np.ndarray]

# Weight of the noise in the number of clipped products: 32 was better than 8 on power laws, the
# digits, clusters and sparse rows, and 64 no better.
PRODUCT_WEIGHT = 32.0

# A centre is subtracted from every sparse row, at the cost of dense blocks, if what it adds to the
# products and takes from them again is so many times their radius.
FAR = 8.0


@dataclass(frozen=True)
class ClippedProduct:
    """``W A / n`` with noise; every record's product is clipped to a private radius.

    A private mean around a prediction of 0 (`BlockMean`); without one nothing but a centre can
    cancel, and sparse rows may be as wide as they like.

    Parameters
    ----------
    records : Records
    n : float
        Their (noisy) number.
    centre : ndarray of shape (d,) or None
    mu_radius : float
        What every radius costs.
    public : Public
    spender : Spender
        Pays for every product.
    noise : NoiseSource
    """

    records: Records
    n: float
    centre: np.ndarray | None
    mu_radius: float
    public: Public
    spender: Spender
    noise: NoiseSource

    def __call__(self, directions: np.ndarray, mu: float) -> np.ndarray:
        """Release the product with these orthonormal rows, at a cost of `mu` less the radius's."""
        directions = np.ascontiguousarray(directions)
        residual = Residual(directions, np.zeros_like(directions), self.centre)
        records, measured = self.records, self._measure(self.records, residual)
        if math.isinf(mu):
            return self._sum(records, residual, measured, math.inf) / self.n
        # 1. how long the products are
        excess = PRODUCT_WEIGHT * math.sqrt(directions.size) / mu
        excess = max(MIN_EXCESS * self.n, excess, COUNT_SLACK / self.mu_radius)
        radius = private_radius(
            measured[:, 0],
            min(excess, MAX_EXCESS * self.n),
            "radius of the product",
            self.spender,
            self.mu_radius,
            self.public,
            self.noise,
        )
        # 2. their clipped sum
        terms = self._terms(radius)
        error = summation_error(terms, records.span_rows, records.n_features)
        if terms > FAR * radius:
            records, error = records.explicit(), error * radius / terms
            measured = self._measure(records, residual)
        query = self.spender.take(
            "product",
            mu,
            ball_sum(radius, self.public.adjacency),
            size=directions.size,
            norm_error=residual_norm_error(records, len(directions)),
            rounding=error,
        )
        total = self._sum(records, residual, measured, radius)
        return query.release(total.ravel(), self.noise).reshape(total.shape) / self.n

    @cached_property
    def _squares(self) -> np.ndarray:
        nothing = np.zeros((0, self.records.n_features))
        rows = Residual(nothing, nothing, self.centre)
        return self.records.map(lambda block: block.squares(rows), width=2)

    def _measure(self, records: Records, residual: Residual) -> np.ndarray:
        """The products' norms, then the rows' scores unless they are explicit; private."""
        if records.is_explicit:
            return records.map(lambda block: block.residual_norms(residual, None), width=1)
        width = 1 + len(residual.directions)
        return records.map(
            lambda block, known: block.residual_norms(residual, known), self._squares, width=width
        )

    def _terms(self, radius: float) -> float:
        """Bound on the norm of what one record adds to the sum, in parts.

        Dense rows y add ``w y s^T``, of norm at most the radius R. Sparse ones add ``w x s^T`` and
        ``- w c s^T``, of norms at most ``R + ||c|| w ||s||`` and ``||c|| w ||s||``. With ``||s|| <=
        ||y|| + e``, e the rounding error of a product of c, ``w ||s||^2 <= R + e w ||s||``, so
        ``w ||s|| <= sqrt R + e`` as ``w <= 1``.
        """
        if not self.records.is_sparse or self.centre is None:
            return radius
        far = float(np.linalg.norm(self.centre))
        lost = 8 * self.records.n_features * UNIT_ROUNDOFF * far
        return radius + 2 * far * (math.sqrt(radius) + lost)

    def _sum(
        self, records: Records, residual: Residual, measured: np.ndarray, radius: float
    ) -> np.ndarray:
        weighted = measured  # in place: it is as long as the data
        weights = clip_weights(measured[:, 0], radius)
        weighted[weights == 0, 1:] = 0.0  # inf * 0
        weighted[:, 1:] *= weights[:, None]
        weighted[:, 0] = weights
        return records.fold(
            lambda out, block, w: block.add_residuals(out, w, residual),
            residual.directions.shape,
            weighted,
        )


def power_method(
    product: Product, start: np.ndarray, mus: Iterable[float], k: int
) -> tuple[np.ndarray, np.ndarray]:
    """The randomised power method (Hardt & Price 2014; Nicolas et al. 2025, Algorithm 1).

    Parameters
    ----------
    product : callable
        ``product(W, mu)``: the noisy rows of ``W A``.
    start : ndarray of shape (p, d)
        Orthonormal rows, drawn without data.
    mus : iterable of float
        What each pass costs.
    k : int
        How many directions of the p are kept.

    Returns
    -------
    directions : ndarray of shape (k, d)
        Orthonormal rows.
    core : ndarray of shape (k, k)
        ``V^T A V`` as the last pass tells it.
    """
    # 1. X_0: orthonormal
    W = start
    for mu in mus:
        # 2. Y = A X + G
        Y = product(W, mu)
        if not np.isfinite(Y).all():
            raise ValueError("X holds values too large to be squared; scale it down")
        # 3. X, R = qr(Y)
        W, core = predict(Y, W)
    # 4. the left singular vectors of R turn X so that the first k hold most of Y; free
    turn = qr_svd(W @ Y.T)[0].T[:k]
    return turn @ W, turn @ core @ turn.T
