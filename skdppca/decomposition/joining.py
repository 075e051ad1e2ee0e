"""Fits that go on from an earlier one: each charges the people of its rows, and joins for free."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from .._sklearn import available_if
from ..exceptions import UnaccountedFitsWarning
from ..mechanisms.base import Release
from ..mechanisms.scatter import NoisyScatter
from ..privacy import GaussianEvent, PrivacyReport
from ..privacy.accountant import accounts_of
from ..privacy.chain import canonical
from ..privacy.charging import charged_elsewhere
from ..privacy.fit_report import is_grown, jsonable
from ..privacy.grown import Paid, cost_to_most, new_fit, paid_before, receipts_of
from ..privacy.pricing import epsilon_of_event, is_affordable
from ..privacy.user_warnings import level_of_user
from ..releasing import ReleaseTerms, Results, public_parameters, publish, release
from .base import BasePrivatePCA, feature_names_of
from .fit_warnings import warn_of_noise
from .fitted import MATRIX, matrix_of
from .parameters import estimator

# Parameters that all cohorts share: their records are measured by these.
FIXED = (
    "adjacency",
    "unit",
    "center",
    "mean",
    "scale",
    "norm_bound",
    "missing",
    "clip",
    "tails",
)

# Names of features that an error lists.
MOST_NAMES = 5

# Parameters of a method that may change between cohorts.
FREE = ("forget", "keep_matrix")


@dataclass(frozen=True)
class Joining:
    """A cohort, and what was released of those before.

    Parameters
    ----------
    before : NoisyScatter or None
        None for the first cohort.
    report : PrivacyReport or None
        Report of the release before.
    fits : tuple of dict
        The fit of each earlier cohort, as the report has it.
    """

    before: NoisyScatter | None = None
    report: PrivacyReport | None = None
    fits: tuple[dict[str, Any], ...] = ()

    @classmethod
    def of(cls, pca: BasePrivatePCA) -> Joining:
        """Return what a call of `partial_fit` joins, which follows from releases alone.

        Raises
        ------
        ValueError, LedgerError
        """
        fitted = vars(pca)
        if "privacy_" not in fitted:
            return cls()
        report = fitted["privacy_"]
        _check_joinable(report)
        before = matrix_of(pca)
        if before is None:
            if is_grown(report.details):
                raise ValueError(
                    "the matrix of the cohorts before is not there any more, so nothing can be "
                    "joined to it; load all that was released, or call partial_fit on an estimator "
                    "that is not fitted (sklearn.base.clone)"
                )
            why = pca._why_not_released(f"{MATRIX}scatter_") or "its method has none"
            warnings.warn(
                f"the fit before is not joined, and this cohort is the first one: that fit "
                f"released no matrix ({why}). To join releases without a matrix, use "
                "skdppca.merge.",
                UserWarning,
                stacklevel=level_of_user(),
            )
            return cls()
        fits = _fits(report, fitted)
        for account in accounts_of(pca.accountant):
            receipts = [one for fit in fits for one in receipts_of(fit)]
            account.check_has([one for one in receipts if one.accountant == account.id])
        _warn_unaccounted(pca)
        return cls(before, report, fits)

    def check(self, estimator: BasePrivatePCA, n_features: int) -> None:
        """Refuse records that are measured otherwise than those before.

        Raises
        ------
        ValueError
        """
        if self.before is None or self.report is None:
            return
        d, earlier = len(self.before.mean), self.report.parameters
        if n_features != d:
            raise ValueError(
                f"X has {n_features} features, but {type(estimator).__name__} is expecting {d} "
                "features as input"
            )
        self.check_names(feature_names_of(vars(estimator)))
        given = public_parameters(estimator.get_params())
        for name in FIXED:
            if name in earlier and name in given and earlier[name] != given[name]:
                raise ValueError(
                    f"{name}={_short(given[name])}, but the cohorts before were released with "
                    f"{name}={_short(earlier[name])}, so their matrices cannot be joined; set it "
                    "back, or call partial_fit on an estimator that is not fitted"
                )
        own, theirs = (_fixed(of.get("method_params")) for of in (given, earlier))
        if own != theirs:
            raise ValueError(
                f"method_params={own}, but the cohorts before were released with {theirs}; set "
                "them back, or call partial_fit on an estimator that is not fitted"
            )
        if math.isinf(estimator.epsilon) is not math.isinf(self.report.epsilon):
            raise ValueError(
                f"epsilon={estimator.epsilon}, but the cohorts before had "
                f"epsilon={self.report.epsilon}: a matrix without noise cannot be joined with one "
                "that has some; call partial_fit on an estimator that is not fitted"
            )

    def check_names(self, names: Sequence[Any] | None) -> None:
        """Refuse other names of columns than before, as scikit-learn does and with its words.

        Raises
        ------
        ValueError
        """
        earlier = None if self.report is None else self.report.feature_names
        named = names is not None and all(isinstance(name, str) for name in names)
        if earlier is not None and names is not None and named and list(earlier) != list(names):
            raise ValueError(_other_names(earlier, names))

    def joined(self, own: ReleaseTerms) -> ReleaseTerms:
        """The terms of the release of all cohorts.

        It is as private as for the person who was charged most (see `cost_to_most`). What the
        report cannot hold fails here, before the charge.

        Parameters
        ----------
        own : ReleaseTerms
            Terms of this cohort alone.
        """
        canonical(jsonable(self._details(own, 1.0, 0.0, 1.0)))
        if self.report is None:
            return own
        epsilon, delta = self._stated(own)
        reasons = tuple(r for r in self.report.not_private if r not in own.why_not_private)
        return replace(
            own,
            epsilon=epsilon,
            delta=delta,
            not_private=(*own.not_private, *reasons),
            feature_names=own.feature_names or self.report.feature_names,
        )

    def completed(self, own: ReleaseTerms, found: Release, stored: Results) -> Results:
        """Add to the results of a cohort what is released of all of them."""
        details = dict(stored.details)
        cohort = details.pop("cohort", (found.n_samples, None, 1.0))
        names = None if self.report is None else self.report.feature_names  # rows may have none
        before = {} if names is None else {"feature_names_in_": np.array(names, dtype=object)}
        return replace(
            stored,
            attributes=stored.attributes | {"n_samples_seen_": found.n_samples},
            details=details | self._details(own, *cohort),
            besides=before | stored.besides,
        )

    def _details(
        self, own: ReleaseTerms, n_samples: float, drift: float | None, kept: float
    ) -> dict[str, Any]:
        """Return the report's entry on all cohorts."""
        fit = new_fit(own.epsilon, own.delta, own.event, n_samples, drift, kept)
        return {"joined": [*self.fits, fit]}

    def _stated(self, own: ReleaseTerms) -> tuple[float, float]:
        """Return the epsilon and delta that hold for everybody."""
        delta = max(own.delta, *(float(fit["delta"]) for fit in self.fits))
        if not isinstance(own.event, GaussianEvent):
            return math.inf, delta
        last: Paid = own.event.mu, {account.id for account in accounts_of(own.accountant)}
        cost = cost_to_most([*paid_before(self.fits), last])
        found = epsilon_of_event(cost, delta)
        given = [own.epsilon, *(float(fit["epsilon"]) for fit in self.fits)]
        near = [e for e in given if math.isclose(e, found, rel_tol=1e-9)]
        return next((e for e in near if is_affordable(cost, e, delta)), found), delta


