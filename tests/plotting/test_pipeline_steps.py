"""Which steps of a Pipeline learn from the records before a private one."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)

from skdppca import DPGauss
from skdppca.plotting import LoadingsDisplay
from skdppca.plotting._pipeline_steps import learned_before, other_steps
from skdppca.report import ReleaseReport

X = np.arange(60.0).reshape(20, 3) % 7
VALUES = [list(range(7))] * 3


class Foreign:
    """What a Pipeline takes, and that is no estimator of scikit-learn's kind."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X


def columns(step, remainder="drop"):
    return ColumnTransformer([("some", step, [0, 1])], remainder=remainder)


LEARNS = {
    "a scaler": StandardScaler(),
    "another kind": Foreign(),
    "categories of the data": OneHotEncoder(sparse_output=False),
    "rare categories": OrdinalEncoder(categories=VALUES, min_frequency=2),
    "a scaler of some columns": columns(StandardScaler()),
    "a scaler of the others": columns("passthrough", StandardScaler()),
    "a scaler beside": make_union(Normalizer(), StandardScaler()),
    "a scaler within": make_pipeline(Normalizer(), StandardScaler()),
}
LEARNS_NOTHING = {
    "rows": Normalizer(),
    "nothing": "passthrough",
    "None": None,
    "public categories": OneHotEncoder(categories=VALUES, sparse_output=False),
    "powers": PolynomialFeatures(),
    "a scaler of other data": FrozenEstimator(StandardScaler().fit(X)),
    "columns": columns("passthrough"),
    "rows beside": make_union(Normalizer(), Normalizer()),
    "rows within": make_pipeline(Normalizer(), "passthrough"),
}


@pytest.mark.parametrize("step", LEARNS.values(), ids=LEARNS)
def test_a_step_that_learns_from_other_rows_is_named(step):
    model = make_pipeline(step, DPGauss(1)).fit(X)
    assert [found.voids for found in other_steps(model)] == [True]
    (named,) = learned_before(model, model[-1])
    assert f"({type(step).__name__})" in named


@pytest.mark.parametrize("step", LEARNS_NOTHING.values(), ids=LEARNS_NOTHING)
def test_a_step_that_treats_each_row_by_itself_is_not(step):
    model = make_pipeline(step, DPGauss(1)).fit(X)
    assert not any(found.voids for found in other_steps(model))
    assert learned_before(model, model[-1]) == ()


def test_a_step_behind_is_not_before():
    model = make_pipeline(DPGauss(2), StandardScaler()).fit(X)
    assert [found.voids for found in other_steps(model)] == [False]
    assert learned_before(model, model[0]) == ()


@pytest.fixture
def coded():
    """A Pipeline whose first step makes columns of given categories."""
    frame = pd.DataFrame(X, columns=["ward", "stage", "sex"])
    encoder = OneHotEncoder(categories=VALUES, sparse_output=False)
    return make_pipeline(encoder, Normalizer(), DPGauss(2)).fit(frame)


def test_a_report_takes_the_names_of_the_steps_before(coded):
    (component, _) = ReleaseReport(coded, pictures=False).dict()["results"]["components"]
    named = [one["feature"] for one in component["largest"]]
    assert all(name.partition("_")[0] in ("ward", "stage", "sex") for name in named)


def test_loadings_take_the_names_of_the_steps_before(coded):
    display = LoadingsDisplay.from_estimator(coded, max_features=None, sort=None)
    assert (
        display.feature_names[:2] == ["ward_0.0", "ward_1.0"] and len(display.feature_names) == 21
    )


def test_names_that_are_given_come_before_those_of_steps(coded):
    names = [f"n{i}" for i in range(21)]
    report = ReleaseReport(coded, feature_names=names, pictures=False)
    assert report._subject.names == tuple(names)
    display = LoadingsDisplay.from_estimator(coded, feature_names=names, sort=None)
    assert set(display.feature_names) <= {*names}


def test_names_of_a_step_that_learned_are_not_taken():
    frame = pd.DataFrame(X, columns=["ward", "stage", "sex"])
    model = make_pipeline(OneHotEncoder(sparse_output=False), DPGauss(2)).fit(frame)
    report = ReleaseReport(model, pictures=False)
    assert report._subject.names[0] == "x0"
    assert LoadingsDisplay.from_estimator(model).feature_names[0].startswith("x")


def test_a_step_without_names_leaves_numbers():
    model = make_pipeline(Foreign(), DPGauss(2)).fit(X)
    assert ReleaseReport(model, pictures=False)._subject.names == ("x0", "x1", "x2")
    step = FunctionTransformer()  # learns nothing, and gives no names
    model = make_pipeline(step, DPGauss(2)).fit(X)
    assert ReleaseReport(model, pictures=False)._subject.names == ("x0", "x1", "x2")
