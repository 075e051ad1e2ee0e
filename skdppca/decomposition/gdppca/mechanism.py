"""What GDPPCA releases: a noisy multivariate Kendall matrix, and all that goes with it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ...linalg import Eigenvectors
from ...mechanisms.base import BUDGET, Release
from ...mechanisms.centre import location_error, robust_location, rough_centre
from ...mechanisms.clipping import Clip, with_typical_norm
from ...mechanisms.gram import release_gram
from ...mechanisms.kendall import forms_all_pairs, kendall_matrix
from ...mechanisms.missing import left_along, noise_inflation, undone
from ...mechanisms.sampling import with_sample
from ...mechanisms.spectrum import NoisySpectrum, count_components
from ...mechanisms.unseen import with_unseen
from ...private_data import PrivateData
from ...records.kernels import Kernel, ScaleFunction
from ...statistics import (
    AdjacentDifferences,
    CountBeyond,
)
from .own_kernel import name_of
from .shares import kendall_shares

# Half-lengths of differences are searched on this grid about `PrivateData.magnitude`, 2^-40 .. 2^40
# in steps of 4.4 %: a record changes several of them, so a histogram would not bound what it moves.
FINE_GRID = 2.0 ** np.arange(-40, 40.03125, 0.0625)

# Median of the square of a standard normal variable.
MEDIAN_CHI2 = 0.4549364231195727


@dataclass(frozen=True)
class KendallConstants:
    """What goes beside the Kendall matrix, in shares of mu^2: round numbers."""

    # A radius of winsorisation.
    radius_share: float = 0.05
    # The centre, where it is what the signs are taken around; and the most that its noise may be
    # against them (`location_error`), or pairs are taken.
    centre_share: float = 0.20
    most_error: float = 0.2


KENDALL = KendallConstants()


@dataclass(frozen=True)
class GDPPCAMechanism:
    """g-DPPCA (Kim & Jung 2025, Algorithm 1), with the exact noise and everything else private.

    It differs from the paper in that the matrix is ``S / (n - 1)`` with its sharp sensitivity and
    the Gaussian mechanism's exact scale, about half the noise; in that pairs may be left out at
    random; and in that radius, mean and variances are released as well.

    Parameters
    ----------
    n_components : int, float, "auto" or None
    kernel : {"spherical", "winsorized"} or callable
        See `Kernel.xi` for the last.
    kernel_bound : float or None
        Of a callable.
    pairs : {"auto", "complete", "incomplete"}
    n_pairs : int
        Others that a record meets if pairs are incomplete; even.
    centering : {"pairs", "private"}
    center : bool
        Whether a private location is found.
    location_share, variance_share : float
        Of the budget; 0 for none.
    """

    n_components: int | float | Literal["auto"] | None
    kernel: Literal["spherical", "winsorized"] | ScaleFunction
    kernel_bound: float | None
    pairs: str
    n_pairs: int
    centering: str
    center: bool
    location_share: float
    variance_share: float

    def run(self, data: PrivateData) -> Release:
        """Release the whole noisy spectrum, and as many components as are wanted."""
        # All rows at once; a group counts by its mean row, everywhere. What is absent is filled
        # with a centre that is found before (n is known then): no later one fills it anew.
        present = data.present
        if self.kernel != "winsorized":  # a norm bound is its radius, and says nothing else
            data = replace(data, norm_bound=None, magnitude=1.0)
        if present is not None and self.center:
            data = rough_centre(data).data
        data = replace(data.mean_rows(), present=None)
        # 1. n: how many records
        data = data.ask_count(data.fraction(BUDGET.question_share))
        # 2. c: a location, for `mean_`, and for the signs if they are taken around it
        data, around_centre = self._located(data)
        # One random order for all that meets the next records: given it, each answer is proven.
        data = data.shuffled()
        # 3. r: the radius of winsorisation
        kernel = self._kernel(data)
        # 4. K: the noisy matrix, with all but what the variances cost
        paid = data.reserving(self.variance_share)
        if around_centre:
            matrix, noise_sd = _signs_around_centre(paid, kernel)
        else:
            n_pairs = None if self._forms_all_pairs(data) else self.n_pairs
            matrix, noise_sd = kendall_matrix(paid, kernel, n_pairs)
        if present is not None:
            matrix, noise_sd = undone(matrix, present), noise_sd * noise_inflation(present)
        found = Eigenvectors(matrix)
        spectrum = NoisySpectrum(found.values, noise_sd)
        # 5. the variances behind its eigenvalues, and their scale along the first component
        largest = None
        if self.variance_share:
            name = "median along the first component"
            first = found.top(1)[0]
            length = _median_difference(data, data.remaining, name, first)
            largest = length**2 / MEDIAN_CHI2 / left_along(first, matrix, present)
        shares = kendall_shares(spectrum, kernel, largest)
        k = count_components(self.n_components, spectrum, shares, data.n)
        variances = total = rest = None
        if largest is not None:
            variances = shares * (largest / shares[0])
            total = float(variances.sum())
            rest = float(variances[k:].mean()) if k < len(variances) else 0.0
        weight = data.n if around_centre else data.n / 2  # what the signs' eigenvalues sum to
        pairs = "complete" if self._forms_all_pairs(data) else "incomplete"
        release = Release(
            components=found.top(k),
            centre=data.centre,
            n_samples=data.n,
            explained_variance=None if variances is None else variances[:k],
            total_variance=total,
            noise_variance=rest,
            n_rows=data.n,
            details={
                "clip": self.kernel if isinstance(self.kernel, str) else name_of(self.kernel),
                "norm_bound": kernel.radius,
                "pairs": "none" if around_centre else pairs,
                "noise_sd": noise_sd * data.n / weight,
                "noise_edge": spectrum.edge / weight,
                "alignments": spectrum.alignments[:k],
                "spectrum": shares if variances is None else variances,
            },
        )
        sought = self.center and (self.location_share > 0 or self.centering == "private")
        sought = sought or (self.center and present is not None)
        unseen = {"no_centre" if sought else "no_norms": data.unseen}
        return with_unseen(release, data.public, **unseen)

    def _located(self, data: PrivateData) -> tuple[PrivateData, bool]:
        """The records about a location, near their norms; and whether signs are taken around it."""
        around_centre = self.centering == "private"
        mu = data.fraction(self.location_share)
        if not (self.center and (mu or around_centre)):
            lengths = self.variance_share or self.kernel == "winsorized"
            return (with_typical_norm(data) if lengths else data), around_centre
        data = with_sample(data)  # until the records are shuffled
        if around_centre:
            enough = data.fraction(KENDALL.centre_share)
            around_centre = location_error(data, enough) < KENDALL.most_error
            mu = enough if around_centre else mu
        return (robust_location(data, mu) if mu else with_typical_norm(data)), around_centre

    def _kernel(self, data: PrivateData) -> Kernel:
        """What length differences get: signs, winsorised, or by a function."""
        if not isinstance(self.kernel, str):
            return Kernel(self.kernel_bound, self.kernel)
        if self.kernel == "spherical":
            return Kernel()
        if data.norm_bound is not None:
            return Kernel(data.norm_bound)
        mu = data.fraction(KENDALL.radius_share)
        return Kernel(_median_difference(data, mu, "radius of winsorisation") or 1.0)

    def _forms_all_pairs(self, data: PrivateData) -> bool:
        return forms_all_pairs(data) if self.pairs == "auto" else self.pairs == "complete"


def _signs_around_centre(data: PrivateData, kernel: Kernel) -> tuple[np.ndarray, float]:
    """Spend all on the sum of signs (or winsorised rows) around the centre; also the noise's sd."""
    clip = Clip(1.0, spherical=True) if kernel.radius is None else Clip(kernel.radius)
    gram = release_gram(data, clip)
    unit = clip.radius**2
    return gram.matrix / unit, gram.noise_sd / unit


def _median_difference(
    data: PrivateData, mu: float, name: str, direction: np.ndarray | None = None
) -> float:
    """Median length over sqrt 2 of the records' differences, or of their parts along a direction.

    Every record meets the next in their random cyclic order.
    """
    differences = AdjacentDifferences(direction, data.centre)
    if data.exact:
        lengths = data.unprotected_records("a median").measured(differences)
        return float(np.median(lengths)) if len(lengths) else 0.0
    # binary search for the first number that no more than half of the lengths exceed
    grid = FINE_GRID * data.magnitude
    step = mu / math.sqrt(math.ceil(math.log2(len(grid))))
    low, high = -1, len(grid) - 1
    while high - low > 1:
        middle = (low + high) // 2
        beyond = data.ask(CountBeyond(differences, float(grid[middle])), step, name)
        low, high = (low, middle) if beyond.value <= data.n / 2 else (middle, high)
    return float(grid[high])
