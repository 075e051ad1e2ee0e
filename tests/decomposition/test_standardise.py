"""`scale="private"`: PCA of standardised data, at the cost of one fit, by every method."""

import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from skdppca import GDPPCA, KDPPCA, DPGauss, DPPowerMethod, PrivacyAccountant, ResidualGauss
from skdppca.metrics import captured_variance
from skdppca.model_selection import RecordKFold, price
from skdppca.privacy import ApproximateEvent, GaussianEvent, PureEvent

from ..estimators import but_the_first_slow, on_all_estimators, on_all_estimators_slowly, released
from ..package.test_bad_parameters import assert_finite_or_free
from ..secret_rows import refused

RNG = np.random.default_rng(0)
N = 20_000
# Two directions explain 90 % of the variance of standardised features in units from 1e-4 to 1e5.
FACTORS = RNG.normal(size=(N, 2)) @ np.array([[1.0] * 5 + [0.0] * 5, [0.0] * 5 + [0.9] * 5])
STANDARD = FACTORS + 0.3 * RNG.normal(size=(N, 10))
UNITS = 10.0 ** np.arange(-4, 6)
ROWS = (STANDARD + 3.0) * UNITS
CANCER, IRIS = load_breast_cancer().data, load_iris().data


def captured(pca, X=ROWS):
    return captured_variance(pca.components_, StandardScaler().fit_transform(X), 2)


@on_all_estimators
@pytest.mark.parametrize("adjacency", but_the_first_slow(["add-remove", "replace-one"]))
def test_it_finds_the_components_of_standardised_data_at_one_charge(factory, adjacency):
    # at most .6 without it: the largest units alone
    accountant = PrivacyAccountant(2.0, 1e-6, adjacency=adjacency)
    told = {"adjacency": adjacency, "epsilon": 2.0, "random_state": 0}
    pca = factory(2, scale="private", accountant=accountant, **told).fit(ROWS)
    assert captured(pca) > 0.9
    plain = factory(2, **told).fit(ROWS)
    assert captured(plain) < 0.7
    assert pca.privacy_.event == plain.privacy_.event
    assert len(accountant.receipts) == 1
    assert accountant.spent.epsilon == pytest.approx(2.0, rel=1e-6)
    names = [spending.name for spending in pca.privacy_.spendings]
    assert {"octaves", "closer cells", "mean squares"} < set(names)


@on_all_estimators_slowly
@pytest.mark.parametrize("parameters", [{"mean": 3.0 * UNITS}, {"center": False}], ids=str)
def test_private_scales_work_around_a_public_mean_or_0(factory, parameters):
    X = ROWS if "mean" in parameters else ROWS - 3.0 * UNITS
    pca = factory(2, scale="private", epsilon=2.0, random_state=0, **parameters).fit(X)
    assert captured(pca) > 0.9
    assert "closer cells" not in [spending.name for spending in pca.privacy_.spendings]
    np.testing.assert_allclose(pca.mean_, parameters.get("mean", 0.0), rtol=1e-12)


