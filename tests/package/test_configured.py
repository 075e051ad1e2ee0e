"""What scikit-learn is configured to skip decides neither what is charged nor what is true."""

import numpy as np
import pytest
import sklearn

from skdppca import DPGauss, PrivacyAccountant
from skdppca.maps import projection_map
from skdppca.model_selection import PrivateSearchCV
from skdppca.neighbors import PrivateNearestCentroid

from ..estimators import ESTIMATORS, on_all_estimators

BAD = {"NaN": np.nan, "infinity": np.inf}


@pytest.fixture
def accountant():
    return PrivacyAccountant(epsilon=50.0, delta=1e-3)


def rows(bad=None):
    X = np.random.default_rng(0).normal(size=(300, 4))
    if bad is not None:
        X[7, 2] = bad
    return X


def dask_array(X, **more):
    arrays = pytest.importorskip("dask.array")
    return DPGauss(2, **more).fit(arrays.from_array(X, chunks=(100, 4)))


AXES = DPGauss(2, random_state=0).fit(rows())
GRID, LABELS = {"n_components": [1, 2]}, np.arange(300) % 2
DOORS = {
    **{name: lambda X, f=factory, **more: f(2, **more).fit(X) for name, factory in ESTIMATORS},
    "search": lambda X, **more: PrivateSearchCV(DPGauss(), GRID, **more).fit(X),
    "map": lambda X, **more: projection_map(AXES, X, epsilon=1.0, delta=1e-6, **more),
    "centroids": lambda X, **more: PrivateNearestCentroid((0, 1), **more).fit(X, LABELS),
    "dask": dask_array,
}


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_assume_finite_lets_nothing_through(door, bad, accountant):
    with (
        sklearn.config_context(assume_finite=True),
        pytest.raises(ValueError, match=f"contains {bad}"),
    ):
        door(rows(BAD[bad]), accountant=accountant)
    assert accountant.spent.epsilon == 0


def test_transform_may_still_leave_the_check_out():
    pca = DPGauss(2, random_state=0).fit(rows())
    with sklearn.config_context(assume_finite=True):
        assert np.isnan(pca.transform(rows(np.nan))[7]).all()


@pytest.mark.parametrize("value", [0, -2, 2.5])
@on_all_estimators
def test_parameters_are_validated_even_if_scikit_learn_skips_that(factory, value, accountant):
    pca = factory(value, accountant=accountant)
    with (
        sklearn.config_context(skip_parameter_validation=True),
        pytest.raises(ValueError, match="n_components"),
    ):
        pca.fit(rows())
    assert accountant.spent.epsilon == 0


@pytest.mark.parametrize(
    "estimator",
    [
        PrivateSearchCV(DPGauss(), {"n_components": [1, 2]}, mean_candidates=-1.0),
        PrivateSearchCV(DPGauss(), {"n_components": [1, -2]}),
        PrivateNearestCentroid(classes=(0, 1), adjacency="swap"),
    ],
)
def test_so_are_those_of_searches_and_classifiers(estimator, accountant):
    estimator.set_params(accountant=accountant)
    with sklearn.config_context(skip_parameter_validation=True), pytest.raises(ValueError):
        estimator.fit(rows(), np.arange(300) % 2)
    assert accountant.spent.epsilon == 0


@pytest.mark.parametrize("unit", [1e-15, 1e-5, 1.0, 1e5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_whitened_scores_have_unit_variance_in_every_unit(dtype, unit):
    X = (rows() * unit).astype(dtype)
    scores = DPGauss(2, epsilon=np.inf, whiten=True).fit(X).transform(X)
    np.testing.assert_allclose(scores.std(axis=0, ddof=1), 1.0, rtol=1e-3)


def test_whitened_scores_of_constant_rows_are_finite():
    X = np.ones((20, 3))
    pca = DPGauss(2, epsilon=np.inf, whiten=True).fit(X)
    assert np.isfinite(pca.transform(X)).all()


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_lazy_scores_are_refused_as_a_data_frame_before_the_charge(package, accountant):
    arrays = pytest.importorskip("dask.array")
    pytest.importorskip(package)
    X = arrays.from_array(rows(), chunks=(100, 4))
    pca = DPGauss(2, random_state=0, accountant=accountant).set_output(transform=package)
    with pytest.raises(ValueError, match=r"set_output\(transform='default'\)"):
        pca.fit_transform(X)
    assert accountant.spent.epsilon == 0
    pca.fit(X)
    assert type(pca.transform(rows())).__module__.startswith(package)
    with pytest.raises(ValueError, match=r"set_output\(transform='default'\)"):
        pca.transform(X)
    with (
        sklearn.config_context(transform_output=package),
        pytest.raises(ValueError, match="transform_output"),
    ):
        DPGauss(2, random_state=0, accountant=accountant).fit(X).transform(X)
