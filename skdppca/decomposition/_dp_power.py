"""DPPowerMethod: private power iterations for data too wide for a d x d matrix."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

from .._sklearn import Interval, StrOptions
from ..mechanisms.base import Public
from ..mechanisms.norm_product import Bound
from ..records import MAX_ROWS
from ._adaptive import AdaptivePCA
from ._power import LEAST_OVERSAMPLING, DPPowerMechanism

__all__ = ["DPPowerMethod"]


class DPPowerMethod(AdaptivePCA):
    """Private PCA by noisy power iterations, for data too wide for a d x d matrix.

    Every pass releases the product of the Gram matrix with a few directions: d x p numbers, in
    memory of that size, sparse rows as they are. Where a d x d matrix fits, `DPGauss` is more
    accurate.

    Parameters
    ----------
    n_components : int or None, default=None
        How many components; None for as many as features.
    n_iter : int, default=3
        Passes; at most 100.
    oversampling : int or "auto", default="auto"
        So many directions more than components; "auto" is ``max(10, n_components)``.
    budget_ratio : float, default=2.0
        Each pass costs so many times the one before.
    max_nonzero : int or None, default=None
        Sparse rows only: a public bound on the non-zeros of a row. Enforced by dropping the
        smallest ones of a (scaled) row that has more. Less noise as long as the components are
        spread over many features.
    sensitivity : {"tight", "nicolas", "balcan"}, default="tight"
        The least that is known; or those of the papers, to compare with.
    protect : {"record", "interaction"}, default="record"
        "record": what a row, or a group of rows, adds. "interaction": one non-zero entry of a
        matrix of users and items, **not the user** (and the number of rows is public). Components
        are then those of ``sum_u r_u r_u^T / max(deg u, degree_floor)``, r_u the user's row as
        zeros and ones; set ``center=False``. An accountant must have ``unit="interaction"``.
    degree_floor : int, default=1
        m of that sum, with ``protect="interaction"``: larger, so that users of few items weigh
        less, means less noise.
    variance_share : float, default=0.05
        Share of the budget for `explained_variance_` and what depends on it; 0 leaves them out.
    epsilon : float, default=1.0
        Privacy budget. ``inf`` runs the same passes without noise; it is not private.
    delta : float, default=1e-6
        Probability with which the guarantee may fail; well below 1 / n.
    adjacency : {"add-remove", "replace-one"}, default="add-remove"
        What neighbouring data sets differ in: one record more or less (the number of records is
        private), or one record exchanged (it is public).
    unit : str, default="row"
        What a record is: a row, or a name ("patient") for the groups given to `fit`.
    norm_bound : float or None, default=None
        Public bound on the norms of the (scaled) rows less the mean; with groups, on the root of
        the Frobenius norm of a group's Gram matrix. Enforced by clipping. It saves the search.
    clip : {"auto", "norm", "spherical"}, default="auto"
        "auto": in every pass, the products of the records are clipped to a private radius, unless
        `norm_bound`, `max_nonzero` or `sensitivity` ask for "norm": their norms are clipped, once.
        "spherical": every row is scaled to norm 1.
    center : bool, default=True
        Subtract a rough private mean. False: components of the second moments about `mean` or 0.
    mean : array-like of shape (n_features,) or None, default=None
        A public mean; it costs nothing.
    scale : array-like of shape (n_features,), "private" or None, default=None
        Public scales, by which the features are divided; or private ones, for 20 % of the budget
        (more if records are few), as by a `StandardScaler`; `norm_bound` is in units of them.
        Not with ``protect="interaction"``.
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
        The number of records; noisy under add-remove, exact with ``protect="interaction"``.
    privacy_ : PrivacyReport
        What was released, at what cost.

    See Also
    --------
    DPGauss : More accurate where a d x d matrix fits.
    KDPPCA : For records that agree with each other up to a small deviation.

    Notes
    -----
    Given the answers before, a pass is one Gaussian query: the directions W are public by then, and
    one record moves ``W A`` by at most the sensitivity that W has, which the noise of that pass
    follows. All queries are Gaussian, so their costs compose exactly.

    References
    ----------
    M. Hardt, E. Price. The noisy power method: a meta algorithm with applications. NeurIPS 2014,
    Figure 3.

    J. Nicolas, C. Sabater, M. Maouche, M. Coates, S. Ben Mokhtar. Differentially private and
    decentralized randomized power method. 2025, Algorithm 1, Theorem 3.1, Lemma B.1.

    Examples
    --------
    >>> import numpy as np
    >>> from skdppca import DPPowerMethod
    >>> X = np.random.default_rng(0).normal(size=(5000, 30)) * np.r_[5, 4, np.ones(28)]
    >>> pca = DPPowerMethod(n_components=2).fit(X)
    >>> bool(abs(pca.components_[0, 0]) > 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **AdaptivePCA._parameter_constraints,
        "n_iter": [Interval(Integral, 1, 100, closed="both")],
        "oversampling": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "budget_ratio": [Interval(Real, 1, 16, closed="both")],
        "max_nonzero": [Interval(Integral, 1, None, closed="left"), None],
        "sensitivity": [StrOptions({"tight", "nicolas", "balcan"})],
        "protect": [StrOptions({"record", "interaction"})],
        "degree_floor": [Interval(Integral, 1, MAX_ROWS, closed="both")],
        "clip": [StrOptions({"auto", "norm", "spherical"})],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_iter: int = 3,
        oversampling: int | str = "auto",
        budget_ratio: float = 2.0,
        max_nonzero: int | None = None,
        sensitivity: str = "tight",
        protect: str = "record",
        degree_floor: int = 1,
        variance_share: float = 0.05,
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
        self.n_iter = n_iter
        self.oversampling = oversampling
        self.budget_ratio = budget_ratio
        self.max_nonzero = max_nonzero
        self.sensitivity = sensitivity
        self.protect = protect
        self.degree_floor = degree_floor
        self.clip = clip

    def _mechanism(self, public: Public) -> DPPowerMechanism:
        self._check_unit(public)
        interaction = self.protect == "interaction"
        return DPPowerMechanism(
            **self._shared(public),
            n_iter=self.n_iter,
            oversampling=None if self.oversampling == "auto" else self.oversampling,
            budget_ratio=float(self.budget_ratio),
            clip=self.clip,
            bound=Bound(
                kind=self.sensitivity,
                most=self.max_nonzero,
                floor=int(self.degree_floor) if interaction else None,
            ),
        )

    def _check_unit(self, public: Public) -> None:
        """Refuse what has no proof; all of it is public."""
        if public.grouped and self.clip == "spherical":
            raise ValueError(
                f"clip='spherical' scales single rows, but unit={self.unit!r}; use clip='auto'"
            )
        if self.max_nonzero is not None and (public.grouped or not public.is_sparse):
            raise ValueError(
                f"max_nonzero={self.max_nonzero} is for a sparse X without groups; give "
                "scipy.sparse.csr_array(X), or max_nonzero=None"
            )
        if self.protect == "record":
            return
        needed = {
            "unit": "row",
            "adjacency": "add-remove",
            "center": False,
            "mean": None,
            "scale": None,
            "norm_bound": None,
            "clip": "auto",
            "max_nonzero": None,
        }
        for name, value in needed.items():
            given = getattr(self, name)
            if given is not None if value is None else given != value:
                raise ValueError(
                    "protect='interaction' is proven for a matrix of zeros and ones as it stands, "
                    f"and one more or less of them; set {name}={value!r}"
                )

    def _width(self, n_features: int) -> int:
        k = self.n_components or n_features
        more = max(LEAST_OVERSAMPLING, k) if self.oversampling == "auto" else self.oversampling
        return min(n_features, k + more)

    @property
    def _accounted_unit(self) -> str:
        return "interaction" if self.protect == "interaction" else self.unit
