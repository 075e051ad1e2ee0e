"""The steps around the private one: what they may do, and how little they learn of the data."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer, FunctionTransformer, MaxAbsScaler, Normalizer
from sklearn.utils import get_tags

from skdppca import DPGauss, PrivacyAccountant
from skdppca.exceptions import CentreNotSeenWarning
from skdppca.model_selection import PrivateSearchCV

X = np.random.default_rng(0).normal(size=(60, 4))
MANY = 20  # more rows than the public ones


def search_around(step, behind=None, accountant=None, n_components=2):
    steps = [step, DPGauss(n_components), behind or "passthrough"]
    return PrivateSearchCV(make_pipeline(*steps), {}, accountant=accountant, mean_candidates=2)


def refused(step, match, X=X, behind=None, n_components=2):
    """No charge, no warning and no number in the error."""
    accountant = PrivacyAccountant(1.0, 1e-6)
    search = search_around(step, behind, accountant, n_components)
    with warnings.catch_warnings(), pytest.raises(ValueError, match=match) as caught:
        warnings.simplefilter("error")
        search.fit(X)
    assert accountant.receipts == ()
    return caught.value


def silent(error):
    """Neither the error nor what it came from quotes a number."""
    return error.__context__ is None and not re.search(r"\d", str(error))


TOGETHER = {
    "repeat": lambda Z: np.repeat(Z, 20, axis=0),
    "drop the last": lambda Z: Z[:-1],
    "drop twins": lambda Z: np.unique(Z, axis=0),
    "reverse": lambda Z: Z[::-1],
    "sort": lambda Z: np.sort(Z, axis=0),
    "centre": lambda Z: Z - Z.mean(axis=0),
    "scale": lambda Z: Z / np.abs(Z).max(axis=0),
    "clip at quantiles": lambda Z: np.clip(Z, *np.quantile(Z, [0.1, 0.9], axis=0)),
    "rank": lambda Z: np.argsort(np.argsort(Z, axis=0), axis=0),
    "add up": lambda Z: np.cumsum(Z, axis=0),
    "number": lambda Z: np.column_stack([Z, np.arange(len(Z))]),
    "random": lambda Z: np.random.default_rng().normal(size=Z.shape),
}


@pytest.mark.parametrize("function", TOGETHER.values(), ids=TOGETHER)
def test_what_does_not_map_each_row_by_itself_is_refused(function):
    error = refused(FunctionTransformer(function), "made-up rows together otherwise than one by")
    assert silent(error)


@pytest.mark.parametrize(
    "function",
    [
        lambda Z: np.repeat(Z, 20, axis=0) if len(Z) > MANY else Z,
        lambda Z: Z[np.linalg.norm(Z, axis=1) < 2],
        lambda Z: Z[:50],
    ],
    ids=["repeat", "drop outliers", "the first"],
)
def test_a_step_that_changes_the_number_of_rows_of_the_data_is_refused(function):
    step = FunctionTransformer(function)
    assert silent(refused(step, "'functiontransformer', .* changes the number of rows"))


def test_two_steps_that_change_it_back_are_refused_too():
    grow = FunctionTransformer(lambda Z: np.repeat(Z, 2, axis=0) if len(Z) > MANY else Z)
    shrink = FunctionTransformer(lambda Z: Z[::2] if len(Z) > MANY else Z)
    pipeline = make_pipeline(grow, shrink, DPGauss(2))
    with pytest.raises(ValueError, match="changes the number of rows"):
        PrivateSearchCV(pipeline, {}).fit(X)


def test_an_error_of_a_step_quotes_no_data():
    def fail(Z):
        if len(Z) > MANY:
            raise KeyError(f"secret {Z[0]}")
        return Z

    assert silent(refused(FunctionTransformer(fail), "fails on X. Its error may quote data"))


def test_a_step_that_fails_on_public_rows_says_why():
    error = refused(FunctionTransformer(lambda Z: Z[:, 7]), "fails on made-up rows")
    assert isinstance(error.__cause__, IndexError)


@pytest.mark.parametrize(
    ("step", "rows"),
    [
        (FunctionTransformer(np.log), np.vstack([np.abs(X), np.zeros(4)])),
        # its fit compares the rows with themselves, there and back
        (FunctionTransformer(np.abs, np.abs, check_inverse=True), X),
    ],
    ids=["log of 0", "no inverse"],
)
def test_a_warning_of_a_step_does_not_leave(step, rows):
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        try:
            search_around(step, accountant=PrivacyAccountant(1.0, 1e-6)).fit(rows)
        except ValueError as error:
            assert "contains infinity" in str(error)
    assert [one for one in shown if one.category is not CentreNotSeenWarning] == []


class Learner(TransformerMixin, BaseEstimator):
    """Learns from what it is fitted on, and says that it does not."""

    def fit(self, X, y=None):
        self.mean_ = np.mean(X, axis=0)
        return self

    def transform(self, X):
        return X - self.mean_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


def test_no_step_learns_from_the_data():
    means = [search_around(Learner()).fit(rows).best_estimator_[0].mean_ for rows in (X, X + 9)]
    np.testing.assert_array_equal(*means)
    assert np.all((means[0] > 0) & (means[0] < 1))


@pytest.mark.parametrize(
    ("step", "make"),
    [
        (Normalizer(), np.asarray),
        (Normalizer(), np.float32),
        (Normalizer(), np.ndarray.tolist),
        (Normalizer(), sparse.csr_matrix),
        (Normalizer(), sparse.coo_array),
        (Binarizer().set_output(transform="pandas"), np.asarray),
        (
            FunctionTransformer(lambda Z: Z[["b", "a"]]),
            lambda X: pd.DataFrame(X, columns=[*"abcd"]),
        ),
        (FunctionTransformer(lambda Z: Z.select("b", "a")), lambda X: pl.DataFrame(X, [*"abcd"])),
        (FunctionTransformer(lambda Z: np.eye(9)[Z[:, 0]]), lambda X: X.astype(int) % 9),
        (FunctionTransformer(lambda Z: Z @ np.ones((4, 3))), np.asarray),
        (FunctionTransformer(lambda Z: np.arcsin(np.sqrt(np.clip(Z, 0, 1)))), np.asarray),
    ],
)
def test_containers_and_functions_of_single_rows(step, make):
    rows = make(X)
    search = search_around(step).fit(rows)
    assert search.transform(rows).shape == (60, 2)


@pytest.mark.parametrize(
    ("behind", "n_components"),
    [
        (FunctionTransformer(lambda Z: Z[:, [2]]), 2),
        (FunctionTransformer(lambda Z: Z[:, [2]]), "auto"),
        (FunctionTransformer(lambda Z: Z[["dpgauss9"]]), 2),
    ],
)
def test_a_step_behind_fails_before_the_charge(behind, n_components):
    accountant = PrivacyAccountant(1.0, 1e-6)
    search = search_around(Normalizer(), behind, accountant, n_components)
    with pytest.raises((IndexError, KeyError)):
        search.fit(X)
    assert accountant.receipts == ()


def test_a_step_behind_sees_the_container_that_it_will_see():
    pca = DPGauss(2).set_output(transform="pandas")
    last = FunctionTransformer(lambda Z: Z[["dpgauss0"]])
    search = PrivateSearchCV(make_pipeline(Normalizer(), pca, last), {}, mean_candidates=2).fit(X)
    assert search.transform(X).shape == (60, 1)


def test_steps_that_are_fitted_are_refused_still():
    assert get_tags(MaxAbsScaler()).requires_fit
    refused(MaxAbsScaler(), "is fitted on the data at a cost that is not known")