@on_all_estimators_slowly
def test_private_scales_work_on_groups(factory):
    pca = factory(2, scale="private", unit="person", epsilon=4.0, random_state=0)
    assert captured(pca.fit(ROWS, groups=np.arange(N) // 2)) > 0.9


@on_all_estimators_slowly
@pytest.mark.parametrize("unit", ["row", "person"])
def test_sparse_rows_give_the_same_scales(factory, unit):
    groups = None if unit == "row" else np.arange(2000) // 2
    X = ROWS[:2000] * (RNG.random((2000, 10)) < 0.7)
    pcas = [
        factory(2, scale="private", unit=unit, epsilon=8.0, random_state=0).fit(A, groups=groups)
        for A in (X, sparse.csr_array(X))
    ]
    np.testing.assert_allclose(pcas[0].scale_, pcas[1].scale_, rtol=1e-3)
    # the mean of ResidualGauss is made better in units of the scales, and as far off as they
    rtol = 1e-3 if factory is ResidualGauss else 1e-4
    np.testing.assert_allclose(pcas[0].mean_, pcas[1].mean_, rtol=rtol)


AWKWARD = {
    "constant": np.full(2000, 1e6),
    "zero": np.zeros(2000),
    "rare flag": RNG.random(2000) < 0.01,
    "rare amounts": (RNG.random(2000) < 0.01) * np.exp(RNG.normal(size=2000)) * 1e4,
    "tiny": 1e-12 * RNG.normal(size=2000),
    "huge": 1e12 * RNG.normal(size=2000),
    "beyond all cells": 1e14 * RNG.normal(size=2000),
    "far": 1e6 + RNG.normal(size=2000),
    "farther than is found": 1e9 + RNG.normal(size=2000),
    "Cauchy": RNG.standard_cauchy(2000),
    "one far value": np.where(np.arange(2000) == 7, 1e300, RNG.normal(size=2000)),
}


@pytest.mark.parametrize("kind", AWKWARD)
@pytest.mark.parametrize("factory", but_the_first_slow([DPGauss, KDPPCA, GDPPCA]))
@pytest.mark.parametrize("adjacency", but_the_first_slow(["add-remove", "replace-one"]))
def test_no_awkward_feature_hides_the_others(factory, adjacency, kind):
    """The two directions of the other features lie in the span of three components."""
    X = np.column_stack([ROWS[:2000], AWKWARD[kind]])
    pca = factory(3, scale="private", epsilon=3.0, random_state=0, adjacency=adjacency).fit(X)
    wanted = PCA(2).fit(StandardScaler().fit_transform(ROWS[:2000])).components_
    assert np.sum((pca.components_[:, :10] @ wanted.T) ** 2) / 2 > 0.8


@on_all_estimators
def test_the_fitted_map_is_that_of_standardised_rows(factory):
    pca = factory(10, scale="private", epsilon=4.0, random_state=0).fit(ROWS)
    scores = pca.transform(ROWS)
    expected = ((ROWS - pca.mean_) / pca.scale_) @ pca.components_.T
    np.testing.assert_allclose(scores, expected, atol=1e-7 * np.abs(expected).max())
    np.testing.assert_allclose(pca.inverse_transform(scores), ROWS, rtol=1e-6)
    covariance = pca.get_covariance() / np.outer(pca.scale_, pca.scale_)
    values = np.linalg.eigvalsh(covariance)[::-1]
    np.testing.assert_allclose(values, pca.explained_variance_, rtol=1e-6)
    # The error of the product is that of the precision's entries, some 1e10 times as large.
    unit = np.outer(pca.scale_, 1 / pca.scale_)
    product = pca.get_covariance() @ pca.get_precision() / unit
    np.testing.assert_allclose(product, np.eye(10), atol=1e-6)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("X", [CANCER, IRIS, np.hstack([IRIS, np.full((150, 1), 7.0)])])
@pytest.mark.parametrize("k", [None, 2, 0.9])
def test_without_noise_it_is_pca_behind_a_standard_scaler(form, X, k):
    ours = DPGauss(k, scale="private", epsilon=math.inf).fit(form(X))
    scaler = StandardScaler().fit(X)
    theirs = PCA(k, svd_solver="full").fit(scaler.transform(X))
    tolerance = {"rtol": 1e-8, "atol": 1e-8}
    np.testing.assert_allclose(ours.scale_, scaler.scale_, rtol=1e-12)
    np.testing.assert_allclose(ours.mean_, scaler.mean_, rtol=1e-10)
    np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_, **tolerance)
    assert ours.n_components_ == theirs.n_components_
    scores, others = ours.transform(X)[:, :2], theirs.transform(scaler.transform(X))[:, :2]
    np.testing.assert_allclose(scores, others, rtol=1e-6, atol=1e-6)


@on_all_estimators_slowly
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_without_noise_values_too_large_to_square_are_an_error(factory, container):
    with pytest.raises(ValueError, match="too large to be squared"):
        factory(2, scale="private", epsilon=math.inf).fit(container(1e200 * IRIS))


@on_all_estimators
@pytest.mark.parametrize("epsilon", but_the_first_slow([0.1, 0.01, 1.0, 10.0, 100.0]))
def test_any_budget_gives_a_finite_release(factory, epsilon):
    mixed = np.hstack([CANCER, np.eye(569, 4), np.zeros((569, 1)), np.full((569, 1), 1e9)])
    pca = factory(3, scale="private", epsilon=epsilon, random_state=0).fit(mixed)
    for name in released(pca, ("components_", "mean_", "scale_", "explained_variance_")):
        assert np.isfinite(getattr(pca, name)).all(), name
    assert np.isfinite(pca.transform(mixed)).all()
    assert np.all(pca.scale_ > 0)


@on_all_estimators_slowly
@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        ("epsilon", [1e-300, 1e-12, 1e6, 1e300]),
        ("delta", [5e-324, 1e-300, 0.5, 1 - 1e-16]),
        ("norm_bound", 10.0 ** np.arange(-60, 61, 20)),
        ("mean", [np.full(20, size) for size in 10.0 ** np.arange(0, 309, 22)]),
    ],
    ids=["epsilon", "delta", "norm_bound", "mean"],
)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_extreme_parameters_give_a_finite_release_or_cost_nothing(
    factory, container, parameter, values
):
    X = container(np.repeat(np.eye(20), 20, axis=0))
    assert_finite_or_free(factory, X, parameter, values, **{"epsilon": 8.0, "scale": "private"})


