"""ResidualGauss: a noisy covariance matrix, refined where its components are."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np

from .._sklearn import Interval, StrOptions
from ..linalg import Eigenvectors, top_eigh
from ..mechanisms.base import BUDGET, Mechanism, Release, with_unseen
from ..mechanisms.block_mean import BlockMean
from ..mechanisms.centre import release_centred, rough_centre
from ..mechanisms.clipping import (
    Clip,
    ExpectedNorms,
    clip_records,
    radius_mu,
    searches,
    with_typical_norm,
)
from ..mechanisms.cross_corrections import CrossMean
from ..mechanisms.nested_spheres import release_nested, shows_more
from ..mechanisms.noisy_covariance import NoisyCovariance, NoisyGram, release_gram
from ..mechanisms.norm_histogram import with_sample
from ..mechanisms.spectrum import NoisySpectrum
from ..private_data import PrivateData, Public
from ..records.machine import MATRICES, Held, one_thread
from ..statistics.lemmas import psd_sum
from .base import BasePrivatePCA
from .dp_gauss import DPGaussMechanism
from .iterative.iteration import Directions, chained, geometric, iterate, left_by
from .iterative.subspace import MAX_ITER, SubspacePCA, release_along
from .parameters import estimator, parameter


@dataclass(frozen=True)
class ResidualConstants:
    """Thresholds for steps that beat another matrix, and shares of the budget.

    Tuned on normal rows of 60 to 200 features (power laws and spikes), on groups that share their
    signal, and on groups of rows that share their mean.
    """

    # The share of the direction budget's mu^2 for the first matrix; usual share for all radii.
    first_matrix: float = 0.35
    radii: float = 0.06
    # The cost of a step over that of the one before.
    ratio: float = 1.45
    # From this alignment of the last component on, corrections of the span pay: of rows; and of
    # groups, and of rows of which one matrix would show little. With .5 there, nested spheres are
    # left too early.
    clear_rows: float = 0.5
    clear_others: float = 0.9
    # Noise of a correction over that of another matrix off its diagonal: from here on it is no
    # better; derived.
    worse: float = 1.0
    # Radius over what the matrix is clipped to: if it will be below that, the power iteration shows
    # more where components are not clear.
    better: float = 0.3
    # Corrections go on as long as the radius falls below this share of the last one.
    shrinkage: float = 0.7
    # Clipping bias that is left in a correction, as a share of its square: without it the variance
    # of the estimate is thought too small, and it sticks.
    left_over_bias: float = 0.1
    # The largest share of groups that is clipped where one matrix would show little.
    most_clipped: float = 0.8
    # One matrix is enough for rows where it is predicted to lose less than this share of the
    # variance; and the gap that is assumed after the last component, as a share of the trace.
    negligible: float = 1e-5
    assumed_gap: float = 0.01


RESIDUAL = ResidualConstants()


@dataclass(frozen=True)
class ResidualGaussMechanism:
    """Analyze Gauss, then what pays most: more of it, or corrections of its top eigenvectors.

    Parameters
    ----------
    n_components : int or None
        None for as many as features.
    center : bool
        Whether a private centre is found.
    variance_share : float
        Share of the budget, for variances; 0 for none.
    n_iter : int
        Steps after the first matrix, at most.
    rate : float
        The t-th correction is taken by ``min(1, rate / t)`` at most; infinite for no damping.
    nested : bool
        Nested spheres instead where they show more.
    paired : bool
        Differences of pairs instead where no centre is seen.
    """

    n_components: int | None
    center: bool
    variance_share: float
    n_iter: int
    rate: float
    nested: bool = True
    paired: bool = False

    def __call__(self, data: PrivateData) -> Release:
        """Release directions and, if they are paid for, the variances along them."""
        k = self._n_components(data)
        # 1. n: how many records
        data = with_sample(data.ask_count(data.fraction(BUDGET.question_share)))
        little = self.nested and shows_more(data, k)
        # of rows that are many one matrix is enough, whose last row corrects the centre
        loss = self._predicted_loss(data, k)
        enough = searches(data) and not data.public.grouped and 0 < loss < RESIDUAL.negligible
        # 2. c: a rough centre; of rows that turn out to lie off it, pairs; of few records without a
        # centre, how long they are
        about = partial(self._about, k, little, loss if enough else None)
        if self.center:
            return release_centred(rough_centre(data, enough), k, about, self.paired)
        return about(with_typical_norm(data) if little else data)

    def _about(
        self,
        k: int,
        little: bool,
        loss: float | None,
        data: PrivateData,
        radius: float | None = None,
    ) -> Release:
        """Spend what is left on the records about their centre, at that distance if it was seen.

        On one matrix, if a loss is given: that is what it is predicted to lose.
        """
        grouped = data.public.grouped
        gauss = NoisyCovariance(k, "auto", self.center and not grouped)
        # 3. of rows of which one matrix would show little: nested spheres
        if little and not grouped:
            length = radius if self.center else data.typical_norm
            release = self._nested(gauss, data, radius=radius, typical_norm=length)
            return with_unseen(release, data.public, no_norms=not self.center and data.unseen)
        # 4. what DPGauss clips to; all of its matrix where no direction leads out of the span
        # where groups are few, it is close to their direction alone
        entries, most = data.n_features * (data.n_features + 1) // 2, RESIDUAL.most_clipped
        clip = (
            clip_records(data, entries, data.remaining, most=most)
            if little
            else gauss.clipping(data, data.n)
        )
        if searches(data) and not clip.unseen:
            data = data.near(clip.median or clip.radius)
        if loss is None:
            release = self._of_gram(k, little, gauss, data, clip)
        else:
            release = self._matrix(gauss, data, clip)
            release = replace(release, details={**release.details, "predicted_loss": loss})
        return with_unseen(release, data.public, no_norms=clip.unseen)

    def _of_gram(
        self, k: int, little: bool, gauss: NoisyCovariance, data: PrivateData, clip: Clip
    ) -> Release:
        """Spend what is left on a Gram matrix, and on corrections of it where they pay."""
        grouped = data.public.grouped
        if data.exact or k == data.n_features:
            return self._matrix(gauss, data, clip)
        # 5. S: that matrix, for a part of the budget
        mu = self._left(data) * math.sqrt(RESIDUAL.first_matrix)
        gram = release_gram(data, clip, mu)
        least = RESIDUAL.clear_others if grouped else RESIDUAL.clear_rows
        for step in range(self.n_iter):
            seen = _Eigenspectrum(data, gram, k, clip)
            is_clear = seen.alignment >= least
            mu_radius, mu = self._costs(data, step)
            # 6. R: how long the records' products are, where corrections pay more than a matrix
            if is_clear:
                R = seen.cross.radius(seen.W, mu_radius, mu, seen.bound)
                if seen.cross.relative_noise(R) < RESIDUAL.worse:
                    return self._corrected(seen, R, mu, step)
                break
            # 7. how far groups are from what S predicts: if they are near, a power iteration
            if grouped and seen.aligned:
                R = seen.residuals.look(seen.W, seen.prediction, mu_radius, mu, seen.bound)[0]
                if R / math.sqrt(seen.aligned) < RESIDUAL.better * seen.bound:
                    return self._iterated(seen, R, step)
            # 8. another matrix, which is averaged with S: in subspaces, in part, or the last one
            if little:
                return self._nested(gauss, data, typical_norm=seen.typical_norm, start=seen.unit)
            if step == self.n_iter - 1:
                break
            mu = self._costs(data, step)[1]
            gram = gram.averaged(release_gram(data, clip, mu))
        return self._matrix(gauss, data, clip, gram)

    def _predicted_loss(self, data: PrivateData, k: int) -> float:
        """Return what noise takes of the variance in one matrix for all that is left, predicted.

        Noise of sd ``s / sqrt(2)`` turns each of the k top eigenvectors into each of the others; at
        a gap g, or more, that takes ``s^2 / (2 g)`` of the trace T, or less. Every record is taken
        to be as long as the clipping norm R: then T is ``n R^2``, and s over T is what it is for
        records of norm 1. From public numbers and the noisy n.
        """
        noise = psd_sum(1.0, data.public.adjacency) / (data.effective(data.remaining) * data.n)
        return k * (data.n_features - k) * noise**2 / (2 * RESIDUAL.assumed_gap)

    def _n_components(self, data: PrivateData) -> int:
        return data.n_features if self.n_components is None else self.n_components

    def _left(self, data: PrivateData) -> float:
        """Return the mu that remains for directions."""
        variances = min(data.fraction(self.variance_share), data.remaining / math.sqrt(2))
        return left_by(np.array([variances]), data.remaining) * (1 - 1e-12)

    def _costs(self, data: PrivateData, step: int) -> tuple[float, float]:
        """Return the mu of a step's radius and mean, if it and all later ones have a radius."""
        left, weights = self._left(data), geometric(RESIDUAL.ratio, self.n_iter)[step:]
        mu_radius = 0.0
        if data.norm_bound is None:
            usual = data.fraction(RESIDUAL.radii / self.n_iter)
            mu_radius = min(radius_mu(data, usual, usual), left / math.sqrt(2 * len(weights)))
        rest = left_by(np.full(len(weights), mu_radius), left)
        return mu_radius, rest * math.sqrt(weights[0] / weights.sum())

    def _nested(self, gauss: NoisyCovariance, data: PrivateData, **known: Any) -> Release:
        """Nested spheres for all that is left; of rows, corrections if the first one is clear."""
        paid, k = bool(self.variance_share), self._n_components(data)
        n_rows = gauss.rows(data) if paid else data.n

        def is_clear(spectrum: NoisySpectrum) -> bool:
            return bool(spectrum.alignments[k - 1] >= RESIDUAL.clear_others)

        def corrected(first: NoisyGram) -> Release:
            clip = Clip(1.0, spherical=True, median=known["radius"])
            seen = _Eigenspectrum(data, first, k, clip)
            mu_radius, mu = self._costs(data, 0)
            return self._corrected(seen, seen.cross.radius(seen.W, mu_radius, mu), mu, 0)

        if not data.public.grouped:
            known |= {"is_clear": is_clear, "instead": corrected}
        return release_nested(data, k, n_rows, variances=paid, **known)

    def _matrix(
        self,
        gauss: NoisyCovariance,
        data: PrivateData,
        clip: Clip,
        gram: NoisyGram | None = None,
    ) -> Release:
        """All that is left goes into a matrix; it shows the variances as well."""
        n_rows = gauss.rows(data) if self.variance_share else data.n
        last = release_gram(data, clip)
        gram = last if gram is None else gram.averaged(last)
        matrix = gauss.scatter(gram, data, clip, n_rows)
        release = gauss.read(matrix, searches(data))
        return release if self.variance_share else replace(release, explained_variance=None)

    def _iterated(self, seen: _Eigenspectrum, R: float, step: int) -> Release:
        """The power iteration, from what S shows, for all steps that are left."""
        mus_radius = np.full(self.n_iter - step, self._costs(seen.data, step)[0])
        mus_radius[0] = 0.0
        left = left_by(mus_radius, self._left(seen.data))
        mus = left * np.sqrt(geometric(RESIDUAL.ratio, len(mus_radius)))
        todo = list(chained(seen.mean, mus_radius, mus, R))
        found = iterate(todo, seen.W, "auto", True, seen.prediction)
        return self._along(seen, seen.mean.data, found, found.variance)

    def _corrected(self, seen: _Eigenspectrum, R: float, mu: float, step: int) -> Release:
        """Corrections of what leads out of the span of S's top eigenvectors: the rest turns none.

        The first one is clipped to R and costs mu. For the next another radius is found, as long as
        it falls.
        """
        S, W, cross, k = seen.S, seen.W, seen.cross.shifted(), len(seen.W)
        # 1. v: the variance of an entry of S W; each correction is weighted against it
        v0 = v = seen.noise_sd**2 / 2
        for t in range(step, self.n_iter):
            is_last = t == self.n_iter - 1
            if t > step:
                last, (mu_radius, mu) = R, self._costs(seen.data, t)
                R = cross.radius(W, mu_radius, mu, last)
                is_last = is_last or R > RESIDUAL.shrinkage * last
            # 2. Y: the mean of the cross products, about the records' mean as S is
            mean, noise_sd = cross(W, self._left(seen.data) if is_last else mu, R)
            Y = mean - seen.crossed_mean(W)
            # 3. D: the correction of S, which has nothing there: W are its eigenvectors
            weight = v / (v + noise_sd**2) * min(1.0, self.rate / (t + 1))
            D = weight * Y
            with one_thread():  # NumPy's idle threads would spin beside LAPACK's in 4.
                S = S + D.T @ W + W.T @ D
            v = (1 - weight) * v + RESIDUAL.left_over_bias * weight**2 * float(np.mean(Y**2))
            # 4. W: its top eigenvectors; what has turned out of their span is as before
            old, (values, W) = W, top_eigh(S, k)
            v += v0 * float(np.linalg.norm(W - (W @ old.T) @ old)) ** 2 / k
            if is_last:
                break
        # what a squared length of 1 was before rows were scaled
        unit = (seen.clip.median or 1.0) ** 2 if seen.clip.spherical else 1.0
        others = seen.spectrum.values[k:]
        alignments = NoisySpectrum(np.append(values, others), math.sqrt(2 * v)).alignments[:k]
        found = Directions(W, unit * np.diag(values), unit**2 * v)
        core_variance = math.inf if seen.clip.spherical else seen.noise_sd**2
        return self._along(seen, cross.data, found, core_variance, alignments=alignments)

    def _along(
        self,
        seen: _Eigenspectrum,
        data: PrivateData,
        found: Directions,
        core_variance: float,
        **more: Any,
    ) -> Release:
        """The directions, and variances for what is left."""
        # of rows that were scaled to norm 1 the directions are, and no variances
        clip = {} if seen.clip.spherical else {"clip": "norm", "norm_bound": seen.clip.radius}
        details = {**clip, **more}
        paid = bool(self.variance_share)
        centre, factor = seen.data.centre, seen.clip.factor
        return release_along(data, found, centre, paid, details, core_variance, factor)


