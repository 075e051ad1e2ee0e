"""PrivatePCA: the method that suits what is publicly known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

from .._sklearn import Interval, StrOptions
from ..mechanisms.base import Mechanism, Public
from ..mechanisms.eigensolver import dense_fits
from ._base import BasePrivatePCA
from ._choice import choose
from ._dp_gauss import DPGauss
from ._dp_power import DPPowerMethod
from ._gdppca import GDPPCA
from ._kdpojas import KDPOjas
from ._kdppca import KDPPCA
from ._residual_gauss import ResidualGauss
from ._smooth_sensitivity import SmoothSensitivityPCA

__all__ = ["METHODS", "PrivatePCA"]

METHODS: dict[str, type[BasePrivatePCA]] = {
    method.__name__: method
    for method in (
        DPGauss,
        ResidualGauss,
        GDPPCA,
        DPPowerMethod,
        SmoothSensitivityPCA,
        KDPPCA,
        KDPOjas,
    )
}

# What every method is given as it is; what it costs, and whom, is settled by PrivatePCA.
SHARED = (
    "n_components",
    "epsilon",
    "delta",
    "adjacency",
    "unit",
    "norm_bound",
    "center",
    "mean",
    "scale",
    "whiten",
)


class PrivatePCA(BasePrivatePCA):
    """Private PCA by the method that suits what is publicly known of the data.

    It looks at the number of features, at whether X is sparse and rows come in groups, and at
    what you declare; never at a value. Which method it was, and why, is in `privacy_`.

    Parameters
    ----------
    n_components : int, float, "auto", "mle" or None, default=None
        How many components: so many; enough for a share of the variance; those above the noise
        (at least one); by Minka's likelihood; all. `DPGauss` takes them all; others may take an
        int or None only.
    method : str, default="auto"
        "auto", or the name of a method, such as "KDPPCA".
    method_params : dict or None, default=None
        More parameters of that method.
    tails : {"light", "heavy"}, default="light"
        "heavy" declares heavy tails or outliers. It must not be decided by looking at the data.
    gap : {"unknown", "large"}, default="unknown"
        "large" declares that the variances asked for stand well above the next; likewise.
    epsilon : float, default=1.0
        Privacy budget. ``inf`` computes an ordinary PCA that is not private.
    delta : float, default=1e-6
        Probability with which the guarantee may fail; well below 1 / n. 0 asks for a pure
        guarantee, and for a public `norm_bound`, and a `mean` or ``center=False``.
    adjacency : {"add-remove", "replace-one"}, default="add-remove"
        What neighbouring data sets differ in: one record more or less (the number of records is
        private), or one record exchanged (it is public).
    unit : str, default="row"
        What a record is: a row, or a name ("patient") for the groups given to `fit`.
    norm_bound : float or None, default=None
        Public bound on the records, enforced by clipping; what it bounds is said by the method.
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
        What was released, at what cost. ``privacy_.details["method"]`` is the method, and
        ``privacy_.details["why"]`` the reason.

    See Also
    --------
    DPGauss, ResidualGauss, GDPPCA, DPPowerMethod, SmoothSensitivityPCA, KDPPCA, KDPOjas

    Notes
    -----
    The choice costs nothing as long as neighbouring data sets agree in all that it looks at. Give
    sparse rows, or dense ones, always: a `ColumnTransformer` decides it by the density of the data
    (``sparse_threshold=0`` does not). The cost, the source and the proof are those of the method.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdppca import PrivatePCA
    >>> pca = PrivatePCA(n_components=2, epsilon=1.0).fit(load_digits().data)
    >>> pca.privacy_.details["method"]
    'DPGauss'
    >>> print(pca.privacy_.details["why"])
    ordinary rows, and a matrix of 64 x 64 fits
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{k: v for k, v in BasePrivatePCA._parameter_constraints.items() if k != "clip"},
        "method": [StrOptions({"auto", *METHODS})],
        "method_params": [dict, None],
        "tails": [StrOptions({"light", "heavy"})],
        "gap": [StrOptions({"unknown", "large"})],
        "delta": [Interval(Real, 0, 1, closed="left")],
    }

    _not_released: ClassVar[dict[str, str]] = dict.fromkeys(
        (
            "explained_variance_",
            "explained_variance_ratio_",
            "singular_values_",
            "noise_variance_",
        ),
        "method_params={'variance_share': 0} leaves them out; set another share",
    )

    def __init__(
        self,
        n_components: int | float | str | None = None,
        *,
        method: str = "auto",
        method_params: Mapping[str, Any] | None = None,
        tails: str = "light",
        gap: str = "unknown",
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
        self.method = method
        self.method_params = method_params
        self.tails = tails
        self.gap = gap
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

    def _mechanism(self, public: Public) -> Mechanism:
        unbounded = self.norm_bound is None or (self.center and self.mean is None)
        if self.method == "auto" and self.delta == 0 and unbounded:
            raise ValueError(
                "delta=0 is pure privacy, which leaves no Gaussian noise to find a norm_bound and "
                "a mean with; set both (or center=False), or a small delta"
            )
        chosen = self._estimator(public)
        chosen._validate_params()
        chosen._check_parameters(public.n_features)
        mechanism = chosen._mechanism(public)
        chosen._check_noise(mechanism.event, public.n_features)
        for name in ("_accounted_unit", "_max_records"):
            if getattr(chosen, name) != getattr(self, name):
                raise ValueError(
                    f"method_params={self.method_params} change what is protected, or how many "
                    f"rows there may be; use {type(chosen).__name__} itself"
                )
        return mechanism

    def _choice(self, public: Public) -> tuple[str, str]:
        if self.method != "auto":
            return self.method, f"method={self.method!r}"
        count = self.n_components
        if count is None and not dense_fits(public.n_features):
            raise ValueError(
                f"n_components=None asks for all {public.n_features} components, too many to hold; "
                "give a number"
            )
        return choose(
            public.n_features,
            is_sparse=public.is_sparse,
            grouped=public.grouped,
            sees_spectrum=not (count is None or isinstance(count, Integral)),
            pure=self.delta == 0,
            tails=self.tails,
            gap=self.gap,
        )

    def _estimator(self, public: Public) -> BasePrivatePCA:
        name, why = self._choice(public)
        given = self.method_params or {}
        ours = sorted(set(given) & set(self.get_params()))
        if ours:
            raise ValueError(
                f"method_params sets {ours[0]!r}, which is a parameter of PrivatePCA; set "
                f"PrivatePCA({ours[0]}=...)"
            )
        known = METHODS[name]().get_params()
        unknown = [key for key in given if key not in known]
        if unknown:
            own = ", ".join(sorted(set(known) - set(self.get_params()))) or "none"
            raise ValueError(
                f"method_params sets {unknown[0]!r}, which {name} (chosen: {why}) does not have; "
                f"its own are: {own}"
            )
        own = {"noise": "student"} if self.delta == 0 and "noise" in known else {}
        return METHODS[name](**{key: getattr(self, key) for key in SHARED}, **own | given)

    def _store(self, release: Any, mechanism: Mechanism, *more: Any) -> None:
        super()._store(release, mechanism, *more)
        method, why = self._choice(mechanism.public)
        details = {"method": method, "why": why, **self.privacy_.details}
        self.privacy_ = replace(self.privacy_, details=details)
