"""The estimator of the refined covariance matrix."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import ClassVar, Literal

from ..._sklearn import Interval, RealNotInt, StrOptions
from ...mechanisms.base import Mechanism
from ...private_data import Public
from ..dp_gauss.mechanism import DPGaussMechanism
from ..iterative.subspace import MAX_ITER, SubspacePCA
from ..memory import MATRICES, Held
from ..parameters import estimator, parameter
from .mechanism import ResidualGaussMechanism


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
    the eigenvectors clearly.

    Of few rows, or with a small budget, no centre may be found. If the rows lie off the point that
    was reached, all that is left buys the Kendall matrix of their pairs (as in `GDPPCA`), if they
    are in memory: there are no variances then, and ``privacy_.details["no_centre"]`` says so.

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
        Interval(Integral, 1, None, closed="left"),
        Interval(RealNotInt, 0, 1, closed="neither"),
        StrOptions({"auto", "mle"}),
        None,
        default=None,
        kw_only=False,
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
                correlate=self._scales_privately,
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
