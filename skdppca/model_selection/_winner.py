"""Methods of a search that use its winner; nothing here is private, or charged."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ._candidates import Candidate, Candidates


def _has(name: str) -> Callable[[Any], bool]:
    """Return a check of whether a search's winner has such a method."""
    return lambda search: hasattr(getattr(search, "best_estimator_", search.estimator), name)


class WinnerMixin(TransformerMixin):
    """Methods of a search that are its winner's."""

    @available_if(_has("transform"))
    def transform(self, X: Any) -> Any:
        """Transform rows by the winner; the map is private, **the rows are not**.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_components)
        """
        check_is_fitted(self)
        return self.best_estimator_.transform(X)

    @available_if(_has("inverse_transform"))
    def inverse_transform(self, X: Any) -> Any:
        """Map scores back to rows by the winner.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_components)

        Returns
        -------
        ndarray of shape (n_rows, n_features)
        """
        check_is_fitted(self)
        return self.best_estimator_.inverse_transform(X)

    @available_if(_has("predict"))
    def predict(self, X: Any) -> np.ndarray:
        """Predict classes by the winner; the map is private, **the predictions are not**.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    @available_if(_has("predict"))
    def score(self, X: Any, y: Any) -> float:
        """Share of the rows that the winner classifies right. It reads X and y without noise.

        So it is not private, unless the rows are public; `best_score_` is.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)

        Returns
        -------
        float
        """
        check_is_fitted(self)
        return float(self.best_estimator_.score(X, y))

    @property
    def classes_(self) -> np.ndarray:
        """The public labels, if the winner is a classifier."""
        return self.best_estimator_.classes_

    @available_if(_has("get_feature_names_out"))
    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the winner's output columns.

        Parameters
        ----------
        input_features : array-like of str or None, default=None

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        return self.best_estimator_.get_feature_names_out(input_features)


def assemble(candidates: Candidates, before: list[tuple[str, Any]], winner: Candidate) -> Any:
    """The winner in a copy of the pipeline. Steps behind it see a row of zeros, not the data."""
    pca = winner[0]
    if "" in candidates.private:
        return pca
    pipeline = clone(candidates.estimator)
    fitted = dict(before) | dict(zip(candidates.private, winner, strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        row = pca.transform(np.zeros((1, pca.n_features_in_)))
        for name, step in candidates.after:
            fitted[name] = clone(step)
            row = fitted[name].fit_transform(row)
    pipeline.steps = [(name, fitted.get(name, step)) for name, step in pipeline.steps]
    return pipeline


def rehearse_winner(candidates: Candidates, before: list[tuple[str, Any]], n_features: int) -> None:
    """Let the steps behind fail now, on stand-ins for the winner, and not after the charge."""
    for parameters in candidates.grid if candidates.after else []:
        count = candidates.candidate(parameters)[0].n_components
        counts = {int(count)} if isinstance(count, int | np.integer) else {1, n_features}
        for k in counts:  # of what the winner has
            stand_in = candidates.candidate(parameters)
            stand_in[0].__dict__.update(
                components_=np.eye(k, n_features),
                mean_=np.zeros(n_features),
                scale_=np.ones(n_features),
                explained_variance_=np.ones(k),
                n_features_in_=n_features,
            )
            assemble(candidates, before, stand_in)
