"""Fits that go on from an earlier one: each cohort is charged once, and joined for nothing."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from .._sklearn import available_if
from ..exceptions import UnaccountedFitsWarning
from ..mechanisms.base import Mechanism, Release
from ..mechanisms.scatter import NoisyScatter
from ..privacy import GaussianEvent, PrivacyEvent, PrivacyReport
from ..privacy.callers import level_of_user
from ..privacy.chain import canonical
from ..privacy.charging import charged_elsewhere
from ..privacy.cohorts import cohort_names
from ..privacy.fit_report import jsonable
from ..privacy.grown import MOST, is_grown, new_part, total_of
from ..privacy.pricing import is_affordable
from ..private_data import Public
from ..releasing import ReleaseTerms, Results, fit_promised, public_parameters
from .base import BasePrivatePCA, feature_names_of
from .fitted import MATRIX
from .noise_only import warn_of_noise
from .parameters import estimator
from .tables import opened

# What a later cohort must have as the first one: its records are measured by these.
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

# Characters of an accountant's id that an error shows.
SHOWN = 8

# What a fit leaves open to change among the parameters of a method.
FREE = ("forget", "keep_matrix")


@dataclass(frozen=True)
class Joining:
    """A cohort, and what was released of those before.

    Parameters
    ----------
    before : NoisyScatter or None
        None for the first cohort.
    report : PrivacyReport or None
        Of the release before.
    parts : tuple of dict
        What is known of each earlier cohort, as the report has it.
    most : int
        How many cohorts a person may be in.
    """

    before: NoisyScatter | None = None
    report: PrivacyReport | None = None
    parts: tuple[dict[str, Any], ...] = ()
    most: int = 1

    @classmethod
    def of(cls, pca: BasePrivatePCA, cohort: Any) -> Joining:
        """What a call of `partial_fit` joins, seen from names and earlier releases alone.

        Raises
        ------
        ValueError, TypeError
        """
        accountant, fitted = pca.accountant, vars(pca)
        name = "".join(cohort_names(cohort)) if cohort is None or isinstance(cohort, str) else None
        if name is None:
            raise TypeError(
                f"cohort is of type {type(cohort).__name__}; give the name of the one cohort whose "
                "rows these are, such as cohort='2026-Q1'"
            )
        if accountant is not None and not name:
            raise ValueError(
                "cohort=None, but the accountant must know whose rows these are, or it would "
                "charge everybody for them; name them, such as cohort='2026-Q1'"
            )
        most = getattr(accountant, "max_cohorts_per_person", 1)
        if "privacy_" not in fitted:
            return cls(most=most)
        report = fitted["privacy_"]
        _check_joinable(report)
        arrays = {key: value for key, value in fitted.items() if key.startswith(MATRIX)}
        if not arrays:
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
            return cls(most=most)
        before = NoisyScatter.from_arrays(
            {key.removeprefix(MATRIX).removesuffix("_"): value for key, value in arrays.items()}
        )
        parts = _parts(report, fitted)
        if name in {each for part in parts for each in part["cohorts"]}:
            raise ValueError(
                f"cohort={name!r} was joined already, and its people would pay twice; give each "
                "cohort once, or choose the name of the next one"
            )
        if not math.isinf(pca.epsilon):  # what is not private has no charge; `check` compares it
            _check_one_account(accountant, parts)
        # what was declared of those before is not taken back
        most = max(most, report.details.get(MOST, 1))
        joining = cls(before, report, parts, most)
        _warn_unaccounted(pca)
        return joining

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

    def joined(
        self, own: ReleaseTerms
    ) -> tuple[ReleaseTerms, Callable[[Release, Results], Results]]:
        """The terms of the release of all cohorts, and what completes its results.

        It is as private as for the person who was charged most. A person is in one cohort (in
        `most`), as was declared; who may be in any, because it has no name, pays for that as well.
        What the report cannot hold fails here, before the charge.

        Parameters
        ----------
        own : ReleaseTerms
            Of this cohort alone.
        """
        canonical(jsonable(self._details(own, 1.0, 0.0, 1.0)))
        terms = own
        if self.report is not None:
            epsilon, delta = self._stated(own)
            reasons = tuple(r for r in self.report.not_private if r not in own.why_not_private)
            terms = replace(
                own,
                epsilon=epsilon,
                delta=delta,
                not_private=(*own.not_private, *reasons),
                feature_names=own.feature_names or self.report.feature_names,
            )

        def completed(found: Release, stored: Results) -> Results:
            details = dict(stored.details)
            cohort = details.pop("cohort", (found.n_samples, None, 1.0))
            return replace(
                stored,
                attributes=stored.attributes | {"n_samples_seen_": found.n_samples},
                details=details | self._details(own, *cohort),
                besides=self._names() | stored.besides,
            )

        return terms, completed

    def _names(self) -> dict[str, np.ndarray]:
        """The names of the columns before, for rows that have none."""
        names = None if self.report is None else self.report.feature_names
        return {} if names is None else {"feature_names_in_": np.array(names, dtype=object)}

    def _details(
        self, own: ReleaseTerms, n_samples: float, drift: float | None, kept: float
    ) -> dict[str, Any]:
        """What the report says of all cohorts."""
        part = new_part(own.cohorts, own.epsilon, own.delta, own.event, n_samples, drift, kept)
        return {"cohorts": [*self.parts, part], MOST: self.most}

    def _stated(self, own: ReleaseTerms) -> tuple[float, float]:
        """The epsilon and delta that hold for everybody."""
        delta = max(own.delta, *(float(part["delta"]) for part in self.parts))
        if not isinstance(own.event, GaussianEvent):
            return math.inf, delta
        total = total_of(self.parts, self.most, (own.event, own.cohorts))
        found, cost = total.epsilon(delta), GaussianEvent(total.bound().mu)
        given = [own.epsilon, *(float(part["epsilon"]) for part in self.parts)]
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
        What the features were divided by for it, with private scales; else 1.
    matrix_present_ : ndarray of shape (n_features,)
        Share of every feature's entries that are there; 1 unless entries may be missing.
    matrix_numbers_ : ndarray of shape (13,)
        The noise of the matrix, its counts, weight and clipping norm: what `partial_fit` and
        `skdppca.merge` need to go on from it.
    """

    # So that metadata routing brings them to `partial_fit`.
    __metadata_request__partial_fit: ClassVar[dict[str, bool]] = {"groups": True, "cohort": True}

    @property
    def _has_matrix(self) -> bool:
        """Whether this method releases a matrix."""
        return True

    @available_if(lambda estimator: estimator._has_matrix)
    def partial_fit(
        self, X: Any, y: None = None, *, groups: Any = None, cohort: str | None = None
    ) -> Self:
        """Release the next cohort, and join it with those before: each person pays once.

        People come in cohorts, each person in one. A cohort is charged by itself at a cost of
        `epsilon` and `delta`. Its noisy matrix is then joined with those of the cohorts before,
        which costs nothing. The first call begins as `fit` does, without nested spheres. `fit`
        forgets all cohorts, and starts afresh.

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
        cohort : str, optional
            The name of the cohort, such as "2026-Q1"; each is joined once. Required with an
            accountant, which charges the people of this cohort only. That nobody is in two cohorts
            is declared, and cannot be verified. Cut cohorts by a rule that looks at nobody else,
            such as a date of admission. Do not close one when enough people came.

        Returns
        -------
        self
            Fitted to all cohorts. `n_samples_seen_` is the (noisy) number of their records.

        Raises
        ------
        ValueError, TypeError
            Invalid parameters or data, a cohort that was joined already, one before that was
            charged to another accountant or to none, or records that are measured otherwise than
            those before. Nothing was charged.
        BudgetExceeded
            The accountant's budget does not cover this cohort; nothing was released.
        LedgerError
            The ledger cannot be written. The cohort may be charged, and nothing was released.
        RuntimeError
            Files or workers failed, or X changed, during the fit. The charge stands, and nothing
            was released.

        Notes
        -----
        After an error all is as it was before the call. `epsilon`, `delta` and `n_components` may
        change between calls; what the records are measured by may not.

        ``privacy_.details["cohorts"]`` lists the cohorts, what each paid, and how far each was from
        those before: a `drift` of more than 3, in standard deviations of the noise, is a sign that
        the population changed. Cohorts without a name may have people in common, so their costs
        add up.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from skdppca import DPGauss, PrivacyAccountant
        >>> X = load_digits().data
        >>> accountant = PrivacyAccountant(epsilon=3.0, delta=1e-6)
        >>> pca = DPGauss(n_components=2, epsilon=3.0, accountant=accountant)
        >>> pca = pca.partial_fit(X[:900], cohort="2026-Q1")
        >>> pca = pca.partial_fit(X[900:], cohort="2026-Q2")
        >>> [part["cohorts"] for part in pca.privacy_.details["cohorts"]]
        [['2026-Q1'], ['2026-Q2']]
        >>> pca.privacy_.epsilon
        3.0
        """
        return self._partial_fit(partial(opened, X=X, groups=groups), cohort)

    def _partial_fit(self, open_table: Any, cohort: Any) -> Self:
        """Join a table, which a copy of this estimator is opened for."""
        fit_promised(self, type(self)._released, open_table, cohort, Joining.of)
        warn_of_noise(self)
        return self

    def _prepared(self, public: Public, event: PrivacyEvent) -> Mechanism:
        before = None if self._joining is None else self._joining.before
        if before is None:
            return super()._prepared(public, event)
        return self._joined(public, event, before)

    def _joined(self, public: Public, event: PrivacyEvent, before: NoisyScatter) -> Mechanism:
        """The mechanism of a cohort that is joined with those before."""
        raise NotImplementedError


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


