"""What noisy counts of octaves say: on made-up counts, with noise of which the sd is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from skdppca.mechanisms.column_cells import CellCounts
from skdppca.mechanisms.scales.octaves import EDGES, OCTAVES, ONES, VALUES, ZERO, read_octaves

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


def test_cells_lie_around_powers_of_two_to_both_sides_of_zero():
    assert len(VALUES) == 163
    assert VALUES[ZERO] == 0
    assert set(VALUES[ONES]) == {-1.0, 1.0}
    inside = np.delete(np.arange(163), ZERO)
    places = np.searchsorted(EDGES, VALUES[inside] * 1.4, side="right") - 1
    np.testing.assert_array_equal(places, inside)
    np.testing.assert_array_equal(EDGES, -EDGES[::-1])


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
def test_at_most_1_percent_of_readings_are_off_by_a_factor_of_2(e):
    """Of 2000 of normal values, at most 1 % by more than 2: 3 sds above .5 % (binomial)."""
    columns = [NORMAL * 10.0**k for k in range(-5, 5)]
    far = 0
    for seed in range(200):
        far += np.sum(np.abs(np.log2(ratios(read(counted(*columns), e, seed), columns))) > 1)
    assert far <= 20


@pytest.mark.parametrize("located", [True, False])
def test_variances_are_about_the_mean_or_about_0(located):
    reading = read(counted(NORMAL + 2.0), located=located)
    expected = 1.0 if located else 5.0
    assert 0.7 < reading.variance[0] / expected < 1.7
    assert (reading.mean[0] == 0) != located


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("value", [1.0, -1.0, 4096.0])
def test_rare_values_that_are_seen_get_their_variance(share, value):
    reading = read(put({value: share}), share / 10, 0)
    true = abs(value) * math.sqrt(share * (1 - share))
    assert math.sqrt(reading.variance[0]) == pytest.approx(true, rel=0.3)
    assert reading.mostly_zero[0]
    assert reading.z[0] > OCTAVES.seen


def test_rare_values_of_many_sizes_are_found_where_most_of_them_are_likely():
    # six octaves of 2 sds each: none of them stands out, and no window by 5 sds
    counts = put({2.0**k: 0.02 for k in range(4, 10)})
    found = np.array([math.sqrt(read(counts, 0.01, seed).variance[0]) for seed in range(50)])
    true = math.sqrt(0.12 * np.mean(4.0 ** np.arange(4, 10)))
    # 35 of 50; about 10 with the cells that stand out most
    assert np.sum(np.abs(np.log2(found / true)) < 2) >= 35


@pytest.mark.parametrize("seed", range(20))
def test_where_no_value_is_seen_to_differ_few_are_taken_to_be_1(seed):
    """Not any noise that happens to stand out: 1 of 20 would with a threshold of 2.8 sds."""
    reading = read(put(), 0.01, seed)
    assert 0.1 < math.sqrt(reading.variance[0]) < 0.25
    assert reading.clear[0]


def test_an_unsure_number_of_values_is_no_sign_that_some_differ():
    counts = put()
    counts[0, ZERO] *= 0.95  # as if n were 5 % too large
    sure, unsure = (read(counts, 0.01, n_sd=n_sd) for n_sd in (0.0, 0.02 * N))
    assert not sure.clear[0]
    assert unsure.clear[0]
    assert unsure.variance[0] == pytest.approx(0.02, rel=0.1)


def test_a_lump_far_from_the_others_is_read():
    column = np.where(np.arange(N) < N // 20, 1000.0 + NORMAL, NORMAL)
    assert ratios(read(counted(column), 0.005, 0), [column])[0] == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize("e", [0.4, 0.6])
def test_what_is_not_seen_gets_the_largest_scale(e):
    readings = [read(counted(NORMAL), e, seed) for seed in range(20)]
    unseen = [r for r in readings if r.z[0] <= OCTAVES.seen]
    assert len(unseen) > 5
    for reading in unseen:
        assert reading.variance[0] == EDGES[-1] ** 2
        assert reading.mean[0] == 0
        assert not reading.clear[0]


def test_values_that_were_not_read_make_a_feature_unclear():
    spread = 2.0 ** RNG.uniform(-35, 35, N)
    assert not read(counted(spread), 0.02, 0).clear[0]


def test_a_feature_is_read_by_itself():
    columns = list(COLUMNS.values())
    together = read(counted(*columns), 0.01)
    for i, column in enumerate(columns):
        alone = read(counted(column), 0.01)
        np.testing.assert_allclose(alone.variance[0], together.variance[i], rtol=1e-12)


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
