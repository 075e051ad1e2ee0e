"""What every estimator owes scikit-learn: its checks, and what they leave out."""

import itertools
import math
import pickle
import warnings
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError
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

from skdppca import PrivacyAccountant, PrivacyLedger
from skdppca.decomposition import _base
from skdppca.exceptions import NotReleasedError, SeededNoiseWarning
from skdppca.noise import NoiseSource

from .estimators import on_all_estimators

CONFIGURATIONS = [{}, {"whiten": True}, {"n_components": 2}, {"adjacency": "replace-one"}]
on_all_n_components = pytest.mark.parametrize("n_components", [None, 2, 0.5, "mle", "auto"])
on_all_configurations = pytest.mark.parametrize("parameters", CONFIGURATIONS, ids=str)

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
FITTED = [*FITTED_ARRAYS, "noise_variance_", "n_samples_"]

FRAME = load_iris(as_frame=True).data
IRIS = FRAME.to_numpy()
GROUPS = {"row": None, "flower": np.arange(len(IRIS)) // 3}


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


@on_all_estimators
@on_all_configurations
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


@on_all_estimators
@pytest.mark.parametrize("salt", range(20))
def test_scikit_learns_checks_pass_whatever_the_noise(factory, salt, monkeypatch):
    # The checks fix random_state, and would see the same noise every time.
    monkeypatch.setattr(_base, "NoiseSource", salted(salt))
    assert_passes_all_checks(factory())


@on_all_estimators
@on_all_configurations
@pytest.mark.parametrize("check", MORE_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.filterwarnings("ignore:X (has|does not have valid) feature names")
def test_more_of_scikit_learns_checks_pass(factory, parameters, check):
    estimator = factory(**parameters)
    check(type(estimator).__name__, estimator)


@on_all_estimators
@on_all_configurations
def test_invalid_parameters_are_refused_and_cost_nothing(factory, parameters, new_accountant):
    accountant = new_accountant(parameters.get("adjacency", "add-remove"))
    estimator = factory(**parameters, accountant=accountant)
    check_param_validation(type(estimator).__name__, estimator)
    assert accountant is None or not accountant.receipts


@on_all_estimators
def test_pandas_in_pandas_out(factory):
    frame = FRAME.set_axis(np.arange(len(FRAME)) + 1000)
    pca = factory(2).set_output(transform="pandas").fit(frame)
    scores = pca.transform(frame)
    assert isinstance(scores, pd.DataFrame)
    assert list(scores.columns) == list(pca.get_feature_names_out())
    assert scores.index.equals(frame.index)


@on_all_estimators
def test_polars_in_polars_out(factory):
    frame = pl.from_pandas(FRAME)
    pca = factory(2).set_output(transform="polars").fit(frame)
    scores = pca.transform(frame)
    assert isinstance(scores, pl.DataFrame)
    assert scores.columns == list(pca.get_feature_names_out())


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
def test_columns_of_other_names_are_refused(factory):
    pca = factory(2).fit(FRAME)
    with pytest.raises(ValueError, match="feature names"):
        pca.transform(FRAME.rename(columns=str.upper))


@on_all_estimators
@pytest.mark.parametrize("given", [np.float32, np.float64, np.int64, np.uint8, bool])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_float32_stays_float32_and_all_else_becomes_float64(factory, given, container):
    X = container(IRIS.astype(given))
    expected = np.float32 if given is np.float32 else np.float64
    pca = factory(2).fit(X)
    scores = pca.transform(X)
    dtypes = {getattr(pca, name).dtype for name in FITTED_ARRAYS}
    assert dtypes | {scores.dtype, pca.inverse_transform(scores).dtype} == {np.dtype(expected)}


@on_all_estimators
@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("epsilon", [1.0, math.inf])
@on_all_n_components
def test_few_rows_give_a_finite_release(factory, n, adjacency, epsilon, n_components):
    pca = factory(n_components, adjacency=adjacency, epsilon=epsilon, random_state=0)
    assert_finite(pca, IRIS[:n])


@on_all_estimators
@on_all_n_components
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0, 1000.0, math.inf])
def test_every_way_to_choose_components_gives_a_finite_release(factory, n_components, epsilon):
    # Three pixels of the digits are constant: there are equal variances, with and without noise.
    pca = factory(n_components, epsilon=epsilon, random_state=0)
    assert_finite(pca, load_digits().data)
    assert 1 <= pca.n_components_ <= 64


