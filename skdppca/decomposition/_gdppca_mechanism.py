"""What GDPPCA releases: a noisy multivariate Kendall matrix, and all that goes with it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from ..linalg import decreasing_eigh
from ..mechanisms.base import Public, Spender
from ..mechanisms.clipping import Clipping
from ..mechanisms.gram import release_gram
from ..mechanisms.kendall import kendall_shares, median_difference, release_kendall
from ..mechanisms.location import location_error, robust_location
from ..mechanisms.pairs import Kernel
from ..mechanisms.radius import noisy_count
from ..mechanisms.spectrum import NoisySpectrum
from ..noise import NoiseSource
from ..privacy import PrivacyEvent
from ..records import Records
from ..records._mean_rows import mean_records
from ._base import Release

__all__ = ["GDPPCAMechanism"]

# Shares of mu^2: of the number of records, of a radius of winsorisation, and of the centre where
# it is what the signs are taken around. The matrix gets what is left of all.
COUNT_SHARE, RADIUS_SHARE, CENTRE_SHARE = 0.01, 0.05, 0.20

# Signs are taken around a private centre only if its noise is this small against them.
LARGEST_ERROR = 0.2

# Up to about so many records all pairs are formed, if their count is no less certain than that.
COMPLETE_UP_TO = 2**13
LARGEST_COUNT_SD = 1000.0

# Median of the square of a standard normal variable.
MEDIAN_CHI2 = 0.4549364231195727


@dataclass(frozen=True)
class GDPPCAMechanism:
    """g-DPPCA (Kim & Jung 2025, Algorithm 1), with the exact noise and everything else private.

    It differs from the paper in that the matrix is ``S / (n - 1)`` with its sharp sensitivity and
    the Gaussian mechanism's exact scale, about half the noise; in that pairs may be left out at
    random; and in that radius, mean and variances are released as well (METHODS 7).
    """

    public: Public
    event: PrivacyEvent
    n_components: int | float | str | None
    kernel: str
    pairs: str
    n_pairs: int
    centering: str
    norm_bound: float | None
    center: bool
    mean: np.ndarray | None
    location_share: float
    variance_share: float
    start: np.ndarray | None = None  # where to look for the centre

    def __call__(self, records: Records, noise: NoiseSource) -> Release:
        d = records.n_features
        spender = Spender(getattr(self.event, "mu", math.inf))
        # All rows at once; a group counts by its mean row, everywhere
        records, rows = mean_records(records)
        # 1. n: how many records
        n = noisy_count(len(rows), spender, spender.share(COUNT_SHARE), self.public, noise)
        # 2. c: a location, for `mean_`, and for the signs if they are taken around it
        centre = np.zeros(d) if self.mean is None else self.mean
        around_centre, mu = self.centering == "private", spender.share(self.location_share)
        if self.center and self.mean is None:
            if around_centre:
                enough = spender.share(CENTRE_SHARE)
                around_centre = location_error(n, d, enough, self.public) < LARGEST_ERROR
                mu = enough if around_centre else mu
            if mu:
                paid = (spender, self.public, noise, self.start)
                centre = robust_location(records, n, mu, *paid)
            elif self.start is not None:
                centre = self.start
        # 3. r: the radius of winsorisation
        asked = (spender, self.public, noise)
        kernel = self._kernel(rows, n, *asked)
        # 4. the noisy matrix, with all but what the variances cost
        paid = (self._all_but_variances(spender), self.public, noise)
        if around_centre:
            matrix, noise_sd = self._around(records, centre, kernel, *paid)
        else:
            matrix, noise_sd = release_kendall(rows, kernel, self._offsets(n), *paid)
        weight = n if around_centre else n / 2  # what the signs' eigenvalues sum to
        values, vectors = decreasing_eigh(matrix)
        spectrum = NoisySpectrum(values, noise_sd)
        # 5. the variances behind its eigenvalues, and their scale along the first component
        largest = None
        if self.variance_share:
            mu = spender.left
            name = "median along the first component"
            told = (rows, vectors[0], n, name, spender, mu, self.public, noise)
            largest = median_difference(*told) ** 2 / MEDIAN_CHI2
        shares = kendall_shares(spectrum, kernel, largest)
        k = self._count_components(spectrum, shares)
        variances = total = rest = None
        if largest is not None:
            variances = shares * (largest / shares[0])
            total = float(variances.sum())
            rest = float(variances[k:].mean()) if k < d else 0.0
        return Release(
            components=vectors[:k],
            centre=centre,
            explained_variance=None if variances is None else variances[:k],
            total_variance=total,
            noise_variance=rest,
            n_samples=n,
            n_rows=n,
            spender=spender,
            details={
                "clip": self.kernel,
                "norm_bound": kernel.radius,
                "pairs": "none" if around_centre else ("incomplete", "complete")[self._all(n)],
                "noise_sd": noise_sd * n / weight,
                "noise_edge": spectrum.edge / weight,
                "alignments": spectrum.alignments[:k],
                "spectrum": shares if variances is None else variances,
            },
        )

    def _all_but_variances(self, spender: Spender) -> Spender:
        if math.isinf(spender.mu):
            return spender.portion(spender.mu)
        left = spender.left**2 - spender.share(self.variance_share) ** 2
        return spender.portion(math.sqrt(left) * (1 - 1e-12))

    def _kernel(
        self, rows: np.ndarray, n: float, spender: Spender, public: Public, noise: NoiseSource
    ) -> Kernel:
        if self.kernel == "spherical":
            return Kernel()
        if self.norm_bound is not None:
            return Kernel(self.norm_bound)
        mu = spender.share(RADIUS_SHARE)
        name = "radius of winsorisation"
        radius = median_difference(rows, None, n, name, spender, mu, public, noise)
        return Kernel(radius or 1.0)

    def _all(self, n: float) -> bool:
        """Whether all pairs are formed: decided on the (noisy) number of records."""
        if self.pairs != "auto":
            return self.pairs == "complete"
        # Only on a count that cannot be off by as much as `MAX_COMPLETE`: 100 sds, at least.
        told = self.public.n_records is not None
        sd = 1 / (getattr(self.event, "mu", math.inf) * math.sqrt(COUNT_SHARE))
        return n <= COMPLETE_UP_TO and (told or sd <= LARGEST_COUNT_SD)

    def _offsets(self, n: float) -> int | None:
        return None if self._all(n) else self.n_pairs // 2

    def _around(
        self,
        records: Records,
        centre: np.ndarray,
        kernel: Kernel,
        spender: Spender,
        public: Public,
        noise: NoiseSource,
    ) -> tuple[np.ndarray, float]:
        """Sums of signs (or winsorised rows) around the centre, and the noise's sd."""
        around = centre if centre.any() else None
        distances = records.map(lambda block: block.distances(around))
        median = 1.0 if kernel.radius is None else None
        clipping = Clipping(kernel.radius or 1.0, 0.0, distances, median)
        gram = release_gram(records, around, clipping, spender, public, noise)
        unit = clipping.radius**2
        return gram.matrix / unit, gram.query.noise_sd / unit

    def _count_components(self, spectrum: NoisySpectrum, shares: np.ndarray) -> int:
        d, wanted = len(shares), self.n_components
        if wanted is None:
            return d
        if isinstance(wanted, Integral):
            return int(wanted)
        if wanted == "auto":
            return max(1, int(np.count_nonzero(spectrum.values > spectrum.edge)))
        return min(d, int(np.searchsorted(np.cumsum(shares), wanted, side="right")) + 1)
