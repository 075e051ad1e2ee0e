"""Alignments of KDPOjas and of the gap release: as large as the squared cosines that are reached.

The statistical tests compare means of 12 fits, or of 200 runs of the iteration alone. Their seeds
are fixed, so each passes or fails for good. Over the settings of the fits the means were .05 apart
at most, and .1 are allowed.
"""

import numpy as np
import pytest

from skdppca import KDPOjas, SmoothSensitivityPCA
from skdppca.datasets import make_spiked
from skdppca.decomposition.iterative.iteration import iterate, orthonormal_start
from skdppca.decomposition.iterative.turned import alignments_of_moves
from skdppca.linalg import decreasing_eigh
from skdppca.mechanisms.block_mean import Gradient
from skdppca.mechanisms.variances import Variances
from skdppca.noise import GaussianQuery, NoiseSource

from ...estimators import but_the_first_slow

FITS = 12


def rows(n, variances, seed=5):
    X = np.random.default_rng(seed).normal(size=(n, len(variances)))
    return X * np.sqrt(variances)


def clipped(along):
    """What was read along a direction, of records that nothing was clipped of."""
    nothing = np.zeros_like(along)
    return Variances(np.eye(len(along)), along, 0.0, 1.0, 100.0, None, along, nothing, 1.0)


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


def test_alignments_of_groups_are_the_squared_cosines():
    data = make_spiked(1500, 30, 2, [10, 5], 0.5, random_state=0)
    exact = decreasing_eigh(data.X.T @ data.X)[1][:2]
    told, reached = [], []
    for seed in range(FITS):
        pca = KDPOjas(2, epsilon=0.5, unit="matrix", center=False, random_state=seed)
        pca.fit(data.X, groups=data.groups)
        told.append(pca.privacy_.details["alignments"])
        reached.append(np.sum(pca.components_ * exact, axis=1) ** 2)
    np.testing.assert_allclose(np.mean(told, axis=0), np.mean(reached, axis=0), atol=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("noise_sd", [0.0, 0.02, 0.1, 0.2])
@pytest.mark.parametrize("rate", [0.5, 8.0, 1e300])
def test_the_recursion_is_what_the_iteration_does(noise_sd, rate):
    """The whole law is known: one component of eigenvalue 2 or 3, and noise of a known size."""
    d, noise = 60, NoiseSource(0)
    rng = np.random.default_rng(0)
    told, reached = [], []
    for _ in range(200):
        A = np.diag(spiked(rng.choice([2.0, 3.0]), d=d))

        def mean(W, C, A=A):
            return Gradient(W @ A + noise_sd * rng.normal(size=W.shape), noise_sd, 1.0)

        start = orthonormal_start(5, d, None, noise)
        found = iterate([mean] * 6, start, rate, False, None, (6, 1))
        along = np.array([found.directions[0] @ A @ found.directions[0]])
        variances = clipped(along)
        told.append(alignments_of_moves(found, variances, along, 1.0)[0][0])
        reached.append(found.directions[0, 0] ** 2)
    # a start is far from the component now and then, which the recursion's mean start is not
    assert np.mean(told) == pytest.approx(np.mean(reached), abs=0.12)


def test_without_noise_the_way_from_the_start_is_left():
    X = OJAS["clear"][0]
    aligned = [
        KDPOjas(3, epsilon=np.inf, n_iter=steps).fit(X).privacy_.details["alignments"]
        for steps in (1, 12)
    ]
    assert (aligned[0] < aligned[1]).all() and (aligned[1] > 0.999).all()


def test_all_components_are_turned_among_themselves_alone():
    X = rows(20_000, [9.0, 4.0, 1.0, 0.5])
    told, reached = means(KDPOjas, X, 3.0, 4)
    np.testing.assert_allclose(told, reached, atol=0.1)
    assert (told < 1).all()


@pytest.mark.parametrize("factory", [KDPOjas, SmoothSensitivityPCA])
def test_of_mere_noise_all_is_lost(factory):
    X = np.random.default_rng(1).normal(size=(300, 30))
    details = factory(2, epsilon=0.05, random_state=0).fit(X).privacy_.details
    np.testing.assert_array_equal(details["alignments"], 0.0)


def test_what_is_not_above_the_floor_is_lost():
    for seed in range(10):
        pca = KDPOjas(3, epsilon=1.0, random_state=seed).fit(rows(1000, spiked(3, 2, 1.5, d=20)))
        details = pca.privacy_.details
        surely = details["clipped_variances"] - 2 * details["clipped_errors"]
        np.testing.assert_array_equal(
            details["alignments"] > 0, surely > details["noise_floor"] * (1 + 1e-12)
        )


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
