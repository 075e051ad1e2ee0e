"""The noise drawn is the noise declared, on a grid that betrays no low bits."""

from __future__ import annotations

import math
from fractions import Fraction

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


class Noted:
    """A source of no noise that notes the sds it is asked for, in grid units."""

    def rounded_gaussian(self, sd, shape):
        self.sds = np.broadcast_to(np.asarray(sd, dtype=np.float64), shape)
        return np.zeros(shape, dtype=np.int64)


def random_queries(n):
    rng = np.random.default_rng(0)
    for _ in range(n):
        yield GaussianQuery(
            "sum",
            mu=float(np.exp(rng.uniform(-12, 6))),
            sensitivity=float(np.exp(rng.uniform(-90, 90))),
            size=int(rng.integers(1, 5)),
            symmetric=bool(rng.random() < 0.5),
            norm_error=float(rng.choice([0.0, 1e-16, 1e-9])),
            rounding=float(rng.choice([0.0, 5e-324, 1e-12, 1e3])),
        )


def test_the_declared_noise_covers_the_sensitivity_as_real_numbers():
    for query in random_queries(3000):
        exact = Fraction(query.sensitivity)
        widened = Fraction(query.widened_sensitivity)
        if query.rounding or query.grid != 1:  # else it is a count: exact, of integers
            exact *= 1 + Fraction(query.norm_error)
            exact += 2 * Fraction(query.rounding)
            entries = query.size**2 if query.symmetric else query.size
            assert widened >= exact
            assert (widened - exact) ** 2 >= Fraction(query.grid) ** 2 * entries
        assert Fraction(query.noise_sd) >= widened / Fraction(query.mu)
        assert query.noise_sd <= float(widened / Fraction(query.mu)) * (1 + 1e-15)  # and no more


def test_the_noise_drawn_has_the_sd_that_is_declared_to_the_bit():
    for query in random_queries(3000):
        shape = (query.size, query.size) if query.symmetric else (query.size,)
        places = np.triu_indices(query.size) if query.symmetric else (np.arange(query.size),) * 2
        noted = Noted()
        query.release(np.zeros(shape), noted)
        declared = Fraction(query.noise_sd)
        for in_steps, row, column in zip(noted.sds, *places, strict=True):
            sd = Fraction(in_steps) * Fraction(query.grid)
            assert sd == declared if row == column else 2 * sd**2 >= declared**2


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


@pytest.mark.parametrize("mu", [1e-6, 1e-3, 10.0])
@pytest.mark.parametrize("sensitivity", [1e-30, 1e-12, 1.0])
@pytest.mark.parametrize("rounding", [1e-30, 1e-9, 1e9])
def test_a_rounding_error_beyond_the_sensitivity_does_not_leave_the_grid(mu, sensitivity, rounding):
    query = GaussianQuery("sum", mu, sensitivity, size=100, rounding=rounding)
    assert 1 <= query.noise_sd / query.grid <= 2.0**33
    assert np.isfinite(query.release(np.zeros(100), NoiseSource(0))).all()
