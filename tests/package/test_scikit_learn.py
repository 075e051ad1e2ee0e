"""What every estimator owes scikit-learn: its checks, and what they leave out."""

import itertools
import pickle
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    check_estimator,
    check_get_feature_names_out_error,
    check_global_output_transform_pandas,
    check_global_set_output_transform_polars,
    check_param_validation,
    check_set_output_transform,
    check_set_output_transform_pandas,
    check_set_output_transform_polars,
    check_transformer_get_feature_names_out,
    check_transformer_get_feature_names_out_pandas,
)

from skdppca import DPGauss, PrivacyAccountant, PrivacyLedger, releasing
from skdppca.exceptions import NotReleasedError
from skdppca.mechanisms.scatter import VECTORS
from skdppca.noise import NoiseSource

from ..covering import pairwise
from ..estimators import ESTIMATORS, but_the_first_slow, on_all_estimators, on_estimators

CONFIGURATIONS = [
    {},
    {"whiten": True},
    {"n_components": 2},
    {"adjacency": "replace-one"},
    {"scale": "private"},
    {"missing": "mean"},
]
FACTORIES = [factory for _, factory in ESTIMATORS]

MORE_CHECKS = [
    check_dataframe_column_names_consistency,
    check_get_feature_names_out_error,
    check_global_output_transform_pandas,
    check_global_set_output_transform_polars,
    check_set_output_transform,
    check_set_output_transform_pandas,
    check_set_output_transform_polars,
    check_transformer_get_feature_names_out,
    check_transformer_get_feature_names_out_pandas,
]

# Without the environment variable SCIPY_ARRAY_API scikit-learn skips this one.
SKIPPED = {"check_array_api_input"}

FITTED_ARRAYS = [
    "components_",
    "mean_",
    "explained_variance_",
    "explained_variance_ratio_",
    "singular_values_",
]

