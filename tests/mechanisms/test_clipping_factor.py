"""What clipping took of variances, read off noisy histograms of norms.

Statistical tests have fixed seeds; each says how often it would fail with others.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from skdppca.mechanisms.clipping import Clip, clip_records
from skdppca.mechanisms.clipping_factor import ClippingFactor, clipping_details, unclipped
from skdppca.mechanisms.norm_histogram import EDGES, HISTOGRAM, NormHistogram
from skdppca.mechanisms.variances import release_variances

from ..private_data_of import private_data

N = 20_000
CELLS = len(EDGES) - 1
LAWS = {
    "narrow": lambda rng: np.exp(0.1 * rng.normal(size=N)),
    "lognormal": lambda rng: np.exp(0.6 * rng.normal(size=N)),
    "normal rows": lambda rng: np.linalg.norm(rng.normal(size=(N, 5)), axis=1),
    "counts": lambda rng: np.sqrt(rng.negative_binomial(1, 0.05, N) + 1.0),
}


def histogram(norms, noise_sd, seed=0):
    noise = noise_sd * np.random.default_rng([seed, 1]).normal(size=CELLS)
    counts = np.histogram(norms, EDGES)[0] + noise
    return NormHistogram(counts, EDGES, noise_sd, 0, CELLS)


def exact(norms, radius):
    return float(np.mean(norms**2) / np.mean(np.minimum(norms, radius) ** 2))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("quantile", [0.5, 0.9, 0.97])
def test_the_factor_is_that_of_the_norms(law, quantile):
    """Within a cell, logarithms of norms are taken for uniform: a few percent.

    Where nearly all norms are in one cell, more: they may lie anywhere in it.
    """
    norms = LAWS[law](np.random.default_rng(0))
    radius = float(np.quantile(norms, quantile))
    found = histogram(norms, 1.0).factor(radius, N)
    assert found.value == pytest.approx(exact(norms, radius), rel=0.16 if law == "narrow" else 0.06)
    assert found.sees_tail


@pytest.mark.parametrize("law", LAWS)
def test_its_error_bounds_the_sd_of_its_noise(law):
    # 60 histograms of one table: their sd is within 30 % of the true one but for .1 %. The error is
    # that without the shrinking, which may leave a third.
    norms = LAWS[law](np.random.default_rng(0))
    radius = float(np.quantile(norms, 0.6))
    found = [histogram(norms, 60.0, seed).factor(radius, N) for seed in range(60)]
    ratio = np.std([one.value for one in found]) / np.median([one.error for one in found])
    assert 0.2 < ratio < 1.3


def test_the_cell_of_the_radius_is_split_there():
    norms = np.full(1000, 1.2)  # in the cell from 1 to sqrt 2, taken for uniform in the logarithm
    points = 2.0 ** np.linspace(0, 0.5, 20_001)
    found = NormHistogram(np.histogram(norms, EDGES)[0].astype(float), EDGES, 1e-9, 0, CELLS)
    assert found.factor(1.3, 1000).value == pytest.approx(exact(points, 1.3), rel=1e-3)


def test_it_is_never_below_1():
    values = [histogram(np.full(5000, 1.2), 20.0, s).factor(4.0, 5000).value for s in range(50)]
    assert min(values) == 1.0


def test_where_the_noise_hides_the_clipped_norms_there_is_none():
    # a window of noise holds 5 sds of the sum in 1 of 1000 histograms or less
    found = [histogram([], 30.0, seed).factor(1.0, 100.0) for seed in range(50)]
    assert all(one is None or not one.sees_tail for one in found)
    assert sum(one is None for one in found) > 40


def test_a_noisy_histogram_does_not_show_the_tail():
    norms = LAWS["lognormal"](np.random.default_rng(0))
    coarse = histogram(norms, 1.1 * N / HISTOGRAM.tail_seen)
    assert not coarse.factor(1.0, N).sees_tail


def test_a_part_of_the_records_gives_the_same_factor():
    norms = LAWS["counts"](np.random.default_rng(0))
    whole, part = histogram(norms, 1.0), histogram(norms[: N // 4], 1.0)
    scaled = NormHistogram(4 * part.counts, EDGES, 4 * part.noise_sd, 0, CELLS)
    radius = float(np.quantile(norms, 0.8))
    assert scaled.factor(radius, N).value == pytest.approx(whole.factor(radius, N).value, rel=0.05)


def test_of_rows_that_were_scaled_it_is_the_mean_square_over_that_of_the_radius():
    norms = LAWS["counts"](np.random.default_rng(0))
    median = float(np.median(norms))
    found = histogram(norms, 1.0).factor(median, N, spherical=True)
    assert found.value == pytest.approx(np.mean(norms**2) / median**2, rel=0.15)


def test_it_moves_the_total_by_the_factor_and_the_first_by_the_most():
    variances = np.array([5.0, 2.0, 1.0, 1.0, 0.5])
    found, errors = unclipped(variances, ClippingFactor(1.4, 0.1))
    assert found.sum() == pytest.approx(1.4 * variances.sum())
    assert errors.sum() == pytest.approx(0.1 * variances.sum())
    growth = found / variances
    assert np.all(np.diff(growth) <= 0) and growth[-1] > 1
    assert np.all(np.diff(found) <= 0)


def test_no_factor_leaves_variances_as_they_are():
    variances = np.array([5.0, 2.0])
    found, errors = unclipped(variances, None)
    assert np.array_equal(found, variances) and not errors.any()
    assert clipping_details(None, variances, searched=False) == {}
    assert set(clipping_details(None, variances, searched=True)) == {"clipped_variances"}


def test_what_it_takes_is_that_of_normal_rows_by_the_fourth_power_of_their_norms():
    # the mean of x_j^2 |x|^4 over 1e6 rows: sds of 1 to 2 %
    variances = np.array([4.0, 2.0, 1.0, 0.5])
    rows = np.random.default_rng(0).normal(size=(1_000_000, 4)) * np.sqrt(variances)
    squares = rows**2
    lost = (squares * squares.sum(axis=1, keepdims=True) ** 2).mean(axis=0)
    found, _ = unclipped(variances, ClippingFactor(2.0, 0.0))
    expected = variances.sum() * lost / lost.sum()
    np.testing.assert_allclose(found - variances, expected, rtol=0.05)


@pytest.mark.parametrize("spherical", [False, True])
def test_zero_variances_stay_zero(spherical):
    found, errors = unclipped(np.zeros(3), ClippingFactor(1.5, 0.1))
    assert not found.any() and not errors.any()


@pytest.mark.parametrize("groups", [None, np.arange(N) // 4], ids=["rows", "groups"])
def test_a_public_bound_has_no_factor_and_a_search_has_one(groups):
    rows = np.random.default_rng(0).normal(size=(N, 5))
    n = float(N if groups is None else N // 4)
    searched = clip_records(private_data(rows, 1.0, n=n, groups=groups), 15, 0.5)
    assert searched.factor.value >= 1 and math.isfinite(searched.factor.error)
    bounded = private_data(rows, 1.0, n=n, groups=groups, norm_bound=2.0)
    assert clip_records(bounded, 15, 0.5) == Clip(2.0)


@pytest.mark.parametrize("told", [{}, {"norm_bound": 3.0}])
def test_variances_along_directions_have_one_only_where_norms_were_searched(told):
    rows = np.random.default_rng(0).standard_t(4, size=(N, 6)) * [3, 2, 1, 1, 1, 1]
    data = private_data(rows, 0.6, n=float(N), **told)
    found = release_variances(data, np.eye(2, 6), np.zeros((2, 2)))
    if told:
        assert found.factor is None
        assert np.array_equal(found.explained, found.clipped)
    else:
        assert found.factor.value > 1.02
        assert np.all(found.explained > found.clipped)
        np.testing.assert_allclose(found.explained, rows.var(axis=0)[:2], rtol=0.2)
