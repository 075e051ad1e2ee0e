"""What all private PCAs share: parameters, and a `fit` that charges before it computes."""

from __future__ import annotations

import math
from abc import ABCMeta, abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from .._sklearn import Interval, RealNotInt, StrOptions, fit_context
from ..exceptions import NotReleasedError
from ..linalg import fix_signs
from ..mechanisms.base import Mechanism, Public
from ..noise import NoiseSource
from ..privacy import (
    GaussianEvent,
    NonPrivateEvent,
    PrivacyAccountant,
    PrivacyEvent,
    PrivacyLedger,
    PrivacyReport,
    Receipt,
    Spending,
    mu_of,
)
from ..records import MAX_ROWS, Records
from ._fitted import FittedPCA
from ._noise import check_chargeable, noise_source, why_not_private
from ._release import Release, cast_released
from ._standardise import standardise
from ._validation import check_domain, check_groups, check_reach, check_rows, check_vector

__all__ = ["BasePrivatePCA", "Release"]

# Per feature: a query's share of mu, some hundredths, must leave its noise within 2^33 grid units.
LEAST_MU = 2.0**-26

# What a method with private scales needs more: they leave it at least 57 % of mu^2.
SCALED_MU = 1.33

# The least share of the budget that a parameter may give a step.
LEAST_SHARE = 1e-4


