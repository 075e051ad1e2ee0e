"""A noisy covariance matrix: what records are clipped to for it, and all that is read off it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..linalg import Eigenvectors
from ..private_data import PrivateData
from ..statistics import ClippedGram
from .base import BUDGET, Release
from .centre import shrink_to_signal
from .clipping import (
    Clip,
    clip_records,
    count_rows,
    group_bound,
    median_distance,
    radius_share,
    searches,
)
from .missing import noise_inflation, undone
from .norm_histogram import clipping_details, unclipped
from .scatter import NoisyScatter
from .spectrum import NoisySpectrum, correlation, count_components, shares_behind


@dataclass(frozen=True)
class NoisyGram:
    """The noisy sum of ``[y, t]^T [y, t]`` over clipped centred rows y, ``t`` a public constant.

    Parameters
    ----------
    matrix : ndarray of shape (d, d) or (d + 1, d + 1)
    constant : float
        t; 0 if the rows were not augmented.
    noise_sd : float
        Standard deviation of the noise on the diagonal; off it the noise has sd ``noise_sd /
        sqrt(2)``.
    """

    matrix: np.ndarray
    constant: float
    noise_sd: float

    def averaged(self, other: NoisyGram) -> NoisyGram:
        """Two matrices of the same records, about one centre, weighted by inverse variance."""
        mine, theirs = self.noise_sd**-2, other.noise_sd**-2
        matrix = (mine * self.matrix + theirs * other.matrix) / (mine + theirs)
        return replace(self, matrix=matrix, noise_sd=(mine + theirs) ** -0.5)

    def count(self) -> tuple[float, float]:
        """The noisy (weighted) number of rows and the sd of its noise."""
        square = self.constant**2
        return self.matrix[-1, -1] / square, self.noise_sd / square

    def about_mean(
        self, n: float, present: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The Gram matrix about the rows' mean, and that mean relative to the centre.

        The mean is shrunk towards the centre by what is noise in it.

        Parameters
        ----------
        present : ndarray of shape (d,), optional
            Share of the entries that are there; what filling the others did is undone.
        """
        d = len(self.matrix) - bool(self.constant)
        moments, filled = self.matrix[:d, :d], np.ones(d) if present is None else present
        moments = moments if present is None else undone(moments, present)
        if not self.constant:
            return moments, np.zeros(d)
        scale = self.constant * n
        noise_sd = self.noise_sd / math.sqrt(2) / scale * math.sqrt(noise_inflation(present))
        mean = shrink_to_signal(self.matrix[-1, :-1] / scale / filled, noise_sd)
        return moments - n * np.outer(mean, mean), mean


def release_gram(data: PrivateData, clip: Clip, mu: float | None = None) -> NoisyGram:
    """The Gram matrix of the clipped records about their centre.

    Parameters
    ----------
    mu : float, optional
        By default all that is left.
    """
    gram = ClippedGram(data.centre, clip.radius, clip.constant, data.public.grouped, clip.spherical)
    answer = data.ask(gram, mu, "Gram matrix")
    return NoisyGram(answer.value, clip.constant, answer.noise_sd)


@dataclass(frozen=True)
class CovarianceConstants:
    """Costs of a covariance beyond its matrix, and the augmentation of rows; round numbers."""

    # Share of mu^2 of the number of rows, of groups.
    rows_share: float = 0.02
    # Every row is augmented with this share of the radius: enough for the last row of the Gram
    # matrix to correct the mean, and it adds less than 2 % to the sensitivity.
    augmentation: float = 1 / 8


COVARIANCE = CovarianceConstants()


