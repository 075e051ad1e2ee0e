"""The noise of the pure modes: its laws, and what it costs.

Kolmogorov-Smirnov at p > 1e-4 on fixed seeds.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from skdppca.mechanisms import heavy_tails, pure
from skdppca.mechanisms.eigensolver import Spectrum
from skdppca.mechanisms.gap import span_sensitivity
from skdppca.mechanisms.heavy_tails import CAUCHY, LAPLACE, chi, rounded_noise, rounded_student
from skdppca.mechanisms.pure import LaplaceQuery, SmoothQuery
from skdppca.noise import MAX_SD, NoiseSource


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


@pytest.mark.parametrize("law", ["student", "cauchy", "gaussian"])
@pytest.mark.parametrize(("k", "d"), [(1, 2), (2, 5), (3, 50)])
def test_what_a_shift_and_a_change_of_scale_cost_is_epsilon(law, k, d):
    sensitivity = span_sensitivity(k, d, "add-remove")
    query = SmoothQuery(law, 0.8, 1e-6 if law == "gaussian" else 0.0, k * d, k, sensitivity)
    beta, scale = query.noise
    m = k * d
    if law == "student":
        cost = (m + query.dof) / 2 / scale + query.dof * beta
    elif law == "cauchy":
        cost = math.sqrt(m) / scale + m * beta
    else:
        log = math.log(2 / 1e-6)
        cost = max(beta * 4 * (m + log), 5 * math.sqrt(2 * log) / scale)
    assert 0.8 * (1 - 1e-5) < cost <= 0.8


def test_epsilon_below_what_floats_cost_is_refused():
    with pytest.raises(ValueError, match=r"epsilon=1e-12 .* raise epsilon"):
        _ = SmoothQuery("student", 1e-12, 0.0, 100, 2, span_sensitivity(2, 50, "add-remove")).noise


def test_laplace_noise_has_the_scale_that_is_declared():
    query = LaplaceQuery("sum", 0.5, 3.0, size=4000, rounding=1e-9)
    draws = query.release(np.zeros(4000), NoiseSource(0))
    scale = query.widened_sensitivity / 0.5
    assert stats.kstest(draws, stats.laplace(scale=scale).cdf).pvalue > 1e-4
    assert query.noise_sd == pytest.approx(math.sqrt(2) * scale)


def spectrum(angle):
    rows = np.array([[math.cos(angle), math.sin(angle)]])
    return Spectrum(rows, np.ones(1), 50.0, 0.0, 0.0)


@pytest.mark.parametrize("law", ["student", "cauchy"])
@pytest.mark.parametrize("sign", [-1, 1])
def test_a_draw_that_was_cut_hides_what_it_is_added_to(law, sign, monkeypatch):
    seen = []
    cut = np.full(2, sign * heavy_tails.LARGEST)
    monkeypatch.setattr(SmoothQuery, "_draws", lambda *_: cut)
    monkeypatch.setattr(pure, "as_directions", lambda rows: seen.append(rows.copy()) or rows)
    for angle in (0.3, 0.3001):
        query = SmoothQuery(law, 1.0, 0.0, 2, 1, span_sensitivity(1, 2, "add-remove"))
        query.release(spectrum(angle), NoiseSource(0))
    np.testing.assert_array_equal(*seen)


def test_a_laplace_draw_that_was_cut_hides_what_it_is_added_to(monkeypatch):
    monkeypatch.setattr(pure, "rounded_noise", lambda *_: np.array([heavy_tails.LARGEST]))
    query = LaplaceQuery("count", 1.0, 1.0)
    assert query.release(10.0, NoiseSource(0)) == query.release(1e6, NoiseSource(0))


@pytest.mark.parametrize("law", ["gaussian", "student", "cauchy"])
def test_no_gap_asks_for_noise_beyond_the_grid(law):
    # From public numbers alone: refused beforehand, or fine for every gap.
    refused = 0
    for epsilon in 10.0 ** -np.arange(0.5, 16):
        delta = 1e-6 if law == "gaussian" else 0.0
        query = SmoothQuery(law, epsilon, delta, 10, 1, span_sensitivity(1, 10, "replace-one"))
        try:
            beta, _ = query.noise
        except ValueError as error:
            assert "raise epsilon" in str(error)
            refused += 1
            continue
        assert beta > 0
        for gap in (0.0, 3.0, 1e3, 1e9):
            rows = np.eye(10)[:1]
            assert np.isfinite(
                query.release(Spectrum(rows, np.ones(1), gap, 0.0, 0.0), NoiseSource(0))
            ).all()
    assert 0 < refused < 16
