"""A noisy scatter matrix can be kept, and joined with those of other people."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np
import pytest

from skdppca import DPGauss
from skdppca.decomposition.base import MATRIX
from skdppca.exceptions import NotReleasedError
from skdppca.mechanisms.norm_histogram import ClippingFactor
from skdppca.mechanisms.scatter import NUMBERS, NoisyScatter

D = 5
G = np.random.default_rng(0)
ROWS = G.normal(size=(900, D)) * [5.0, 3.0, 2.0, 1.0, 1.0] + [7.0, 0.0, 0.0, -2.0, 0.0]
ARRAYS = ("scatter", "mean", "units", "present", "numbers")


def of(rows, noise_sd=0.0, radius=math.inf, noise=0.0, **more):
    """The matrix of rows about their mean."""
    n, mean = len(rows), rows.mean(axis=0)
    scatter = (rows - mean).T @ (rows - mean) + noise
    known = {"distance": radius, "units": np.ones(D), "present": np.ones(D)} | more
    return NoisyScatter.of_cohort(
        scatter, noise_sd, mean, n_rows=float(n), n_records=float(n), radius=radius, **known
    )


def noises(count, sd, seed=1):
    """Symmetric noise of that sd on the diagonal."""
    drawn = np.random.default_rng(seed).normal(size=(count, D, D)) * sd
    return (drawn + drawn.transpose(0, 2, 1)) / 2


def kept(pca):
    return NoisyScatter.from_arrays({name: getattr(pca, f"{MATRIX}{name}_") for name in ARRAYS})


def assert_same(one, other):
    for name, values in one.to_arrays().items():
        assert np.array_equal(values, other.to_arrays()[name], equal_nan=True), name


# The algebra.


def test_without_noise_unequal_cohorts_are_the_joint_matrix():
    parts = [of(ROWS[:100]), of(ROWS[100:350] + 3.0), of(ROWS[350:])]
    joint = np.vstack([ROWS[:100], ROWS[100:350] + 3.0, ROWS[350:]])
    merged = reduce(NoisyScatter.merged, parts)
    assert np.allclose(merged.scatter, of(joint).scatter, rtol=1e-12)
    assert np.allclose(merged.mean, joint.mean(axis=0), rtol=1e-12)
    assert merged.n_rows == len(joint)


def test_equal_cohorts_have_the_noise_of_their_sum():
    parts = [of(ROWS, 40.0, 20.0, noise) for noise in noises(4, 40.0)]
    merged = reduce(NoisyScatter.merged, parts)
    assert np.allclose(merged.scatter, sum(part.scatter for part in parts), rtol=1e-3)
    assert math.isclose(merged.noise_sd, 80.0, rel_tol=1e-3)


def test_the_order_of_cohorts_does_not_matter():
    sizes = (60, 140, 700)
    parts = [
        of(ROWS[:n] + 0.1 * n, 30.0, radius, noise)
        for n, radius, noise in zip(sizes, (18.0, 20.0, 25.0), noises(3, 30.0), strict=True)
    ]
    one, other = reduce(NoisyScatter.merged, parts), reduce(NoisyScatter.merged, parts[::-1])
    near = [part for part in parts if part.radius == 20.0]
    assert near
    assert math.isclose(one.weight, other.weight)
    assert np.allclose(one.mean, other.mean)
    assert np.allclose(one.covariance, other.covariance, atol=0.01 * one.covariance.max())


@pytest.mark.parametrize("moved", [0.05, 0.5])
def test_means_are_pooled_if_they_are_near(moved):
    step = np.array([moved * 20.0, 0, 0, 0, 0])
    parts = of(ROWS, 0.1, 20.0), of(ROWS + step, 0.1, 20.0)
    pooled = reduce(NoisyScatter.merged, parts).scatter - sum(part.scatter for part in parts)
    expected = len(ROWS) / 2 * np.outer(step, step) if moved < 1 / 8 else 0.0
    assert np.allclose(pooled, expected, atol=1e-6 * len(ROWS) * 400)


# Drift.


def test_the_alarm_is_standard_normal_without_drift_and_rises_with_it():
    turned, found = ROWS.copy(), []
    c, s = math.cos(0.4), math.sin(0.4)
    turned[:, :2] = ROWS[:, :2] @ [[c, -s], [s, c]]
    for a, b in zip(noises(200, 300.0, 2), noises(200, 300.0, 3), strict=True):
        still = of(ROWS, 300.0, 20.0, a).drift(of(ROWS, 300.0, 20.0, b), 2)
        found.append(still.z)
    # the mean of 200 of sd about 1 is within .35 but for 1 in 10^6 seeds; the sample is the same,
    # so its error is counted and is not there
    assert -1.5 < np.mean(found) < 0.35
    assert of(ROWS, 30.0, 20.0).drift(of(turned, 30.0, 20.0), 2).z > 5


# What is stored.


@pytest.mark.parametrize("factor", [None, ClippingFactor(1.1, 0.02, False, 0.25)])
@pytest.mark.parametrize(("noise_sd", "radius"), [(3.0, 20.0), (0.0, math.inf)])
def test_arrays_give_the_same_matrix_to_the_bit(factor, noise_sd, radius):
    matrix = of(ROWS, noise_sd, radius, factor=factor, mean_variance=1e-3)
    arrays = matrix.to_arrays()
    assert all(values.dtype == np.float64 for values in arrays.values())
    again = NoisyScatter.from_arrays(arrays)
    assert_same(again, matrix)
    assert again.factor == factor


@pytest.mark.parametrize("spoilt", ["scatter", "mean", "numbers"])
def test_arrays_that_are_no_matrix_are_refused(spoilt):
    arrays = of(ROWS, 3.0, 20.0).to_arrays()
    arrays[spoilt] = arrays[spoilt][:-1]
    with pytest.raises(ValueError, match="no matrix that skdppca released"):
        NoisyScatter.from_arrays(arrays)


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("scatter", (0, 0), math.nan),
        ("mean", 0, math.inf),
        ("units", 0, 0.0),
        ("numbers", NUMBERS.index("noise_sd"), math.nan),
        ("numbers", NUMBERS.index("n_rows"), math.inf),
        ("numbers", NUMBERS.index("effective"), 0.0),
        ("numbers", NUMBERS.index("radius"), math.nan),
        ("numbers", NUMBERS.index("distance"), -1.0),
        ("numbers", NUMBERS.index("distance"), math.inf),
        ("numbers", NUMBERS.index("radius"), math.inf),
        ("numbers", NUMBERS.index("radius"), 1e200),
        ("numbers", NUMBERS.index("radius"), 1e-200),
        ("numbers", NUMBERS.index("noise_sd"), 1e308),
        ("numbers", NUMBERS.index("weight"), 1e308),
        ("numbers", NUMBERS.index("mean_variance"), 1e308),
        ("numbers", len(NUMBERS) + 1, math.nan),
        ("scatter", (0, 0), 1e308),
        ("mean", 0, -1e308),
        ("units", 0, 1e308),
        ("units", 0, 5e-324),
        ("numbers", NUMBERS.index("median"), 0.0),
        ("numbers", NUMBERS.index("median"), 1e-300),
        ("present", 0, 1.5),
        ("present", 0, 1e308),
    ],
)
def test_numbers_that_no_matrix_has_are_refused(name, place, value):
    factor = ClippingFactor(1.1, 0.02, False, 0.25)
    arrays = of(ROWS, 3.0, 20.0, factor=factor).to_arrays()
    arrays[name][place] = value
    with pytest.raises(ValueError, match="no matrix that skdppca released"):
        NoisyScatter.from_arrays(arrays)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_fit_releases_its_matrix_in_float64(dtype):
    pca = DPGauss(2, epsilon=8.0, random_state=0).fit(ROWS.astype(dtype))
    matrix = kept(pca)
    assert pca.components_.dtype == dtype
    assert pca.matrix_scatter_.dtype == np.float64
    assert matrix.n_rows == pca.n_samples_
    assert {f"{MATRIX}{name}" for name in ARRAYS} <= {one.name for one in pca.privacy_.released}


def test_no_matrix_is_released_unasked_beyond_some_columns(monkeypatch):
    monkeypatch.setattr("skdppca.decomposition.dp_gauss.LARGEST_KEPT", D - 1)
    pca = DPGauss(2, epsilon=8.0, random_state=0).fit(ROWS)
    with pytest.raises(NotReleasedError, match="keep_matrix=True"):
        _ = pca.matrix_scatter_
    assert kept(pca.set_params(keep_matrix=True).fit(ROWS)).n_rows > 0


def test_other_units_are_those_of_the_first():
    units = np.array([1.0, 2.0, 1.0, 4.0, 1.0])
    merged = of(ROWS[:450], units=units).merged(of(ROWS[450:] * units))
    expected = of(np.vstack([ROWS[:450], ROWS[450:]]))
    assert np.allclose(merged.scatter, expected.scatter)
    assert np.array_equal(merged.units, units)


def test_scaled_and_clipped_rows_mix():
    lengths = np.linalg.norm(ROWS - ROWS.mean(axis=0), axis=1)
    median = float(np.median(lengths))
    sphere = (ROWS - ROWS.mean(axis=0)) / lengths[:, None]
    scaled = of(sphere, 1.0, 1.0, median=median)
    merged = of(ROWS, 1.0, 4 * median).merged(scaled)
    assert not merged.spherical
    assert merged.unscaled() is merged
    assert median < merged.radius < 4 * median