def _parts(report: PrivacyReport, fitted: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """The cohorts of a release, the last one with its report's id and receipt."""
    known = report.details.get("cohorts")
    if known is None:  # of a `fit`
        priced = report.cohorts, report.epsilon, report.delta, report.event
        known = [new_part(*priced, fitted["n_samples_"])]
    *others, last = jsonable(known)
    receipt = None if report.receipt is None else report.receipt.to_dict()
    return (*others, last | {"release_id": report.release_id, "receipt": receipt})


def _check_one_account(accountant: Any, parts: Sequence[Mapping[str, Any]]) -> None:
    """Refuse cohorts that were charged elsewhere: no account could vouch for the release of all."""
    own = None if accountant is None else accountant.id
    for part in parts:
        theirs = None if part["receipt"] is None else part["receipt"]["accountant"]
        if theirs == own:
            continue
        whose = f"cohort {part['cohorts'][0]!r}" if part["cohorts"] else "the cohort before"
        charged = "to no accountant" if theirs is None else f"to the accountant {theirs[:SHOWN]}"
        now = "accountant=None" if own is None else f"this accountant is {own[:SHOWN]}"
        same = "leave the accountant out" if theirs is None else "pass that accountant"
        raise ValueError(
            f"{whose} was charged {charged}, and {now}: the cost of all cohorts must be in one "
            f"account, or no ledger can confirm the release; {same}, or release this cohort by "
            "itself and join the releases: skdppca.merge([pca, clone(pca).partial_fit(X, "
            "cohort=...)], disjoint=True)"
        )


def _other_names(earlier: Sequence[str], names: Sequence[str]) -> str:
    """How names of features differ."""
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
        "a cohort is joined to earlier ones without an accountant, so nothing adds up what a "
        "person pays who is in two of them, or in another release. Pass one accountant to all "
        "calls, and name the cohorts: accountant=PrivacyLedger(path) and partial_fit(X, "
        "cohort='2026-Q1').",
        UnaccountedFitsWarning,
        stacklevel=level_of_user(),
    )
