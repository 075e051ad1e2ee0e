"""PrivateSearchCV: one private winner, at one honest price."""

from __future__ import annotations

import copy
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import get_tags

from .._sklearn import Interval, fit_context
from ..decomposition import BasePrivatePCA
from ..decomposition.base import LEAST_SHARE, VALIDATED
from ..decomposition.publication import public_parameters, published, released_of, store
from ..decomposition.validation import check_domain, check_groups, check_rows
from ..noise import NoiseSource
from ..privacy import PrivacyEvent, PrivacyReport, Receipt, Spender
from ..privacy.charging import charge, check_accounted
from ..privacy.events import MOST_RUNS
from ..privacy.report import jsonable
from ..private_data import PrivateData, Public
from ..records import Records
from ._candidates import Candidates, public_vectors
from ._plan import SearchPlan, plan_search
from ._rows import transform_rows
from ._runs import best_run, draw_runs, workers
from ._scorer import Scorer, prepare_scorer
from ._winner import WinnerMixin, assemble, rehearse

__all__ = ["PrivateSearchCV"]


class PrivateSearchCV(WinnerMixin, MetaEstimatorMixin, BaseEstimator):
    """The best of a random number of private candidates, and nothing of the others.

    It draws a secret number K; K times it draws a candidate from the grid, fits it privately on
    all records, and scores it privately on the same records. Only the best is released, for about
    the price of a few fits instead of that of K (Papernot & Steinke 2022). There are no folds:
    noise, not held-out data, is what keeps the score from being overfitted.

    Parameters
    ----------
    estimator : private PCA or Pipeline
        A Pipeline has exactly one private PCA; its other steps map each row by itself. Those before
        the private PCA are fitted on made-up rows and tried on them; those behind see one row of
        zeros. What a step does to the rows of X beyond that is trusted. The estimator says what a
        record is (`adjacency`, `unit`), and what is public (`mean`, `scale`, `norm_bound`), to the
        scores too, whatever the candidates. Its `epsilon` and `delta` are not used.
    param_grid : dict or list of dict
        Public: parameters of the private PCA, or whole private PCAs to put in its place.
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

    Attributes
    ----------
    best_estimator_ : estimator
        The winner, as it was fitted in the search; it is not fitted again.
    best_params_ : dict
    best_index_ : int
        Of the winner in ``list(ParameterGrid(param_grid))``.
    best_score_ : float
        The winner's score: noisy mean over the records of the clipped squared length that its
        components capture, in squared units of the scaled features. Biased upwards a little,
        being the largest of several.
    privacy_ : PrivacyReport
        Of the whole search; the winner carries the same.
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
            for name in ("delta", "accountant", "random_state", "n_jobs")
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

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: None = None, *, groups: Any = None) -> PrivateSearchCV:
        """Release the best candidate, at a cost of `epsilon` and `delta` for the whole search.

        The accountant, if there is one, is charged before anything is computed.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Finite real numbers. Never written to. They are read several times, and must not change
            until `fit` returns: the guarantee holds for one and the same X.
        y : None
            Ignored.
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
        # 1. validate, and let the steps before the private one map each row by itself
        check_accounted(self.accountant, self.epsilon, self.random_state)
        candidates = Candidates.of(self.estimator, self.param_grid)
        seen = copy.copy(self)  # a search that is refused leaves this one as it was
        before, rows = transform_rows(candidates.before, X, check_rows(seen, X))
        step = clone(candidates.step)
        checked = check_rows(step, rows)
        labels = check_groups(groups, checked.shape[0], step.unit)
        mean, scale = public_vectors(step, checked.shape[1])
        records = Records(checked, labels, scale, self.n_jobs)
        for parameters in candidates.grid:  # or only those would fail that n is too large for
            check_domain(candidates.candidate(parameters), records.private_n)
        # 2. the plan, from public facts
        plan = self._plan(candidates.step)
        epsilon, delta = plan.fit_budget(float(self.delta))
        public = Public(
            n_features=checked.shape[1],
            adjacency=step.adjacency,
            unit=step.unit,
            is_sparse=sparse.issparse(checked),
            n_records=records.private_n if step.adjacency == "replace-one" else None,
        )
        candidates.check(public, plan.mu_fit, epsilon=epsilon, delta=delta)
        rehearse(candidates, before, public.n_features)
        fit_all = workers(self.n_jobs)
        first = candidates.candidate(
            candidates.grid[0], epsilon=epsilon, delta=delta, random_state=self.random_state
        )
        first._check_parameters(public.n_features)
        parameters = public_parameters(self.get_params())
        noise = first._noise()
        # 3. charge
        receipt = self._charge(plan, step, noise)
        # 4. what all scores share, and then candidate after candidate
        data = PrivateData(
            source=records,
            public=public,
            spender=Spender(plan.mu_preliminary),
            noise=noise,
            centre=np.zeros(public.n_features) if mean is None else mean,
            norm_bound=_norm_bound(step),
        )
        with np.errstate(all="ignore"):  # whatever the caller asked for: a warning would tell
            scorer = prepare_scorer(data, step._finds_centre, plan.mu_score)
        runs = draw_runs(noise, float(self.mean_candidates))
        drawn = noise.labels(runs, len(candidates.grid)).tolist()
        fits = [
            candidates.candidate(
                candidates.grid[index],
                epsilon=epsilon,
                delta=delta,
                random_state=None if noise.is_private else int(noise.words(1)[0]),
            )
            for index in drawn
        ]
        score, run, winner = best_run(fits, rows, groups, scorer, fit_all)
        # 5. report and record the winner, and store it at once
        winner.set_params(
            epsilon=self.epsilon, delta=self.delta, accountant=self.accountant, random_state=None
        )
        found = {name: value for name, value in vars(seen).items() if name in VALIDATED}
        found |= {
            "best_estimator_": assemble(candidates, before, winner),
            "best_index_": drawn[run],
            "best_params_": candidates.grid[drawn[run]],
            "best_score_": score,
        }
        report = self._report(winner, plan, scorer, found, receipt)
        report = published(replace(report, parameters=parameters), self.accountant)
        winner.privacy_ = report
        store(self, {**found, "privacy_": report})
        return self

    def _event(self) -> PrivacyEvent:
        """Cost of the search."""
        return self._plan(Candidates.of(self.estimator, self.param_grid).step).event

    def _plan(self, step: BasePrivatePCA) -> SearchPlan:
        """How the budget is divided, from parameters alone."""
        free = step.adjacency == "replace-one" and _norm_bound(step) is not None
        preliminary = not free or (step._finds_centre)
        numbers = (self.epsilon, self.delta, self.mean_candidates, self.score_share)
        return plan_search(*map(float, numbers), bool(preliminary))

    def _charge(self, plan: SearchPlan, step: BasePrivatePCA, noise: NoiseSource) -> Receipt | None:
        return charge(
            self.accountant,
            plan.event,
            adjacency=step.adjacency,
            unit=step.unit,
            label=f"{type(self).__name__}({type(step).__name__})",
            seeded=not noise.is_private,
        )

    def _report(
        self,
        winner: BasePrivatePCA,
        plan: SearchPlan,
        scorer: Scorer,
        found: dict[str, Any],
        receipt: Receipt | None,
    ) -> PrivacyReport:
        search = {
            "mean_candidates": float(self.mean_candidates),
            "mu_preliminary": plan.mu_preliminary,
            "mu_fit": plan.mu_fit,
            "mu_score": plan.mu_score,
            "score_norm_bound": scorer.radius,
            "score_noise_sd": scorer.noise_sd,
        }
        return replace(
            winner.privacy_,
            method=f"{type(self).__name__}({type(winner).__name__})",
            epsilon=float(self.epsilon),
            delta=float(self.delta),
            event=plan.event,
            spendings=(),  # shares of a sum of squares, which a selection is not
            receipt=receipt,
            details={
                **winner.privacy_.details,
                "search": search,
                "best_params": jsonable(found["best_params_"]),
            },
            released=(
                *winner.privacy_.released,
                *released_of({name: found[name] for name in ("best_index_", "best_score_")}),
            ),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.transformer_tags = inner.transformer_tags
        return tags


def _norm_bound(step: BasePrivatePCA) -> float | None:
    """Bound on the scored norms: of rows the public one, which for groups is on another norm."""
    if step.norm_bound is None or step.unit != "row":
        return None
    return float(step.norm_bound)
