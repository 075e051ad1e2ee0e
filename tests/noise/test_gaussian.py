"""The noise drawn is the noise declared, on a grid that betrays no low bits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chi2

from skdppca.noise import GaussianQuery, NoiseSource


@pytest.mark.parametrize("mu", [1e-4, 0.3, 3.0])
@pytest.mark.parametrize("sensitivity", [2.0**-40, 1.0, 777.7])
def test_vector_noise_has_the_declared_variance(mu, sensitivity):
    # two-sided error 1e-6, fixed seed
    query = GaussianQuery("sum", mu, sensitivity, size=20_000, rounding=1e-12 * sensitivity)
    noise = query.release(np.zeros(20_000), NoiseSource(1))
    square = np.sum((noise / query.noise_sd) ** 2)
    low, high = chi2.ppf([5e-7, 1 - 5e-7], 20_000)
    assert low < square < high
    assert query.noise_sd >= sensitivity / mu


def test_symmetric_noise_is_isotropic_in_the_frobenius_norm():
    # error 4e-6 over both, fixed seed
    size = 150
    query = GaussianQuery("gram", 1.0, 1.0, size, symmetric=True, rounding=1e-9)
    noise = query.release(np.zeros((size, size)), NoiseSource(2)) / query.noise_sd
    assert np.array_equal(noise, noise.T)
    diagonal, above = np.diag(noise), noise[np.triu_indices(size, 1)]
    for values, variance in ((diagonal, 1.0), (above, 0.5)):
        low, high = chi2.ppf([1e-6, 1 - 1e-6], len(values))
        assert low < np.sum(values**2) / variance < high


@pytest.mark.parametrize("mu", [1e-6, 0.1, 5.0])
def test_releases_lie_on_a_grid_of_powers_of_two(mu):
    query = GaussianQuery("sum", mu, 3.0, size=100, rounding=1e-9)
    released = query.release(np.random.default_rng(0).normal(size=100) * 1e3, NoiseSource(0))
    assert math.frexp(query.grid)[0] == 0.5
    assert np.array_equal(released / query.grid, np.rint(released / query.grid))
    assert query.noise_sd / query.grid <= 2.0**33


def test_the_sensitivity_covers_rounding():
    exact = GaussianQuery("sum", 1.0, 1.0, size=4, rounding=1e-3, norm_error=1e-2)
    assert exact.widened_sensitivity >= 1.01 + 2e-3 + 2 * exact.grid


def test_counts_are_not_widened():
    assert GaussianQuery("count", 0.5, 1.0).widened_sensitivity == 1.0


def test_infinite_mu_adds_no_noise():
    total = np.array([[1.0, 2.0], [0.0, 3.0]])
    query = GaussianQuery("gram", math.inf, math.inf, 2, symmetric=True, rounding=math.inf)
    assert np.array_equal(query.release(total, NoiseSource()), [[1.0, 2.0], [2.0, 3.0]])


@pytest.mark.parametrize("total", [np.nan, np.inf, -np.inf, 1e300])
def test_a_sum_that_is_no_number_does_not_wrap_around(total):
    query = GaussianQuery("sum", 1.0, 1.0, rounding=1e-9)
    released = query.release(total, NoiseSource(0))
    assert np.isfinite(released)
    assert released * np.nan_to_num(np.sign(total)) >= 0
