"""The estimator by differences of signs."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Literal

from ..._sklearn import Interval, RealNotInt, StrOptions
from ...mechanisms.base import Release
from ...private_data import Public
from ...records import MAX_ROWS
from ...records.kernels import ScaleFunction
from ...records.pairs import MAX_COMPLETE
from ..base import BasePrivatePCA
from ..memory import MATRICES, Held
from ..parameters import estimator, parameter
from .mechanism import GDPPCAMechanism
from .own_kernel import check_kernel, name_of


@estimator
class GDPPCA(BasePrivatePCA):
    """Private PCA of heavy-tailed or contaminated rows, by differences of signs.

    g-DPPCA of Kim & Jung, with half the noise. Every pair of records adds its difference, turned to
    a bounded length: so the noise does not depend on how long the rows are, no mean is needed, and
    outliers weigh no more than others. Under an elliptical law (Gaussian, t, Cauchy) the components
    are those of its scatter matrix. On light-tailed rows `DPGauss` has less noise.

    Parameters
    ----------
    n_components : int, float, "auto" or None, default=None
        Number of components to release: an int; a float between 0 and 1, enough to explain that
        share of the variance; "auto", those that stand above the privacy noise, at least one; or
        None, as many as features. All but the int look at what is released only, so they cost
        nothing more.
    kernel : {"spherical", "winsorized"} or callable, default="spherical"
        What length a pair's difference gets, its direction being kept.

        - "spherical": 1.
        - "winsorized": its own, but a radius at most.
        - A callable is a function ``xi`` of your own. It gets a one-dimensional float64 array of
          lengths ``||x_i - x_j|| / sqrt(2)``, from 0 to infinity, and returns an array of as many
          real numbers. They are clipped to ``[0, kernel_bound]``; NaN, and a length for which it
          raises, count as 0. **It must be made of public numbers, and act on every length by
          itself, without a look at others or at earlier calls**: otherwise the guarantee does not
          hold. It is tried on made-up lengths before the charge. What it prints, warns of or keeps
          during a fit is not protected.
    kernel_bound : float or None, default=None
        Public largest value of a callable `kernel`, which needs one; the noise is in proportion
        to its square. The other kernels do not use it.
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
    unit : str, default="row"
        What is protected as a whole: "row", or a name such as "patient" for the groups that you
        pass to `fit`. A group counts by its mean row.
    norm_bound : float or None, default=None
        Public radius of winsorisation, for differences over the root of 2. It saves the search for
        the median. Other kernels need none.
    center : bool, default=True
        Release a private location as `mean_`. False: it is `mean` or 0.
    n_jobs : int or None, default=None
        Threads that share each pass over the data, as in `DPGauss`; complete pairs, and those of a
        kernel of your own, use those of the BLAS.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
        A private location that outliers hardly move; 0 if the budget is too small to find one.
    explained_variance_ : ndarray of shape (n_components,)
        From a private median along the first component, and the ratios. Consistent for Gaussian
        rows; for an elliptical law right up to a common factor.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Behind the eigenvalues of the matrix, under an elliptical model; a Gaussian one for kernels
        other than the spherical.
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
    with the sensitivities of `skdppca.statistics.KendallMatrix`.

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

    n_components: int | float | Literal["auto"] | None = parameter(
        Interval(Integral, 1, None, closed="left"),
        Interval(RealNotInt, 0, 1, closed="neither"),
        StrOptions({"auto"}),
        None,
        default=None,
        kw_only=False,
    )
    kernel: Literal["spherical", "winsorized"] | ScaleFunction = parameter(
        StrOptions({"spherical", "winsorized"}), callable, default="spherical"
    )
    kernel_bound: float | None = parameter(
        Interval(Real, 0, None, closed="neither"), None, default=None
    )
    pairs: Literal["auto", "complete", "incomplete"] = parameter(
        StrOptions({"auto", "complete", "incomplete"}), default="auto"
    )
    n_pairs: int = parameter(Interval(Integral, 2, 1024, closed="both"), default=20)
    centering: Literal["pairs", "private"] = parameter(
        StrOptions({"pairs", "private"}), default="pairs"
    )
    location_share: float = parameter(Interval(Real, 0, 0.4, closed="both"), default=0.05)
    variance_share: float = parameter(Interval(Real, 0, 0.5, closed="both"), default=0.05)

    _beyond_sums: ClassVar[str] = "pairs of records"

    _held: ClassVar[Held] = MATRICES

    _not_released: ClassVar[dict[str, str]] = {
        **dict.fromkeys(
            ("explained_variance_", "singular_values_", "noise_variance_"),
            "variance_share=0 leaves them out; set variance_share=0.05",
        ),
        "explained_variance_ratio_": (
            "but for kernel='spherical' it needs their scale; set variance_share=0.05"
        ),
    }

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
        if share and self.kernel != "spherical" and not self.variance_share:
            raise ValueError(
                f"n_components={self.n_components} is a share of the variance, which "
                f"kernel={self._kernel_name} needs a scale for; set variance_share=0.05"
            )
        if not isinstance(self.kernel, str):
            self._check_own_kernel(self.kernel)
        return GDPPCAMechanism(
            n_components=self.n_components,
            kernel=self.kernel,
            kernel_bound=None if self.kernel_bound is None else float(self.kernel_bound),
            pairs=self.pairs,
            n_pairs=int(self.n_pairs),
            centering=self.centering,
            center=self._finds_centre,
            location_share=float(self.location_share),
            variance_share=float(self.variance_share),
        )

    @property
    def _kernel_name(self) -> str:
        return repr(self.kernel) if isinstance(self.kernel, str) else name_of(self.kernel)

    def _check_own_kernel(self, kernel: ScaleFunction) -> None:
        if self.kernel_bound is None:
            raise ValueError(
                f"kernel={self._kernel_name} is a function of your own, which the noise needs a "
                "public bound for; set kernel_bound, the largest value that it may return"
            )
        if self.centering == "private":
            raise ValueError(
                f"kernel={self._kernel_name} is a function of the differences of pairs, but "
                "centering='private' forms none; set centering='pairs'"
            )
        check_kernel(kernel)

    def _attributes(self, release: Release, n_features: int) -> dict[str, Any]:
        found = super()._attributes(release, n_features)
        if release.explained_variance is None and self.kernel == "spherical":
            shares = release.details["spectrum"]
            found["explained_variance_ratio_"] = shares[: found["n_components_"]]
        return found
