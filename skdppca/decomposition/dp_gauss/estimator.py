"""The estimator of Analyze Gauss."""

from __future__ import annotations

from ..._sklearn import StrOptions
from ...private_data import Public
from ..base import BasePrivatePCA
from ..parameters import estimator, parameter, without
from .mechanism import DPGaussMechanism

__all__ = ["DPGauss"]


@without("mechanism", "for what mechanism='output' did use SmoothSensitivityPCA")
@estimator
class DPGauss(BasePrivatePCA):
    """Private PCA by one noisy covariance matrix ("Analyze Gauss").

    The strongest method on ordinary data as long as the d x d matrix fits. It is told nothing of
    the data: the mean, the clipping norm and the number of records are found privately, inside
    the stated budget.

    Parameters
    ----------
    norm_bound : float or None, default=None
        Public bound on the records: on the norms of the (scaled) rows, and of the rows less the
        mean; with groups, on the root of the Frobenius norm of a group's Gram matrix. Longer
        records are shortened to it. None spends part of the budget to find one.
    clip : {"auto", "spherical"}, default="auto"
        "auto" clips more when the noise dominates, up to "spherical": every row is scaled to norm
        1, and the variances are found under an elliptical model.

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

    clip: str = parameter(StrOptions({"auto", "spherical"}), default="auto")

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
            nested=not self.whiten,
        )
