"""SmoothSensitivityPCA: exact components, with noise that follows the gap below them."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, ClassVar

from .._sklearn import Interval, StrOptions
from ..mechanisms.base import Public
from ..mechanisms.eigensolver import dense_fits
from ..privacy import ApproximateEvent, NonPrivateEvent, PrivacyEvent, PureEvent
from ._adaptive import AdaptivePCA
from ._span_mechanisms import GapMechanism, SmoothMechanism, gap_event

__all__ = ["SmoothSensitivityPCA"]


class SmoothSensitivityPCA(AdaptivePCA):
    """Private PCA by output perturbation: exact components, then noise that follows their gap.

    Gonen & Gilad-Bachrach's method, made explicit and sharper. For sparse or very wide rows whose
    first k variances stand well above the next one: with more than 2000 features and few components
    a gap release forms no d x d matrix, unless its iterations converge too slowly. The only method
    here with a pure guarantee, delta = 0. Where the gap is small, `DPGauss` is better.

    Parameters
    ----------
    n_components : int or None, default=None
        How many components; None for as many as features, of which only the order is to be
        found.
    noise : {"gap-release", "gaussian", "student", "cauchy"}, default="gap-release"
        "gap-release" releases the gap, then the components with Gaussian noise. The others add
        noise by a smooth sensitivity that stays private: "gaussian" as the paper has it (epsilon
        below 1), "student" and "cauchy" with a **pure** guarantee, whatever `delta` is. These need
        a `norm_bound`, and a `mean` or ``center=False``.
    variance_share : float, default=0.05
        Share of the budget for `explained_variance_`, what depends on it, and the order of the
        components; 0 leaves them out, and the components in no order.
    epsilon : float, default=1.0
        Privacy budget. ``inf`` computes an ordinary PCA that is not private.
    delta : float, default=1e-6
        Probability with which the guarantee may fail; well below 1 / n. Not used, and best set to
        0, if noise is "student" or "cauchy".
    adjacency : {"add-remove", "replace-one"}, default="add-remove"
        What neighbouring data sets differ in: one record more or less (the number of records is
        private), or one record exchanged (it is public).
    unit : str, default="row"
        What a record is: a row, or a name ("patient") for the groups given to `fit`.
    norm_bound : float or None, default=None
        Public bound on the norms of the (scaled) rows less the mean; with groups, on the root of
        the sum of their squares. Enforced by clipping. It saves the search for one.
    center : bool, default=True
        Subtract a rough private mean. False: components of the second moments about `mean` or 0.
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
        The rough private mean.
    scale_ : ndarray of shape (n_features,)
        The private scales, with ``scale="private"``.
    explained_variance_ : ndarray of shape (n_components,)
        Eigenvalues of a private matrix of the records' scores: one more release of k x k numbers.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Over a private total.
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
        What was released, at what cost. By the smooth sensitivity no scale of the noise is stated:
        it is private itself.

    See Also
    --------
    DPGauss : Noise on the covariance matrix; needs no gap.

    Notes
    -----
    One record moves the span of the top k components by at most ``2 sin(arcsin(1 / g) / 4)``, with
    g the gap over the squared clipping norm (2 / g under replace-one): the theorem and its proof
    are at `skdppca.mechanisms.gap.SpanSensitivity`.

    References
    ----------
    A. Gonen, R. Gilad-Bachrach. Smooth sensitivity based approach for differentially private
    principal component analysis. 2017, Algorithm 1.

    K. Nissim, S. Raskhodnikova, A. Smith. Smooth sensitivity and sampling in private data
    analysis. STOC 2007, Lemma 2.7.

    Examples
    --------
    >>> from skdppca import SmoothSensitivityPCA
    >>> from skdppca.datasets import make_gaussian
    >>> X, _, components, _ = make_gaussian(5000, 20, [10, 5], 0.1, random_state=0)
    >>> pca = SmoothSensitivityPCA(2).fit(X)
    >>> bool(abs(components[0] @ pca.components_[0]) > 0.9)
    True
    >>> pure = SmoothSensitivityPCA(2, noise="student", delta=0, norm_bound=10, center=False)
    >>> pure.fit(X).privacy_.event
    PureEvent(epsilon=1.0)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **AdaptivePCA._parameter_constraints,
        "noise": [StrOptions({"gap-release", "gaussian", "student", "cauchy"})],
        "delta": [Interval(Real, 0, 1, closed="left")],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        noise: str = "gap-release",
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
        super().__init__(
            n_components,
            variance_share=variance_share,
            epsilon=epsilon,
            delta=delta,
            adjacency=adjacency,
            unit=unit,
            norm_bound=norm_bound,
            center=center,
            mean=mean,
            scale=scale,
            whiten=whiten,
            accountant=accountant,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.noise = noise

    @property
    def _is_pure(self) -> bool:
        return self.noise in ("student", "cauchy")

    def _event(self) -> PrivacyEvent:
        epsilon, delta = float(self.epsilon), float(self.delta)
        if math.isinf(epsilon):
            return NonPrivateEvent()
        if self._is_pure:
            return PureEvent(epsilon)
        if delta == 0:
            raise ValueError(
                f"delta=0 is pure privacy, which noise={self.noise!r} does not give; set "
                "noise='student', or a small delta"
            )
        if self.noise == "gaussian":
            if epsilon >= 1:
                raise ValueError(
                    f"noise='gaussian' is proven for epsilon below 1, but epsilon={epsilon}; set "
                    "noise='gap-release'"
                )
            return ApproximateEvent(epsilon, delta)
        return gap_event(epsilon, delta, self.n_components)

    def _mechanism(self, public: Public) -> GapMechanism | SmoothMechanism:
        if self.noise == "gap-release" or math.isinf(self.epsilon):
            return GapMechanism(**self._shared(public))
        event = self._event()
        self._check_smooth(public)
        return SmoothMechanism(
            public=public,
            event=event,
            law=self.noise,
            epsilon=float(self.epsilon),
            delta=0.0 if self._is_pure else float(self.delta),
            n_components=self.n_components,
            norm_bound=float(self.norm_bound),
            mean=self._public_mean(public.n_features),
            variance_share=float(self.variance_share),
        )

    def _check_smooth(self, public: Public) -> None:
        """Refuse what would spend Gaussian noise, or rest on a solver that may miss something."""
        if self.norm_bound is None:
            raise ValueError(
                f"noise={self.noise!r} needs a public norm_bound: a private one would spend "
                "Gaussian noise; set norm_bound, or noise='gap-release'"
            )
        if self.center and self.mean is None:
            raise ValueError(
                f"noise={self.noise!r} needs a public mean: a private one would spend Gaussian "
                "noise; set mean, or center=False, or noise='gap-release'"
            )
        if public.grouped and self.variance_share:
            raise ValueError(
                f"noise={self.noise!r} releases no variances of groups, but unit={self.unit!r}; "
                "set variance_share=0, or noise='gap-release'"
            )
        if not dense_fits(public.n_features):
            raise ValueError(
                f"noise={self.noise!r} decomposes a d x d matrix, too large for "
                f"n_features={public.n_features}; set noise='gap-release'"
            )