@on_all_estimators
def test_too_small_a_budget_is_refused_for_nothing(factory):
    accountant = PrivacyAccountant(10.0, 1e-5)
    tiny = factory(2, scale="private", epsilon=1e-12, delta=1e-16, accountant=accountant)
    refused(tiny, IRIS, "ask for more noise than the grid|too small for n_components")


def test_the_cost_is_known_before_any_fit():
    search = GridSearchCV(
        DPGauss(scale="private"), {"n_components": [1, 2]}, cv=RecordKFold(2), refit=False
    )
    assert price(search, 4) == price(search.set_params(estimator__scale=None), 4)


class Costly(DPGauss):
    event = PureEvent(0.5)

    def _event(self, public):
        return self.event


class Approximate(Costly):
    event = ApproximateEvent(0.5, 1e-7)


class Failing(Costly):
    event = GaussianEvent(1.0, failure=1e-7)


@pytest.mark.parametrize("factory", [Costly, Approximate])
def test_a_cost_that_is_not_gaussian_is_refused_for_nothing(factory):
    pca = factory(2, scale="private", accountant=PrivacyAccountant(1.0, 1e-6))
    refused(pca, IRIS, r"scale='private' needs .*Gaussian noise.*public scales", kinds=ValueError)


def test_a_probability_of_failure_stays_part_of_the_cost():
    pca = Failing(2, epsilon=6.0, scale="private").fit(ROWS)
    assert pca.privacy_.event == Failing.event
    assert math.fsum(s.mu**2 for s in pca.privacy_.spendings) <= 1.0


def test_an_event_that_costs_more_than_is_stated_is_refused_before_the_charge():
    pca = Failing(2, epsilon=1.0, accountant=PrivacyAccountant(9.0, 1e-5))
    refused(pca, ROWS, "are less than", kinds=ValueError)


def test_interactions_have_no_scales():
    accountant = PrivacyAccountant(1.0, 1e-6, unit="interaction")
    protected = {"protect": "interaction", "center": False, "accountant": accountant}
    pca = DPPowerMethod(2, scale="private", **protected)
    refused(pca, np.eye(5), "set scale=None", kinds=ValueError)
