"""What SmoothSensitivityPCA releases: all with Gaussian noise, or by a smooth sensitivity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...linalg import decreasing_eigh, symmetric_from_upper
from ...mechanisms.base import Release
from ...mechanisms.clipping import Clip, clip_radius, expected_norms, radius_share
from ...mechanisms.gram import release_gram
from ...private_data import PrivateData, Public
from ...statistics import Count, ScoreGram, Spreads
from ..iterative.iteration import Directions
from ..iterative.subspace import SubspaceMechanism
from .gap import SPAN, SpanSensitivity, exact_span, release_span, span_sensitivity
from .pure import SmoothQuery

# The least epsilon of smooth sensitivity: below it nothing could be seen through the noise of a
# count or a variance either.
LEAST_EPSILON = 2.0**-40


@dataclass(frozen=True)
class GapMechanism(SubspaceMechanism):
    """Gap release: the gap, then the span, each with exactly calibrated Gaussian noise.

    It replaces the paper's smooth sensitivity, and with it the threshold that depends on m = d k.

    Parameters
    ----------
    failure : float
        Probability with which a private bound is wrong, and nothing bounds the release: part of
        delta, on top of the budget.
    """

    failure: float

    def directions(self, data: PrivateData, k: int) -> Directions:
        """The gap with noise, and the span with the noise that this gap asks for."""
        # 1. R: what the records are clipped to
        radius = self._radius(data, k)
        if k == data.n_features:
            # every basis spans all: there is but the order to find
            gram = release_gram(data, Clip(radius))
            values, vectors = decreasing_eigh(gram.matrix / data.n)
            variance = (gram.noise_sd / data.n) ** 2 / 2
            return Directions(vectors, np.diag(values), variance)
        # 2. V, g: the top eigenvectors and the gap below them, not private yet
        spectrum, sensitivity = exact_span(data, radius, k)
        if data.exact:
            return Directions(spectrum.directions, np.diag(spectrum.values / data.n), 0.0)
        # 3. both with noise
        directions, noise_sd = release_span(data, spectrum, sensitivity, self.failure)
        return Directions(directions, np.zeros((k, k)), span_noise=noise_sd)

    def _radius(self, data: PrivateData, k: int) -> float:
        if data.norm_bound is not None and not data.exact:
            return data.norm_bound
        mu_radius = radius_share(data, SPAN.radius_share, SPAN.most_radius_share)
        spreads, dim = Spreads(data.centre), k * data.n_features
        name = "clipping norm"
        return clip_radius(
            data, spreads, dim, data.remaining, mu_radius, name, expected=expected_norms(data)
        )


@dataclass(frozen=True)
class SmoothMechanism:
    """Output perturbation by smooth sensitivity (Gonen & Gilad-Bachrach, Algorithm 1).

    It differs from the paper in its constants, which are explicit and sharp, and in that the
    random rotation is k x k, from the right of the d x k matrix. No noise is Gaussian-DP: the event
    pays, epsilon by epsilon.

    Parameters
    ----------
    law : {"gaussian", "student", "cauchy"}
    epsilon, delta : float
        Of all that is released; delta is 0 but for "gaussian".
    norm_bound : float
        What the records are clipped to; public, as a search for it would need Gaussian noise.
    n_components : int or None
        None for as many as features.
    variance_share : float
        Of epsilon; 0 for none.
    """

    law: str
    epsilon: float
    delta: float
    norm_bound: float
    n_components: int | None
    variance_share: float

    def check(self, public: Public) -> None:
        """Refuse an epsilon of which floating point leaves nothing, before anything is charged."""
        if self.epsilon < LEAST_EPSILON:
            raise ValueError(f"epsilon={self.epsilon} is less than {LEAST_EPSILON}; raise epsilon")
        k, d = self._width(public), public.n_features
        if k < d:
            _ = self._query(public, span_sensitivity(k, d, public.adjacency)).noise

    def run(self, data: PrivateData) -> Release:
        """Release the directions and, if they are paid for, the variances along them."""
        public, radius = data.public, self.norm_bound
        d, k = public.n_features, self._width(public)
        for_count, _, for_variances = self._shares(public)
        # 1. n: how many records
        if public.n_records is not None:
            n = float(public.n_records)
        else:
            n = max(1.0, float(data.ask_laplace(Count(), for_count, "number of records").value))
        # 2. V Q + S Z, S the smooth sensitivity
        directions = np.eye(d)
        if k < d:
            spectrum, sensitivity = exact_span(data, radius, k, exact=True)
            query = self._query(public, sensitivity)
            data.budget.record(query)
            directions = query.release(spectrum, data.noise)
        details: dict[str, Any] = {"norm_bound": radius, "noise": self.law}
        if not self.variance_share:
            return Release(directions, data.centre, n, details=details)
        # 3. the variances along the directions, which also give their order
        scores = ScoreGram(data.centre, radius, directions)
        answer = data.ask_laplace(scores, for_variances, "variances")
        values, rotation = decreasing_eigh(symmetric_from_upper(answer.value[:-1], k))
        per_row = radius**2 / max(n - 1, 1.0)
        explained = np.maximum(values, answer.noise_sd) * per_row
        total = max(float(answer.value[-1]) * per_row, float(explained.sum()))
        details["variance_errors"] = np.full(k, answer.noise_sd * per_row)
        return Release(
            components=rotation @ directions,
            centre=data.centre,
            n_samples=n,
            explained_variance=explained,
            total_variance=total,
            noise_variance=(total - float(explained.sum())) / (d - k) if k < d else 0.0,
            n_rows=n,
            details=details,
        )

    def _width(self, public: Public) -> int:
        return public.n_features if self.n_components is None else self.n_components

    def _query(self, public: Public, sensitivity: SpanSensitivity) -> SmoothQuery:
        k, epsilon = self._width(public), self._shares(public)[1]
        return SmoothQuery(self.law, epsilon, self.delta, public.n_features * k, k, sensitivity)

    def _shares(self, public: Public) -> tuple[float, float, float]:
        """Parts of epsilon for the count, the span and the variances; a little less in all."""
        all_of_it = self.epsilon * (1 - 2.0**-50)
        counted = 0.0 if public.n_records is not None else SPAN.count_share * all_of_it
        varied = self.variance_share * all_of_it
        if self._width(public) == public.n_features:  # they span all: there is no span to release
            return counted, 0.0, all_of_it - counted
        return counted, all_of_it - counted - varied, varied
