"""Which steps of a Pipeline learn from the records before a private one."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)

from skdppca import DPGauss
from skdppca.plotting._pipeline_steps import learned_before, other_steps

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
