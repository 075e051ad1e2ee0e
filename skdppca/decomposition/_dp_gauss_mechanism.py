"""What DPGauss releases: the noisy covariance matrix, and its eigenvectors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from ..linalg import decreasing_eigh
from ..mechanisms.base import Public, Spender
from ..mechanisms.centre import rough_centre
from ..mechanisms.clipping import Clipping, clip_groups, clip_rows
from ..mechanisms.gram import NoisyGram, release_gram
from ..mechanisms.radius import noisy_count
from ..mechanisms.spectrum import NoisySpectrum, correlation, minka_rank, scaled_variances
from ..noise import NoiseSource
from ..privacy import PrivacyEvent
from ..records import Records
from ._release import Release

__all__ = ["DPGaussMechanism"]

# Share of mu^2 of the number of records. The Gram matrix gets what is left of all.
COUNT_SHARE = 0.01


@dataclass(frozen=True)
class DPGaussMechanism:
    """Analyze Gauss (Dwork, Talwar, Thakurta & Zhang, STOC 2014), told nothing of the data.

    It differs from the paper in that the clipping norm and the mean are private as well, and
    that the noise has the exact scale of the Gaussian mechanism and no more variance off the
    diagonal than it needs (METHODS 1-5).
    """

    public: Public
    event: PrivacyEvent
    n_components: int | float | str | None
    norm_bound: float | None
    clip: str
    center: bool
    mean: np.ndarray | None
    start: np.ndarray | None = None  # where to look for the centre
    correlate: bool = False  # divide by the standard deviations that the matrix itself shows

    def __call__(self, records: Records, noise: NoiseSource) -> Release:
        d = records.n_features
        spender = Spender(getattr(self.event, "mu", math.inf))
        # 1. n: how many records
        n = noisy_count(records.private_n, spender, spender.share(COUNT_SHARE), self.public, noise)
        # 2. c: a rough centre
        centre, distances = np.zeros(d) if self.mean is None else self.mean, None
        if self._augments:
            asked = (spender, self.public, noise, self.start)
            centre, distances = rough_centre(records, n, self.norm_bound, *asked)
        # 3. R: the clipping norm around it
        around = centre if centre.any() else None
        clipping = self._clip(records, around, distances, n, spender, noise)
        # 4. the noisy Gram matrix, about the mean that its own last row gives
        gram = release_gram(records, around, clipping, spender, self.public, noise)
        if clipping.n_rows is None:
            n = n_rows = self._count(gram, n, spender)
        else:
            n_rows = clipping.n_rows
        scatter, shift = gram.about_mean(n_rows)
        if self._augments and clipping.median is None:
            centre = centre + shift
        if not gram.query.noise_sd and not np.isfinite(scatter).all():
            raise ValueError("X holds values too large to be squared; scale it down")
        scale, noise_sd = None, gram.query.noise_sd
        if self.correlate and noise_sd:
            total = n_rows if clipping.median is None else None
            scatter, noise_sd, scale = correlation(scatter, noise_sd, total)
            centre = centre / scale
        values, vectors = decreasing_eigh(scatter)
        # 5. eigenvalues without the noise's share, and as many components as they support
        spectrum = NoisySpectrum(values, noise_sd)
        if clipping.median is None:
            variances = spectrum.debiased / max(n_rows - 1, 1.0)
        else:
            variances = scaled_variances(spectrum, clipping.median)
        k = self._count_components(spectrum, variances, n_rows)
        rank = d if spectrum.noise_sd else min(d, int(n_rows))
        rest = variances[k:rank]
        return Release(
            components=vectors[:k],
            centre=centre,
            explained_variance=variances[:k],
            total_variance=float(variances.sum()),
            noise_variance=float(rest.mean()) if len(rest) else 0.0,
            n_samples=n,
            n_rows=n_rows,
            spender=spender,
            details={
                "clip": "norm" if clipping.median is None else "spherical",
                "norm_bound": clipping.radius,
                "noise_sd": noise_sd,
                "alignments": spectrum.alignments[:k],
                "noise_edge": spectrum.edge / max(n_rows - 1, 1.0),
                "spectrum": variances,
            },
            scale=scale,
        )

    @property
    def _augments(self) -> bool:
        return self.center and self.mean is None

    def _clip(
        self,
        records: Records,
        centre: np.ndarray | None,
        distances: np.ndarray | None,
        n: float,
        spender: Spender,
        noise: NoiseSource,
    ) -> Clipping:
        grouped = self.public.grouped
        if math.isinf(spender.mu):
            n_rows = float(records.private_sizes.sum()) if grouped else None
            return Clipping(math.inf, constant=float(grouped and self._augments), n_rows=n_rows)
        told = (records, centre, n, self.norm_bound)
        paid = (spender, self.public, noise)
        if grouped:
            return clip_groups(*told, self._augments, *paid)
        return clip_rows(*told, distances, self.clip == "spherical", self._augments, *paid)

    def _count(self, gram: NoisyGram, n: float, spender: Spender) -> float:
        """The number of rows: two counts of them, averaged by inverse variance."""
        if not gram.constant or self.public.n_records is not None:
            return n
        rows, rows_sd = gram.count()
        sd = 1 / spender.share(COUNT_SHARE)
        return max(1.0, (n / sd**2 + rows / rows_sd**2) / (1 / sd**2 + 1 / rows_sd**2))

    def _count_components(
        self, spectrum: NoisySpectrum, variances: np.ndarray, n_rows: float
    ) -> int:
        d = len(variances)
        wanted = self.n_components
        if wanted is None:
            return d if spectrum.noise_sd else min(d, int(n_rows))
        if isinstance(wanted, Integral):
            return int(wanted)
        signal = max(1, int(np.count_nonzero(spectrum.values > spectrum.edge)))
        if wanted == "auto":
            return signal
        if wanted == "mle":
            return minka_rank(variances, max(2, round(n_rows)), signal)
        explained = np.cumsum(variances)
        enough = np.searchsorted(explained, wanted * explained[-1], side="right")
        return min(d, int(enough) + 1)
