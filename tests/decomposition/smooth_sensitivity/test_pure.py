"""Noise by smooth sensitivity costs what is said: exact divergences and log ratios, no bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from skdppca.decomposition.smooth_sensitivity import gap as smooth
from skdppca.decomposition.smooth_sensitivity.eigensolver import Spectrum
from skdppca.decomposition.smooth_sensitivity.gap import SmoothQuery, span_sensitivity
from skdppca.noise import NoiseSource, heavy_tails


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


def spectrum(angle):
    rows = np.array([[math.cos(angle), math.sin(angle)]])
    return Spectrum(rows, np.ones(1), 50.0, 0.0, 0.0)


@pytest.mark.parametrize("law", ["student", "cauchy"])
@pytest.mark.parametrize("sign", [-1, 1])
def test_a_draw_that_was_cut_hides_what_it_is_added_to(law, sign, monkeypatch):
    seen = []
    cut = np.full(2, sign * heavy_tails.LARGEST)
    monkeypatch.setattr(SmoothQuery, "_draws", lambda *_: cut)
    monkeypatch.setattr(smooth, "as_directions", lambda rows: seen.append(rows.copy()) or rows)
    for angle in (0.3, 0.3001):
        query = SmoothQuery(law, 1.0, 0.0, 2, 1, span_sensitivity(1, 2, "add-remove"))
        query.release(spectrum(angle), NoiseSource(0))
    np.testing.assert_array_equal(*seen)


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


Z = np.linspace(-12, 12, 6001)
WEIGHTS = stats.norm.pdf(Z) * (Z[1] - Z[0])


def divergence(m, epsilon, shift, b):
    """``P(loss > epsilon) - exp(epsilon) Q(loss > epsilon)``, N(0, I) to N(shift, exp(2 b) I).

    One coordinate along the shift is summed over, the rest is a chi-square.
    """

    def beyond(centre, sd):
        z = centre + sd * Z
        along = m * b + (math.exp(-2 * b) * (z - shift) ** 2 - z**2) / 2
        slope = math.expm1(-2 * b) / 2
        if m == 1 or not b:
            return float(WEIGHTS @ (along > epsilon))
        others = stats.chi2(m - 1)
        edge = (epsilon - along) / slope / sd**2
        return float(WEIGHTS @ (others.sf(edge) if slope > 0 else others.cdf(edge)))

    return beyond(0.0, 1.0) - math.exp(epsilon) * beyond(shift, math.exp(b))


def largest(m, epsilon, delta, rng, more=1.0):
    """Over both signs of a full change of scale, and a few others, in units of delta."""
    query = SmoothQuery("gaussian", epsilon, delta, m, 1, span_sensitivity(1, m + 1, "add-remove"))
    beta, scale = query.noise
    beta, scale = beta * more, scale / more
    found = 0.0
    for share in (-1.0, 1.0, 0.0, *rng.uniform(-1, 1, 2)):
        b = share * beta
        farthest = min(1.0, math.exp(b)) / scale
        for shift in (farthest, rng.random() * farthest, 0.0):
            found = max(found, divergence(m, epsilon, shift, b))
    return found / delta


# The proof ends at 1.
SMALL = [pytest.param(epsilon, marks=pytest.mark.slow) for epsilon in (1e-3, 0.03, 0.3)]


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.5, 1e-3, 1e-6])
@pytest.mark.parametrize("epsilon", [*SMALL, 0.999, 10.0])
def test_a_shift_and_a_change_of_scale_together_hold_epsilon_and_delta(epsilon, delta):
    rng = np.random.default_rng(0)
    assert max(largest(m, epsilon, delta, rng) for m in range(1, 51)) <= 1


def test_noise_too_small_is_seen():
    assert largest(1, 0.999, 1e-6, np.random.default_rng(0), more=3.0) > 1


@pytest.mark.parametrize("m", [1, 2, 50])
def test_the_divergence_is_what_sampling_says(m):
    # 4 standard errors of 200000 draws
    rng, epsilon, shift, b = np.random.default_rng(0), 0.5, 0.3, -0.1
    z = rng.normal(size=(200_000, m))
    moved = z - shift * np.eye(m)[0]
    loss = m * b + (math.exp(-2 * b) * (moved**2).sum(axis=1) - (z**2).sum(axis=1)) / 2
    sampled = np.maximum(-np.expm1(epsilon - loss), 0)
    error = 4 * sampled.std() / math.sqrt(len(z))
    assert abs(sampled.mean() - divergence(m, epsilon, shift, b)) < error


ALONG = np.concatenate([-np.logspace(6, -6, 600), [0.0], np.logspace(-6, 6, 600)])


def ratio(law, m, dof, shift, b):
    """The largest log ratio of the densities of a law, and of it shifted and then scaled."""
    if law == "student":
        x, others = np.meshgrid(ALONG, ALONG[600::3] if m > 1 else [0.0])
        moved = ((x - shift) ** 2 + others**2) * math.exp(-2 * b)
        return np.abs((m + dof) / 2 * (np.log1p(moved) - np.log1p(x**2 + others**2)) + m * b).max()
    each = shift / math.sqrt(m)  # the same l2 norm, the largest l1 norm
    moved = (ALONG - each) ** 2 * math.exp(-2 * b)
    return m * np.abs(b + np.log1p(moved) - np.log1p(ALONG**2)).max()


def largest_ratio(law, m, epsilon, more=1.0):
    query = SmoothQuery(law, epsilon, 0.0, m, 1, span_sensitivity(1, m + 1, "add-remove"))
    beta, scale = query.noise
    return max(
        ratio(law, m, query.dof, more * min(1.0, math.exp(b)) / scale, b)
        for b in (-more * beta, 0.0, more * beta)
    )


@pytest.mark.parametrize("law", ["student", "cauchy"])
@pytest.mark.parametrize("m", [1, 2, 3, 10, 50])
@pytest.mark.parametrize("epsilon", [1e-3, 0.3, 1.0, 2.0])
def test_no_answer_of_a_pure_mode_tells_more_than_epsilon(law, m, epsilon):
    assert 0.5 * epsilon < largest_ratio(law, m, epsilon) <= epsilon
    assert largest_ratio(law, m, epsilon, more=2.5) > epsilon
