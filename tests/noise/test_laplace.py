"""Laplace noise is the noise declared, and a draw that was cut tells nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from skdppca.noise import LaplaceQuery, NoiseSource, heavy_tails, laplace


def test_laplace_noise_has_the_scale_that_is_declared():
    query = LaplaceQuery("sum", 0.5, 3.0, size=4000, rounding=1e-9)
    draws = query.release(np.zeros(4000), NoiseSource(0))
    scale = query.widened_sensitivity / 0.5
    assert stats.kstest(draws, stats.laplace(scale=scale).cdf).pvalue > 1e-4
    assert query.noise_sd == pytest.approx(math.sqrt(2) * scale)


def test_a_laplace_draw_that_was_cut_hides_what_it_is_added_to(monkeypatch):
    monkeypatch.setattr(laplace, "rounded_noise", lambda *_: np.array([heavy_tails.LARGEST]))
    query = LaplaceQuery("count", 1.0, 1.0)
    assert query.release(10.0, NoiseSource(0)) == query.release(1e6, NoiseSource(0))