@estimator
class JoinsCohorts(BasePrivatePCA):
    """A method whose matrices of disjoint people can be joined.

    Attributes
    ----------
    matrix_scatter_ : ndarray of shape (n_features, n_features)
        The noisy scatter matrix that all else was read off, about its mean, in float64. Only of
        `DPGauss`; not with nested spheres, which have no such matrix, nor without `keep_matrix`.
    matrix_mean_ : ndarray of shape (n_features,)
        The mean that it is about, in its units.
    matrix_units_ : ndarray of shape (n_features,)
        The private scales that the features were divided by for it, after public ones; else 1.
    matrix_present_ : ndarray of shape (n_features,)
        Share of every feature's entries that are there; 1 unless entries may be missing.
    matrix_numbers_ : ndarray of shape (14,)
        The noise of the matrix, its counts, weight and clipping norm: what `partial_fit` and
        `skdppca.merge` need to go on from it.
    """

    # So that metadata routing brings them to `partial_fit`.
    __metadata_request__partial_fit: ClassVar[dict[str, bool]] = {
        "groups": True,
        "accountant": True,
    }

    @property
    def _has_matrix(self) -> bool:
        """True if this method releases a matrix."""
        return True

    @available_if(lambda estimator: estimator._has_matrix)
    def partial_fit(
        self, X: Any, y: None = None, *, groups: Any = None, accountant: Any = None
    ) -> Self:
        """Release the next cohort, and join it with those before: each person pays once.

        People come in cohorts, and each cohort has an account of its own. It alone is charged, at a
        cost of `epsilon` and `delta`. The noisy matrix of these people is then joined with those of
        the cohorts before, which costs nothing. The first call begins as `fit` does, without nested
        spheres. `fit` forgets all cohorts, and starts afresh.

        Parameters
        ----------
        X : array-like, sparse matrix or table of shape (n_rows, n_features)
            The rows of this cohort, of the same columns as before. See `fit`. A cohort that nobody
            came to has none, as ``X[:0]``: it is answered and charged as any other. (Under
            replace-one, where the number of rows is public, it is refused.)
        y : None
            Ignored.
        groups : array-like of shape (n_rows,) or str, optional
            Whose row it is; see `fit`.
        accountant : PrivacyAccountant, PrivacyLedger, list of them, optional
            The account of these people; by default that of the estimator. With accounts you declare
            that nobody is in two of them, which nothing verifies. People who come back keep their
            account, and pay again. Without one, nothing says who they are, so everybody pays. Cut
            cohorts by a rule that looks at nobody else, such as a date of admission. Do not close
            one when enough people came.

        Returns
        -------
        self
            Fitted to all cohorts. `n_samples_seen_` is the (noisy) number of their records.

        Raises
        ------
        ValueError, TypeError
            Invalid parameters or data, or records that are measured otherwise than those before.
            Nothing was charged.
        BudgetExceeded
            The accountant's budget does not cover this cohort; nothing was released.
        LedgerError
            The account is an older copy, which lacks a charge for an earlier cohort; or the ledger
            cannot be written. The cohort may be charged, and nothing was released.
        RuntimeError
            Files or workers failed, or X changed, during the fit. The charge stands, and nothing
            was released.

        Notes
        -----
        After an error all is as it was before the call. `epsilon`, `delta` and `n_components` may
        change between calls; what the records are measured by may not.

        ``privacy_.details["joined"]`` lists the fits, what each cost, and how far its people were
        from those before: a `drift` of more than 3, in standard deviations of the noise, is a sign
        that the population changed.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from skdppca import DPGauss, PrivacyAccountant
        >>> X = load_digits().data
        >>> q1, q2 = (PrivacyAccountant(epsilon=3.0, delta=1e-6) for _ in range(2))
        >>> pca = DPGauss(n_components=2, epsilon=3.0)
        >>> pca = pca.partial_fit(X[:900], accountant=q1).partial_fit(X[900:], accountant=q2)
        >>> len(pca.privacy_.details["joined"]), pca.privacy_.epsilon
        (2, 3.0)
        """
        own = copy.copy(self)
        if accountant is not None:
            own.accountant = accountant
        own._validate_params()
        own._joining = Joining.of(own)
        with ExitStack() as opened:
            found = release(*own._promised(X, groups, opened))
        publish(self, found, own.verbose)
        warn_of_noise(self)
        return self


