"""Draws follow their laws, to the last bit of the grid.

Kolmogorov-Smirnov at p > 1e-4 on fixed seeds.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from skdppca.noise import MAX_SD, LaplaceQuery, NoiseSource, gaussian, heavy_tails
from skdppca.noise.heavy_tails import CAUCHY, LAPLACE, chi, rounded_noise, rounded_student


@pytest.mark.parametrize(("law", "theirs"), [(LAPLACE, stats.laplace), (CAUCHY, stats.cauchy)])
def test_draws_follow_their_law(law, theirs):
    draws = rounded_noise(law, 1e6, 20_000, NoiseSource(0)) / 1e6
    assert stats.kstest(draws, theirs.cdf).pvalue > 1e-4


@pytest.mark.parametrize("law", [LAPLACE, CAUCHY])
@pytest.mark.parametrize("scale", [0.3, 50.0, 2.0**33])
def test_the_quick_and_the_exact_way_draw_the_same(law, scale, monkeypatch):
    quick = rounded_noise(law, scale, 150, NoiseSource(1))
    monkeypatch.setattr(heavy_tails, "FAST", -1.0)
    np.testing.assert_array_equal(rounded_noise(law, scale, 150, NoiseSource(1)), quick)


def test_the_gaussian_that_needs_more_digits_has_its_scale():
    scale = 2.0**40
    draws = rounded_student(1.0, scale, 150, NoiseSource(0)) / scale
    assert scale > MAX_SD
    assert stats.kstest(draws, stats.norm.cdf).pvalue > 1e-4


@pytest.mark.parametrize("dof", [2, 8])
def test_chi_follows_its_law(dof):
    draws = [chi(dof, NoiseSource(s)) for s in range(4000)]
    assert stats.kstest(draws, stats.chi(dof).cdf).pvalue > 1e-4


class Small(NoiseSource):
    """Words of which the first are next to zero."""

    def words(self, n):
        return np.zeros(n, np.uint64) if n > 1 else super().words(n)


def test_chi_near_zero_uniforms_is_finite():
    # -log of a uniform below 2^-64: further bits are appended
    assert 44 < chi(4, Small(0)) ** 2 / 4 < 120


@pytest.mark.parametrize("m", [2, 5])
def test_students_noise_follows_its_law(m):
    dof = m + m % 2
    squares = []
    for s in range(3000):
        noise = NoiseSource(s)
        z = rounded_student(chi(dof, noise), 1e6, m, noise) / 1e6
        squares.append((z**2).sum())
    assert stats.kstest(np.array(squares) * dof / m, stats.f(m, dof).cdf).pvalue > 1e-4


def test_laplace_noise_has_the_scale_that_is_declared():
    query = LaplaceQuery("sum", 0.5, 3.0, size=4000, rounding=1e-9)
    draws = query.release(np.zeros(4000), NoiseSource(0))
    scale = query.widened_sensitivity / 0.5
    assert stats.kstest(draws, stats.laplace(scale=scale).cdf).pvalue > 1e-4
    assert query.noise_sd == pytest.approx(math.sqrt(2) * scale)


def test_a_laplace_draw_that_was_cut_hides_what_it_is_added_to(monkeypatch):
    monkeypatch.setattr(gaussian, "rounded_noise", lambda *_: np.array([heavy_tails.LARGEST]))
    query = LaplaceQuery("count", 1.0, 1.0)
    assert query.release(10.0, NoiseSource(0)) == query.release(1e6, NoiseSource(0))
