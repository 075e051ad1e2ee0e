"""What the methods share whose noise follows the spread of the records around a prediction."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from .._sklearn import Interval
from ..linalg import decreasing_eigh
from ..mechanisms.base import Public, Spender
from ..mechanisms.block_mean import BlockMean
from ..mechanisms.centre import rough_centre
from ..mechanisms.radius import noisy_count
from ..mechanisms.variances import release_variances
from ..noise import NoiseSource
from ..privacy import PrivacyEvent
from ..records import Records
from ._base import BasePrivatePCA, Release

__all__ = ["LEAST_STEP_MU", "MAX_ITER", "AdaptiveMechanism", "AdaptivePCA"]

# Share of mu^2 of the number of records.
COUNT_SHARE = 0.02

# The most steps of a method, and, per root of the entries of a step's mean, the least mu for which
# the noise of each of them stays on the grid.
MAX_ITER = 1000
LEAST_STEP_MU = 2.0**-21


@dataclass(frozen=True)
class AdaptiveMechanism:
    """Count, centre, directions, variances; a method adds how it finds the directions."""

    public: Public
    event: PrivacyEvent
    n_components: int | None
    norm_bound: float | None
    center: bool
    mean: np.ndarray | None
    variance_share: float
    start: np.ndarray | None = field(default=None, kw_only=True)  # where to look for the centre

    def __call__(self, records: Records, noise: NoiseSource) -> Release:
        d = records.n_features
        spender = Spender(getattr(self.event, "mu", math.inf))
        # 1. n: how many records
        n = noisy_count(records.private_n, spender, spender.share(COUNT_SHARE), self.public, noise)
        # 2. c: a rough centre
        centre = np.zeros(d) if self.mean is None else self.mean
        if self.center and self.mean is None:
            asked = (spender, self.public, noise, self.start)
            centre, _ = rough_centre(records, n, self.norm_bound, *asked)
        mean = BlockMean(records, n, self.public, centre if centre.any() else None, self.norm_bound)
        # 3. the method itself, with all but what the variances cost
        kept = spender.share(self.variance_share) if math.isfinite(spender.mu) else 0.0
        search = spender.portion(_less(spender.left, kept))
        k = d if self.n_components is None else self.n_components
        directions, core = self.directions(mean, k, search, noise)
        details = {"norm_bound": self.norm_bound}
        if not self.variance_share:
            components = decreasing_eigh(core)[1] @ directions
            return Release(components, centre, None, None, None, n, n, spender, details)
        # 4. the variances along the directions, which also give their order
        found = release_variances(mean, directions, core, spender, noise)
        return Release(
            components=found.rotation @ directions,
            centre=centre,
            explained_variance=found.explained,
            total_variance=float(found.explained.sum()) + (d - k) * found.rest,
            noise_variance=found.rest,
            n_samples=n,
            n_rows=found.n_rows,
            spender=spender,
            details=details,
        )

    @abstractmethod
    def directions(
        self, mean: BlockMean, k: int, spender: Spender, noise: NoiseSource
    ) -> tuple[np.ndarray, np.ndarray]:
        """Orthonormal rows of shape (k, d), and the Rayleigh matrix that is predicted for them."""


def _less(mu: float, other: float) -> float:
    """What is left of `mu` without `other`, a little less for rounding."""
    return mu if math.isinf(mu) else math.sqrt(mu**2 - other**2) * (1 - 1e-12)


class AdaptivePCA(BasePrivatePCA):
    """Base of KDPPCA, KDPOjas and ResidualGauss: their common parameters."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{k: v for k, v in BasePrivatePCA._parameter_constraints.items() if k != "clip"},
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "variance_share": [Interval(Real, 0, 0.5, closed="both")],
    }

    _not_released: ClassVar[dict[str, str]] = dict.fromkeys(
        (
            "explained_variance_",
            "explained_variance_ratio_",
            "singular_values_",
            "noise_variance_",
        ),
        "variance_share=0 leaves them out; set variance_share=0.05",
    )

    def __init__(
        self,
        n_components: int | None = None,
        *,
        variance_share: float = 0.05,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        adjacency: str = "add-remove",
        unit: str = "row",
        norm_bound: float | None = None,
        center: bool = True,
        mean: Any = None,
        scale: Any = None,
        whiten: bool = False,
        accountant: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.variance_share = variance_share
        self.epsilon = epsilon
        self.delta = delta
        self.adjacency = adjacency
        self.unit = unit
        self.norm_bound = norm_bound
        self.center = center
        self.mean = mean
        self.scale = scale
        self.whiten = whiten
        self.accountant = accountant
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        if self.whiten and not self.variance_share:
            raise ValueError(
                "whiten=True divides by the variances, but variance_share=0 leaves them out; set "
                "variance_share=0.05"
            )

    def _least_mu(self, n_features: int) -> float:
        entries = n_features * self._width(n_features)
        return super()._least_mu(n_features) + LEAST_STEP_MU * math.sqrt(entries)

    def _width(self, n_features: int) -> int:
        """Columns of a step's mean."""
        return self.n_components or n_features

    def _shared(self, public: Public) -> dict[str, Any]:
        """The fields of every adaptive mechanism."""
        return {
            "public": public,
            "event": self._event(),
            "n_components": self.n_components,
            "norm_bound": None if self.norm_bound is None else float(self.norm_bound),
            "center": self.center,
            "mean": self._public_mean(public.n_features),
            "variance_share": float(self.variance_share),
        }
