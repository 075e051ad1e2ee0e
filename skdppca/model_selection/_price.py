"""The price of a search before it runs."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from sklearn.base import clone, is_classifier
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    ParameterGrid,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
    check_cv,
)
from sklearn.pipeline import Pipeline

from ..decomposition import BasePrivatePCA
from ..exceptions import MovingFoldsWarning
from ..neighbors import PrivateNearestCentroid
from ..privacy import PrivacyEvent, compose, epsilon_of_event
from ..private_data import Public
from ._candidates import PrivateStep
from ._folds import RecordKFold
from ._private_search import PrivateSearchCV

# Splitters that look at the number of rows and at chance, never at a value, a label or a group.
BY_POSITION = (KFold, PredefinedSplit, RepeatedKFold, ShuffleSplit, TimeSeriesSplit)


@dataclass(frozen=True)
class Price:
    """Upper bound on the cost of a search.

    Parameters
    ----------
    n_fits : int or None
        How many private fits; None if their number is drawn at random and stays secret.
    totals : tuple of PrivacyEvent
        All fits together: one total for each cost that the fit of the winner may have. Which total
        is the largest may depend on delta.
    """

    n_fits: int | None
    totals: tuple[PrivacyEvent, ...]

    def epsilon(self, delta: float) -> float:
        """The epsilon of the whole search at `delta`, whichever candidate wins."""
        return max(epsilon_of_event(total, delta) for total in self.totals)

    def __repr__(self) -> str:
        fits = "secret number of fits" if self.n_fits is None else f"at most {self.n_fits} fits"
        return f"<Price: {fits}>"


def price(
    search: GridSearchCV | PrivateSearchCV, n_features: int, *, is_sparse: bool = False
) -> Price:
    """Return the most that a search charges its accountant, before it runs.

    A PrivateSearchCV charges its own budget, once. In a GridSearchCV every candidate is fitted on
    every fold, and the best again on all data. Fits that fail before their charge cost nothing, so
    the price is an upper bound. The scores and the choice of a GridSearchCV are not in the price:
    they are private only if the data scored on are public.

    Parameters
    ----------
    search : GridSearchCV or PrivateSearchCV
        Over a private PCA, or a Pipeline with private PCAs or a `PrivateNearestCentroid` among its
        steps.
    n_features : int
        Columns of the data that the private PCA is fitted on.
    is_sparse : bool, default=False
        Whether they will be given as a sparse matrix: `PrivatePCA` may take another method then.

    Returns
    -------
    Price

    Raises
    ------
    TypeError
        A search, an estimator or a `cv` whose fits are not known, so neither is their cost.

    Warns
    -----
    MovingFoldsWarning
        If one record may move others between the folds: the price then bounds nothing. A
        `RecordKFold` without a seed is always safe. Under replace-one with ``unit="row"``, so are
        splitters that look at positions only (`KFold`, `RepeatedKFold`, `ShuffleSplit`,
        `TimeSeriesSplit`, `PredefinedSplit`), and a list of pairs of row numbers, if it was fixed
        without a look at the data. For an integer or None scikit-learn takes `KFold`. For a
        classifier it takes `StratifiedKFold`, where one label moves other rows.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from skdppca import DPGauss
    >>> from skdppca.model_selection import RecordKFold, price
    >>> search = GridSearchCV(DPGauss(epsilon=0.1), {"n_components": [1, 2, 3]}, cv=RecordKFold(4))
    >>> price(search, n_features=10).n_fits
    13
    """
    if type(search) is PrivateSearchCV:
        return Price(None, (search._event(),))
    if type(search) is not GridSearchCV:
        raise TypeError(
            f"search is a {type(search).__name__}, whose fits are not known before it runs; "
            "use GridSearchCV or PrivateSearchCV"
        )
    n_splits = _n_splits(search.cv)
    candidates = [
        _private_steps(clone(search.estimator).set_params(**clone(parameters, safe=False)))
        for parameters in ParameterGrid(search.param_grid)
    ]
    if not _folds_stay(search, [step for steps in candidates for step in steps]):
        cv = search.cv
        warnings.warn(
            f"cv={cv if cv is None or isinstance(cv, Integral) else type(cv).__name__} may move "
            "many records between the folds when one record comes, goes or is exchanged. The cost "
            "of a fit covers one record that moves, so the price bounds nothing. Set "
            "cv=RecordKFold(...), without a random_state",
            MovingFoldsWarning,
            stacklevel=2,
        )
    costs = [compose(_cost(step, n_features, is_sparse) for step in steps) for steps in candidates]
    n_fits = n_splits * sum(map(len, candidates))
    in_folds = [cost for cost in costs for _ in range(n_splits)]
    if not search.refit:
        return Price(n_fits, (compose(in_folds),))
    totals = [compose([*in_folds, refit]) for refit in dict.fromkeys(costs)]
    return Price(n_fits + max(map(len, candidates)), tuple(dict.fromkeys(totals)))


def _n_splits(cv: Any) -> int:
    """The number of folds, where it does not depend on the data."""
    if hasattr(cv, "__next__"):
        raise TypeError(
            "search.cv is an iterator, which can be read once only; pass a list of index pairs"
        )
    splitter = check_cv(cv)
    try:
        return int(splitter.get_n_splits())
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"search.cv is a {type(cv).__name__}, whose number of folds is not known without the "
            "data; choose one with a number of its own, such as RecordKFold(5)"
        ) from error


def _folds_stay(search: GridSearchCV, steps: Iterable[PrivateStep]) -> bool:
    """Return whether one record of a neighbouring data set moves no other between the folds."""
    cv = search.cv
    if type(cv) is RecordKFold and cv.random_state is None:
        return True
    if any(step.adjacency != "replace-one" or step.unit != "row" for step in steps):
        return False
    if cv is None or isinstance(cv, Integral):
        return not is_classifier(search.estimator)
    return type(cv) in BY_POSITION or not hasattr(cv, "split")  # index pairs are fixed in advance


def _cost(step: PrivateStep, n_features: int, is_sparse: bool) -> PrivacyEvent:
    """Return the cost of one fit of a step; refuses what a fit would refuse."""
    if isinstance(step, PrivateNearestCentroid):
        return step._event()
    public = Public(n_features, step.adjacency, step.unit, is_sparse)
    own: BasePrivatePCA = step
    if isinstance(step.scale, Mapping):  # whose columns they are changes no cost
        own = clone(step).set_params(scale="private" if step._scales_privately else None)
    own._mechanism(public)
    return own._event(public)


def _private_steps(estimator: Any) -> list[PrivateStep]:
    """The private estimators that one fit of `estimator` fits once each."""
    if isinstance(estimator, PrivateStep):
        return [estimator]
    if type(estimator) is Pipeline:
        steps = [step for _, step in estimator.steps if step not in (None, "passthrough")]
        return [own for step in steps if _holds_private(step) for own in _private_steps(step)]
    raise TypeError(
        f"how often a {type(estimator).__name__} fits what is in it is not known; search over a "
        "private PCA or a Pipeline"
    )


def _holds_private(step: Any) -> bool:
    inside = step.get_params(deep=True).values() if hasattr(step, "get_params") else []
    return any(isinstance(value, PrivateStep) for value in (step, *inside))
