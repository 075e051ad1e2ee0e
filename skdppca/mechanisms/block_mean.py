"""Private means of the records' products with a few vectors, around a prediction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..linalg import decreasing_eigh
from ..private_data import PrivateData
from ..statistics import Explicit, ResidualNorms, ResidualSum
from .clipping import CLIPPING, expected_products, find_radius
from .norm_histogram import NormHistogram

__all__ = ["BlockMean", "Gradient", "combine"]

# A prediction this near to one in the span of its directions is replaced by it: any would do.
SAME = 1e-9


@dataclass(frozen=True)
class Gradient:
    """A noisy mean of ``A_i W``.

    Parameters
    ----------
    mean : ndarray of shape (p, d)
        The columns of G, as rows.
    noise_sd : float
        Standard deviation of the noise in every entry.
    radius : float
        What the residuals were clipped to.
    """

    mean: np.ndarray
    noise_sd: float
    radius: float


@dataclass(frozen=True)
class BlockMean:
    """The mean of ``A_i W`` over the records, as often as the budget lasts.

    ``A_i = X_i^T X_i`` is the Gram matrix of a record's rows less the centre, projected off what
    was found before. Only its products with the p columns of W are formed, block by block; the
    noise follows how far they are from their prediction C, not how long they are.

    Parameters
    ----------
    data : PrivateData
        With a norm bound (on the root of ``||A_i||_F``) no radius is searched.
    removed : ndarray of shape (q, d) or None
        Orthonormal rows that every ``A_i`` is projected off, on both sides.
    name : str
        Name of the queries in the report.
    """

    data: PrivateData
    removed: np.ndarray | None = None
    name: str = "gradient"

    @property
    def remaining(self) -> float:
        """The mu that is not spent yet."""
        return self.data.remaining

    @property
    def n_features(self) -> int:
        """The number of features, d."""
        return self.data.n_features

    def split(self, mu: float) -> BlockMean:
        """Return a copy that may spend `mu` of the budget."""
        return replace(self, data=self.data.split(mu))

    def parts(self, shares: Sequence[int]) -> list[BlockMean]:
        """Means of disjoint random parts of the records, each with the whole remaining budget."""
        return [replace(self, data=data) for data in self.data.parts(shares)]

    def without(self, directions: np.ndarray) -> BlockMean:
        """Return a copy with the records projected off these orthonormal rows."""
        if not len(directions):
            return replace(self, removed=None)
        # The products of sparse rows would not be projected.
        is_sparse = self.data.source.layout.is_sparse
        data = self.data.through(Explicit()) if is_sparse else self.data
        return replace(self, data=data, removed=directions)

    def __call__(
        self,
        directions: np.ndarray,
        prediction: np.ndarray,
        mu_radius: float,
        mu: float,
        radius: float | None = None,
    ) -> Gradient:
        """Release ``C + mean clip_R(A_i W - C)``, R found privately.

        Parameters
        ----------
        directions, prediction : ndarray of shape (p, d)
            The columns of W and C as rows, public or released, orthogonal to what is removed.
        mu_radius, mu : float
            What the radius and the mean cost; nothing for the radius if the last one is taken.
        radius : float, optional
            The last R, if there is one: public or released. A norm bound is one, too.
        """
        residual, rotation = self._residual(directions, prediction)
        if mu_radius or radius is None:
            radius, _ = self._look(residual, mu, self.data.n, mu_radius, radius)
        return self._mean(residual, rotation, radius, mu)

    def look(
        self,
        directions: np.ndarray,
        prediction: np.ndarray,
        mu_radius: float,
        mu: float,
        last: float | None = None,
    ) -> tuple[float, NormHistogram | None]:
        """R for a mean that is released at `mu`, and the histogram that it was read off, if any.

        Where no norm is seen, R is the last one, if there is one.
        """
        residual, _ = self._residual(directions, prediction)
        return self._look(residual, mu, self.data.n, mu_radius, last)

    def ranged_by(
        self, others: BlockMean, directions: np.ndarray, prediction: np.ndarray
    ) -> Gradient:
        """Return the mean, its clipping norm R estimated on `others`; each spends all it has."""
        residual, rotation = self._residual(directions, prediction)
        radius, _ = others._look(residual, self.remaining, self.data.n, others.remaining, None)
        return self._mean(residual, rotation, radius, self.remaining)

    def norms(self, directions: np.ndarray, prediction: np.ndarray) -> ResidualNorms:
        """Return the norms that the records are clipped by for a mean around this prediction."""
        return self._residual(directions, prediction)[0]

    def _residual(
        self, directions: np.ndarray, prediction: np.ndarray
    ) -> tuple[ResidualNorms, np.ndarray]:
        """Return the residual to ask for, and the rotation of W and C with which it is asked.

        Neither the norms of residuals nor the noise see a rotation; where ``W^T C`` is diagonal, a
        prediction in the span of W costs a number a direction, and no products of its own.
        """
        directions, prediction = (np.ascontiguousarray(x) for x in (directions, prediction))
        if np.abs(directions @ directions.T - np.eye(len(directions))).max(initial=0.0) > 1e-6:
            raise ValueError(
                "directions must be orthonormal rows, an array of shape (p, d); orthonormalise "
                "them first. One direction w is w[None] / np.linalg.norm(w)"
            )
        core = prediction @ directions.T
        rotation = decreasing_eigh((core + core.T) / 2)[1]
        directions, prediction = rotation @ directions, rotation @ prediction
        values = np.einsum("ij,ij->i", prediction, directions)
        within = values[:, None] * directions
        where = (self.data.centre, self.removed, directions)
        if np.linalg.norm(within - prediction) > SAME * np.linalg.norm(prediction):
            return ResidualNorms(*where, prediction), rotation
        return ResidualNorms(*where, within, values), rotation

    def _look(
        self,
        residual: ResidualNorms,
        mu: float,
        n_mean: float,
        mu_radius: float,
        last: float | None,
    ) -> tuple[float, NormHistogram | None]:
        """R, found among these records, for a mean over `n_mean` that is released at `mu`."""
        data, dim = self.data, residual.directions.size
        if data.norm_bound is not None and not data.exact:
            return data.norm_bound**2, None
        # The share that suits the mean is clipped of these records, however many they are.
        mu_here = mu if data.exact else mu * n_mean / data.n
        return find_radius(
            data,
            residual,
            dim,
            mu_here,
            mu_radius,
            f"radius of the {self.name}",
            most=CLIPPING.most_clipped_unscaled,
            expected=expected_products(data, last),
        )

    def _mean(
        self, residual: ResidualNorms, rotation: np.ndarray, radius: float, mu: float
    ) -> Gradient:
        answer, n = self.data.ask(ResidualSum(residual, radius), mu, self.name), self.data.n
        noisy = answer.value / n
        if self.removed is not None:
            noisy -= (noisy @ self.removed.T) @ self.removed
        # what the sum was less: without noise nothing is rounded
        predicted = residual.of_rows(rounded=math.isfinite(radius)).prediction
        return Gradient(rotation.T @ (predicted + noisy), answer.noise_sd / n, radius)


def combine(prediction: np.ndarray, variance: float, answer: Gradient) -> tuple[np.ndarray, float]:
    """A prediction and a noisy answer, weighted by inverse variance.

    Parameters
    ----------
    prediction : ndarray of shape (p, d)
    variance : float
        Variance of every entry, at least; infinite if the prediction is uninformative.
    answer : Gradient

    Returns
    -------
    estimate : ndarray of shape (p, d)
    variance : float
    """
    noise = answer.noise_sd**2
    miss = answer.mean - prediction
    # The answer tells how wrong the prediction was: James & Stein's estimate, where that is more.
    variance = max(variance, float(np.mean(miss**2)) - noise)
    if not noise or math.isinf(variance):
        return answer.mean, noise
    weight = variance / (variance + noise)
    return prediction + weight * miss, weight * noise
