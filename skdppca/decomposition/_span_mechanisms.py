"""The two mechanisms behind SmoothSensitivityPCA: all Gaussian, and by smooth sensitivity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..linalg import decreasing_eigh
from ..mechanisms.base import Public, Spender
from ..mechanisms.block_mean import BlockMean
from ..mechanisms.centre import norm_error
from ..mechanisms.clipping import Clipping
from ..mechanisms.eigensolver import top_span
from ..mechanisms.gap import release_span, rotation_mu, span_sensitivity
from ..mechanisms.gram import release_gram
from ..mechanisms.pure import LaplaceQuery, SmoothQuery, laplace_count, laplace_variances
from ..mechanisms.radius import excess_records, private_radius, search_mu
from ..noise import NoiseSource
from ..privacy import GaussianEvent, PrivacyEvent, mu_of
from ..records import Records
from ._adaptive import AdaptiveMechanism
from ._base import Release

__all__ = ["GapMechanism", "SmoothMechanism", "gap_event", "gap_release"]

# Shares of mu^2 (epsilon) of the clipping norm, least and largest; and of a pure count.
RADIUS_SHARE, MAX_RADIUS_SHARE = 0.02, 0.05
COUNT_SHARE = 0.02

# Share of delta with which the released gap may exceed the true one.
FAILURE_SHARE = 0.1

# Below that nothing could be seen through the noise of a count or a variance either.
LEAST_EPSILON = 2.0**-40

# Weight of the noise in the number of clipped records, and the most that are clipped (METHODS 3).
NOISE_WEIGHT, MAX_EXCESS = 8.0, 0.5


# A span gets at least this share of mu, whatever was spent before it.
LEAST_OF_MU = 1 / 8


def gap_event(epsilon: float, delta: float, n_components: int | None) -> GaussianEvent:
    """What a gap release costs: all but `FAILURE_SHARE` of delta is that of Gaussian noise."""
    failure = FAILURE_SHARE * delta
    mu = mu_of(epsilon, delta, failure)
    # all of them are not rotated
    if n_components is not None and not 8 * rotation_mu(n_components) <= LEAST_OF_MU * min(mu, 1.0):
        raise ValueError(
            f"epsilon={epsilon} is too small for n_components={n_components}: what floating point "
            "costs would be a large part of it; raise epsilon, or ask for fewer components"
        )
    return GaussianEvent(mu, failure)


@dataclass(frozen=True)
class GapMechanism(AdaptiveMechanism):
    """Gap release (METHODS 8): the gap, then the span, each with exactly calibrated Gaussian noise.

    It replaces the paper's smooth sensitivity, and with it the threshold that depends on m = d k.
    """

    def directions(
        self, mean: BlockMean, k: int, spender: Spender, noise: NoiseSource
    ) -> tuple[np.ndarray, np.ndarray]:
        failure = getattr(self.event, "failure", 0.0)
        return gap_release(mean, k, failure, spender, noise)


def gap_release(
    mean: BlockMean, k: int, failure: float, spender: Spender, noise: NoiseSource
) -> tuple[np.ndarray, np.ndarray]:
    """Spend all on the span of the top k eigenvectors of clipped records.

    Parameters
    ----------
    mean : BlockMean
        The records, their (noisy) number, a centre and perhaps a public norm bound.
    failure : float
        Probability with which the guarantee may fail: part of delta, on top of what `spender` has.

    Returns
    -------
    directions : ndarray of shape (k, d)
        Orthonormal rows, in no order; if k = d, in that of the variances.
    core : ndarray of shape (k, k)
        The Rayleigh matrix that is predicted for them: 0 where nothing is known.
    """
    records, d = mean.records, mean.records.n_features
    radius = _radius(mean, k, spender, noise)
    if k == d:
        # Every basis spans all: there is but the order to find.
        norms = records.map(lambda block: block.gram_norms(mean.centre, 0.0))
        clipping = Clipping(radius, 0.0, None if math.isinf(radius) else norms)
        gram = release_gram(records, mean.centre, clipping, spender, mean.public, noise)
        values, vectors = decreasing_eigh(gram.matrix / mean.n)
        return vectors, np.diag(values)
    spectrum = top_span(records, mean.centre, radius, k, noise)
    if math.isinf(spender.mu):
        return spectrum.directions, np.diag(spectrum.values / mean.n)
    errors = spectrum.error, spectrum.gap_error, norm_error(records)
    sensitivity = span_sensitivity(k, d, mean.public.adjacency, *errors)
    return release_span(spectrum, sensitivity, spender, failure, noise), np.zeros((k, k))


def _radius(mean: BlockMean, k: int, spender: Spender, noise: NoiseSource) -> float:
    """What the records' spreads are clipped to."""
    if math.isinf(spender.mu):
        return math.inf
    if mean.norm_bound is not None:
        return mean.norm_bound
    mu_radius = search_mu(mean.n, spender, RADIUS_SHARE, MAX_RADIUS_SHARE)
    size = k * mean.records.n_features
    excess = excess_records(mean.n, size, spender.left, mu_radius, NOISE_WEIGHT)
    return private_radius(
        lambda: mean.records.map(lambda block: block.spreads(mean.centre)),
        min(excess, MAX_EXCESS * mean.n),
        "clipping norm",
        spender,
        mu_radius,
        mean.public,
        noise,
    )


