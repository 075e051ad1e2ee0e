"""Alignments of KDPOjas and of the gap release: as large as the squared cosines that are reached.

The statistical tests compare means of 12 fits, or of 200 runs of the iteration alone. Their seeds
are fixed, so each passes or fails for good. Over the settings of the fits the means were .05 apart
at most, and .1 are allowed.
"""

import numpy as np
import pytest

from skdppca import KDPOjas, SmoothSensitivityPCA
from skdppca.linalg import decreasing_eigh
from skdppca.noise import GaussianQuery

from ...estimators import but_the_first_slow

FITS = 12


def rows(n, variances, seed=5):
    X = np.random.default_rng(seed).normal(size=(n, len(variances)))
    return X * np.sqrt(variances)


def spiked(*top, d, rest=1.0):
    return np.r_[top, np.full(d - len(top), rest)]


# Rows, epsilon, components, other parameters.
OJAS = {
    "low": (rows(5000, spiked(10, 5, 3, d=60)), 0.5, 3, {}),
    "clear": (rows(5000, spiked(20, 10, 5, d=50, rest=0.5)), 1.0, 3, {}),
    "wide": (rows(3000, spiked(40, 20, 10, d=200, rest=0.5)), 0.5, 3, {}),
    "near": (rows(10_000, spiked(10, 9, 8, 7, 6, d=40)), 1.0, 3, {}),
    "powers": (rows(20_000, np.arange(1, 41) ** -1.0), 1.0, 4, {}),
    "few features": (rows(20_000, spiked(3, 2.5, 2, d=8)), 1.0, 3, {}),
    "slow": (rows(5000, spiked(20, 10, 5, d=40)), 1.0, 2, {"learning_rate": 1.0}),
    "power iteration": (rows(5000, spiked(20, 10, 5, d=40)), 1.0, 3, {"learning_rate": 1e300}),
    "two steps": (rows(5000, spiked(20, 10, 5, d=40)), 1.0, 3, {"n_iter": 2}),
    "split": (rows(5000, spiked(20, 10, 5, d=40)), 1.0, 2, {"sampling": "split"}),
}
GAP = {
    "seen": (rows(2000, spiked(20, 15, 10, d=100, rest=0.1)), 1.0, 3, {}),
    "near": (rows(5000, spiked(4, 3.5, d=40)), 1.0, 2, {}),
    "one": (rows(2000, spiked(10, d=50, rest=1.0)), 1.0, 1, {}),
}


def means(factory, X, epsilon, k, **parameters):
    """Of alignments, and of squared cosines with the components of these rows."""
    exact = decreasing_eigh(np.cov(X.T))[1][:k]
    told, reached = [], []
    for seed in range(FITS):
        pca = factory(k, epsilon=epsilon, random_state=seed, **parameters).fit(X)
        told.append(pca.privacy_.details["alignments"])
        reached.append(np.sum(pca.components_ * exact, axis=1) ** 2)
    return np.mean(told, axis=0), np.mean(reached, axis=0)


@pytest.mark.parametrize("setting", but_the_first_slow(OJAS))
def test_alignments_of_ojas_are_the_squared_cosines(setting):
    X, epsilon, k, parameters = OJAS[setting]
    told, reached = means(KDPOjas, X, epsilon, k, **parameters)
    np.testing.assert_allclose(told, reached, atol=0.1)


@pytest.mark.parametrize("setting", but_the_first_slow(GAP))
def test_alignments_of_a_gap_release_are_the_squared_cosines(setting):
    X, epsilon, k, parameters = GAP[setting]
    told, reached = means(SmoothSensitivityPCA, X, epsilon, k, **parameters)
    np.testing.assert_allclose(told, reached, atol=0.1)


@pytest.mark.parametrize("factory", [KDPOjas, SmoothSensitivityPCA])
def test_of_mere_noise_all_is_lost(factory):
    X = np.random.default_rng(1).normal(size=(300, 30))
    details = factory(2, epsilon=0.05, random_state=0).fit(X).privacy_.details
    np.testing.assert_array_equal(details["alignments"], 0.0)


@pytest.mark.parametrize("factory", [KDPOjas, SmoothSensitivityPCA])
def test_they_follow_from_released_numbers_alone(factory, monkeypatch):
    def released(query, total, noise):
        """Of any records the same."""
        return 1e3 * np.random.default_rng(query.size).random(np.shape(total))

    monkeypatch.setattr(GaussianQuery, "release", released)
    told = [
        factory(2, random_state=0, center=False, norm_bound=5.0)
        .fit(rows(900, spiked(4, 2, d=10), seed))
        .privacy_.details["alignments"]
        for seed in range(2)
    ]
    np.testing.assert_array_equal(*told)


@pytest.mark.parametrize(
    "pca",
    [
        SmoothSensitivityPCA(1, noise="student", delta=0, norm_bound=9, center=False),
        KDPOjas(1, strategy="deflation"),
        KDPOjas(1, variance_share=0),
    ],
)
def test_where_no_released_number_tells_there_are_none(pca):
    details = pca.fit(rows(500, spiked(4, d=5))).privacy_.details
    assert not {"alignments", "noise_floor"} & set(details)
