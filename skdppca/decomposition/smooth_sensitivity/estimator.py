"""The estimator of output perturbation: its parameters, and which mechanism they ask for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np

from ..._sklearn import Interval, StrOptions
from ...linalg import decreasing_eigh, dense_fits, symmetric_from_upper
from ...mechanisms.base import Release
from ...mechanisms.clipping import Clip, expected_norms, find_radius, radius_share
from ...mechanisms.noisy_covariance import release_gram
from ...privacy import (
    ApproximateEvent,
    GaussianEvent,
    NonPrivateEvent,
    PrivacyEvent,
    PureEvent,
    mu_of,
)
from ...private_data import PrivateData, Public
from ...records.machine import Held
from ...statistics import Count, ScoreGram, Spreads
from ..iterative.iteration import Directions
from ..iterative.subspace import SubspaceMechanism, SubspacePCA
from ..parameters import estimator, parameter
from .gap import (
    SPAN,
    SmoothQuery,
    SpanSensitivity,
    exact_span,
    release_span,
    rotation_mu,
    span_sensitivity,
)

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
        return find_radius(
            data, spreads, dim, data.remaining, mu_radius, name, expected=expected_norms(data)
        )[0]


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
        Budget of all that is released; delta is 0 but for "gaussian".
    norm_bound : float
        What the records are clipped to; public, as a search for it would need Gaussian noise.
    n_components : int or None
        None for as many as features.
    variance_share : float
        Share of epsilon; 0 for none.
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

    def __call__(self, data: PrivateData) -> Release:
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


# A span gets at least this share of mu, whatever was spent before it.
LEAST_OF_MU = 1 / 8


@estimator
class SmoothSensitivityPCA(SubspacePCA):
    """Private PCA by output perturbation: exact components, then noise that follows their gap.

    Gonen & Gilad-Bachrach's method, made explicit and sharper. For sparse or very wide rows whose
    first k variances stand well above the next one: with more than 2000 features and few components
    a gap release forms no d x d matrix, unless its iterations converge too slowly. The only method
    here with a pure guarantee, delta = 0. Where the gap is small, `DPGauss` is better.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components to release. None: as many as features, of which only the order is then
        to be found.
    noise : {"gap-release", "gaussian", "student", "cauchy"}, default="gap-release"
        "gap-release" releases the gap, then the components with Gaussian noise. The others add
        noise by a smooth sensitivity that stays private: "gaussian" as the paper has it (epsilon
        below 1), "student" and "cauchy" with a **pure** guarantee, whatever `delta` is. These need
        a `norm_bound`, and a `mean` or ``center=False``.
    variance_share : float, default=0.05
        Share of the budget for `explained_variance_`, what depends on it, and the order of the
        components; 0 leaves them out, and the components in no order.
    delta : float, default=1e-6
        Additive part of the guarantee. Choose it well below 1 / (number of records). Not used, and
        best set to 0, if noise is "student" or "cauchy".
    norm_bound : float or None, default=None
        Public bound on the norms of the (scaled) rows less the mean; with groups, on the root of
        the sum of their squares. Longer records are shortened to it. None spends part of the budget
        to find one.

    Attributes
    ----------
    privacy_ : PrivacyReport
        What was released, at what cost. By the smooth sensitivity no scale of the noise is stated:
        it is private itself.

    See Also
    --------
    DPGauss : Noise on the covariance matrix; needs no gap.

    Notes
    -----
    One record moves the span of the top k components by at most ``2 sin(arcsin(1 / g) / 4)``, with
    g the gap over the squared clipping norm (2 / g under replace-one): the theorem and its proof
    are at `skdppca.decomposition.smooth_sensitivity.gap.SpanSensitivity`.

    References
    ----------
    A. Gonen, R. Gilad-Bachrach. Smooth sensitivity based approach for differentially private
    principal component analysis. 2017, Algorithm 1.

    K. Nissim, S. Raskhodnikova, A. Smith. Smooth sensitivity and sampling in private data
    analysis. STOC 2007, Lemma 2.7.

    Examples
    --------
    >>> from skdppca import SmoothSensitivityPCA
    >>> from skdppca.datasets import make_gaussian
    >>> X, _, components, _ = make_gaussian(5000, 20, [10, 5], 0.1, random_state=0)
    >>> pca = SmoothSensitivityPCA(2).fit(X)
    >>> bool(abs(components[0] @ pca.components_[0]) > 0.9)
    True
    >>> pure = SmoothSensitivityPCA(2, noise="student", delta=0, norm_bound=10, center=False)
    >>> pure.fit(X).privacy_.event
    PureEvent(epsilon=1.0)
    """

    noise: Literal["cauchy", "gap-release", "gaussian", "student"] = parameter(
        StrOptions({"gap-release", "gaussian", "student", "cauchy"}), default="gap-release"
    )
    delta: float = parameter(Interval(Real, 0, 1, closed="left"), default=1e-6)

    _beyond_sums: ClassVar[str] = "the gap between exact eigenvalues"

    _held: ClassVar[Held] = Held(each_feature=220, each_loading=77)

    @property
    def _is_pure(self) -> bool:
        return self.noise in ("student", "cauchy")

    def _event(self, public: Public) -> PrivacyEvent:
        epsilon, delta = float(self.epsilon), float(self.delta)
        if math.isinf(epsilon):
            return NonPrivateEvent()
        if self._is_pure:
            return PureEvent(epsilon)
        if delta == 0:
            raise ValueError(
                f"delta=0 is pure privacy, which noise={self.noise!r} does not give; set "
                "noise='student', or a small delta"
            )
        if self.noise == "gaussian":
            if epsilon >= 1:
                raise ValueError(
                    f"noise='gaussian' is proven for epsilon below 1, but epsilon={epsilon}; set "
                    "noise='gap-release'"
                )
            return ApproximateEvent(epsilon, delta)
        return self._gap_event(epsilon, delta)

    def _gap_event(self, epsilon: float, delta: float) -> GaussianEvent:
        """All but a small share of delta is that of Gaussian noise."""
        k, failure = self.n_components, SPAN.failure_share * delta
        mu = mu_of(epsilon, delta, failure)
        # all of them are not rotated
        if k is not None and not 8 * rotation_mu(k) <= LEAST_OF_MU * min(mu, 1.0):
            raise ValueError(
                f"epsilon={epsilon} is too small for n_components={k}: what floating point costs "
                "would be a large part of it; raise epsilon, or ask for fewer components"
            )
        return GaussianEvent(mu, failure)

    def _mechanism(self, public: Public) -> GapMechanism | SmoothMechanism:
        event = self._event(public)
        if self.noise == "gap-release" or math.isinf(self.epsilon):
            failure = event.failure if isinstance(event, GaussianEvent) else 0.0
            return GapMechanism(**self._shared(), failure=failure)
        mechanism = SmoothMechanism(
            law=self.noise,
            epsilon=float(self.epsilon),
            delta=0.0 if self._is_pure else float(self.delta),
            norm_bound=self._smooth_bound(public),
            n_components=self.n_components,
            variance_share=float(self.variance_share),
        )
        mechanism.check(public)
        return mechanism

    def _smooth_bound(self, public: Public) -> float:
        """The norm bound that smooth sensitivity needs.

        Raises
        ------
        ValueError
            If something would spend Gaussian noise, or rest on a solver that may miss something.
        """
        if self.norm_bound is None:
            raise ValueError(
                f"noise={self.noise!r} needs a public norm_bound: a private one would spend "
                "Gaussian noise; set norm_bound, or noise='gap-release'"
            )
        if self._finds_centre:
            raise ValueError(
                f"noise={self.noise!r} needs a public mean: a private one would spend Gaussian "
                "noise; set mean, or center=False, or noise='gap-release'"
            )
        if public.grouped and self.variance_share:
            raise ValueError(
                f"noise={self.noise!r} releases no variances of groups, but unit={self.unit!r}; "
                "set variance_share=0, or noise='gap-release'"
            )
        if not dense_fits(public.n_features):
            raise ValueError(
                f"noise={self.noise!r} decomposes a d x d matrix, too large for "
                f"n_features={public.n_features}; set noise='gap-release'"
            )
        return float(self.norm_bound)
