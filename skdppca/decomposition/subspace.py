"""Methods that find a subspace: count, centre, directions, and variances along those."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from .._sklearn import Interval
from ..linalg import decreasing_eigh
from ..mechanisms.base import Release
from ..mechanisms.centre import rough_centre
from ..mechanisms.clipping import with_length
from ..mechanisms.variances import release_variances
from ..private_data import PrivateData
from .base import VARIANCES, BasePrivatePCA
from .parameters import estimator, parameter

__all__ = ["MAX_ITER", "SubspaceMechanism", "SubspacePCA", "release_along"]

# Share of mu^2 of the number of records.
COUNT_SHARE = 0.02

# The most steps of a method, and, per root of the entries of a step's mean, the least mu for which
# the noise of each of them stays on the grid.
MAX_ITER = 1000
LEAST_STEP_MU = 2.0**-19


@dataclass(frozen=True)
class SubspaceMechanism(ABC):
    """Count, centre, directions, variances; a method adds how it finds the directions.

    Parameters
    ----------
    n_components : int or None
        None for as many as features.
    center : bool
        Whether a private centre is found.
    variance_share : float
        Of the budget; 0 for none.
    """

    n_components: int | None
    center: bool
    variance_share: float

    def run(self, data: PrivateData) -> Release:
        """Release the directions and, if they are paid for, the variances along them."""
        k = data.n_features if self.n_components is None else self.n_components
        # 1. n: how many records
        data = data.counted(data.share(COUNT_SHARE))
        # 2. c: a rough centre
        if self.center:
            data = rough_centre(data).data
        data = with_length(data)
        centre, data = data.centre, data.shifted()
        # 3. the method itself, with all but what the variances cost
        directions, core = self.directions(data.keeping(self.variance_share), k)
        # 4. the variances along the directions, which also give their order
        details = {"norm_bound": data.norm_bound}
        return release_along(data, directions, core, centre, bool(self.variance_share), details)

    @abstractmethod
    def directions(self, data: PrivateData, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Spend all of the budget on k directions.

        Returns
        -------
        directions : ndarray of shape (k, d)
            Orthonormal rows.
        core : ndarray of shape (k, k)
            The Rayleigh matrix that is predicted for them.
        """


def release_along(
    data: PrivateData,
    directions: np.ndarray,
    core: np.ndarray,
    centre: np.ndarray,
    variances: bool,
    details: dict[str, Any],
) -> Release:
    """Directions in their order, and the variances along them, for all that is left.

    Parameters
    ----------
    directions, core
        See `SubspaceMechanism.directions`.
    centre : ndarray of shape (d,)
        That of the records; they may be seen less it.
    variances : bool
        Whether they are released.
    """
    if not variances:
        components = decreasing_eigh(core)[1] @ directions
        return Release(components, centre, data.n, details=details)
    k, d = directions.shape
    found = release_variances(data, directions, core)
    return Release(
        components=found.rotation @ directions,
        centre=centre,
        n_samples=data.n,
        explained_variance=found.explained,
        total_variance=float(found.explained.sum()) + (d - k) * found.rest,
        noise_variance=found.rest,
        n_rows=found.n_rows,
        details=details,
    )


@estimator
class SubspacePCA(BasePrivatePCA):
    """Base of the estimators of a `SubspaceMechanism`: their common parameters.

    Parameters
    ----------
    n_components : int or None, default=None
        How many components; None for as many as features.
    variance_share : float, default=0.05
        Share of the budget for `explained_variance_` and what depends on it; 0 leaves them out.
    norm_bound : float or None, default=None
        Public bound on the norms of the (scaled) rows less the mean; with groups, on the root of
        the Frobenius norm of a group's Gram matrix. Enforced by clipping. It saves the search for
        one; but noise that follows the spread of the records follows the bound then.
    center : bool, default=True
        Subtract a rough private mean. False: components of the second moments about `mean` or 0.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
        The rough private mean.
    explained_variance_ : ndarray of shape (n_components,)
        Eigenvalues of a private matrix of the records' scores: one more release of k x k numbers.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Over a private total.
    """

    n_components: int | None = parameter(
        Interval(Integral, 1, None, closed="left"), None, default=None, kw_only=False
    )
    variance_share: float = parameter(Interval(Real, 0, 0.5, closed="both"), default=0.05)

    _not_released: ClassVar[dict[str, str]] = dict.fromkeys(
        VARIANCES, "variance_share=0 leaves them out; set variance_share=0.05"
    )

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

    def _shared(self) -> dict[str, Any]:
        """The fields of every `SubspaceMechanism`."""
        return {
            "n_components": self.n_components,
            "center": self._finds_centre,
            "variance_share": float(self.variance_share),
        }
