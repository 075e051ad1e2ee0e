"""A private centre, however far away the records are, and a location that outliers hardly move."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from skdppca.mechanisms.centre import (
    CENTRE,
    location_error,
    robust_location,
    rough_centre,
)
from skdppca.records import Records

from ..private_data_of import cost, filled, names, private_data

RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=(20_000, 5))
KINDS = [np.asarray, sparse.csr_array]
on_both_kinds = pytest.mark.parametrize("kind", KINDS)


def spread(rows):
    """The median distance from the mean: what errors of a centre are measured in."""
    return float(np.median(np.linalg.norm(rows - rows.mean(axis=0), axis=1)))


def error(data, rows):
    """Of the centre, in spreads."""
    return np.linalg.norm(rough_centre(data).data.centre - rows.mean(axis=0)) / spread(rows)


@on_both_kinds
@pytest.mark.parametrize("offset", [0.3, 3.0, 1e3, 1e9])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_centre_is_found_however_far(kind, offset, adjacency):
    rows = NORMAL + offset
    data = private_data(kind(rows), n=20_000.0, adjacency=adjacency)
    # about 70 records' worth of noise
    assert error(data, rows) < 0.06
    assert cost(data) <= CENTRE.most_share


@pytest.mark.parametrize(
    ("told", "of_all"), [({}, ["centre"]), ({"corrected": True}, [])], ids=["last", "corrected"]
)
def test_all_records_tell_one_mean_or_none_where_a_matrix_corrects_the_centre(
    told, of_all, monkeypatch
):
    data = private_data(NORMAL + 3.0, n=20_000.0).sampled(200, 1024)
    total, asked = Records.total, []
    monkeypatch.setattr(
        Records, "total", lambda r, s: asked.append(r is data.source) or total(r, s)
    )
    rough_centre(data, **told)
    assert [name for name, whole in zip(names(data), asked, strict=True) if whole] == of_all


@pytest.mark.parametrize(
    "find", [lambda data: rough_centre(data).data, lambda data: robust_location(data, 1.0)]
)
@pytest.mark.parametrize("bound", [None, 20.0], ids=["no bound", "bound"])
@pytest.mark.parametrize("offset", [0.03, 0.1, 3.0])
def test_all_records_tell_a_mean_that_a_part_does_not_see(offset, bound, find):
    """At .03 and .1 a rough centre stayed at 0, which is .19 and .63 away; all tell it to .05."""
    rows, errors = np.random.default_rng(0).normal(size=(20_000, 40)) + offset, []
    for seed in range(5):
        data, other = (
            private_data(rows, n=20_000.0, seed=seed, norm_bound=bound) for _ in range(2)
        )
        found = [find(data).centre, find(other.sampled(100, 1024)).centre]
        errors.append(np.linalg.norm(np.subtract(found, offset), axis=1))
    of_all, of_part = np.median(errors, axis=0)
    assert of_part < 1.25 * of_all


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_a_thousand_spreads_are_no_distance(adjacency, seed):
    """1000 rows at mu .3 (epsilon 1), where three clipped means end hundreds of spreads away."""
    rows = NORMAL[:1000] + 1e3 * spread(NORMAL)
    data = private_data(rows, 0.3, n=1000.0, seed=seed, adjacency=adjacency)
    assert error(data, rows) < 1.0


@on_both_kinds
def test_with_a_norm_bound_only_the_centre_is_queried(kind):
    rows = RNG.normal(size=(5000, 5)) + 3
    data = private_data(kind(rows), n=5000.0, norm_bound=12.0)
    assert error(data, rows) < 0.2
    assert names(data) == ["centre"] * CENTRE.polishing_rounds
    assert {query.sensitivity for query in data.budget.queries} > {12.0}


@on_both_kinds
def test_without_noise_it_is_the_mean(kind):
    data = private_data(kind(NORMAL + 3), math.inf, n=20_000.0)
    found = rough_centre(data)
    np.testing.assert_allclose(found.data.centre, (NORMAL + 3).mean(axis=0), rtol=1e-12)
    assert found.radius is None
    groups = np.repeat(np.arange(4), 5000)
    grouped = private_data(kind(NORMAL), math.inf, n=4.0, groups=groups)
    expected = NORMAL.reshape(4, 5000, 5).mean(axis=(0, 1))
    np.testing.assert_allclose(rough_centre(grouped).data.centre, expected, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 20])
def test_with_too_few_records_it_stays_where_it_is(n):
    start = np.full(5, 7.0)
    data = private_data(NORMAL[:n] + 10, 0.3, n=float(n), centre=start)
    found = rough_centre(data)
    np.testing.assert_array_equal(found.data.centre, start)
    assert found.radius is None
    assert names(data) == ["distances from the centre"]
    assert cost(data) <= 0.04 * 0.3**2 * (1 + 1e-12)


def test_a_centre_that_is_right_is_left_alone():
    """The guard takes the mean for noise: by chance not in 4 % of fits, here in 1 % of 200."""
    moved = []
    for seed in range(60):
        data = private_data(NORMAL[:800] - NORMAL[:800].mean(axis=0), 0.2, n=800.0, seed=seed)
        found = rough_centre(data)
        moved.append(found.radius is not None)
        assert (found.radius is None) == (not found.data.centre.any())
        assert np.linalg.norm(found.data.centre) < 2 * spread(NORMAL)
    assert np.mean(moved) < 0.08


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("mu", [1e-3, 0.03, 0.2, 1.0, 30.0])
@pytest.mark.parametrize("taken", [0, 100], ids=["all", "part"])
def test_nothing_costs_more_than_its_share_of_what_is_left(taken, mu, adjacency):
    """Whatever the records are like, and whatever was spent before."""
    for n in (1.0, 30.0, 1e3, 1e6, 1e9):
        for seed in range(5):
            rows = 10.0 ** RNG.uniform(-5, 5) * RNG.normal(size=(10, 4)) + RNG.normal()
            data = private_data(rows, mu, n=n, seed=seed, adjacency=adjacency)
            data = data.sampled(taken, 1024) if taken else data
            data.split(0.8 * mu)
            left = data.remaining
            rough_centre(data)
            assert cost(data) <= CENTRE.most_share * left**2 * (1 + 1e-9)
            robust_location(data, data.remaining)
            assert cost(data) <= left**2 * (1 + 1e-9)


@on_both_kinds
@pytest.mark.parametrize(
    "find", [lambda data: rough_centre(data).data, lambda data: robust_location(data, 1.0)]
)
def test_absent_entries_do_not_draw_the_centre_to_any_fixed_point(kind, find):
    """They follow the centre as it moves: filled with 0, a third would hold it back at 6.7."""
    rows = np.where(RNG.random(NORMAL.shape) < 1 / 3, np.nan, NORMAL + 10)
    found = find(private_data(kind(rows), n=20_000.0, may_miss=True)).centre
    held_back = find(private_data(kind(filled(rows, np.zeros(5))), n=20_000.0)).centre
    assert np.all(found > held_back + 1)
    assert np.all(found < 10.4)


@on_both_kinds
@pytest.mark.parametrize("offset", [0.0, 30.0])
def test_a_location_is_hardly_moved_by_outliers(kind, offset):
    rows = NORMAL + offset
    rows[:2000] = 1e9
    data = private_data(kind(rows), 2.0, n=20_000.0)
    assert np.linalg.norm(robust_location(data, 1.0).centre - offset) < 0.6
    assert cost(data) <= 1 + 1e-12
    assert cost(data) == pytest.approx(1, rel=2e-3)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_the_error_of_a_location_is_no_less_than_its_noise(adjacency):
    """Of an entry, times d, for a radius of 1."""
    claimed = location_error(private_data(NORMAL, 1.0, n=20_000.0, adjacency=adjacency), 0.5)
    off = []
    for seed in range(20):
        data = private_data(NORMAL + 3, 1.0, n=20_000.0, seed=seed, adjacency=adjacency)
        off.append(robust_location(data, 0.5).centre)
    noise = 5 * float(np.std(off, axis=0).mean()) / spread(NORMAL)
    assert claimed / 2 < noise < 1.5 * claimed
    assert location_error(data, math.inf) == 0


def test_groups_are_not_as_long_as_their_mean_rows():
    groups = np.arange(20_000) // 4
    found = rough_centre(private_data(NORMAL + 30, n=5000.0, groups=groups))
    assert found.radius == pytest.approx(spread(NORMAL) / 2, rel=0.2)
    assert found.data.typical_norm is None
