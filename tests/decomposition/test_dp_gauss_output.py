"""DPGauss(mechanism="output"): SmoothSensitivityPCA's gap release under the name of its paper."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.decomposition import PCA

from skdppca import DPGauss, PrivacyAccountant, SmoothSensitivityPCA
from skdppca.metrics import sin_theta
from skdppca.privacy import GaussianEvent, epsilon_of_event

X = np.random.default_rng(0).normal(size=(4000, 8)) * [6, 4, 1, 1, 1, 1, 1, 1] + 3.0
GROUPS = np.arange(len(X)) // 2


@pytest.mark.parametrize("k", [None, 1, 2])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"adjacency": "replace-one"},
        {"unit": "patient"},
        {"norm_bound": 20.0},
        {"center": False},
    ],
    ids=str,
)
def test_it_is_the_gap_release(k, more):
    groups = GROUPS if "unit" in more else None
    ours, theirs = (
        build(k, random_state=0, **more).fit(X, groups=groups)
        for build in (lambda *a, **b: DPGauss(*a, mechanism="output", **b), SmoothSensitivityPCA)
    )
    for name in ("components_", "mean_", "explained_variance_", "noise_variance_", "n_samples_"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    assert ours.privacy_.event == theirs.privacy_.event
    assert ours.privacy_.spendings == theirs.privacy_.spendings


def test_the_event_is_what_was_asked_for():
    accountant = PrivacyAccountant(1.0, 1e-6)
    pca = DPGauss(2, mechanism="output", accountant=accountant).fit(X)
    event = pca.privacy_.event
    assert isinstance(event, GaussianEvent)
    assert event.failure == pytest.approx(1e-7)
    assert 1 - 1e-9 < epsilon_of_event(event, 1e-6) <= 1
    assert accountant.spent.epsilon == pytest.approx(1.0)


def test_it_finds_the_components():
    pca = DPGauss(2, mechanism="output", random_state=0, epsilon=4.0).fit(X)
    assert sin_theta(pca, PCA(2).fit(X).components_) < 0.05


def test_without_noise_it_is_pca():
    ours = DPGauss(3, mechanism="output", epsilon=math.inf).fit(X)
    theirs = PCA(3).fit(X)
    np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_, rtol=1e-10)
    cosines = np.abs(np.sum(ours.components_ * theirs.components_, axis=1))
    np.testing.assert_allclose(cosines, 1, rtol=1e-10)
