"""The price of a search before it runs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ParameterGrid, check_cv
from sklearn.pipeline import Pipeline

from ..decomposition import BasePrivatePCA
from ..exceptions import MovingFoldsWarning
from ..privacy import PrivacyEvent, compose, epsilon_of_event
from ..private_data import Public
from ._folds import RecordKFold
from ._private_search import PrivateSearchCV

__all__ = ["Price", "price"]


@dataclass(frozen=True)
class Price:
    """What a search will charge.

    Parameters
    ----------
    n_fits : int or None
        How many private fits; None if their number is drawn at random and stays secret.
    event : PrivacyEvent
        All of them together.
    """

    n_fits: int | None
    event: PrivacyEvent

    def epsilon(self, delta: float) -> float:
        """The epsilon of the whole search at `delta`."""
        return epsilon_of_event(self.event, delta)


def price(
    search: GridSearchCV | PrivateSearchCV, n_features: int, *, is_sparse: bool = False
) -> Price:
    """What a search charges its accountant, before it runs.

    A PrivateSearchCV charges its own budget, once. In a GridSearchCV every candidate is fitted on
    every fold, and the best again on all data. Its scores and its choice are not in the price: they
    are private only if the data scored on are public.

    Parameters
    ----------
    search : GridSearchCV or PrivateSearchCV
        Over a private PCA, or a Pipeline with private PCAs among its steps.
    n_features : int
        Columns of the data.
    is_sparse : bool, default=False
        Whether they will be given as a sparse matrix: `PrivatePCA` may take another method then.

    Returns
    -------
    Price

    Raises
    ------
    TypeError
        A search or an estimator whose fits are not known, so neither is their cost.

    Warns
    -----
    MovingFoldsWarning
        Under add-remove if `cv` is no `RecordKFold`: the price then bounds nothing.

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
        return Price(None, search._event())
    if type(search) is not GridSearchCV:
        raise TypeError(
            f"search is a {type(search).__name__}, whose fits are not known before it runs; "
            "use GridSearchCV or PrivateSearchCV"
        )
    if hasattr(search.cv, "__next__"):
        raise TypeError("search.cv is an iterator, which can be read once only; pass list(cv)")
    events: list[PrivacyEvent] = []
    fits_each: list[int] = []
    adjacencies: set[str] = set()
    for parameters in ParameterGrid(search.param_grid):
        estimators = _private_steps(clone(search.estimator).set_params(**parameters))
        delta = min((step.delta for step in estimators), default=0.0)
        events.append(compose(_cost(step, n_features, is_sparse) for step in estimators))
        fits_each.append(len(estimators))
        adjacencies.update(step.adjacency for step in estimators)
    if "add-remove" in adjacencies and not isinstance(search.cv, RecordKFold):
        warnings.warn(
            f"cv={search.cv!r} may move many records between folds when one comes or goes, which "
            "adjacency='add-remove' does not cover: the price holds with cv=RecordKFold(...)",
            MovingFoldsWarning,
            stacklevel=2,
        )
    n_splits = check_cv(search.cv).get_n_splits()
    n_fits = n_splits * sum(fits_each)
    total = [event for event in events for _ in range(n_splits)]
    if search.refit:
        n_fits += max(fits_each)
        total.append(max(events, key=lambda event: epsilon_of_event(event, delta)))
    return Price(n_fits, compose(total))


def _cost(step: BasePrivatePCA, n_features: int, is_sparse: bool) -> PrivacyEvent:
    """What one fit of it costs; refuses what a fit would refuse."""
    public = Public(n_features, step.adjacency, step.unit, is_sparse)
    step._mechanism(public)
    return step._event(public)


def _private_steps(estimator: Any) -> list[BasePrivatePCA]:
    """The private PCAs that one fit of `estimator` fits once each."""
    if isinstance(estimator, BasePrivatePCA):
        return [estimator]
    if type(estimator) is Pipeline:
        steps = [step for _, step in estimator.steps if step not in (None, "passthrough")]
        return [pca for step in steps if _holds_private(step) for pca in _private_steps(step)]
    raise TypeError(
        f"how often a {type(estimator).__name__} fits what is in it is not known; search over a "
        "private PCA or a Pipeline"
    )


def _holds_private(step: Any) -> bool:
    inside = step.get_params(deep=True).values() if hasattr(step, "get_params") else []
    return any(isinstance(value, BasePrivatePCA) for value in (step, *inside))