@dataclass(frozen=True)
class _Eigenspectrum:
    """Eigenvectors and spectrum of a noisy matrix, with the records around its centre.

    Parameters
    ----------
    start : PrivateData
        The records about the centre that it is about.
    gram : NoisyGram
    k : int
        Components.
    clip : Clip
        What every record was clipped to.
    """

    start: PrivateData
    gram: NoisyGram
    k: int
    clip: Clip

    @property
    def bound(self) -> float:
        """Bound to which every record's term was clipped."""
        return self.clip.radius**2

    @cached_property
    def _about_mean(self) -> tuple[np.ndarray, np.ndarray]:
        return self.gram.about_mean(self.start.n)

    @property
    def S(self) -> np.ndarray:
        """The mean of the records' Gram matrices, about their mean."""
        return self._about_mean[0] / self.start.n

    @cached_property
    def data(self) -> PrivateData:
        """The records about that mean; of directions alone it moves no centre."""
        if self.clip.spherical:
            return self.start
        return self.start.centred_at(self.start.centre + self._about_mean[1])

    def crossed_mean(self, W: np.ndarray) -> np.ndarray:
        """Return the mean's own cross product out of a span, around the centre of `data`."""
        if not self.clip.spherical:
            return np.zeros_like(W)
        mean = self._about_mean[1]
        along = W @ mean
        return np.outer(along, mean - along @ W)

    @property
    def noise_sd(self) -> float:
        """Sd of the noise in the diagonal of S."""
        return self.gram.noise_sd / self.start.n

    @cached_property
    def _eigenvectors(self) -> Eigenvectors:
        return Eigenvectors(self.S, self.k)

    @cached_property
    def spectrum(self) -> NoisySpectrum:
        """The eigenvalues of S."""
        return NoisySpectrum(self._eigenvectors.values, self.noise_sd)

    @cached_property
    def W(self) -> np.ndarray:
        """The top eigenvectors, as rows."""
        return self._eigenvectors.top(self.k)

    @property
    def alignment(self) -> float:
        """Alignment of the last component: the expected squared cosine with the noise-free one."""
        return float(self.spectrum.alignments[self.k - 1])

    @property
    def aligned(self) -> float:
        """The share of their squares that is expected not to be noise."""
        return float(self.spectrum.alignments[: self.k].mean())

    @property
    def prediction(self) -> np.ndarray:
        """Prediction of the noise-free matrix times W."""
        spectrum = self.spectrum
        return (spectrum.visible * spectrum.alignments)[: self.k, None] * self.W

    @property
    def cross(self) -> CrossMean:
        """For a look at the cross products of the records."""
        return CrossMean(self.data, self.bound, self.clip.spherical)

    @property
    def residuals(self) -> BlockMean:
        """For one look at how far records are from a prediction."""
        return BlockMean(replace(self.data, typical_norm=self.clip.radius))

    @cached_property
    def mean(self) -> BlockMean:
        """For many means around predictions."""
        return BlockMean(replace(self.data.shifted(), typical_norm=self.clip.radius))

    @property
    def typical_norm(self) -> float | None:
        """About how long records are; None if it was not seen."""
        found = self.clip.radius
        return found if found > ExpectedNorms().typical else None

    @property
    def unit(self) -> NoisyGram:
        """The matrix of records of norm 1 at most."""
        matrix, noise_sd = self.gram.matrix / self.bound, self.gram.noise_sd / self.bound
        return replace(self.gram, matrix=matrix, noise_sd=noise_sd)