@on_all_estimators
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_mle_takes_no_noise_for_components(factory, epsilon):
    above_noise = factory("auto", epsilon=epsilon, random_state=0).fit(load_digits().data)
    likeliest = factory("mle", epsilon=epsilon, random_state=0).fit(load_digits().data)
    assert likeliest.n_components_ <= above_noise.n_components_


HUGE = {
    "all": 1e300 * np.where(IRIS > IRIS.mean(axis=0), 1, -1),
    "largest": np.finfo(float).max * np.where(IRIS > IRIS.mean(axis=0), 1, -1),
    "one row": np.vstack([IRIS, np.full(4, 1e300)]),
    "one entry": np.vstack([IRIS, [0, 0, -1e300, 0]]),
    "tiny": 1e-300 * IRIS,
}


@on_all_estimators
@pytest.mark.parametrize("X", HUGE.values(), ids=HUGE)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("parameters", [{}, {"norm_bound": 10.0}, {"mean": np.ones(4)}], ids=str)
def test_huge_values_are_clipped_without_a_word(factory, X, container, parameters):
    # A warning would tell that they are there.
    assert_finite(factory(2, random_state=0, **parameters), container(X))


@on_all_estimators
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("scale", [1.0, 1e-10])
def test_a_row_that_overflows_weighs_nothing(factory, container, scale):
    zero, huge = np.vstack([IRIS, np.zeros(4)]), np.vstack([IRIS, [0, 0, 1e300, 0]])
    public = {"mean": np.zeros(4), "norm_bound": 10 / scale, "scale": np.full(4, scale)}
    pcas = [factory(2, random_state=0, **public).fit(container(X)) for X in (zero, huge)]
    np.testing.assert_array_equal(pcas[0].components_, pcas[1].components_)
    np.testing.assert_array_equal(pcas[0].explained_variance_, pcas[1].explained_variance_)


def split_entries(X, parts):
    """A CSR array that stores every entry in several parts, as its format allows."""
    X = sparse.csr_array(X)
    data, indices = np.repeat(X.data / parts, parts), np.repeat(X.indices, parts)
    return sparse.csr_array((data, indices, parts * X.indptr), X.shape)


@on_all_estimators
@pytest.mark.parametrize("unit", ["row", "flower"])
def test_a_sparse_entry_in_parts_is_one_entry(factory, unit):
    # Squared part by part, its norm would pass for smaller than it is, and escape the clipping.
    whole, parts = sparse.csr_array(IRIS), split_entries(IRIS, 64)
    public = {"unit": unit, "norm_bound": 1.0, "mean": np.zeros(4)}
    pcas = [
        factory(2, random_state=0, **public).fit(X, groups=GROUPS[unit]) for X in (whole, parts)
    ]
    np.testing.assert_array_equal(pcas[0].components_, pcas[1].components_)
    assert parts.nnz == 64 * whole.nnz


def assert_finite(pca, X):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", SeededNoiseWarning)
        pca.fit(X)
    for name in FITTED:
        assert np.isfinite(getattr(pca, name)).all(), name


def read_only(X):
    X.flags.writeable = False
    return X


def read_only_sparse(X):
    for part in (X.data, X.indices, X.indptr):
        part.flags.writeable = False
    return X


def memmap(folder):
    np.save(folder / "X.npy", IRIS)
    return np.load(folder / "X.npy", mmap_mode="r")