FRAME = load_iris(as_frame=True).data
IRIS = FRAME.to_numpy()
GROUPS = {"row": None, "flower": np.arange(len(IRIS)) // 3}


# With every configuration once, and with every accountant once: they know nothing of each other.
CONFIGURATIONS_AND_ACCOUNTANTS = [
    pytest.param({}, "memory"),
    *[pytest.param(configuration, "no accountant") for configuration in CONFIGURATIONS],
    pytest.param({"adjacency": "replace-one"}, "ledger"),
]

# Draws of the noise: many for what all share (`fit`, and the fitted methods), fewer for the slow.
SALTS = {DPGauss: 20}
FEWER_SALTS = 5
ON_SALTS = [
    pytest.param(factory, salt, id=f"{name}-{salt}")
    for name, factory in ESTIMATORS
    for salt in range(SALTS.get(factory, FEWER_SALTS))
]


@pytest.fixture(params=["no accountant", "memory", "ledger"])
def new_accountant(request, tmp_path):
    """A function of the adjacency; the budget covers all the fits of scikit-learn's checks."""
    if request.param == "no accountant":
        return lambda adjacency="add-remove": None
    if request.param == "memory":
        return lambda adjacency="add-remove": PrivacyAccountant(500.0, 1e-5, adjacency=adjacency)
    path = tmp_path / "ledger"
    return lambda adjacency="add-remove": PrivacyLedger.create(
        path, 500.0, 1e-5, adjacency=adjacency
    )


def assert_passes_all_checks(estimator):
    """No check fails, and none is skipped or expected to fail."""
    results = check_estimator(estimator, on_skip=None)
    others = {result["check_name"] for result in results if result["status"] != "passed"}
    assert len(results) > 40
    assert others <= SKIPPED


@pytest.mark.slow
@on_all_estimators
@pytest.mark.parametrize(
    ("parameters", "new_accountant"),
    but_the_first_slow(CONFIGURATIONS_AND_ACCOUNTANTS),
    indirect=["new_accountant"],
)
def test_scikit_learns_checks_pass(factory, parameters, new_accountant):
    accountant = new_accountant(parameters.get("adjacency", "add-remove"))
    assert_passes_all_checks(factory(**parameters, accountant=accountant))
    assert accountant is None or len(accountant.receipts) > 40


def salted(salt):
    """A NoiseSource whose noise depends on the salt: seeds are mixed with it, none is counted."""
    count = itertools.count()

    class SaltedNoiseSource(NoiseSource):
        def __init__(self, seed=None):
            own = [next(count)] if seed is None else [0, *np.atleast_1d(seed)]
            super().__init__([salt, *(int(word) for word in own)])

    return SaltedNoiseSource


@pytest.mark.parametrize(("factory", "salt"), but_the_first_slow(ON_SALTS))
def test_scikit_learns_checks_pass_whatever_the_noise(factory, salt, monkeypatch):
    # The checks fix random_state, and would see the same noise every time.
    monkeypatch.setattr(releasing, "NoiseSource", salted(salt))
    assert_passes_all_checks(factory())


# What some estimators do otherwise, by a parameter of their own.
MODES = [
    {"noise": "gap-release", "n_components": 1},
    {"noise": "student", "norm_bound": 10.0, "center": False},
    {"noise": "cauchy", "norm_bound": 10.0, "center": False, "n_components": 1},
    {"noise": "gaussian", "epsilon": 0.5, "norm_bound": 10.0, "center": False},
]


@on_estimators(MODES)
def test_scikit_learns_checks_pass_in_every_mode(factory, parameters):
    assert_passes_all_checks(factory(**parameters))


@on_all_estimators
def test_the_salt_changes_the_noise_of_a_seed(factory, monkeypatch):
    def components(salt):
        monkeypatch.setattr(releasing, "NoiseSource", salted(salt))
        return factory(2, random_state=0).fit(IRIS).components_

    np.testing.assert_array_equal(components(0), components(0))
    assert not np.array_equal(components(0), components(1))


# Containers of scores are scikit-learn's own work, and the same for all estimators.
ON_CHECKS = [
    pytest.param(*case, marks=pytest.mark.slow if i % 10 and "output" in case[1].__name__ else ())
    for i, case in enumerate(pairwise(FACTORIES, MORE_CHECKS, CONFIGURATIONS))
]


@pytest.mark.parametrize(("factory", "check", "parameters"), ON_CHECKS)
@pytest.mark.filterwarnings("ignore:X (has|does not have valid) feature names")
def test_more_of_scikit_learns_checks_pass(factory, parameters, check):
    estimator = factory(**parameters)
    check(type(estimator).__name__, estimator)


@on_all_estimators
@pytest.mark.parametrize("parameters", but_the_first_slow(CONFIGURATIONS), ids=str)
def test_invalid_parameters_are_refused_and_cost_nothing(factory, parameters):
    accountant = PrivacyAccountant(9.0, 1e-5, adjacency=parameters.get("adjacency", "add-remove"))
    estimator = factory(**parameters, accountant=accountant)
    check_param_validation(type(estimator).__name__, estimator)
    assert not accountant.receipts


@on_all_estimators
def test_a_frame_gives_what_its_values_give(factory):
    frame = factory(2, random_state=0).fit(FRAME)
    values = factory(2, random_state=0).fit(IRIS)
    np.testing.assert_array_equal(frame.components_, values.components_)


@on_all_estimators
def test_feature_names_are_the_class_and_a_number(factory):
    names = factory(3).fit(IRIS).get_feature_names_out()
    prefix = factory.__name__.lower()
    assert list(names) == [f"{prefix}{i}" for i in range(3)]


@on_all_estimators
@pytest.mark.parametrize("given", [np.float32, np.float64, np.int64, np.uint8, bool])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_float32_stays_float32_and_all_else_becomes_float64(factory, given, container):
    X = container(IRIS > np.median(IRIS, axis=0) if given is bool else IRIS.astype(given))
    expected = np.float32 if given is np.float32 else np.float64
    pca = factory(2, epsilon=20.0).fit(X)  # enough to see a centre, and variances
    scores = pca.transform(X)
    dtypes = {getattr(pca, name).dtype for name in FITTED_ARRAYS}
    assert dtypes | {scores.dtype, pca.inverse_transform(scores).dtype} == {np.dtype(expected)}


@on_all_estimators
def test_one_row_of_a_list_does_not_decide_the_precision(factory):
    rows = list(IRIS.astype(np.float32))
    dtypes = {factory(2).fit(given).components_.dtype for given in (rows, [*rows, IRIS[0]])}
    assert dtypes == {np.dtype(np.float64)}


@on_all_estimators
def test_a_pickled_estimator_transforms_and_reports_the_same(factory, new_accountant):
    pca = factory(2, accountant=new_accountant()).fit(IRIS)
    twin = pickle.loads(pickle.dumps(pca))
    np.testing.assert_array_equal(twin.transform(IRIS), pca.transform(IRIS))
    assert twin.privacy_.to_dict() == pca.privacy_.to_dict()


@on_all_estimators
def test_what_is_not_released_says_why_and_breaks_no_repr(factory):
    class Reticent(factory):
        _not_released: ClassVar = {"singular_values_": "it keeps them; ask elsewhere"}

    pca = Reticent(2, epsilon=20.0).fit(IRIS)
    del pca.singular_values_
    with pytest.raises(NotReleasedError, match="singular_values_: it keeps them; ask elsewhere"):
        _ = pca.singular_values_
    assert not hasattr(pca, "singular_values_")
    assert "Reticent" in pca._repr_html_()
    assert "Reticent" in repr(pca)


@on_all_estimators
def test_it_works_behind_row_wise_steps(factory):
    pipeline = make_pipeline(Normalizer(), factory(2)).set_output(transform="pandas")
    scores = pipeline.fit(FRAME).transform(FRAME)
    assert scores.shape == (len(FRAME), 2)
    assert list(pipeline.get_feature_names_out()) == list(scores.columns)


@on_all_estimators
def test_groups_reach_it_through_a_pipeline(factory):
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(Normalizer(), factory(2, unit="flower"))
        pipeline.fit(IRIS, groups=GROUPS["flower"])
    assert pipeline[-1].privacy_.unit == "flower"


@on_all_estimators
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_nothing_but_the_release_survives_fit(factory, adjacency):
    told = {"epsilon": 20.0, "adjacency": adjacency, "random_state": 0}
    pca = factory(2, **told).fit(FRAME)
    kept = set(vars(pca)) - set(pca.get_params())
    matrix = [f"matrix_{name}_" for name in ("scatter", *VECTORS, "numbers")]
    assert kept == {
        *FITTED_ARRAYS,
        *(matrix if "keep_matrix" in pca.get_params() else []),
        "noise_variance_",
        "n_samples_",
        "n_components_",
        "n_features_in_",
        "feature_names_in_",
        "privacy_",
    }
    size = len(pickle.dumps(pca))
    more = factory(2, **told).fit(pd.concat([FRAME] * 20))
    assert len(pickle.dumps(more)) < size + 2000  # a float64 a row would add 22800
