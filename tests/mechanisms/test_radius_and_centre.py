"""A clipping norm and a centre, found with noisy counts and means."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from skdppca.mechanisms.base import Public, Spender
from skdppca.mechanisms.centre import precise_records, rough_centre, shrink_to_signal
from skdppca.mechanisms.radius import excess_records, noisy_count, private_radius
from skdppca.noise import NoiseSource
from skdppca.records import Records

PUBLIC = Public(5, "add-remove")
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_radius_lies_at_the_wanted_quantile(scale, share):
    # counting noise of sd 3 / mu = 30 among 10000, fixed seed
    norms = scale * RNG.lognormal(size=10_000)
    radius = private_radius(norms, share * 10_000, "r", Spender(1.0), 0.1, PUBLIC, NoiseSource(0))
    assert np.mean(norms > radius) <= share + 0.02
    assert np.mean(norms > radius * 2**-0.25) >= share - 0.02


def test_radius_costs_at_most_its_share():
    spender = Spender(1.0)
    private_radius(np.ones(100), 3.0, "r", spender, 0.5, PUBLIC, NoiseSource(0))
    assert math.fsum(q.mu**2 for q in spender.queries) <= 0.25 * (1 + 1e-12)


@pytest.mark.parametrize("value", [0.0, 1e-300, 1e300, math.inf])
def test_radius_stays_on_its_grid(value):
    radius = private_radius(
        np.full(1000, value), 10.0, "r", Spender(9.0), 9.0, PUBLIC, NoiseSource(0)
    )
    assert radius == (2.0**-40 if value < 1 else 2.0**40)


def test_excess_vanishes_as_n_grows_and_grows_with_the_noise():
    small = excess_records(1e3, 2000, 0.2, 0.05, 8.0) / 1e3
    large = excess_records(1e6, 2000, 0.2, 0.05, 8.0) / 1e6
    assert small > 1 > 0.1 > large >= 0.03


def test_count_is_exact_only_where_it_is_public():
    assert noisy_count(7, Spender(1.0), 0.5, Public(5, "replace-one", n_records=7), None) == 7
    noisy = noisy_count(7, Spender(1.0), 0.5, PUBLIC, NoiseSource(3))
    assert noisy >= 1.0 and noisy != 7


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("offset", [0.0, 10.0, 1e4])
def test_centre_is_found_however_far(kind, offset):
    rows = RNG.normal(size=(20_000, 5)) + offset
    records = Records(kind(rows))
    centre, distances = rough_centre(records, 20_000, None, Spender(1.0), PUBLIC, NoiseSource(0))
    assert np.linalg.norm(centre - offset) < 0.25
    if distances is not None:
        np.testing.assert_allclose(distances, np.linalg.norm(rows - centre, axis=1), rtol=1e-8)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_centre_of_a_known_bound_needs_one_query(kind):
    spender = Spender(1.0)
    rows = RNG.normal(size=(5000, 5)) + 3
    rough_centre(Records(kind(rows)), 5000, 12.0, spender, PUBLIC, NoiseSource(0))
    assert [q.name for q in spender.queries] == ["rough centre"]


def test_noise_alone_does_not_move_the_centre():
    assert not shrink_to_signal(np.full(4, 0.1), 0.2).any()
    np.testing.assert_allclose(shrink_to_signal(np.full(4, 10.0), 0.1), 10.0, rtol=1e-3)


def test_far_sparse_centres_do_not_cancel():
    rows = sparse.csr_array(RNG.normal(size=(3000, 5)) + 1e6)
    spender = Spender(5.0)
    centre, _ = rough_centre(Records(rows), 3000, None, spender, PUBLIC, NoiseSource(0))
    exact = rows.toarray().mean(axis=0)
    assert np.linalg.norm(centre - exact) < 1.0
    for query in spender.queries:
        assert query.widened_sensitivity <= 1.05 * query.sensitivity


@pytest.mark.parametrize(("distance", "stays_sparse"), [(0.0, True), (1.0, True), (1e9, False)])
def test_sparse_rows_are_made_dense_only_where_a_centre_costs_digits(distance, stays_sparse):
    records = Records(sparse.csr_array(np.eye(4, 30_000 if distance == 0 else 50)))
    centre = np.full(records.n_features, distance / math.sqrt(records.n_features))
    kept, terms = precise_records(records, centre, 1.0)
    assert (kept is records) == stays_sparse
    assert terms == (1.0 + 2 * np.linalg.norm(centre) if stays_sparse else 1.0)
