"""GDPPCA: eigenvectors of a noisy multivariate Kendall matrix."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

from .._sklearn import Interval, RealNotInt, StrOptions
from ..mechanisms.base import Public
from ..mechanisms.pairs import MAX_COMPLETE
from ..records import MAX_ROWS
from ._base import BasePrivatePCA, Release
from ._gdppca_mechanism import GDPPCAMechanism

__all__ = ["GDPPCA"]


class GDPPCA(BasePrivatePCA):
    """Private PCA of heavy-tailed or contaminated rows, by differences of signs.

    g-DPPCA of Kim & Jung, with half the noise. Every pair of records adds its difference, turned to
    a bounded length: so the noise does not depend on how long the rows are, no mean is needed, and
    outliers weigh no more than others. Under an elliptical law (Gaussian, t, Cauchy) the components
    are those of its scatter matrix. On light-tailed rows `DPGauss` has less noise.

    Parameters
    ----------
    n_components : int, float, "auto" or None, default=None
        How many components: so many; enough for a share of the variance; those above the noise
        (at least one); all. All but the int look at what is released only, so they cost nothing.
    kernel : {"spherical", "winsorized"}, default="spherical"
        Differences all get length 1; or those longer than a radius are cut to it.
    pairs : {"auto", "complete", "incomplete"}, default="auto"
        All pairs, in time n^2 d; or each record with `n_pairs` others at random, in time
        n d (n_pairs + d). "auto" forms all up to a (noisy) number of about 8000 records.
    n_pairs : int, default=20
        An even number. The variance of what incomplete pairs estimate is about 1 + 1.6 / n_pairs
        times that of all pairs.
    centering : {"pairs", "private"}, default="pairs"
        Differences of pairs; or of rows from a private centre, which costs a fifth of the budget
        and leaves half the noise. Where the (noisy) number of records is too small for such a
        centre, pairs are formed all the same. A public `mean` is a centre for nothing.
    location_share : float, default=0.05
        Share of the budget for `mean_`, which the components do not depend on; 0 leaves it at 0.
        With ``centering="private"`` it is that centre, and the share is a fifth.
    variance_share : float, default=0.05
        Share of the budget for the scale of `explained_variance_` and what depends on it; 0 leaves
        them out. Their ratios are free (with the spherical kernel).
    epsilon : float, default=1.0
        Privacy budget. ``inf`` runs the same computation without noise; it is not private.
    delta : float, default=1e-6
        Probability with which the guarantee may fail; well below 1 / n.
    adjacency : {"add-remove", "replace-one"}, default="add-remove"
        What neighbouring data sets differ in: one record more or less (the number of records is
        private), or one record exchanged (it is public).
    unit : str, default="row"
        What a record is: a row, or a name ("patient") for the groups given to `fit`. A group counts
        by its mean row.
    norm_bound : float or None, default=None
        Public radius of winsorisation, for differences over the root of 2. It saves the search for
        the median. The spherical kernel needs none.
    center : bool, default=True
        Release a private location as `mean_`. False: it is `mean` or 0.
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
        Threads for the passes over the data; pairs use the threads of the BLAS.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal directions, by decreasing variance.
    mean_ : ndarray of shape (n_features,)
        A private location that outliers hardly move; 0 if the budget is too small to find one.
    scale_ : ndarray of shape (n_features,)
        The private scales, with ``scale="private"``.
    explained_variance_ : ndarray of shape (n_components,)
        From a private median along the first component, and the ratios. Consistent for Gaussian
        rows; for an elliptical law right up to a common factor.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Behind the eigenvalues of the matrix, under an elliptical (winsorized: Gaussian) model.
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
        What was released, at what cost. ``privacy_.details`` holds the noise's sd, the whole
        spectrum, the components' `alignments` (expected squared cosine with the direction that the
        same pairs would give without noise) and whether all pairs were formed.

    Raises
    ------
    ValueError
        If ``pairs="complete"`` and there are more than 131072 records.

    See Also
    --------
    DPGauss : Less noise on light-tailed rows; ``clip="spherical"`` is the sign covariance around a
        rough mean.

    Notes
    -----
    All rows are held at once, dense. A row whose squared norm overflows is no record.

    References
    ----------
    M. Kim, S. Jung. Robust and differentially private PCA for non-Gaussian data. 2025, Algorithm 1,
    with the sensitivities of `skdppca.mechanisms.kendall`.

    Examples
    --------
    >>> from skdppca import GDPPCA
    >>> from skdppca.datasets import make_elliptical
    >>> from skdppca.metrics import sin_theta
    >>> X, _, components, _ = make_elliptical(5000, 10, [9, 4], 1.0, df=1, random_state=0)
    >>> pca = GDPPCA(n_components=2, epsilon=1.0, delta=1e-6).fit(X)
    >>> bool(sin_theta(pca.components_, components) < 0.3)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{k: v for k, v in BasePrivatePCA._parameter_constraints.items() if k != "clip"},
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            StrOptions({"auto"}),
            None,
        ],
        "kernel": [StrOptions({"spherical", "winsorized"})],
        "pairs": [StrOptions({"auto", "complete", "incomplete"})],
        "n_pairs": [Interval(Integral, 2, 1024, closed="both")],
        "centering": [StrOptions({"pairs", "private"})],
        "location_share": [Interval(Real, 0, 0.4, closed="both")],
        "variance_share": [Interval(Real, 0, 0.5, closed="both")],
    }

    _not_released: ClassVar[dict[str, str]] = {
        **dict.fromkeys(
            ("explained_variance_", "singular_values_", "noise_variance_"),
            "variance_share=0 leaves them out; set variance_share=0.05",
        ),
        "explained_variance_ratio_": (
            "with kernel='winsorized' it needs their scale; set variance_share=0.05"
        ),
    }

    def __init__(
        self,
        n_components: int | float | str | None = None,
        *,
        kernel: str = "spherical",
        pairs: str = "auto",
        n_pairs: int = 20,
        centering: str = "pairs",
        location_share: float = 0.05,
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
        self.kernel = kernel
        self.pairs = pairs
        self.n_pairs = n_pairs
        self.centering = centering
        self.location_share = location_share
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

    _more_records = "set pairs='incomplete'"

    @property
    def _max_records(self) -> int:
        return MAX_COMPLETE if self.pairs == "complete" else MAX_ROWS

    def _mechanism(self, public: Public) -> GDPPCAMechanism:
        if self.n_pairs % 2:
            raise ValueError(
                f"n_pairs={self.n_pairs} is odd, but every record meets as many before it as "
                f"behind it; choose {self.n_pairs + 1}"
            )
        share = isinstance(self.n_components, Real) and not isinstance(self.n_components, Integral)
        if share and self.kernel == "winsorized" and not self.variance_share:
            raise ValueError(
                f"n_components={self.n_components} is a share of the variance, which "
                "kernel='winsorized' needs a scale for; set variance_share=0.05"
            )
        return GDPPCAMechanism(
            public=public,
            event=self._event(),
            n_components=self.n_components,
            kernel=self.kernel,
            pairs=self.pairs,
            n_pairs=int(self.n_pairs),
            centering=self.centering,
            norm_bound=None if self.norm_bound is None else float(self.norm_bound),
            center=self.center,
            mean=self._public_mean(public.n_features),
            location_share=float(self.location_share),
            variance_share=float(self.variance_share),
        )

    def _store_variances(self, release: Release) -> None:
        super()._store_variances(release)
        if release.explained_variance is None and self.kernel == "spherical":
            shares = release.details["spectrum"]
            self.explained_variance_ratio_ = shares[: self.n_components_]
