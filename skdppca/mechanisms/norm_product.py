"""Products of a Gram matrix of records of bounded norm; the noise follows what they are taken with.

The sensitivities of Nicolas et al. (2025) and Balcan et al. (2016), and sharper ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..noise import NoiseSource
from ..records import Records, add_products
from .base import Public, Spender
from .block_mean import BlockMean
from .centre import clip_weights, norm_error, precise_records
from .gaussian import summation_error
from .product_sensitivity import interaction_product, product_sum, slack
from .radius import COUNT_SLACK, excess_records, private_radius, search_mu

__all__ = ["Bound", "Clipped", "NormProduct", "clip_norms"]

# Shares of mu^2 of the clipping norm, least and largest.
RADIUS_SHARE, MAX_RADIUS_SHARE = 0.03, 0.06

# Weight of the noise in the number of clipped records (METHODS 3).
NOISE_WEIGHT = 8.0


@dataclass(frozen=True)
class Bound:
    """How the sensitivity of a product is found.

    Parameters
    ----------
    kind : {"tight", "nicolas", "balcan"}
    most : int or None
        Public bound on the non-zeros of a row.
    floor : int or None
        Neighbours differ in one interaction, and no user is divided by less; None: in one record.
    """

    kind: str = "tight"
    most: int | None = None
    floor: int | None = None


@dataclass(frozen=True)
class Clipped:
    """What a product's records are clipped to.

    Parameters
    ----------
    radius : float
        Of the rows less the centre, or of the roots of the groups' Gram norms.
    weights : ndarray or None
        Private: of every record's rows. None leaves them as they are.
    spherical : bool
        Every row is scaled to `radius`, up or down.
    """

    radius: float
    weights: np.ndarray | None = None
    spherical: bool = False


def clip_norms(
    mean: BlockMean, width: int, mu: float, spherical: bool, spender: Spender, noise: NoiseSource
) -> Clipped:
    """A clipping norm of the records for products with so many directions, released at `mu`.

    It leaves out more rows the more the noise dominates; where that would be all of them, rows are
    scaled to norm 1 instead, which needs no search.
    """
    records, n, public = mean.records, mean.n, mean.public
    if math.isinf(spender.mu):
        return Clipped(math.inf)
    if public.grouped:
        norms = records.map(lambda block: block.gram_norms(mean.centre, 0.0))
        mu_radius = search_mu(n, spender, RADIUS_SHARE, MAX_RADIUS_SHARE)
    else:
        norms = records.map(lambda block: block.distances(mean.centre))
        mu_radius = spender.share(RADIUS_SHARE)
    radius = mean.norm_bound
    if radius is None or spherical:
        excess = excess_records(n, records.n_features * width, mu, mu_radius, NOISE_WEIGHT)
        if public.grouped:
            excess = min(excess, n / 2)
        elif spherical or excess >= n - COUNT_SLACK / mu_radius:
            with np.errstate(divide="ignore"):
                return Clipped(1.0, np.where(norms > 0, 1 / norms, 0.0), spherical=True)
        radius = private_radius(norms, excess, "clipping norm", spender, mu_radius, public, noise)
    return Clipped(radius, clip_weights(norms, radius))


@dataclass(frozen=True)
class NormProduct:
    """``W A / n`` with noise, A the sum of Gram matrices of records that were clipped before.

    The noise follows how far one such record, or one interaction, can move a product with W.


    Parameters
    ----------
    records : Records
    n : float
        Their (noisy) number.
    centre : ndarray of shape (d,) or None
    clipped : Clipped
    bound : Bound
    public : Public
    spender : Spender
        Pays for every product.
    noise : NoiseSource
    """

    records: Records
    n: float
    centre: np.ndarray | None
    clipped: Clipped
    bound: Bound
    public: Public
    spender: Spender
    noise: NoiseSource

    def sensitivity(self, directions: np.ndarray) -> float:
        """How far one record, or one interaction, moves the sum."""
        bound, clipped = self.bound, self.clipped
        if bound.floor is not None:
            return interaction_product(directions, bound.floor, bound.kind)
        # A row scaled up to the radius may be far longer before the centre is subtracted.
        far = clipped.spherical and self.centre is not None
        most = None if far else bound.most
        told = (clipped.radius, self.public.adjacency, bound.kind, most)
        return product_sum(directions, *told, None if far else self.centre)

    def __call__(self, directions: np.ndarray, mu: float) -> np.ndarray:
        """Release the product with these orthonormal rows, at a cost of `mu`."""
        clipped, records = self.clipped, self.records
        if math.isinf(mu):
            return self._sum(records, directions) / self.n
        if clipped.spherical and self.centre is not None:
            # Weights grow without bound near the centre: no cancellation may be left to products.
            precise, terms = records.explicit(), clipped.radius
        else:
            shift = np.zeros(records.n_features) if self.centre is None else self.centre
            precise, terms = precise_records(records, shift, clipped.radius)
        # the scores of p columns err by up to root p as much as one product
        inner = math.ceil(math.sqrt(len(directions))) * records.n_features
        query = self.spender.take(
            "product",
            mu,
            self.sensitivity(directions),
            size=directions.size,
            norm_error=2 * norm_error(records) + slack(directions),
            rounding=summation_error(terms**2, records.span_rows, inner),
        )
        total = self._sum(precise, directions)
        return query.release(total.ravel(), self.noise).reshape(total.shape) / self.n

    def _sum(self, records: Records, directions: np.ndarray) -> np.ndarray:
        return records.fold(
            lambda out, block, w: add_products(block, out, w, self.centre, directions),
            directions.shape,
            self.clipped.weights,
        )
