"""DPGauss: the covariance matrix with Gaussian noise, and its eigenvectors."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any, ClassVar

from .._sklearn import StrOptions
from ..mechanisms.base import Public
from ..privacy import PrivacyEvent
from ._adaptive import LEAST_STEP_MU
from ._base import BasePrivatePCA
from ._dp_gauss_mechanism import DPGaussMechanism
from ._span_mechanisms import GapMechanism, gap_event

__all__ = ["DPGauss"]

# Share of the budget for the variances, which the output mechanism releases by themselves.
VARIANCE_SHARE = 0.05


class DPGauss(BasePrivatePCA):
    """Private PCA by one noisy covariance matrix ("Analyze Gauss").

    The strongest method on ordinary data as long as the d x d matrix fits. It is told nothing of
    the data: the mean, the clipping norm and the number of records are found privately, inside
    the stated budget.

    Parameters
    ----------
    n_components : int, float, "auto", "mle" or None, default=None
        How many components: so many; enough for a share of the variance; those above the noise
        (at least one); by Minka's likelihood; all. All but the int look at the released spectrum
        only, so they cost nothing.
    epsilon : float, default=1.0
        Privacy budget. ``inf`` computes an ordinary PCA that is not private.
    delta : float, default=1e-6
        Probability with which the guarantee may fail; well below 1 / n.
    adjacency : {"add-remove", "replace-one"}, default="add-remove"
        What neighbouring data sets differ in: one record more or less (the number of records is
        private), or one record exchanged (it is public).
    unit : str, default="row"
        What a record is: a row, or a name ("patient") for the groups given to `fit`.
    norm_bound : float or None, default=None
        Public bound on the records: on the norms of the (scaled) rows, and of the rows less the
        mean; with groups, on the root of the Frobenius norm of a group's Gram matrix. Enforced by
        clipping. It saves the search for one.
    clip : {"auto", "spherical"}, default="auto"
        "auto" clips more when the noise dominates, up to "spherical": every row is scaled to norm
        1, and the variances are found under an elliptical model.
    mechanism : {"input", "output"}, default="input"
        Where the noise is added: to the covariance matrix, or to the components, as
        `SmoothSensitivityPCA` does it. "output" takes `n_components` as an int or None, pays for
        the variances by themselves, and releases no whole spectrum and no `alignments`.
    center : bool, default=True
        Subtract a private mean. False: components of the second moments about `mean` or 0.
    mean : array-like of shape (n_features,) or None, default=None
        A public mean; it costs nothing.
    scale : array-like of shape (n_features,), "private" or None, default=None
        Public scales, by which the features are divided; or private ones, for 20 % of the budget
        (more if records are few), as by a `StandardScaler`; `norm_bound` is in units of them.
    whiten : bool, default=False
        Transform to unit variance.
    accountant : PrivacyAccountant, PrivacyLedger or None, default=None
        Charged before every fit.
    random_state : int, RandomState or None, default=None
        None draws secure noise. A seed makes the release repeatable, so **not private**.
    n_jobs : int or None, default=None
        Threads for the passes over the data.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal directions, by decreasing variance.
    mean_ : ndarray of shape (n_features,)
        The private mean.
    scale_ : ndarray of shape (n_features,)
        The private scales, with ``scale="private"``.
    explained_variance_ : ndarray of shape (n_components,)
        Variances without the noise's share, at least the noise's standard deviation over n.
    explained_variance_ratio_ : ndarray of shape (n_components,)
    singular_values_ : ndarray of shape (n_components,)
    noise_variance_ : float
        Mean of the variances left out.
    n_components_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        If the columns of X have names.
    n_samples_ : float
        The number of records; noisy under add-remove.
    privacy_ : PrivacyReport
        What was released, at what cost. ``privacy_.details`` holds the clipping norm, the noise's
        sd, the whole spectrum and the components' `alignments`: expected squared cosine with the
        direction that the same method would give without noise.

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
    noise. 2025: DP-Gauss-1 is "input"; "output" stands in for DP-Gauss-2.

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BasePrivatePCA._parameter_constraints,
        "mechanism": [StrOptions({"input", "output"})],
    }

    def __init__(
        self,
        n_components: int | float | str | None = None,
        *,
        mechanism: str = "input",
        epsilon: float = 1.0,
        delta: float = 1e-6,
        adjacency: str = "add-remove",
        unit: str = "row",
        norm_bound: float | None = None,
        clip: str = "auto",
        center: bool = True,
        mean: Any = None,
        scale: Any = None,
        whiten: bool = False,
        accountant: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.mechanism = mechanism
        self.epsilon = epsilon
        self.delta = delta
        self.adjacency = adjacency
        self.unit = unit
        self.norm_bound = norm_bound
        self.clip = clip
        self.center = center
        self.mean = mean
        self.scale = scale
        self.whiten = whiten
        self.accountant = accountant
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _event(self) -> PrivacyEvent:
        if self.mechanism == "input" or math.isinf(self.epsilon):
            return super()._event()
        return gap_event(float(self.epsilon), float(self.delta), self.n_components)

    def _least_mu(self, n_features: int) -> float:
        least = super()._least_mu(n_features)
        if self.mechanism == "input":
            return least
        return least + LEAST_STEP_MU * math.sqrt(n_features * (self.n_components or n_features))

    def _mechanism(self, public: Public) -> DPGaussMechanism | GapMechanism:
        norm_bound = None if self.norm_bound is None else float(self.norm_bound)
        mean = self._public_mean(public.n_features)
        if self.mechanism == "output":
            self._check_output()
            return GapMechanism(
                public=public,
                event=self._event(),
                n_components=self.n_components,
                norm_bound=norm_bound,
                center=self.center,
                mean=mean,
                variance_share=VARIANCE_SHARE,
            )
        if self.clip == "spherical" and public.grouped:
            raise ValueError(
                f"clip='spherical' scales single rows, but unit={self.unit!r}; use clip='auto'"
            )
        return DPGaussMechanism(
            public=public,
            event=self._event(),
            n_components=self.n_components,
            norm_bound=norm_bound,
            clip=self.clip,
            center=self.center,
            mean=mean,
        )

    def _check_output(self) -> None:
        """Refuse what the released spectrum, or a matrix of scaled rows, would be needed for."""
        if self.n_components is not None and not isinstance(self.n_components, Integral):
            raise ValueError(
                f"n_components={self.n_components!r} looks at the spectrum, which "
                "mechanism='output' does not release; set an int or None, or mechanism='input'"
            )
        if self.clip != "auto":
            raise ValueError(
                f"clip={self.clip!r} is a way of mechanism='input'; set clip='auto', or "
                "mechanism='input'"
            )
