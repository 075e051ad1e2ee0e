"""SmoothSensitivityPCA: what it releases, at what cost, and how well."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA

from skdppca import DPGauss, PrivacyAccountant, SmoothSensitivityPCA
from skdppca.exceptions import NotReleasedError
from skdppca.metrics import sin_theta
from skdppca.privacy import (
    ApproximateEvent,
    GaussianEvent,
    NonPrivateEvent,
    PureEvent,
    epsilon_of_event,
    is_affordable,
)
from skdppca.private_data import Public

from ...private_data_of import on_both_adjacencies
from ...secret_rows import refused

LAWS = ["gap-release", "gaussian", "student", "cauchy"]
PURE = ["student", "cauchy"]
TOLD = {"center": False, "norm_bound": 1.0}
on_all_laws = pytest.mark.parametrize("law", LAWS)
N, D = 10_000, 50


def signs(k, n=N):
    """Rows of norm 1 with k variances that are .3 above a flat bulk."""
    variances = np.full(D, (1 - 0.3 * k) / D)
    variances[:k] += 0.3
    return np.random.default_rng(0).choice([-1.0, 1.0], size=(n, D)) * np.sqrt(variances)


def exact(X, k):
    return np.linalg.eigh(X.T @ X)[1].T[::-1][:k]


def error(k, **parameters):
    """Median sine of the angle to the components without noise."""
    X = signs(k)
    told = {**TOLD, "epsilon": 0.5, "variance_share": 0.0, **parameters}
    pcas = [SmoothSensitivityPCA(k, random_state=s, **told).fit(X) for s in range(7)]
    return np.median([sin_theta(pca, exact(X, k)) for pca in pcas])


@pytest.mark.parametrize(("k", "most"), [(1, 0.0115), (3, 0.0125)])
def test_the_gap_release_is_as_exact_as_the_gap_allows(k, most):
    X = signs(k)
    dp = [DPGauss(k, epsilon=0.5, random_state=s, **TOLD).fit(X) for s in range(7)]
    assert error(k) <= most < np.median([sin_theta(pca, exact(X, k)) for pca in dp])


@on_all_laws
@on_both_adjacencies
def test_the_event_is_the_promise(law, adjacency):
    told = {**TOLD, "epsilon": 0.5, "adjacency": adjacency}
    event = SmoothSensitivityPCA(2, noise=law, delta=1e-5, **told).fit(signs(2, 100)).privacy_.event
    expected = {
        "gaussian": ApproximateEvent(0.5, 1e-5),
        "student": PureEvent(0.5),
        "cauchy": PureEvent(0.5),
    }
    if law == "gap-release":
        assert isinstance(event, GaussianEvent)
        assert event.failure == pytest.approx(1e-6)
        assert 0.5 * (1 - 1e-5) < epsilon_of_event(event, 1e-5) <= 0.5
    else:
        assert event == expected[law]
    assert is_affordable(event, 0.5, 0.0 if law in PURE else 1e-5)


@on_all_laws
@on_both_adjacencies
@pytest.mark.parametrize("share", [0.0, 0.05])
def test_what_is_spent_is_no_more_than_what_is_charged(law, adjacency, share):
    told = {**TOLD, "epsilon": 0.5, "adjacency": adjacency, "variance_share": share}
    pca = SmoothSensitivityPCA(2, noise=law, **told).fit(signs(2, 500))
    spent = pca.privacy_.spendings
    if law == "gap-release":
        total = math.fsum(s.mu**2 for s in spent)
        assert total <= pca.privacy_.event.mu**2 * (1 + 1e-12)
        assert total > 0.9 * pca.privacy_.event.mu**2
        return
    names = [s.name for s in spent]
    assert names == [
        *(["number of records"] if adjacency == "add-remove" else []),
        "span",
        *(["variances"] if share else []),
    ]
    public = _public(adjacency)
    assert 0.5 * (1 - 1e-9) < math.fsum(pca._mechanism(public)._shares(public)) <= 0.5


def _public(adjacency):
    return Public(D, adjacency, n_records=500 if adjacency == "replace-one" else None)


@pytest.mark.parametrize("law", ["gaussian", "student", "cauchy"])
def test_the_smooth_sensitivity_stays_private(law):
    told = {**TOLD, "epsilon": 0.5, "noise": law, "adjacency": "replace-one"}
    told |= {"variance_share": 0.0, "random_state": 0}
    gap, none = (
        SmoothSensitivityPCA(1, **told).fit(X) for X in (signs(1, 900), np.eye(D)[[0] * 900])
    )
    reports = [replace(pca.privacy_, released=()).to_dict() for pca in (gap, none)]
    assert reports[0] == reports[1]


# None of 20 seeds was off by more than 0.028 and 0.055.
@pytest.mark.parametrize(("adjacency", "right"), [("add-remove", 0.05), ("replace-one", 0.1)])
@pytest.mark.parametrize("bound", [None, 20.0])
@pytest.mark.parametrize("unit", ["row", "patient"])
def test_told_nothing_it_finds_the_components_about_a_private_mean(adjacency, right, bound, unit):
    X = np.random.default_rng(0).normal(size=(4000, 8)) * np.r_[6.0, 4.0, np.ones(6)] + 3.0
    told = {"adjacency": adjacency, "norm_bound": bound, "unit": unit}
    pca = SmoothSensitivityPCA(2, epsilon=4.0, random_state=0, **told)
    pca.fit(X, groups=None if unit == "row" else np.arange(4000) // 2)
    assert sin_theta(pca, PCA(2).fit(X).components_) < right
    assert np.linalg.norm(pca.mean_ - 3.0) < 0.5


@on_all_laws
def test_without_variances_they_are_not_released(law):
    pca = SmoothSensitivityPCA(2, noise=law, epsilon=0.5, variance_share=0, **TOLD)
    pca.fit(signs(2, 100))
    with pytest.raises(NotReleasedError, match="variance_share"):
        _ = pca.explained_variance_
    assert pca.transform(signs(2, 100)).shape == (100, 2)


@on_all_laws
@pytest.mark.parametrize("k", [None, 3])
def test_without_noise_it_is_pca(law, k):
    X = np.random.default_rng(0).normal(size=(60, 5)) * [5, 4, 3, 2, 1] + 7
    ours = SmoothSensitivityPCA(k, noise=law, epsilon=math.inf).fit(X)
    theirs = PCA(k).fit(X)
    assert ours.privacy_.event == NonPrivateEvent()
    cosines = np.abs(np.sum(ours.components_ * theirs.components_, axis=1))
    np.testing.assert_allclose(cosines, 1, rtol=1e-10)
    for name in ("mean_", "explained_variance_", "explained_variance_ratio_", "singular_values_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-10)


BAD = [
    ({"delta": 0}, "delta=0 .* noise='student'"),
    ({"noise": "gaussian", "delta": 0, "epsilon": 0.5, **TOLD}, "delta=0"),
    ({"noise": "cauchy", "norm_bound": 1.0}, "public mean.*center=False"),
    ({"noise": "student", **TOLD, "unit": "patient"}, "variance_share=0"),
    ({"noise": "student", **TOLD, "epsilon": 1e-13}, "epsilon"),
]


@pytest.mark.parametrize(("parameters", "message"), BAD)
def test_bad_parameters_cost_nothing(parameters, message):
    unit = parameters.get("unit", "row")
    accountant = PrivacyAccountant(10.0, 1e-3, unit=unit)
    groups = None if unit == "row" else np.arange(9)
    pca = SmoothSensitivityPCA(1, accountant=accountant, **parameters)
    refused(pca, np.eye(9), message, groups, kinds=ValueError)


def test_pure_modes_refuse_what_only_an_iterative_solver_could_do(monkeypatch):
    wide = sparse.csr_array((5, 20_000))
    with pytest.raises(ValueError, match="n_features=20000; set noise='gap-release'"):
        SmoothSensitivityPCA(1, noise="student", **TOLD).fit(wide)
    assert SmoothSensitivityPCA(1, **TOLD).fit(wide).components_.shape == (1, 20_000)


def test_an_epsilon_that_the_rotation_would_eat_is_refused():
    with pytest.raises(ValueError, match="epsilon=1e-07 is too small for n_components=10"):
        SmoothSensitivityPCA(10, epsilon=1e-7, **TOLD).fit(np.eye(D))
    SmoothSensitivityPCA(1, epsilon=1e-3, **TOLD).fit(np.eye(D))  # a sign is exact


@pytest.mark.parametrize("law", ["student", "gaussian"])
@pytest.mark.parametrize("epsilon", [5e-324, 1e-310, 1e-13])
def test_an_epsilon_that_no_count_survives_is_refused_before_it_is_charged(law, epsilon):
    # All components: there is no span whose noise would refuse it.
    accountant = PrivacyAccountant(1.0, 1e-3)
    pca = SmoothSensitivityPCA(noise=law, epsilon=epsilon, accountant=accountant, **TOLD)
    refused(pca, np.eye(4), "raise epsilon", kinds=ValueError)
