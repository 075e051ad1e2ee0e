"""The estimator of the refined covariance matrix."""

from __future__ import annotations

import math
from numbers import Integral, Real

from ..._sklearn import Interval, StrOptions
from ...private_data import Public
from ..parameters import estimator, parameter
from ..subspace import MAX_ITER, SubspacePCA
from .mechanism import ResidualGaussMechanism

__all__ = ["ResidualGauss"]


@estimator
class ResidualGauss(SubspacePCA):
    """Private PCA by a noisy covariance matrix that is refined where its components are.

    Part of the budget buys `DPGauss`'s matrix; the rest corrects its products with its own top
    eigenvectors, with noise that follows how far the records are from what the matrix predicts.
    For records that agree with each other up to a small deviation. On ordinary rows it beats
    `DPGauss` where noise in other directions dominates them, and not where the components do.

    Parameters
    ----------
    learning_rate : float or "auto", default="auto"
        Damps the refinements: the t-th takes ``min(1, learning_rate / t)`` of its correction.
        "auto" weights it by its own noise alone.
    n_iter : int, default=4
        Refinements.

    See Also
    --------
    KDPPCA : Without a d x d matrix.
    DPGauss : Better on rows that the components dominate; it releases the whole spectrum.

    Notes
    -----
    A record is a matrix ``A_i``: ``X_i^T X_i`` of a group's rows, ``x x^T`` of a row. A refinement
    releases the mean of ``A_i W`` around ``C = S W``, S the matrix so far and W its top
    eigenvectors, clipped to a private radius; S is then changed to agree with it, weighted by
    inverse variance. If the start does not see k components above its noise, the iteration of
    `KDPPCA`, from the best directions there are, takes the place of the refinements.

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

    learning_rate: float | str = parameter(
        Interval(Real, 0, None, closed="neither"), StrOptions({"auto"}), default="auto"
    )
    n_iter: int = parameter(Interval(Integral, 1, MAX_ITER, closed="both"), default=4)

    def _mechanism(self, public: Public) -> ResidualGaussMechanism:
        rate = math.inf if self.learning_rate == "auto" else float(self.learning_rate)
        return ResidualGaussMechanism(**self._shared(), n_iter=self.n_iter, rate=rate)
