"""Folds that no record can move, and the price of a search before it runs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import BaseCrossValidator, GridSearchCV, ParameterGrid, check_cv
from sklearn.pipeline import Pipeline

from .decomposition import BasePrivatePCA
from .decomposition._validation import number_groups
from .exceptions import SeededNoiseWarning
from .mechanisms.base import Public
from .noise import NoiseSource
from .privacy import PrivacyEvent, compose, epsilon_of_event

__all__ = ["Price", "RecordKFold", "price"]


class RecordKFold(BaseCrossValidator):
    """K folds; every record draws its own secret label, whatever the other records are.

    With scikit-learn's splitters one record more moves hundreds of others between the folds, and
    the guarantee of a search under "add-remove" breaks. Here a record comes or goes alone. The
    folds differ in size, and with few records one may be empty, which fails: have many more records
    than folds.

    Parameters
    ----------
    n_splits : int, default=5
    random_state : int or None, default=None
        None draws the labels from the operating system's entropy. A seed is for experiments:
        labels that can be repeated are not secret.

    Examples
    --------
    >>> import numpy as np
    >>> from skdppca.model_selection import RecordKFold
    >>> folds = list(RecordKFold(3).split(np.zeros((90, 2))))
    >>> sum(len(test) for _, test in folds)
    90
    """

    # So that metadata routing brings the groups to `split`.
    __metadata_request__split: ClassVar[dict[str, bool]] = {"groups": True}

    def __init__(self, n_splits: int = 5, *, random_state: int | None = None) -> None:
        if n_splits < 2:
            raise ValueError(f"n_splits={n_splits} leaves nothing to test on; choose at least 2")
        self.n_splits = n_splits
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """The number of folds.

        Parameters
        ----------
        X, y, groups : object
            Ignored.

        Returns
        -------
        int
        """
        return self.n_splits

    def split(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Row numbers of every training and test part. Each call draws new labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
        y : object
            Ignored.
        groups : array-like of shape (n_rows,), optional
            The record of every row; all rows of a record fall into one fold.

        Yields
        ------
        train, test : ndarray of int
        """
        if self.random_state is not None:
            warnings.warn(
                "RecordKFold has a random_state: labels that can be repeated are not secret, so "
                "a search over these folds is not private",
                SeededNoiseWarning,
                stacklevel=2,
            )
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        noise = NoiseSource(self.random_state)
        if groups is None:
            labels = noise.labels(n_rows, self.n_splits)
        else:
            records = number_groups(groups, n_rows)
            labels = noise.labels(1 + records.max(initial=-1), self.n_splits)[records]
        for fold in range(self.n_splits):
            yield np.flatnonzero(labels != fold), np.flatnonzero(labels == fold)


@dataclass(frozen=True)
class Price:
    """What a search will charge.

    Parameters
    ----------
    n_fits : int
        How many private fits.
    event : PrivacyEvent
        All of them together.
    """

    n_fits: int
    event: PrivacyEvent

    def epsilon(self, delta: float) -> float:
        """The epsilon of the whole search at `delta`."""
        return epsilon_of_event(self.event, delta)


def price(search: GridSearchCV, n_features: int) -> Price:
    """What a grid search charges its accountant, before it runs.

    Every candidate is fitted on every fold, and the best again on all data. The scores and the
    choice are not in the price: they are private only if the data scored on are public.

    Parameters
    ----------
    search : GridSearchCV
        Over a private PCA, or a Pipeline with private PCAs among its steps.
    n_features : int
        Columns of the data.

    Returns
    -------
    Price

    Raises
    ------
    TypeError
        A search or an estimator whose fits are not known, so neither is their cost.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from skdppca import DPGauss
    >>> from skdppca.model_selection import RecordKFold, price
    >>> search = GridSearchCV(DPGauss(epsilon=0.1), {"n_components": [1, 2, 3]}, cv=RecordKFold(4))
    >>> price(search, n_features=10).n_fits
    13
    """
    if type(search) is not GridSearchCV:
        raise TypeError(
            f"search is a {type(search).__name__}, whose fits are not known before it runs; "
            "use GridSearchCV"
        )
    if hasattr(search.cv, "__next__"):
        raise TypeError("search.cv is an iterator, which can be read once only; pass list(cv)")
    events, fits_each = [], []
    for parameters in ParameterGrid(search.param_grid):
        estimators = _private_steps(clone(search.estimator).set_params(**parameters))
        publics = [Public(n_features, step.adjacency, step.unit) for step in estimators]
        fits = zip(estimators, publics, strict=True)
        delta = min((step.delta for step in estimators), default=0.0)
        events.append(compose(step._mechanism(public).event for step, public in fits))
        fits_each.append(len(estimators))
    n_splits = check_cv(search.cv).get_n_splits()
    n_fits = n_splits * sum(fits_each)
    total = [event for event in events for _ in range(n_splits)]
    if search.refit:
        n_fits += max(fits_each)
        total.append(max(events, key=lambda event: epsilon_of_event(event, delta)))
    return Price(n_fits, compose(total))


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
