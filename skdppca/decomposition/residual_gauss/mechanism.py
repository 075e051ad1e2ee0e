"""Analyze Gauss, then what pays most: more of it, or corrections of its top eigenvectors."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...linalg import decreasing_eigh
from ...mechanisms.base import BUDGET, RESIDUALS, STEPS, Release
from ...mechanisms.block_mean import BlockMean, Gradient
from ...mechanisms.centre import rough_centre
from ...mechanisms.clipping import Clip, ExpectedNorms, clip_records, radius_mu
from ...mechanisms.gram import NoisyGram, release_gram
from ...mechanisms.nested_release import release_nested
from ...mechanisms.nested_spheres import shows_more
from ...mechanisms.noisy_covariance import Clipping, NoisyCovariance
from ...mechanisms.sampling import with_sample
from ...mechanisms.spectrum import NoisySpectrum
from ...private_data import PrivateData
from ...statistics import ClippedGram
from ..iterative.iteration import Directions, iterate
from ..iterative.steps import chained, geometric, left_by
from ..iterative.subspace import release_along

__all__ = ["ResidualGaussMechanism"]


@dataclass(frozen=True)
class ResidualConstants:
    """What pays more than another matrix, and how the budget is divided.

    Tuned on normal rows of 60 to 200 features (power laws and spikes), on groups that share their
    signal, and on groups of rows that share their mean.
    """

    # The share of the direction budget's mu^2 for the first matrix; usual share for all radii.
    first_matrix: float = 0.35
    radii: float = 0.06
    # The cost of a step over that of the one before.
    ratio: float = 1.45
    # From this alignment on a component is clear, and so is what the matrix does to it.
    clear: float = 0.9
    # Radius over what the matrix is clipped to. From the first on corrections are no better than
    # another matrix, whose noise off the diagonal is that. If it will be below the second, the
    # power iteration shows more where components are not clear.
    worse: float = 2**-0.5
    better: float = 0.3
    # Corrections go on as long as the radius falls below this share of the last one.
    shrinkage: float = 0.7
    # Clipping shortens the components, and leaves the other directions as they are. A mean that has
    # less of the components than predicted is stretched, by this factor at most.
    most_stretch: float = 4.0
    # Clipping bias that is left in a correction, as a share of its square: without it the variance
    # of the estimate is thought too small, and it sticks.
    left_over_bias: float = 0.1
    # The largest share of groups that is clipped where one matrix would show little.
    most_clipped: float = 0.8


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
        Of the budget, for variances; 0 for none.
    n_iter : int
        Steps after the first matrix, at most.
    rate : float
        The t-th correction is taken by ``min(1, rate / t)`` at most; infinite for no damping.
    nested : bool
        Nested spheres instead where they show more.
    """

    n_components: int | None
    center: bool
    variance_share: float
    n_iter: int
    rate: float
    nested: bool = True

    asks = STEPS | RESIDUALS | {ClippedGram}

    def run(self, data: PrivateData) -> Release:
        """Release directions and, if they are paid for, the variances along them."""
        k = data.n_features if self.n_components is None else self.n_components
        grouped = data.public.grouped
        gauss = NoisyCovariance(k, "auto", self.center and not grouped)
        # 1. n: how many records
        data = with_sample(data.ask_count(data.fraction(BUDGET.count_share)))
        little = self.nested and shows_more(data, k)
        # 2. c: a rough centre
        radius = None
        if self.center:
            centred = rough_centre(data)
            data, radius = centred.data, centred.radius
        # 3. of rows of which one matrix would show little: nested spheres
        if little and not grouped:
            return self._nested(gauss, data, radius=radius, typical_norm=radius)
        # 4. what DPGauss clips to; all of its matrix where nothing else is on its scale
        clipping = _clipping(gauss, data, little)
        if data.exact or clipping.clip.spherical:
            return self._matrix(gauss, data, clipping)
        # 5. S: that matrix, for a part of the budget
        mu = self._left(data) * math.sqrt(RESIDUAL.first_matrix)
        gram = release_gram(data, clipping.clip, clipping.constant, mu)
        for step in range(self.n_iter):
            seen = _Eigenspectrum(data, gram, k, clipping.clip)
            # 6. R: how far records are from what S predicts, where that may be near
            if seen.is_clear or (grouped and seen.aligned):
                mu_radius, mu = self._costs(data, step)
                R = seen.look.radius(seen.W, seen.prediction, mu_radius, mu, seen.bound)
                # 7. what pays more than another matrix
                if seen.is_clear and R < RESIDUAL.worse * seen.bound:
                    return self._corrected(seen, R, step)
                if not seen.is_clear and R / math.sqrt(seen.aligned) < RESIDUAL.better * seen.bound:
                    return self._iterated(seen, R, step)
            # 8. another matrix, which is averaged with S: in subspaces, in part, or the last one
            if little and not seen.is_clear:
                return self._nested(gauss, data, typical_norm=seen.typical_norm, start=seen.unit)
            if seen.is_clear or step == self.n_iter - 1:
                break
            mu = self._costs(data, step)[1]
            gram = gram.averaged(release_gram(data, clipping.clip, clipping.constant, mu))
        return self._matrix(gauss, data, clipping, gram)

    def _left(self, data: PrivateData) -> float:
        """What is left for directions."""
        variances = min(data.fraction(self.variance_share), data.remaining / math.sqrt(2))
        return left_by(np.array([variances]), data.remaining) * (1 - 1e-12)

    def _costs(self, data: PrivateData, step: int) -> tuple[float, float]:
        """What the radius and the mean of a step cost, if it and all later ones have a radius."""
        left, weights = self._left(data), geometric(RESIDUAL.ratio, self.n_iter)[step:]
        usual = data.fraction(RESIDUAL.radii / self.n_iter)
        mu_radius = min(radius_mu(data, usual, usual), left / math.sqrt(2 * len(weights)))
        rest = left_by(np.full(len(weights), mu_radius), left)
        return mu_radius, rest * math.sqrt(weights[0] / weights.sum())

    def _nested(self, gauss: NoisyCovariance, data: PrivateData, **known: Any) -> Release:
        """All that is left goes into nested spheres."""
        paid = bool(self.variance_share)
        n_rows = gauss.rows(data) if paid else data.n
        return release_nested(data, gauss.n_components, n_rows, variances=paid, **known)

    def _matrix(
        self,
        gauss: NoisyCovariance,
        data: PrivateData,
        clipping: Clipping,
        gram: NoisyGram | None = None,
    ) -> Release:
        """All that is left goes into a matrix; it shows the variances as well."""
        n_rows = gauss.rows(data) if self.variance_share else data.n
        last = release_gram(data, clipping.clip, clipping.constant)
        gram = last if gram is None else gram.averaged(last)
        release = gauss.read(gram, data, clipping, n_rows)
        return release if self.variance_share else replace(release, explained_variance=None)

    def _iterated(self, seen: _Eigenspectrum, R: float, step: int) -> Release:
        """The power iteration, from what S shows, for all steps that are left."""
        mus_radius = np.full(self.n_iter - step, self._costs(seen.data, step)[0])
        mus_radius[0] = 0.0
        left = left_by(mus_radius, self._left(seen.data))
        mus = left * np.sqrt(geometric(RESIDUAL.ratio, len(mus_radius)))
        todo = list(chained(seen.mean, mus_radius, mus, R))
        return self._along(seen, iterate(todo, seen.W, "auto", True, seen.prediction))

    def _corrected(self, seen: _Eigenspectrum, R: float, step: int) -> Release:
        """Corrections of what S does to its top eigenvectors, as long as the radius falls."""
        S, W, mean, k = seen.S, seen.W, seen.mean, len(seen.W)
        # 1. v: the variance of S W; each correction is weighted against it
        v0 = v = seen.noise_sd**2 / 2
        for t in range(step, self.n_iter):
            C = W @ S
            mu_radius, mu = self._costs(seen.data, t)
            is_last = t == self.n_iter - 1
            if t > step:
                last = R
                R = mean.radius(W, C, mu_radius, mu, last)
                is_last = is_last or R > RESIDUAL.shrinkage * last
            # 2. D: the correction, that is the mean around the prediction
            answer = mean(W, C, 0.0, self._left(seen.data) if is_last else mu, R)
            answer = _stretched(answer, W, C, seen.bulk)
            weight = v / (v + answer.noise_sd**2) * min(1.0, self.rate / (t + 1))
            D = weight * (answer.mean - C)
            # 3. the symmetric matrix nearest to S that maps W to S W + D
            S = S + D.T @ W + W.T @ D - W.T @ ((W @ D.T + D @ W.T) / 2) @ W
            miss = float(np.mean((answer.mean - C) ** 2))
            v = (1 - weight) * v + RESIDUAL.left_over_bias * weight**2 * miss
            # 4. W: its top eigenvectors; what has turned out of their span is as before
            old, (values, vectors) = W, decreasing_eigh(S)
            W = vectors[:k]
            v += v0 * float(np.linalg.norm(W - (W @ old.T) @ old)) ** 2 / k
            if is_last:
                break
        alignments = NoisySpectrum(values, math.sqrt(2 * v)).alignments[:k]
        return self._along(seen, Directions(W, np.diag(values[:k]), v), alignments=alignments)

    def _along(self, seen: _Eigenspectrum, found: Directions, **more: Any) -> Release:
        """The directions, and variances for what is left."""
        details = {"clip": "norm", "norm_bound": math.sqrt(seen.bound), **more}
        paid = bool(self.variance_share)
        return release_along(
            seen.mean.data, found, seen.data.centre, paid, details, True, seen.clip.factor
        )