@estimator
class ResidualGauss(SubspacePCA):
    """Private PCA by a noisy covariance matrix that is refined where that pays.

    A part of the budget buys `DPGauss`'s matrix. The rest buys corrections of what leads out of the
    span of its top eigenvectors, which alone turns them: their noise follows how far the records
    are from that span, and is less than another matrix's. Where the eigenvectors are not clear yet,
    it buys more of the matrix. Groups that agree with each other gain orders of magnitude.

    Parameters
    ----------
    n_components : int, float, "auto", "mle" or None, default=None
        Number of components to release: an int; a float between 0 and 1, enough to explain that
        share of the variance; "auto", those that stand above the privacy noise, at least one;
        "mle", Minka's estimate; or None, as many as features.
    learning_rate : float or "auto", default="auto"
        Damps the corrections: the t-th is taken by ``min(1, learning_rate / t)`` at most. "auto"
        weights it by its own noise alone.
    n_iter : int, default=4
        Steps after the first matrix, at most.
    variance_share : float, default=0.05
        Share of the budget for `explained_variance_` and what depends on it, where no last matrix
        shows them; 0 leaves them out.

    Attributes
    ----------
    privacy_ : PrivacyReport
        ``privacy_.details["alignments"]`` holds the expected squared cosine of every component with
        the one that the same computation gives without noise. After steps that are no corrections,
        the details are those of `DPGauss`.

    See Also
    --------
    DPGauss : One matrix; it releases the whole spectrum, always.
    KDPPCA : Without a d x d matrix.

    Notes
    -----
    A record is a matrix ``A_i``: ``X_i^T X_i`` of a group's rows, ``x x^T`` of a row. A correction
    releases the mean of ``W^T A_i (I - W W^T)``, W the top eigenvectors of the matrix S so far,
    clipped to a private radius; S is then changed by it, weighted by inverse variance.

    What a step buys follows from what was released: another matrix where the eigenvectors are not
    clear yet, or where that radius is no shorter than what the matrix is clipped to; the iteration
    of `KDPPCA` where groups agree and one matrix is not enough to see what in; and nested spheres,
    as in `DPGauss`, where records are few or the budget is small, unless the first of them shows
    the eigenvectors clearly. Of rows that are many, one matrix gets all that is left if its noise
    is predicted to take less than 1e-5 of the variance: it needs fewer passes over the rows, and
    ``privacy_.details["predicted_loss"]`` is that share then. The prediction follows from the noisy
    number of records, and assumes a gap of 1 % of the variance after the last component.

    With few rows, or a small budget, the search may end without a centre. If the rows lie off the
    point that was reached, all that is left buys the Kendall matrix of their pairs (as in
    `GDPPCA`), if they are in memory: there are no variances then, and
    ``privacy_.details["no_centre"]`` says so.

    If the number of components is to follow from the spectrum (``n_components`` a float, "auto" or
    "mle"), or if entries may be absent (``missing="mean"``), this is `DPGauss`: both ask for the
    whole matrix. ``whiten=True`` divides by variances, which nested spheres may not have: there are
    none then.

    References
    ----------
    New here; the start is C. Dwork, K. Talwar, A. Thakurta, L. Zhang. Analyze Gauss. STOC 2014; the
    adaptive noise is that of J. Düngler, A. Sanyal. An iterative algorithm for differentially
    private k-PCA with adaptive noise. 2025.

    Examples
    --------
    >>> from skdppca import ResidualGauss
    >>> from skdppca.datasets import make_spiked
    >>> X, groups, components, _ = make_spiked(2000, 20, 2, (10, 5), 0.1, random_state=0)
    >>> pca = ResidualGauss(n_components=2, unit="matrix", center=False).fit(X, groups=groups)
    >>> bool(abs(components[0] @ pca.components_[0]) > 0.99)
    True
    """

    n_components: int | float | Literal["auto", "mle"] | None = parameter(  # type: ignore[assignment]
        *BasePrivatePCA._parameter_constraints["n_components"], default=None, kw_only=False
    )
    learning_rate: float | Literal["auto"] = parameter(
        Interval(Real, 0, None, closed="neither"), StrOptions({"auto"}), default="auto"
    )
    n_iter: int = parameter(Interval(Integral, 1, MAX_ITER, closed="both"), default=4)

    _held: ClassVar[Held] = MATRICES

    def _mechanism(self, public: Public) -> Mechanism:
        if self._may_miss or not isinstance(self.n_components, Integral | None):
            return DPGaussMechanism(
                n_components=self.n_components,
                clip="auto",
                center=self._finds_centre,
                correlate=self._standardised(public.n_features),
                nested=not self.whiten,
            )
        rate = math.inf if self.learning_rate == "auto" else float(self.learning_rate)
        sought = self._finds_centre and self.norm_bound is None
        paired = sought and public.in_memory and not (public.grouped or self.whiten)
        return ResidualGaussMechanism(
            **self._shared(),
            n_iter=self.n_iter,
            rate=rate,
            nested=not self.whiten,
            paired=paired,
        )

    def _width(self, n_features: int) -> int:
        counted = isinstance(self.n_components, Integral)
        return super()._width(n_features) if counted else n_features
