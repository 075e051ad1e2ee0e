"""Private means of what of the records leads out of the span of a few directions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..private_data import PrivateData
from ..statistics import CrossNorms, CrossSum
from ..statistics.lemmas import ball_sum, psd_sum
from ..statistics.products import LEAST_RADIUS
from .clipping import CLIPPING, expected_products, find_radius


@dataclass(frozen=True)
class CrossConstants:
    """Weights and a bound for clipping the cross products of records."""

    # Weight of the noise against the clipping bias: of rows, for each direction; and of groups.
    # Measured on counts, one-hot columns with numbers, lognormal rows, clusters and power laws.
    row_weight: float = 2.0
    group_weight: float = 8.0
    # No record within a norm bound has a longer product, as a share of the bound's square.
    longest: float = 0.5


CROSS = CrossConstants()


@dataclass(frozen=True)
class CrossMean:
    r"""The mean of ``W^T A_i (I - W W^T)`` over the records, as often as the budget lasts.

    ``A_i`` is the Gram matrix of a record's rows less the centre. That block alone turns the span
    of W. With the others of a record A, ``||A||^2 = ||P||^2 + 2 ||B||^2 + ||Q||^2``, and ``||B||^2
    <= ||P|| ||Q||`` as A is positive semi-definite; so ``||B|| <= ||A|| / 2``. At the same cost the
    noise in it is then, under add-remove, at most that of a Gram matrix off its diagonal over
    sqrt2; under replace-one, where two such blocks may be opposite, at most the same.

    Parameters
    ----------
    data : PrivateData
    bound : float
        What ``||A_i||`` was clipped to.
    spherical : bool
        Rows count as ``y / ||y||``.
    """

    data: PrivateData
    bound: float
    spherical: bool = False

    def shifted(self) -> CrossMean:
        """Return a copy whose records are less their centre: for many means around it."""
        return replace(self, data=self.data.shifted())

    def radius(
        self, directions: np.ndarray, mu_radius: float, mu: float, last: float | None = None
    ) -> float:
        """R, for a mean that is released at `mu`; the last one, if any, if none is seen.

        With a public norm bound it is half of `bound`, and costs nothing: no record within the
        bound of this centre has a longer product.
        """
        data, (k, d) = self.data, directions.shape
        if data.norm_bound is not None:
            return max(CROSS.longest * self.bound, LEAST_RADIUS)
        weight = CROSS.group_weight if data.public.grouped else CROSS.row_weight * k
        return find_radius(
            data,
            self._norms(directions),
            k * (d - k),
            mu,
            mu_radius,
            "radius of the cross products",
            weight=weight,
            most=CLIPPING.most_clipped_unscaled,
            expected=expected_products(replace(data, typical_norm=math.sqrt(self.bound)), last),
        )[0]

    def relative_noise(self, radius: float) -> float:
        """Noise of an entry over that of a Gram matrix off its diagonal, at the same cost."""
        adjacency = self.data.public.adjacency
        matrix = psd_sum(self.bound, adjacency) / math.sqrt(2)
        return ball_sum(radius, adjacency) / matrix

    def __call__(
        self, directions: np.ndarray, mu: float, radius: float
    ) -> tuple[np.ndarray, float]:
        """Release the mean, clipped to a radius that is public or was released.

        Returns
        -------
        mean : ndarray of shape (k, d)
            Orthogonal to the directions: the part of the noise that is not is left out.
        noise_sd : float
            Standard deviation of the noise in every entry, before that.
        """
        statistic = CrossSum(self._norms(directions), radius)
        answer, n = self.data.ask(statistic, mu, "cross products"), self.data.n
        mean = answer.value / n
        return mean - (mean @ directions.T) @ directions, answer.noise_sd / n

    def _norms(self, directions: np.ndarray) -> CrossNorms:
        return CrossNorms(self.data.centre, np.ascontiguousarray(directions), self.spherical)
