"""A private centre, however far away the records are, and a location that outliers hardly move."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from skdppca.mechanisms.centre import (
    location_error,
    robust_location,
    rough_centre,
    shrink_to_signal,
)

from ..asking import filled, private_data

RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=(20_000, 5))
KINDS = [np.asarray, sparse.csr_array]
on_both_kinds = pytest.mark.parametrize("kind", KINDS)


def names(data):
    return [query.name for query in data.spender.queries]


def cost(data):
    return math.fsum(query.mu**2 for query in data.spender.queries)


@on_both_kinds
@pytest.mark.parametrize("offset", [0.0, 10.0, 1e4])
def test_centre_is_found_however_far(kind, offset):
    data = private_data(kind(NORMAL + offset), n=20_000.0)
    assert np.linalg.norm(rough_centre(data).centre - offset) < 0.25
    assert cost(data) <= (0.05 * 3 + 0.05 + 0.06 + 0.08) * (1 + 1e-12)


def test_it_starts_from_the_centre_that_is_known():
    data = private_data(NORMAL + 1e4, n=20_000.0, centre=np.full(5, 1e4 + 0.1))
    found = rough_centre(data)
    assert np.linalg.norm(found.centre - 1e4) < 0.25
    far = private_data(NORMAL + 1e4, n=20_000.0)
    rough_centre(far)
    assert names(data).count("rough centre") < names(far).count("rough centre")


@on_both_kinds
def test_centre_of_a_known_bound_needs_one_query(kind):
    rows = RNG.normal(size=(5000, 5)) + 3
    data = private_data(kind(rows), n=5000.0, norm_bound=12.0)
    rough_centre(data)
    assert names(data) == ["rough centre"]


@on_both_kinds
def test_without_noise_it_is_the_mean(kind):
    data = private_data(kind(NORMAL + 3), math.inf, n=20_000.0)
    np.testing.assert_allclose(rough_centre(data).centre, (NORMAL + 3).mean(axis=0), rtol=1e-12)
    groups = np.repeat(np.arange(4), 5000)
    grouped = private_data(kind(NORMAL), math.inf, n=4.0, groups=groups)
    expected = NORMAL.reshape(4, 5000, 5).mean(axis=(0, 1))
    np.testing.assert_allclose(rough_centre(grouped).centre, expected, atol=1e-12)


def test_with_too_few_records_it_stays_where_it_is():
    data = private_data(NORMAL[:50] + 10, n=50.0)
    assert rough_centre(data) is data
    assert names(data) == []


def test_noise_alone_does_not_move_the_centre():
    assert not shrink_to_signal(np.full(4, 0.1), 0.2).any()
    np.testing.assert_allclose(shrink_to_signal(np.full(4, 10.0), 0.1), 10.0, rtol=1e-3)
    assert not shrink_to_signal(np.zeros(4), 0.0).any()


def test_far_sparse_centres_do_not_cancel():
    rows = sparse.csr_array(RNG.normal(size=(3000, 5)) + 1e6)
    data = private_data(rows, 5.0, n=3000.0)
    exact = rows.toarray().mean(axis=0)
    assert np.linalg.norm(rough_centre(data).centre - exact) < 1.0
    for query in data.spender.queries:
        assert query.widened_sensitivity <= 1.05 * query.sensitivity


@on_both_kinds
@pytest.mark.parametrize("find", [rough_centre, lambda data: robust_location(data, 1.0)])
def test_absent_entries_do_not_draw_the_centre_to_any_fixed_point(kind, find):
    """They follow the centre as it moves: filled with 0, a third would hold it back at 6.7."""
    rows = np.where(RNG.random(NORMAL.shape) < 1 / 3, np.nan, NORMAL + 10)
    found = find(private_data(kind(rows), n=20_000.0, may_miss=True)).centre
    held_back = find(private_data(kind(filled(rows, np.zeros(5))), n=20_000.0)).centre
    assert np.all(found > held_back + 1)
    assert np.all(found < 10.2)


@on_both_kinds
@pytest.mark.parametrize("offset", [0.0, 30.0])
def test_a_location_is_hardly_moved_by_outliers(kind, offset):
    rows = NORMAL + offset
    rows[:2000] = 1e9
    data = private_data(kind(rows), 2.0, n=20_000.0)
    assert np.linalg.norm(robust_location(data, 1.0).centre - offset) < 0.6
    assert cost(data) <= 1 + 1e-12
    assert set(names(data)) == {"median distance", "location"}


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_a_location_costs_nothing_where_it_would_be_lost(adjacency):
    data = private_data(NORMAL[:50], 1.0, n=50.0, adjacency=adjacency)
    assert robust_location(data, 0.5) is data
    assert names(data) == []
    assert location_error(data, 0.5) == math.inf


def test_the_error_of_a_location_is_its_noise_in_units_of_the_median_distance():
    data = private_data(NORMAL, 1.0, n=20_000.0, seed=3)
    claimed = location_error(data, 0.5)
    robust_location(data, 0.5)
    last = data.spender.queries[-1]
    assert last.name == "location"
    # of an entry, times d, for a radius of 1; but for what rounding adds
    assert claimed == pytest.approx(5 * last.noise_sd / last.sensitivity / 20_000, rel=2e-3)
    assert location_error(data, math.inf) == 0


def test_without_noise_a_location_is_steps_of_medians():
    data = private_data(NORMAL + 3, math.inf, n=20_000.0)
    assert np.linalg.norm(robust_location(data, math.inf).centre - 3) < 0.5
    at_once = private_data(np.full((9, 2), 4.0), math.inf, n=9.0, centre=np.full(2, 4.0))
    np.testing.assert_array_equal(robust_location(at_once, math.inf).centre, 4.0)