class BasePrivatePCA(FittedPCA, BaseEstimator, metaclass=ABCMeta):
    """Base of the private PCAs: an estimator adds its parameters and `_mechanism`."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            StrOptions({"auto", "mle"}),
            None,
        ],
        "epsilon": [Interval(Real, 0, None, closed="right")],
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "adjacency": [StrOptions({"add-remove", "replace-one"})],
        "unit": [str],
        "norm_bound": [Interval(Real, 0, None, closed="neither"), None],
        "clip": [StrOptions({"auto", "spherical"})],
        "center": ["boolean"],
        "mean": ["array-like", None],
        "scale": ["array-like", StrOptions({"private"}), None],
        "whiten": ["boolean"],
        "accountant": [PrivacyAccountant, PrivacyLedger, None],
        "random_state": [
            Interval(Integral, 0, None, closed="left"),
            np.random.RandomState,
            None,
        ],
        "n_jobs": [
            Interval(Integral, None, -1, closed="right"),
            Interval(Integral, 1, None, closed="left"),
            None,
        ],
    }

    # So that metadata routing brings the groups to `fit`.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": True}

    # Attributes that a method does not release: name -> why, and how to get it.
    _not_released: ClassVar[dict[str, str]] = {}

    @abstractmethod
    def _mechanism(self, public: Public) -> Mechanism:
        """The mechanism, built from parameters and public facts alone."""

    def _event(self) -> PrivacyEvent:
        """Cost of one fit."""
        if math.isinf(self.epsilon):
            return NonPrivateEvent()
        return GaussianEvent(mu_of(float(self.epsilon), float(self.delta)))

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: None = None, *, groups: Any = None) -> BasePrivatePCA:
        """Release a private PCA of the rows of X, at a cost of `epsilon` and `delta`.

        The accountant, if there is one, is charged before anything is computed.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Finite real numbers. Never written to.
        y : None
            Ignored.
        groups : array-like of shape (n_rows,), optional
            Whose row it is; required exactly when `unit` is not "row".

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            Invalid parameters or data; nothing was charged.
        BudgetExceeded
            The accountant's budget does not cover this fit; nothing was released.
        """
        # 1. validate
        typed = hasattr(X, "shape")  # in a list every row has a type of its own, as private as it
        X = check_rows(self, X)
        labels = check_groups(groups, X.shape[0], self.unit)
        d = X.shape[1]
        public_scale = None if self._scales_privately else self.scale
        scale = None if public_scale is None else check_vector(public_scale, d, "scale", True)
        mean = None if self.mean is None else check_vector(self.mean, d, "mean")
        check_reach(mean, scale, self.norm_bound)
        self._check_parameters(d)
        records = Records(X, labels, scale, self.n_jobs)
        check_domain(self, records.private_n)
        # 2. build the mechanism from public facts
        public = Public(
            n_features=d,
            adjacency=self.adjacency,
            unit=self.unit,
            is_sparse=sparse.issparse(X),
            n_records=self._public_count(records),
        )
        mechanism = self._mechanism(public)
        if self._scales_privately:
            mechanism = standardise(mechanism, public, self.center)
        self._check_noise(mechanism.event, d)
        noise = self._noise()
        # 3. charge
        receipt = self._charge(mechanism.event, noise)
        # 4. compute
        with np.errstate(all="ignore"):  # whatever the caller asked for: a warning would tell
            release = mechanism(records, noise)
        self._store(release, mechanism, noise, receipt)
        cast_released(self, np.float32 if typed and X.dtype == np.float32 else np.float64)
        return self

    def _check_parameters(self, n_features: int) -> None:
        if isinstance(self.n_components, Integral) and self.n_components > n_features:
            raise ValueError(
                f"n_components={self.n_components} exceeds n_features={n_features}; "
                f"choose at most {n_features}"
            )
        if self.unit == "interaction":
            raise ValueError(
                "unit='interaction' is what DPPowerMethod(protect='interaction') is accounted as; "
                "call what a group is by another name"
            )
        for name in ("variance_share", "location_share"):
            if 0 < getattr(self, name, 0.0) < LEAST_SHARE:
                raise ValueError(
                    f"{name}={getattr(self, name)} pays for no answer that could be used; set 0 "
                    f"to leave it out, or at least {LEAST_SHARE}"
                )
        check_chargeable(self.epsilon, self.accountant, self.random_state)

    def _check_noise(self, event: PrivacyEvent, n_features: int) -> None:
        least = self._least_mu(n_features) * (SCALED_MU if self._scales_privately else 1)
        if isinstance(event, GaussianEvent) and event.mu < least:
            raise ValueError(
                f"epsilon={self.epsilon}, delta={self.delta} ask for more noise than the grid "
                f"holds with n_features={n_features}; nothing could be seen through it: raise them"
            )

    # The declared domain: more records are an error, which is no private output. And the remedy.
    _max_records = MAX_ROWS
    _more_records = "take fewer"

    def _least_mu(self, n_features: int) -> float:
        """The mu of a fit below which the noise of some query leaves the grid."""
        return LEAST_MU * (n_features + 1)

    def _public_mean(self, n_features: int) -> np.ndarray | None:
        """The public mean, in units of the features that public scales divide."""
        if self.mean is None:
            return None
        mean = np.asarray(self.mean, dtype=np.float64)
        # Not `_scales`, which an earlier fit may have found.
        if self.scale is None or self._scales_privately:
            return mean
        return mean / np.asarray(self.scale, dtype=np.float64)

    def _public_count(self, records: Records) -> int | None:
        """The number of records, where the notion of neighbours makes it public."""
        if self.adjacency == "replace-one" or math.isinf(self.epsilon):
            return records.private_n
        return None

    def _noise(self) -> NoiseSource:
        return noise_source(self.epsilon, self.random_state, stacklevel=4)

    @property
    def _accounted_unit(self) -> str:
        """What one of neighbouring data sets has more of, for the accountant and the report."""
        return self.unit

    def _charge(self, event: PrivacyEvent, noise: NoiseSource) -> Receipt | None:
        if self.accountant is None:
            return None
        return self.accountant.charge(
            event,
            adjacency=self.adjacency,
            unit=self._accounted_unit,
            label=type(self).__name__,
            seeded=not noise.is_private,
        )

    def _store(
        self, release: Release, mechanism: Mechanism, noise: NoiseSource, receipt: Receipt | None
    ) -> None:
        self.components_ = fix_signs(release.components)
        self.n_components_ = len(self.components_)
        vars(self).pop("scale_", None)  # of an earlier fit
        if release.scale is not None:
            self.scale_ = release.scale
        self.mean_ = release.centre * self._scales(self.n_features_in_)
        self.n_samples_ = release.n_samples
        self._store_variances(release)
        self.privacy_ = PrivacyReport(
            method=type(self).__name__,
            epsilon=float(self.epsilon),
            delta=float(self.delta),
            adjacency=self.adjacency,
            unit=self._accounted_unit,
            event=mechanism.event,
            not_private=why_not_private(self.epsilon, noise),
            spendings=tuple(
                Spending(q.name, q.mu, q.widened_sensitivity, q.noise_sd, q.part)
                for q in release.spender.queries
            ),
            receipt=receipt,
            details=release.details,
        )

    def _store_variances(self, release: Release) -> None:
        names = ("explained_variance_", "explained_variance_ratio_", "singular_values_")
        for name in (*names, "noise_variance_"):
            vars(self).pop(name, None)  # of an earlier fit
        if release.explained_variance is None:
            return
        self.explained_variance_ = release.explained_variance
        total = release.total_variance
        self.explained_variance_ratio_ = release.explained_variance / (total if total > 0 else 1.0)
        self.singular_values_ = np.sqrt(release.explained_variance * max(release.n_rows - 1, 1.0))
        self.noise_variance_ = release.noise_variance

    def __getattr__(self, name: str) -> Any:
        why = type(self)._not_released.get(name)
        if why is not None and "privacy_" in vars(self):
            raise NotReleasedError(f"{type(self).__name__} does not release {name}: {why}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
