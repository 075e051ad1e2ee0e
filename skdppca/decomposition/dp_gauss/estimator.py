"""The estimator of Analyze Gauss."""

from __future__ import annotations

from numbers import Real
from typing import ClassVar, Literal

from ..._sklearn import Interval, StrOptions
from ...mechanisms.base import Mechanism
from ...mechanisms.missing import Filled
from ...mechanisms.scatter import NoisyScatter
from ...privacy import PrivacyEvent
from ...private_data import Public
from ..fitted import MATRIX
from ..joining import JoinsCohorts
from ..memory import MATRICES, Held
from ..parameters import estimator, parameter, without
from .cohorts import JoinedMechanism, NextCohort
from .mechanism import DPGaussMechanism

# Columns up to which the matrix is released if nothing is said: 32 MB, so that no file surprises.
LARGEST_KEPT = 2000


@without("mechanism", "for what mechanism='output' did use SmoothSensitivityPCA")
@estimator
class DPGauss(JoinsCohorts):
    """Private PCA by one noisy covariance matrix ("Analyze Gauss").

    A good first choice as long as the d x d matrix fits: it releases all of the spectrum for one
    price. It is told nothing of the data: the mean, the clipping norm and the number of records are
    found privately, inside the stated budget.

    Parameters
    ----------
    norm_bound : float or None, default=None
        Public bound on the records: on the norms of the (scaled) rows, and of the rows less the
        mean; with groups, on the root of the Frobenius norm of a group's Gram matrix. Longer
        records are shortened to it. None spends part of the budget to find one.
    clip : {"auto", "spherical"}, default="auto"
        "auto" clips more when the noise dominates, up to "spherical": every row is scaled to norm
        1, and the variances are found under an elliptical model.

    keep_matrix : bool or None, default=None
        Whether to release the noisy matrix as well: `partial_fit` and `skdppca.merge` go on from
        it. It costs nothing, and is paid for already. Its file takes 8 d^2 bytes.

        - None: up to 2000 columns.
        - A bool: whether to, whatever the number of columns.

    forget : float or "auto", default=1.0
        What `partial_fit` multiplies the weight of the cohorts before by, when it joins the next.

        - 1: nothing is forgotten. For people who are alike over the years.
        - Between 0 and 1: as if that share of the records before was there.
        - "auto": 1 as long as no drift is seen in the noise, and less after one.

    Attributes
    ----------
    explained_variance_ : ndarray of shape (n_components,)
        Variances without the noise's share, at least the noise's standard deviation over n, and
        with what clipping took, unless `norm_bound` is given: exact in total as far as the
        histogram of norms shows, and under a model of long records for each one. Not
        released where the noise hides how long the records are; see "Nested spheres" in the guide.
    privacy_ : PrivacyReport
        What was released, at what cost. ``privacy_.details`` holds the clipping norm, the noise's
        sd, the whole spectrum and the components' `alignments`: expected squared cosine with the
        direction that the same method would give without noise. If ``details["clip"]`` is "nested",
        they tell how much of a component lies in the span of such directions.

    See Also
    --------
    sklearn.decomposition.PCA : The same without privacy.

    Notes
    -----
    Everything in the attributes is private at the stated cost. Rows that go through `transform`
    are not.

    References
    ----------
    C. Dwork, K. Talwar, A. Thakurta, L. Zhang. Analyze Gauss: optimal bounds for
    privacy-preserving principal component analysis. STOC 2014, Theorem 1.

    J. Düngler, A. Sanyal. An iterative algorithm for differentially private k-PCA with adaptive
    noise. 2025: DP-Gauss-1. For DP-Gauss-2 see `SmoothSensitivityPCA`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdppca import DPGauss
    >>> X = load_digits().data
    >>> pca = DPGauss(n_components=2, epsilon=1.0, delta=1e-6).fit(X)
    >>> pca.transform(X).shape
    (1797, 2)
    >>> pca.privacy_.private
    True
    """

    clip: Literal["auto", "spherical"] = parameter(
        StrOptions({"auto", "spherical"}), default="auto"
    )
    keep_matrix: bool | None = parameter("boolean", None, default=None)
    forget: float | Literal["auto"] = parameter(
        Interval(Real, 0, 1, closed="right"), StrOptions({"auto"}), default=1.0
    )

    _held: ClassVar[Held] = MATRICES

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        if self._joining and not self._keeps_matrix(n_features):
            raise ValueError(
                f"partial_fit goes on from the matrix of the cohort before, and with "
                f"keep_matrix={self.keep_matrix} none is released of {n_features} columns; set "
                "keep_matrix=True"
            )

    def _keeps_matrix(self, n_features: int) -> bool:
        if self.keep_matrix is None:
            return n_features <= LARGEST_KEPT
        return bool(self.keep_matrix)

    def _why_not_released(self, name: str) -> str | None:
        if not name.startswith(MATRIX) or not name.endswith("_"):
            return super()._why_not_released(name)
        if self.privacy_.details.get("clip") == "nested":
            return "nested spheres have no matrix; set a larger epsilon, or give more records"
        return f"beyond {LARGEST_KEPT} columns, or with keep_matrix=False; set keep_matrix=True"

    def _mechanism(self, public: Public) -> DPGaussMechanism:
        if self.clip == "spherical" and public.grouped:
            raise ValueError(
                f"clip='spherical' scales single rows, but unit={self.unit!r}; use clip='auto'"
            )
        return DPGaussMechanism(
            n_components=self.n_components,
            clip=self.clip,
            center=self._finds_centre,
            correlate=self._scales_privately,
            nested=not (self.whiten or self._joining),
            keep_matrix=self._keeps_matrix(public.n_features),
        )

    def _joined(self, public: Public, event: PrivacyEvent, before: NoisyScatter) -> Mechanism:
        reader = self._mechanism(public)
        cohort: Mechanism = NextCohort(reader, before)
        if self._may_miss:
            cohort = Filled.around(cohort, event)
        return JoinedMechanism(reader, cohort, before, self.forget)
