"""What noisy counts of octaves say: on made-up counts, with noise of which the sd is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from skdppca.mechanisms.scales.octaves import (
    EDGES,
    VALUES,
    ZERO,
    CellCounts,
    read_octaves,
    seen_sds,
)

N = 10_000
RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=N)


def counted(*columns):
    """Of every column how many values lie in each cell."""
    return np.array([np.histogram(column, EDGES)[0] for column in columns]).astype(float)


def put(shares=None):
    """Counts of one feature: by value shares of N, all others at 0."""
    counts = np.zeros((1, len(VALUES)))
    for value, share in (shares or {}).items():
        counts[0, np.searchsorted(EDGES, value) - 1] = share * N
    counts[0, ZERO] = N - counts.sum()
    return counts


def read(counts, e=1e-6, noise=None, located=True, n_sd=0.0):
    """With noise of `e` times N."""
    d, sd = len(counts), e * N
    if noise is not None:
        counts = counts + sd * np.random.default_rng(noise).normal(size=counts.shape)
    every = np.ones(d)
    return read_octaves(CellCounts(counts, sd * every, N * every, n_sd * every), located)


def ratios(reading, columns):
    return np.sqrt(reading.variance) / np.array([np.std(column) for column in columns])


COLUMNS = {
    "normal": NORMAL,
    "uniform": RNG.uniform(-3, 3, N),
    "skewed": np.exp(NORMAL),
    "negative": -np.exp(NORMAL),
    "off 0": NORMAL + 2.0,
    "tiny": 1e-9 * NORMAL,
    "huge": -1e9 * (NORMAL + 1),
    "0/1": (RNG.random(N) < 0.4).astype(float),
    "two values": np.where(RNG.random(N) < 0.3, 7.0, 1.0),
    "mixture": np.where(RNG.random(N) < 0.1, 1000.0, 1.0) * NORMAL,
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("e", [1e-6, 0.002])
def test_variances_are_those_of_the_values_but_for_the_width_of_octaves(name, e):
    for seed in range(5):
        reading = read(counted(COLUMNS[name]), e, seed)
        assert 0.5 < ratios(reading, [COLUMNS[name]])[0] < 1.6
        mean, sd = np.mean(COLUMNS[name]), np.std(COLUMNS[name])
        assert abs(reading.mean[0] - mean) < 0.4 * sd
        assert reading.clear.all()


@pytest.mark.parametrize("e", [0.01, 0.03])
@pytest.mark.parametrize("seeds", [40, pytest.param(200, marks=pytest.mark.slow)])
def test_at_most_1_percent_of_readings_are_off_by_a_factor_of_2(seeds, e):
    """Of 2000 of normal values, at most 1 % by more than 2: 3 sds above .5 % (binomial)."""
    columns = [NORMAL * 10.0**k for k in range(-5, 5)]
    far = 0
    for seed in range(seeds):
        far += np.sum(np.abs(np.log2(ratios(read(counted(*columns), e, seed), columns))) > 1)
    assert far <= seeds / 20 + 3 * math.sqrt(seeds / 20)


@pytest.mark.parametrize("seed", range(6))
def test_where_no_value_is_seen_to_differ_few_are_taken_to_be_1(seed):
    """Not any noise that happens to stand out: 1 of 20 would with a threshold of 2.8 sds."""
    reading = read(put(), 0.01, seed)
    assert 0.1 < math.sqrt(reading.variance[0]) < 0.25
    assert reading.clear[0]


@pytest.mark.parametrize("e", [0.4, 0.6])
def test_what_is_not_seen_gets_the_largest_scale(e):
    readings = [read(counted(NORMAL), e, seed) for seed in range(20)]
    unseen = [r for r in readings if r.z[0] <= seen_sds(1)]
    assert len(unseen) > 5
    for reading in unseen:
        assert reading.variance[0] == EDGES[-1] ** 2
        assert reading.mean[0] == 0
        assert not reading.clear[0]


@pytest.mark.parametrize("size", [0.0, 1e-150, 1.0, 1e6, 1e150])
def test_any_counts_give_finite_means_and_positive_variances(size):
    counts = size * np.random.default_rng(0).normal(size=(200, len(VALUES)))
    counts[:100, ZERO] += size * 1e3
    for located in (True, False):
        with np.errstate(all="ignore"):
            cells = CellCounts(counts, np.full(200, 1e-150), np.ones(200), np.zeros(200))
            reading = read_octaves(cells, located)
        assert np.isfinite(reading.mean).all()
        assert np.all((reading.variance > 0) & (reading.variance <= 2.0**83))


def test_an_unsure_number_of_values_is_no_sign_that_some_differ():
    counts = put()
    counts[0, ZERO] *= 0.95  # as if n were 5 % too large
    sure, unsure = (read(counts, 0.01, n_sd=n_sd) for n_sd in (0.0, 0.02 * N))
    assert not sure.clear[0]
    assert unsure.clear[0]
    assert unsure.variance[0] == pytest.approx(0.02, rel=0.1)


@pytest.mark.parametrize("d", [100, 1000])
def test_noise_alone_hardly_ever_gives_one_of_many_features_a_unit(d):
    """A false unit hides all others; with 3.5 sds for any d, one in seven had one (seed 0)."""
    rng = np.random.default_rng(0)
    every, tables = np.ones(d), 20_000 // d
    found = 0
    for _ in range(tables):
        cells = CellCounts(rng.normal(size=(d, len(VALUES))), every, 5 * every, every)
        found += np.count_nonzero(read_octaves(cells, True).z > seen_sds(d))
    assert found <= 0.3 * tables