def _check_joinable(report: PrivacyReport) -> None:
    """Refuse a release that cost somebody more than its one charge says."""
    if "sites" in report.details:
        raise ValueError(
            "the fit before was over sites, whose guarantee also depends on who may be at several "
            "of them and on how many are honest; call partial_fit on an estimator that is not "
            "fitted (sklearn.base.clone)"
        )
    if "center" not in report.parameters:
        raise ValueError(
            f"the fit before is part of a release by {report.method}, which costs more than its "
            "matrix; call partial_fit on an estimator that is not fitted (sklearn.base.clone)"
        )


def _fits(report: PrivacyReport, fitted: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """Return the fits that a release joins, the last one with its report's id and receipts."""
    known = report.details.get("joined")
    if known is None:  # of a `fit`
        known = [new_fit(report.epsilon, report.delta, report.event, fitted["n_samples_"])]
    *others, last = jsonable(known)
    receipts = [receipt.to_dict() for receipt in report.receipts]
    return (*others, last | {"release_id": report.release_id, "receipts": receipts})


def _other_names(earlier: Sequence[str], names: Sequence[str]) -> str:
    """Return the differences between two lists of feature names, in words."""
    text = "The feature names should match those that were passed during fit.\n"
    unseen, missing = sorted({*names} - {*earlier}), sorted({*earlier} - {*names})
    if unseen:
        text += f"Feature names unseen at fit time:\n{_listed(unseen)}"
    if missing:
        text += f"Feature names seen at fit time, yet now missing:\n{_listed(missing)}"
    if not (unseen or missing):
        text += "Feature names must be in the same order as they were in fit.\n"
    return text


def _listed(names: Sequence[str]) -> str:
    shown = [f"- {name}\n" for name in names[:MOST_NAMES]]
    return "".join([*shown, "- ...\n"] if len(names) > MOST_NAMES else shown)


def _fixed(given: Any) -> dict[str, Any]:
    """Parameters of a method that must not change."""
    return {name: value for name, value in (given or {}).items() if name not in FREE}


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= MOST_NAMES * 10 else f"{text[: MOST_NAMES * 10]}..."


def _warn_unaccounted(estimator: BasePrivatePCA) -> None:
    """Warn where a cohort is joined, and nothing knows who paid before."""
    counted = estimator.accountant is not None or charged_elsewhere()
    if counted or estimator.random_state is not None or math.isinf(estimator.epsilon):
        return
    warnings.warn(
        "a cohort is joined to earlier ones without an account, so nothing says whose rows these "
        "are, and everybody pays for them: the costs of such fits add up. Pass the account of "
        "these people: partial_fit(X, accountant=PrivacyLedger(path)).",
        UnaccountedFitsWarning,
        stacklevel=level_of_user(),
    )
