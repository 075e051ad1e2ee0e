"""PrivatePCA: the method that suits what is publicly known, and how it is chosen."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, Literal, Self

import numpy as np

from .._sklearn import Interval, StrOptions
from ..linalg import dense_fits
from ..mechanisms.base import Mechanism, Release
from ..mechanisms.scatter import NoisyScatter
from ..privacy import PrivacyEvent
from ..private_data import Public
from ..releasing import make_plain
from .base import BasePrivatePCA
from .fitted import VARIANCES
from .joining import JoinsCohorts
from .methods import METHODS, NAMES, Word
from .parameters import estimator, parameter

# Sparse rows: from here on a few passes are faster than a d x d matrix, and as accurate.
MANY_SPARSE_FEATURES = 2000

# Parameters that every method is given as they are; PrivatePCA settles its cost, and for whom.
SETTLED = {"accountant", "random_state", "n_jobs", "verbose"}
SHARED = BasePrivatePCA._parameter_constraints.keys() - SETTLED

# Prefix of a parameter of the method, where one is set by name or stands in a grid.
METHODS_OWN = "method__"

# The method whose matrices can be joined.
JOINED = "DPGauss"


def for_heavy_tails(name: str, *, grouped: bool) -> dict[str, Any]:
    """Return the parameters that ``tails="heavy"`` sets; only single rows are scaled to norm 1."""
    if name == "DPGauss" and not grouped:
        return {"clip": "spherical"}
    return {"centering": "private"} if name == "GDPPCA" else {}


def choose(
    n_features: int,
    *,
    is_sparse: bool = False,
    grouped: bool = False,
    sees_spectrum: bool = False,
    scales_privately: bool = False,
    may_miss: bool = False,
    pure: bool = False,
    tails: str = "light",
    gap: str = "unknown",
) -> tuple[str, str]:
    """The method for these public facts, and why.

    Parameters
    ----------
    n_features : int
    is_sparse : bool
        Whether X is given as a sparse matrix.
    grouped : bool
        Whether a record is a group of rows.
    sees_spectrum : bool
        Whether the number of components is to be chosen from the spectrum.
    scales_privately : bool
        Whether the scales of the features are to be found.
    may_miss : bool
        Whether entries may be absent.
    pure : bool
        Whether delta is 0.
    tails : {"light", "heavy"}
    gap : {"unknown", "large"}

    Returns
    -------
    method, why : str
    """
    fits = dense_fits(n_features)
    square = f"{n_features} x {n_features}"
    if pure:
        return "SmoothSensitivityPCA", "no other method has a pure guarantee (delta=0)"
    if tails == "heavy" and fits:
        name = "GDPPCA" if grouped else "DPGauss"
        return name, "it weighs outliers no more than other records (tails='heavy')"
    if sees_spectrum and fits:
        return "DPGauss", "it releases the spectrum, from which it chooses n_components"
    if scales_privately and fits:
        return "DPGauss", "its matrix also corrects the private scales (scale='private')"
    if may_miss and fits:
        return "DPGauss", "its matrix undoes what filling does to moments (missing='mean')"
    if grouped and fits:
        why = "a record is a group of rows, and the noise follows how far they differ"
        return "ResidualGauss", why
    if grouped:
        return "KDPPCA", f"a record is a group of rows, and a matrix of {square} is too large"
    if not fits or (is_sparse and n_features > MANY_SPARSE_FEATURES):
        wide = f"{n_features} {'sparse ' if is_sparse else ''}features"
        if gap == "large":
            why = f"it needs little noise after a large gap (gap='large'), for {wide} too"
            return "SmoothSensitivityPCA", why
        return "DPPowerMethod", f"it needs no matrix of {square} for {wide}"
    return "ResidualGauss", f"the rows are ordinary, and a matrix of {square} fits"


@estimator
class PrivatePCA(JoinsCohorts):
    """Private PCA by the method that suits what is publicly known of the data.

    The choice depends on the number of features, on whether X is sparse and has groups, and on what
    you declare. It never looks at a value. `privacy_` says which method it was, and why.

    Parameters
    ----------
    n_components : int, float, "auto", "mle" or None, default=None
        Number of components to release. `DPGauss` and `ResidualGauss` take all of these; other
        methods may take an int or None only.

        - An int: that many.
        - A float between 0 and 1: enough to explain that share of the variance.
        - "auto": those that stand above the privacy noise, at least one.
        - "mle": Minka's estimate.
        - None: as many as features.
    method : str or type, default="auto"
        "auto" chooses. The name of a method, such as "KDPPCA", takes that one; so does its word in
        a shell, such as "kdppca" or "residual-gauss". So does a class of your own, a subclass of
        `skdppca.decomposition.BasePrivatePCA`, for whose proofs you answer.
    method_params : dict or None, default=None
        Parameters that only the method has, by name. In `set_params`, and so in the grid of a
        search, ``method__learning_rate`` sets one of them.
    tails : {"light", "heavy"}, default="light"
        "heavy" declares heavy tails or outliers. A method is then taken in which every record
        weighs the same, wherever it lies. Do not decide it by looking at the data.
    gap : {"unknown", "large"}, default="unknown"
        "large" declares that the last variance asked for stands well above the next one. Do not
        decide it by looking at the data.
    delta : float, default=1e-6
        Additive part of the guarantee. Choose it well below 1 / (number of records). 0 asks for a
        pure guarantee, which needs a public `norm_bound`, and a `mean` or ``center=False``.
    norm_bound : float or None, default=None
        Public bound on the records. Longer ones are shortened to it. The page of the method says
        which norm it bounds. None spends part of the budget to find one.

    Attributes
    ----------
    privacy_ : PrivacyReport
        What was released, at what cost. ``privacy_.details["method"]`` is the method, and
        ``privacy_.details["why"]`` the reason.

    See Also
    --------
    ResidualGauss, DPGauss, GDPPCA, DPPowerMethod, SmoothSensitivityPCA, KDPPCA, KDPOjas

    Notes
    -----
    The choice costs nothing as long as neighbouring data sets agree in all that it looks at. Give
    sparse rows, or dense ones, always: a `ColumnTransformer` decides it by the density of the data
    (with ``sparse_threshold=0`` it does not). The cost, the source and the proof are those of the
    method.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdppca import PrivatePCA
    >>> pca = PrivatePCA(n_components=2, epsilon=1.0).fit(load_digits().data)
    >>> pca.privacy_.details["method"]
    'ResidualGauss'
    >>> print(pca.privacy_.details["why"])
    the rows are ordinary, and a matrix of 64 x 64 fits
    """

    delta: float = parameter(Interval(Real, 0, 1, closed="left"), default=1e-6)
    method: Literal["auto"] | Word | type[BasePrivatePCA] = parameter(
        StrOptions({"auto", *NAMES}), type, default="auto"
    )
    method_params: Mapping[str, Any] | None = parameter(dict, None, default=None)
    tails: Literal["heavy", "light"] = parameter(StrOptions({"light", "heavy"}), default="light")
    gap: Literal["large", "unknown"] = parameter(
        StrOptions({"unknown", "large"}), default="unknown"
    )

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``method__<name>`` sets one of `method_params`, and leaves the others.

        Parameters
        ----------
        **params : dict

        Returns
        -------
        self
        """
        own = {name: value for name, value in params.items() if name.startswith(METHODS_OWN)}
        super().set_params(**{name: params[name] for name in params if name not in own})
        if own:
            named = {name.removeprefix(METHODS_OWN): value for name, value in own.items()}
            self.method_params = {**(self.method_params or {}), **named}
        return self

    def _event(self, public: Public) -> PrivacyEvent:
        return self._chosen(public)._event(public)

    def _mechanism(self, public: Public) -> Mechanism:
        unbounded = self.norm_bound is None or self._finds_centre
        if self.method == "auto" and self.delta == 0 and unbounded:
            raise ValueError(
                "delta=0 is pure privacy, which leaves no Gaussian noise to find a norm_bound and "
                "a mean with; set both (or center=False), or a small delta"
            )
        chosen = self._chosen(public)
        chosen._check_parameters(public.n_features)
        mechanism = chosen._mechanism(public)
        chosen._check_noise(chosen._event(public), public.n_features)
        for name in ("_accounted_unit", "_max_records"):
            if getattr(chosen, name) != getattr(self, name):
                raise ValueError(
                    f"method_params={self.method_params} change what is protected, or how many "
                    f"rows there may be; use {type(chosen).__name__} itself"
                )
        return mechanism

    def _check_memory(self, public: Public) -> None:
        self._chosen(public)._check_memory(public)

    def _choice(self, public: Public) -> tuple[str, str]:
        """Return the method's name, and why it is taken."""
        if isinstance(self.method, type):
            if not issubclass(self.method, BasePrivatePCA) or issubclass(self.method, PrivatePCA):
                raise TypeError(
                    f"method={self.method.__name__} is a class without a mechanism of its own; "
                    "derive it from skdppca.decomposition.BasePrivatePCA"
                )
            return self.method.__name__, "its class was given"
        if self.method != "auto":
            return NAMES[self.method], f"method={self.method!r} was given"
        if self._joining:
            return JOINED, "partial_fit can join its matrix with those of other cohorts"
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
            sees_spectrum=not (count is None or isinstance(count, int | np.integer)),
            scales_privately=self._scales_privately,
            may_miss=self._may_miss,
            pure=self.delta == 0,
            tails=self.tails,
            gap=self.gap,
        )

    def _chosen(self, public: Public) -> BasePrivatePCA:
        """The method with these parameters, validated."""
        name, why = self._choice(public)
        method = self.method if isinstance(self.method, type) else METHODS[name].estimator
        given = self.method_params or {}
        taken = sorted(set(given) & set(self.get_params()))
        if taken:
            raise ValueError(
                f"method_params sets {taken[0]!r}, which is a parameter of PrivatePCA; set "
                f"PrivatePCA({taken[0]}=...)"
            )
        known = method().get_params()
        unknown = [key for key in given if key not in known]
        if unknown:
            theirs = ", ".join(sorted(set(known) - set(self.get_params()))) or "none"
            raise ValueError(
                f"method_params sets {unknown[0]!r}, which {name} does not have (it was chosen "
                f"because {why}); its own are: {theirs}"
            )
        shared = {key: getattr(self, key) for key in SHARED}
        ours = {"noise": "student"} if self.delta == 0 and "noise" in known else {}
        if self.method == "auto" and self.tails == "heavy":
            ours |= for_heavy_tails(name, grouped=public.grouped)
        chosen = method(**shared, **{**ours, **given})
        chosen._validate_params()
        chosen._joining = self._joining
        return make_plain(chosen)

    def _why_not_released(self, name: str) -> str | None:
        if name in VARIANCES and (self.method_params or {}).get("variance_share") == 0:
            return "method_params={'variance_share': 0} leaves them out; set another share"
        return super()._why_not_released(name)

    @property
    def _has_matrix(self) -> bool:
        return self.method in ("auto", JOINED, METHODS[JOINED].command)

    def _joined(self, public: Public, event: PrivacyEvent, before: NoisyScatter) -> Mechanism:
        self._mechanism(public)  # which refuses what PrivatePCA does not take
        chosen = self._chosen(public)
        assert isinstance(chosen, JoinsCohorts)
        return chosen._joined(public, event, before)

    def _beyond(self, public: Public) -> str:
        return self._chosen(public)._beyond(public)

    def _details(self, release: Release, public: Public) -> dict[str, Any]:
        method, why = self._choice(public)
        return {"method": method, "why": why, **release.details}