def _stretched(answer: Gradient, W: np.ndarray, C: np.ndarray, bulk: float) -> Gradient:
    """A mean of ``A_i W`` that has as much of W as its prediction C, where clipping took of it.

    Otherwise a signal of few long records would sink among the other directions, which S has as
    they are.

    Parameters
    ----------
    bulk : float
        What S has in any direction.
    """
    predicted, found = (float(np.sum(G * W)) - len(W) * bulk for G in (C, answer.mean))
    if predicted <= found:
        return answer
    factor = min(predicted / found, RESIDUAL.most_stretch) if found > 0 else RESIDUAL.most_stretch
    mean = bulk * W + factor * (answer.mean - bulk * W)
    return replace(answer, mean=mean, noise_sd=factor * answer.noise_sd)


@dataclass(frozen=True)
class _Eigenspectrum:
    """What a noisy matrix shows.

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
        """What every record's term was clipped to."""
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
        """The records about that mean."""
        return self.start.centred_at(self.start.centre + self._about_mean[1])

    @property
    def noise_sd(self) -> float:
        """Of the diagonal of S."""
        return self.gram.noise_sd / self.start.n

    @cached_property
    def _eigen(self) -> tuple[NoisySpectrum, np.ndarray]:
        values, vectors = decreasing_eigh(self.S)
        return NoisySpectrum(values, self.noise_sd), vectors

    @property
    def W(self) -> np.ndarray:
        """The top eigenvectors, as rows."""
        return self._eigen[1][: self.k]

    @property
    def bulk(self) -> float:
        """What it has in any direction."""
        return self._eigen[0].centre

    @property
    def is_clear(self) -> bool:
        """Whether all of them are seen well."""
        return bool(self._eigen[0].alignments[self.k - 1] >= RESIDUAL.clear)

    @property
    def aligned(self) -> float:
        """The share of their squares that is expected not to be noise."""
        return float(self._eigen[0].alignments[: self.k].mean())

    @property
    def prediction(self) -> np.ndarray:
        """What the matrix without noise does to W: S W, or less where they are not clear."""
        spectrum = self._eigen[0]
        if self.is_clear:
            return spectrum.values[: self.k, None] * self.W
        return (spectrum.visible * spectrum.alignments)[: self.k, None] * self.W

    @property
    def look(self) -> BlockMean:
        """For one look at how far records are from a prediction."""
        return BlockMean(replace(self.data, typical_norm=math.sqrt(self.bound)))

    @cached_property
    def mean(self) -> BlockMean:
        """For many means around predictions."""
        return BlockMean(replace(self.data.shifted(), typical_norm=math.sqrt(self.bound)))

    @property
    def typical_norm(self) -> float | None:
        """About how long records are; None if it was not seen."""
        found = math.sqrt(self.bound)
        return found if found > ExpectedNorms().typical else None

    @property
    def unit(self) -> NoisyGram:
        """The matrix of records of norm 1 at most."""
        matrix, noise_sd = self.gram.matrix / self.bound, self.gram.noise_sd / self.bound
        return replace(self.gram, matrix=matrix, noise_sd=noise_sd)


def _clipping(gauss: NoisyCovariance, data: PrivateData, little: bool) -> Clipping:
    """What DPGauss clips to; where groups are few, close to their direction alone."""
    if not little:
        return gauss.clipping(data, data.n)
    d = data.n_features
    clip = clip_records(data, d * (d + 1) // 2, data.remaining, most=RESIDUAL.most_clipped)
    return Clipping(clip, 0.0, None)
