"""Closer looks at features far from 0: what starts and ends them, what they find and cost."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from skdppca.mechanisms.scales.octaves import EDGES, CellCounts, read_octaves
from skdppca.mechanisms.scales.zoom import ZOOM, far_from_zero, zoom

from ...estimators import but_the_first_slow
from ...private_data_of import private_data

N = 4000
RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=N)


def octaves_of(X, e=2e-4, seed=None):
    """Counts with noise of `e` times N, or as if."""
    counts = np.array([np.histogram(column, EDGES)[0] for column in X.T]).astype(float)
    if seed is not None:
        counts += e * len(X) * np.random.default_rng(seed).normal(size=counts.shape)
    whole = np.full(X.shape[1], float(len(X)))
    return CellCounts(counts, e * whole, whole, 0 * whole)


def zoomed_in(X, mu=2.0, most=0.3, e=2e-4, noise=None, kind=np.asarray, **more):
    """Errors of the means and ratios of the sds, in and to those of the columns; the budget."""
    octaves = octaves_of(X, e, noise)
    reading, data = read_octaves(octaves, True), private_data(kind(X), mu, **more)
    kappa = len(X) * mu / math.sqrt(X.shape[1])
    mean, variance = zoom(
        data, np.arange(len(reading.mean)), octaves, reading.mean, reading.variance, kappa, most
    )
    spread = X.std(axis=0)
    return (mean - X.mean(axis=0)) / spread, np.sqrt(variance) / spread, data.budget


def test_features_are_far_if_two_octaves_of_one_sign_hold_nearly_all_values():
    X = np.column_stack([NORMAL, NORMAL + 5, NORMAL - 100, NORMAL + 1e6, np.zeros(N)])
    found = far_from_zero(octaves_of(X))
    np.testing.assert_array_equal(found.which, [1, 2, 3])
    for j, low, high in zip(found.which, found.low, found.high, strict=True):
        assert np.mean((X[:, j] >= low) & (X[:, j] < high)) > 0.97


@pytest.mark.parametrize("distance", [5.0, 100.0, -1000.0, 1e5, -1e6])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_they_get_about_their_standard_deviations(distance, kind):
    X = np.column_stack([NORMAL, 1e-6 * (RNG.normal(size=N) + distance), 3 * NORMAL + distance])
    error, ratio, _ = zoomed_in(X, kind=kind)
    assert np.all(np.abs(error[1:]) < 0.5)
    assert np.all((ratio > 0.7) & (ratio < 2.5))


@pytest.mark.parametrize("most_are", but_the_first_slow([1.0, -1.0, 7.0, 0.001]))
@pytest.mark.parametrize("e", [0.003, 0.03])
def test_the_scale_of_one_value_that_most_are_is_not_that_of_all(most_are, e):
    """Of 20 looks each at 3 sds of other values, 1 may be followed too far; they are 5000 away."""
    X = np.where(np.arange(N) < (1 - 3 * e) * N, most_are, 0.0)[:, None]
    mu = 1 / (e * N * math.sqrt(0.06))
    ratios = [zoomed_in(X, mu=mu, e=e, noise=s, seed=s)[1][0] for s in range(20)]
    assert np.sum(np.array(ratios) < 0.1) <= 1


def test_noise_is_not_followed():
    """Where nothing lies the octaves' scale stays, whatever the noise."""
    octaves = octaves_of(np.full((1000, 1), 3.0))
    for seed in range(20):
        data = private_data(np.zeros((1000, 1)), 0.5, seed=seed)
        mean, variance = zoom(
            data, np.arange(1), octaves, np.full(1, 2.5), np.full(1, 0.5), 500.0, 0.3
        )
        assert (mean[0], variance[0]) == (2.5, 0.5)


@pytest.mark.parametrize("most", [0.0, 0.004, 0.05, 0.3])
def test_no_round_is_begun_that_cannot_be_paid(most):
    X = NORMAL[:, None] * np.ones(4) + 1e6
    budget = zoomed_in(X, most=most)[2]
    cost = math.fsum(query.mu**2 for query in budget.queries) / 4.0
    assert cost <= most * (1 + 1e-12)
    assert (cost > 0) == (most >= 0.01)


def test_noise_rarely_ends_closer_looks_too_early():
    """Of 320 normal features 100 to 1e5 sds from 0, none at 15 sds of noise is 20 times off.

    Noise of 5 sds does so, in one of 3 million looks: by chance in fewer than 1 of 300 such tests.
    """
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(2000, 40)) + 10.0 ** rng.uniform(2, 5, 40)
        mu = 15 * math.sqrt(40 / 0.01) / 2000
        _, ratio, _ = zoomed_in(X, mu=mu, e=0.027, noise=seed, seed=seed)
        assert np.all((ratio > 1 / 20) & (ratio < 20))


def test_values_that_were_seen_outside_count():
    X = np.where(np.arange(N) < 0.9 * N, 1000.0 + NORMAL, 1300.0)[:, None]
    _, ratio, _ = zoomed_in(X)
    assert 0.7 < ratio[0] < 3.0  # of the sd of all, not of nine tenths


@pytest.mark.parametrize(("n_sd", "is_far"), [(0.0, False), (0.05 * N, True)])
def test_features_of_which_many_values_are_seen_nowhere_are_not_far(n_sd, is_far):
    octaves = octaves_of(np.full((N, 1), 8.0))
    octaves.n[:], octaves.n_sd[:] = N / 0.9, n_sd
    assert len(far_from_zero(octaves).which) == is_far


def test_a_constant_keeps_its_octaves_scale():
    X = np.full((N, 1), 3.0)
    data, octaves = private_data(X, 2.0), octaves_of(X)
    mean, variance = zoom(
        data, np.arange(1), octaves, np.full(1, 2.5), np.full(1, 0.5), 2.0 * N, 0.3
    )
    assert len(data.budget.queries) == ZOOM.most_levels
    assert (mean[0], variance[0]) == (2.5, 0.5)


def test_cells_that_are_unclear_are_looked_at_again():
    """Values of which two cells hold five sixths, as noisy shares do by chance."""
    X = (3000.0 + 300 * RNG.normal(size=N))[:, None]
    mu = 15 * math.sqrt(100) / N
    counts = [len(zoomed_in(X, mu=mu, seed=seed)[2].queries) for seed in range(20)]
    assert max(counts) > min(counts)