@dataclass(frozen=True)
class Spent:
    """The queries of a mechanism that adds up epsilons."""

    queries: list[LaplaceQuery | SmoothQuery]


@dataclass(frozen=True)
class SmoothMechanism:
    """Output perturbation by smooth sensitivity (Gonen & Gilad-Bachrach, Algorithm 1).

    It differs from the paper in its constants, which are explicit and sharp, and in that the
    random rotation is k x k, from the right of the d x k matrix (METHODS 8).
    """

    public: Public
    event: PrivacyEvent
    law: str
    epsilon: float
    delta: float
    n_components: int | None
    norm_bound: float
    mean: np.ndarray | None
    variance_share: float

    def __post_init__(self) -> None:
        if self.epsilon < LEAST_EPSILON:
            raise ValueError(f"epsilon={self.epsilon} is less than {LEAST_EPSILON}; raise epsilon")
        if self._k < self.public.n_features:
            _ = self._query().noise  # refuses an epsilon that is too small

    @property
    def _k(self) -> int:
        return self.public.n_features if self.n_components is None else self.n_components

    def _query(self, *errors: float) -> SmoothQuery:
        k, d = self._k, self.public.n_features
        sensitivity = span_sensitivity(k, d, self.public.adjacency, *errors)
        return SmoothQuery(self.law, self._shares(True)[1], self.delta, d * k, k, sensitivity)

    def __call__(self, records: Records, noise: NoiseSource) -> Release:
        d, k = records.n_features, self._k
        for_count, _, for_variances = self._shares(k < d)
        queries: list[Any] = []
        # 1. n: how many records
        n, asked = laplace_count(records, for_count, self.public, noise)
        queries += asked
        # 2. V Q + S Z, S the smooth sensitivity
        centre = np.zeros(d) if self.mean is None else self.mean
        around = centre if centre.any() else None
        directions = np.eye(d)
        if k < d:
            spectrum = top_span(records, around, self.norm_bound, k, noise, exact=True)
            query = self._query(spectrum.error, spectrum.gap_error, norm_error(records))
            directions = query.release(spectrum, noise)
            queries.append(query)
        details = {"norm_bound": self.norm_bound, "noise": self.law}
        spent = Spent(queries)
        if not self.variance_share:
            return Release(directions, centre, None, None, None, n, n, spent, details)
        # 3. the variances along the directions, which also give their order
        rotation, explained, total, query = laplace_variances(
            records, around, self.norm_bound, directions, n, for_variances, self.public, noise
        )
        queries.append(query)
        rest = (total - float(explained.sum())) / (d - k) if k < d else 0.0
        return Release(rotation @ directions, centre, explained, total, rest, n, n, spent, details)

    def _shares(self, has_span: bool) -> tuple[float, float, float]:
        """Of epsilon, for the count, the span and the variances; a little less than all of it."""
        all_of_it = self.epsilon * (1 - 2.0**-50)
        counted = 0.0 if self.public.n_records is not None else COUNT_SHARE * all_of_it
        varied = self.variance_share * all_of_it
        if not has_span:
            return counted, 0.0, all_of_it - counted
        return counted, all_of_it - counted - varied, varied