@dataclass(frozen=True)
class NoisyCovariance:
    """All steps of Analyze Gauss before and after its one question (Dwork et al., STOC 2014).

    Parameters
    ----------
    n_components : int, float, "auto", "mle" or None
    clip : {"auto", "spherical"}
    center : bool
        Whether a private centre is found, and corrected by the matrix.
    correlate : ndarray of bool of shape (d,), optional
        The features that are divided by the standard deviations which the matrix itself shows.
    """

    n_components: int | float | str | None
    clip: str
    center: bool
    correlate: np.ndarray | None = None

    def corrects(self, data: PrivateData) -> bool:
        """Return whether the last row of the matrix replaces a last mean of all rows.

        For 80 % of 1 % of mu^2, the noise of such a mean is 11 r / (mu n) in every entry, r the
        median distance; that of the last row, for the rest, is about 6 R / (mu n), R the clipping
        norm (add-remove). A public bound may be far longer than r. Rows that are scaled to norm 1
        give the centre of the signs; that of groups is a mean of means.
        """
        return self.clip == "auto" and searches(data) and not data.public.grouped

    def scatter(
        self,
        gram: NoisyGram,
        data: PrivateData,
        clip: Clip,
        n_rows: float,
        distance: float | None = None,
    ) -> NoisyScatter:
        """The covariance behind a noisy matrix, about the mean that its own last row gives.

        Parameters
        ----------
        data : PrivateData
            The records about the centre that the matrix is about.
        n_rows : float
            Public or released; of single rows the matrix gives another count.
        distance : float, optional
            What distances from the centre may be clipped to, if the records were seen.
        """
        n = n_rows if data.public.grouped else self._count(gram, data)
        scatter, shift = gram.about_mean(n, data.present)
        if data.exact and not np.isfinite(scatter).all():
            raise ValueError("X holds values too large to be squared; scale it down")
        inflation = noise_inflation(data.present)
        corrected = self.center and clip.median is None
        mean_sd = gram.noise_sd / math.sqrt(2) / (gram.constant * n) if gram.constant else 0.0
        known = clip.radius if clip.median is None else clip.median
        return NoisyScatter.of_cohort(
            scatter,
            gram.noise_sd * inflation,
            data.centre + shift if corrected else data.centre,
            n_rows=n,
            n_records=data.n if data.public.grouped else n,
            radius=clip.radius,
            distance=known if distance is None else distance,
            units=np.ones(data.n_features),
            present=np.ones(data.n_features) if data.present is None else data.present,
            mean_variance=mean_sd**2 * inflation,
            median=math.nan if clip.median is None else clip.median,
            factor=clip.factor,
        )

    def read(self, matrix: NoisyScatter, searched: bool) -> Release:
        """Mean, variances and components of a noisy matrix: all of it post-processing.

        Parameters
        ----------
        matrix : NoisyScatter
        searched : bool
            Whether the clipping norm was looked for (`searches`).
        """
        # 1. the covariance, and the mean that it is about
        scatter, noise_sd, n = matrix.scatter, matrix.noise_sd, matrix.n_rows
        centre, spherical, present = matrix.mean, matrix.spherical, matrix.share_present
        factor, scale = matrix.factor, None
        if self.correlate is not None and noise_sd:
            total = None if spherical else n
            taken = 1.0 if factor is None or spherical else factor.value
            scatter, noise_sd, scale = correlation(scatter, noise_sd, total, self.correlate, taken)
            centre = centre / scale
        found = Eigenvectors(scatter)
        # 2. eigenvalues without the noise's share, and as many components as they support
        spectrum = NoisySpectrum(found.values, noise_sd)
        per_row, details = max(n - 1, 1.0), {}
        if not spherical:
            clipped = spectrum.debiased / per_row
            variances, _ = unclipped(clipped, factor)
            details = clipping_details(factor, clipped, searched)
        else:
            square, spread = (1.0, 0.0) if factor is None else (factor.value, factor.spread)
            square = square * matrix.median**2 / present
            variances = square * shares_behind(spectrum.pooled, spread)
        k = count_components(self.n_components, spectrum, variances, n)
        rank = len(variances) if noise_sd else min(len(variances), int(n))
        rest = variances[k:rank]
        return Release(
            components=found.top(k),
            centre=centre,
            n_samples=matrix.n_records,
            explained_variance=variances[:k],
            total_variance=float(variances.sum()),
            noise_variance=float(rest.mean()) if len(rest) else 0.0,
            n_rows=n,
            details={
                "clip": "spherical" if spherical else "norm",
                "norm_bound": matrix.radius,
                "noise_sd": noise_sd,
                "alignments": spectrum.alignments[:k],
                "noise_edge": spectrum.edge / per_row,
                "spectrum": variances,
                **details,
            },
            scale=scale,
        )

    def rows(self, data: PrivateData) -> float:
        """The number of rows, which of groups is private and asked for."""
        if not data.public.grouped:
            return data.n
        mu_size = radius_share(data, BUDGET.question_share, BUDGET.most_look_share)
        bound = group_bound(data, mu_size)
        return count_rows(data, bound, data.fraction(COVARIANCE.rows_share))

    def clipping(self, data: PrivateData, n_rows: float) -> Clip:
        """Return the private clipping norm of the records, with the constant that augments them."""
        d = data.n_features
        clip = clip_records(data, d * (d + 1) // 2, data.remaining, self.clip == "spherical")
        if clip.spherical:
            mu = radius_share(data, BUDGET.question_share, BUDGET.most_look_share)
            clip = median_distance(data, mu)
        return self.augmented(clip, data, n_rows)

    def augmented(self, clip: Clip, data: PrivateData, n_rows: float) -> Clip:
        """Return the clipping norm with the constant that augments every row for the centre."""
        if not self.center:
            return clip
        if data.exact:
            return replace(clip, constant=float(data.public.grouped))
        # a typical group's rows together weigh as much as one row would
        rows = math.sqrt(n_rows / data.n) if data.public.grouped else 1.0
        return replace(clip, constant=COVARIANCE.augmentation * clip.radius / rows)

    def _count(self, gram: NoisyGram, data: PrivateData) -> float:
        """The number of rows: two counts of them, averaged by inverse variance."""
        if not gram.constant or data.public.n_records is not None:
            return data.n
        rows, rows_sd = gram.count()
        sd = 1 / data.effective(data.fraction(BUDGET.question_share))
        return max(1.0, (data.n / sd**2 + rows / rows_sd**2) / (1 / sd**2 + 1 / rows_sd**2))