READ_ONLY = {
    "C order": lambda folder: read_only(np.array(IRIS)),
    "Fortran order": lambda folder: read_only(np.asfortranarray(IRIS)),
    "strided": lambda folder: read_only(np.repeat(IRIS, 2, axis=0))[::2],
    "float32": lambda folder: read_only(IRIS.astype(np.float32)),
    "integer": lambda folder: read_only(IRIS.astype(np.int64)),
    "memmap": memmap,
    "CSR": lambda folder: read_only_sparse(sparse.csr_array(IRIS)),
    "CSC": lambda folder: read_only_sparse(sparse.csc_array(IRIS)),
    "pandas": lambda folder: pd.DataFrame(read_only(np.array(IRIS))),
}
WAYS = [
    {},
    {"whiten": True},
    {"scale": [1.0, 2.0, 3.0, 4.0]},
    {"mean": [6.0, 3.0, 4.0, 1.0]},
    {"clip": "spherical"},
    {"epsilon": math.inf},
]


def values(X):
    return X.toarray() if sparse.issparse(X) else np.array(X)


@on_all_estimators
@pytest.mark.parametrize("make", READ_ONLY.values(), ids=READ_ONLY)
@pytest.mark.parametrize("parameters", WAYS, ids=str)
def test_read_only_data_do(factory, make, parameters, tmp_path):
    X = make(tmp_path)
    pca = factory(2, **parameters).fit(X)
    pca.inverse_transform(read_only(pca.transform(X)))
    pca.score(X)


@on_all_estimators
@pytest.mark.parametrize("container", [np.array, sparse.csr_array, sparse.csc_array, pd.DataFrame])
@pytest.mark.parametrize(
    ("unit", "parameters"),
    [(unit, way) for unit in GROUPS for way in WAYS if unit == "row" or "clip" not in way],
    ids=str,
)
def test_data_are_never_written_to(factory, container, unit, parameters):
    X = container(IRIS)
    pca = factory(2, unit=unit, **parameters).fit(X, groups=GROUPS[unit])
    pca.inverse_transform(pca.transform(X))
    pca.score(X)
    np.testing.assert_array_equal(values(X), IRIS)


@on_all_estimators
def test_clone_has_the_same_parameters_and_is_not_fitted(factory):
    pca = factory(2, epsilon=0.5, whiten=True, norm_bound=3.0).fit(IRIS)
    twin = clone(pca)
    assert twin.get_params() == pca.get_params()
    with pytest.raises(NotFittedError):
        twin.transform(IRIS)


@on_all_estimators
def test_clone_has_the_same_accountant(factory, new_accountant):
    pca = factory(accountant=new_accountant())
    assert clone(pca).accountant is pca.accountant


@on_all_estimators
def test_a_pickled_estimator_transforms_and_reports_the_same(factory, new_accountant):
    pca = factory(2, accountant=new_accountant()).fit(IRIS)
    twin = pickle.loads(pickle.dumps(pca))
    np.testing.assert_array_equal(twin.transform(IRIS), pca.transform(IRIS))
    assert twin.privacy_.to_dict() == pca.privacy_.to_dict()


@on_all_estimators
def test_fit_transform_is_fit_and_transform(factory):
    scores = factory(2, random_state=0).fit_transform(IRIS)
    np.testing.assert_array_equal(scores, factory(2, random_state=0).fit(IRIS).transform(IRIS))


@on_all_estimators
def test_html_repr_names_the_class_before_and_after_fit(factory):
    pca = factory(2)
    assert factory.__name__ in pca._repr_html_()
    assert factory.__name__ in pca.fit(IRIS)._repr_html_()


@on_all_estimators
def test_what_is_not_released_says_why_and_breaks_no_repr(factory):
    class Reticent(factory):
        _not_released: ClassVar = {"singular_values_": "it keeps them; ask elsewhere"}

    pca = Reticent(2).fit(IRIS)
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
