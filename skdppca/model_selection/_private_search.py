"""PrivateSearchCV: one private winner, at one honest price."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from .._sklearn import Interval
from ..decomposition import BasePrivatePCA
from ..decomposition.base import LEAST_SHARE, VALIDATED
from ..decomposition.fit_warnings import warn_of_steps_before
from ..decomposition.parameters import Estimator
from ..decomposition.validation import check_domain, check_groups, check_rows, class_numbers
from ..noise import NoiseSource
from ..privacy import PrivacyEvent
from ..privacy.charging import check_accounted
from ..privacy.declared import DeclaredScales
from ..privacy.events import MOST_RUNS
from ..privacy.fit_report import jsonable
from ..private_data import PrivateData, Public
from ..records import Records
from ..releasing import ReleaseTerms, Results, public_parameters, publish, release
from ._candidates import Candidate, Candidates, PrivateStep, public_vectors
from ._folds import transform_rows
from ._scorer import HitScorer, Scorer, fit_candidate, prepare_scorer
from ._search_plan import SEARCH, SearchPlan, best_run, budget_of, draw_runs, plan_search, workers
from ._winner import WinnerMixin, assemble, rehearse_winner

# The steps that won, as they were fitted; their place in the grid; their score, and its details.
Best = tuple[Candidate, int, float, dict[str, Any]]


class PrivateSearchCV(WinnerMixin, MetaEstimatorMixin, Estimator):
    """The best of a random number of private candidates, and nothing of the others.

    It draws a secret number K; K times it draws a candidate from the grid, fits it privately on
    all records, and scores it privately on the same records. Only the best is released, for about
    the price of a few fits instead of that of K (Papernot & Steinke 2022). There are no folds:
    noise, not held-out data, is what keeps the score from being overfitted.

    Parameters
    ----------
    estimator : private PCA or Pipeline
        A Pipeline has exactly one private PCA, and perhaps a
        `skdppca.neighbors.PrivateNearestCentroid` right behind it; its other steps map each row by
        itself. Those before the private PCA are fitted on made-up rows and tried on them; those
        behind see one row of zeros. What a step does to the rows of X beyond that is trusted. The
        estimator says what a record is (`adjacency`, `unit`), and what is public (`mean`, `scale`,
        `norm_bound`), to the scores too, whatever the candidates. Its `epsilon` and `delta` are not
        used. With private scales every candidate pays for its own.
    param_grid : dict or list of dict
        Public: parameters of the private PCA and of the classifier, or others to put in their
        place.
    epsilon : float, default=1.0
        The whole search's budget; finite.
    delta : float, default=1e-6
    mean_candidates : float, default=10
        E[K], from 1 to 1e6. More candidates make each a little noisier.
    score_share : float, default=0.1
        The score's share of what one candidate costs (of its mu^2), at least 1e-4.
    accountant : PrivacyAccountant, PrivacyLedger or None, default=None
        Charged once, for the whole search, before it begins. None: nothing adds this search up
        with other releases.
    random_state : int, RandomState or None, default=None
        None draws secure noise. A seed makes the release repeatable, so **not private**.
    n_jobs : int or None, default=None
        Candidates that are fitted at a time.
    verbose : int, default=0
        With 1, `fit` prints each question of its own as it is asked, and its report when all is
        released; it prints nothing of the candidates.

    Attributes
    ----------
    best_estimator_ : estimator
        The winner, as it was fitted in the search; it is not fitted again.
    best_params_ : dict
    best_index_ : int
        Index of the winner in ``list(ParameterGrid(param_grid))``.
    best_score_ : float
        The winner's score: noisy mean over the records of the clipped squared length that its
        components capture, in squared units of the scaled features. With private scales, the
        search finds scales once for that, ``privacy_.details["search"]["score_scale"]``. With a
        classifier, the noisy share of the records that it classifies right. Biased upwards a
        little, being the largest of several.
    privacy_ : PrivacyReport
        Report of the whole search; the winner carries the same.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        If the columns of X have names.

    See Also
    --------
    sklearn.model_selection.GridSearchCV : Charges every fit, if the estimator has an accountant;
        releases its scores as they are.

    Notes
    -----
    **How long the search takes tells K**, and the proof needs K to stay secret. K does not depend
    on the data, but who can time the search must not be the one whom it protects from.

    A candidate that cannot be fitted or scored counts as the worst. If all fail the search fails,
    and is charged all the same.

    More components always capture more: a grid over `n_components` finds the most of them.

    References
    ----------
    N. Papernot, T. Steinke. Hyperparameter tuning with Renyi differential privacy. ICLR 2022,
    Theorem 2 (with eta = 0).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdppca import DPGauss
    >>> from skdppca.model_selection import PrivateSearchCV
    >>> X = load_digits().data
    >>> search = PrivateSearchCV(DPGauss(2), {"clip": ["auto", "spherical"]}, epsilon=2.0).fit(X)
    >>> search.best_params_["clip"] in ("auto", "spherical")
    True
    >>> search.privacy_.epsilon
    2.0
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": "no_validation",  # by `Candidates`, which says why
        "param_grid": [dict, list],
        "epsilon": [Interval(Real, 0, None, closed="neither")],
        "mean_candidates": [Interval(Real, 1, MOST_RUNS, closed="both")],
        "score_share": [Interval(Real, LEAST_SHARE, 1, closed="left")],
        **{
            name: BasePrivatePCA._parameter_constraints[name]
            for name in ("delta", "accountant", "random_state", "n_jobs", "verbose")
        },
    }

    # So that metadata routing brings the groups to `fit`.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": True}

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        mean_candidates: float = 10,
        score_share: float = 0.1,
        accountant: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.epsilon = epsilon
        self.delta = delta
        self.mean_candidates = mean_candidates
        self.score_share = score_share
        self.accountant = accountant
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> PrivateSearchCV:
        """Release the best candidate, at a cost of `epsilon` and `delta` for the whole search.

        The accountant, if there is one, is charged before anything is computed.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Finite real numbers. Never written to. They are read several times, and must not change
            until `fit` returns: the guarantee holds for one and the same X.
        y : array-like of shape (n_rows,), optional
            The label of every row; private. Required if the Pipeline ends in a
            `PrivateNearestCentroid`, and ignored otherwise.
        groups : array-like of shape (n_rows,), optional
            Whose row it is; required exactly when the private PCA's `unit` is not "row".

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            Invalid parameters or data, or an estimator whose cost is not known; nothing was
            charged.
        BudgetExceeded
            The accountant's budget does not cover the search; nothing was released.
        LedgerError
            The ledger cannot be written. The search may be charged, and nothing was released.
        RuntimeError
            Every candidate failed; the search was charged.
        """
        warn_of_steps_before(self)
        own = copy.copy(self)
        return publish(self, own._released(X, y, groups), own.verbose)

    def _released(self, X: Any, y: Any, groups: Any) -> dict[str, Any]:
        """Return what a fit stores; nobody else holds this search, its estimator or its grid."""
        self._validate_params()
        self.estimator, self.param_grid = copy.deepcopy((self.estimator, self.param_grid))
        # 1. validate, and let the steps before the private ones map each row by itself
        check_accounted(self.accountant, self.epsilon, self.delta, self.random_state)
        candidates = Candidates.of(self.estimator, self.param_grid)
        step = clone(candidates.pca)
        _, *classifiers = candidates.private.values()
        self.missing = step.missing
        before, rows = transform_rows(candidates.before, X, check_rows(self, X))
        checked = check_rows(step, rows)
        labels = check_groups(groups, checked.shape[0], step.unit)
        for classifier in classifiers:
            if y is None:
                raise ValueError(
                    "the Pipeline ends in a classifier, which requires y to be passed, but the "
                    "target y is None; give the label of every row, as fit(X, y)"
                )
            class_numbers(y, classifier._public_classes(), checked.shape[0])
        declared = step._declared_scales(checked.shape[1])
        mean, scale = public_vectors(step, declared)
        records = Records.of(checked, labels, scale, self.n_jobs, may_miss=step._may_miss)
        for parameters in candidates.grid:  # or only those would fail that n is too large for
            check_domain(candidates.candidate(parameters)[0], records.private_n)
        # 2. the plan, from public facts
        plan = self._plan(candidates)
        mus = [plan.mu_pca, plan.mu_classifier] if classifiers else [plan.mu_fit]
        budgets = [
            dict(zip(("epsilon", "delta"), budget_of(mu, float(self.delta)), strict=True))
            for mu in mus
        ]
        public = Public(
            n_features=checked.shape[1],
            adjacency=step.adjacency,
            unit=step.unit,
            is_sparse=sparse.issparse(checked),
            n_records=records.private_n if step.adjacency == "replace-one" else None,
        )
        candidates.check(public, mus, budgets, declared)
        rehearse_winner(candidates, before, public.n_features)
        fit_all = workers(self.n_jobs)
        (first,) = candidates.candidate(
            candidates.grid[0], [{**budgets[0], "random_state": self.random_state}]
        )
        first._check_parameters(public.n_features)
        terms = ReleaseTerms(
            method=_named(type(self), candidates.private.values()),
            event=plan.event,
            epsilon=float(self.epsilon),
            delta=float(self.delta),
            public=public,
            unit=step.unit,
            accountant=self.accountant,
            parameters=public_parameters(self.get_params()),
            noise=first._noise(),
            centre=np.zeros(public.n_features) if mean is None else mean,
            norm_bound=_norm_bound(step),
            budget=plan.mu_preliminary,
            verbose=self.verbose,
        )
        fit = partial(fit_candidate, rows, groups, y, checked if classifiers else rows)

        def search(data: PrivateData) -> Best:
            scorer = self._scorer(data, labels, candidates, plan, declared)
            drawn, fits = self._runs(candidates, budgets, data.noise)
            score, run, (winner, _) = best_run(fits, fit, partial(_score, scorer), fit_all)
            return winner, drawn[run], score, scorer.details

        # 3. charge; what all scores share, and then candidate after candidate; report, record
        found = release(
            terms, records, search, lambda best: self._results(best, plan, candidates, before)
        )
        for own in _private_steps(found["best_estimator_"]):
            own.privacy_ = found["privacy_"]
        return found

    def _runs(
        self, candidates: Candidates, budgets: list[dict[str, float]], noise: NoiseSource
    ) -> tuple[list[int], list[Candidate]]:
        """Draw the K runs of the search: places in the grid, and the candidates there."""
        runs = draw_runs(noise, float(self.mean_candidates))
        drawn = noise.labels(runs, len(candidates.grid)).tolist()
        seeded = not noise.is_private
        return drawn, [
            candidates.candidate(
                candidates.grid[index],
                [
                    {**budget, "random_state": int(noise.words(1)[0]) if seeded else None}
                    for budget in budgets
                ],
            )
            for index in drawn
        ]

    def _event(self) -> PrivacyEvent:
        """Cost of the search."""
        return self._plan(Candidates.of(self.estimator, self.param_grid)).event

    def _plan(self, candidates: Candidates) -> SearchPlan:
        """Return the division of the budget, from parameters alone."""
        step = candidates.pca
        knows_n = step.adjacency == "replace-one"
        if len(candidates.private) > 1:
            preliminary = 0.0 if knows_n else SEARCH.count
        elif step._scales_privately:
            preliminary = SEARCH.scaled
        else:
            free = knows_n and _norm_bound(step) is not None and not step._finds_centre
            preliminary = 0.0 if free else SEARCH.preliminary
        numbers = (self.epsilon, self.delta, self.mean_candidates, self.score_share)
        return plan_search(*map(float, numbers), preliminary)

    def _scorer(
        self,
        data: PrivateData,
        groups: np.ndarray | None,
        candidates: Candidates,
        plan: SearchPlan,
        declared: DeclaredScales,
    ) -> Scorer | HitScorer:
        step = candidates.pca
        with np.errstate(all="ignore"):  # whatever the caller asked for: a warning would tell
            if len(candidates.private) > 1:
                return HitScorer(data.ask_count(data.remaining), groups, plan.mu_score)
            return prepare_scorer(data, step._finds_centre, plan.mu_score, declared)

    def _results(
        self, best: Best, plan: SearchPlan, candidates: Candidates, before: list[tuple[str, Any]]
    ) -> Results:
        """The winner, and what the report says of it."""
        winner, index, score, scored = best
        for own in winner:
            own.set_params(
                epsilon=self.epsilon,
                delta=self.delta,
                accountant=self.accountant,
                random_state=None,
            )
        fitted = [own.privacy_ for own in winner]
        chosen = candidates.grid[index]
        details: dict[str, Any] = {
            "mean_candidates": float(self.mean_candidates),
            "mu_preliminary": plan.mu_preliminary,
            "mu_fit": plan.mu_fit,
            "mu_score": plan.mu_score,
            "noise_sds": {query.name: query.noise_sd for query in reversed(fitted[0].spendings)},
            **scored,
        }
        return Results(
            attributes={"best_index_": index, "best_score_": score},
            details={**fitted[0].details, "search": details, "best_params": jsonable(chosen)},
            besides={
                **{name: value for name, value in vars(self).items() if name in VALIDATED},
                "best_estimator_": assemble(candidates, before, winner),
                "best_params_": chosen,
            },
            released=tuple(array for own in fitted for array in own.released),
            method=_named(type(self), winner),
            feature_names=fitted[0].feature_names,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.transformer_tags = inner.transformer_tags
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = inner.classifier_tags
        tags.target_tags.required = inner.target_tags.required
        return tags


def _named(search: type, steps: Iterable[Any]) -> str:
    """Return the name of a search with its steps, for a ledger and a report."""
    return f"{search.__name__}({', '.join(type(own).__name__ for own in steps)})"


def _private_steps(estimator: Any) -> list[PrivateStep]:
    """Return the steps that were fitted on private records."""
    steps = estimator.named_steps.values() if isinstance(estimator, Pipeline) else [estimator]
    return [step for step in steps if isinstance(step, PrivateStep)]


def _norm_bound(step: BasePrivatePCA) -> float | None:
    """Bound on the scored norms: of rows the public one, which for groups is on another norm."""
    if step.norm_bound is None or step.unit != "row":
        return None
    return float(step.norm_bound)


def _score(scorer: Scorer | HitScorer, fitted: tuple[Candidate, Any]) -> float:
    """Return the score by which a run is compared."""
    (pca, *_), hits = fitted
    if isinstance(scorer, HitScorer):
        return scorer(hits)
    return scorer(pca.components_, None if scorer.scale is None else pca.scale_)
