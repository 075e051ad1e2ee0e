"""How many records are clipped, and to what: from public numbers and private answers alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

from skdppca.mechanisms.clipping import (
    Clip,
    clip_records,
    count_rows,
    excess_records,
    is_hopeless,
    search_mu,
)
from skdppca.private_data import GRID, PrivateData
from skdppca.statistics import GramNorms

from ..asking import private_data

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(20_000, 5))
GROUPS = np.arange(20_000) // 4


def names(data):
    return [query.name for query in data.spender.queries]


def cost(data):
    return math.fsum(query.mu**2 for query in data.spender.queries)


def test_excess_vanishes_as_n_grows_and_grows_with_the_noise():
    small = excess_records(1e3, 2000, 0.2, 0.05) / 1e3
    large = excess_records(1e6, 2000, 0.2, 0.05) / 1e6
    assert small > 1 > 0.1 > large >= 0.03


def test_without_noise_nothing_is_clipped():
    data = private_data(ROWS, math.inf, n=20_000.0)
    assert excess_records(1e3, 2000, math.inf, math.inf) == 0
    assert clip_records(data, 15, math.inf) == Clip(math.inf)
    assert search_mu(data, 0.02, 0.05) == math.inf
    assert names(data) == []


@pytest.mark.parametrize("n", [10.0, 300.0, 1e9])
def test_a_search_takes_what_it_is_worth_between_two_shares(n):
    data = private_data(ROWS, 2.0, n=n)
    least, most = data.share(0.02), data.share(0.05)
    mu = search_mu(data, 0.02, 0.05)
    assert least <= mu <= most
    assert mu == (most if n == 10 else least if n == 1e9 else mu)
    assert is_hopeless(n, mu) == (n == 10)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_the_clipping_norm_leaves_out_a_few_records_and_costs_its_share(scale):
    data = private_data(scale * ROWS, 2.0, n=20_000.0)
    clip = clip_records(data, 15, data.left)
    assert not clip.spherical
    assert clip.radius in GRID
    beyond = np.mean(np.linalg.norm(scale * ROWS, axis=1) > clip.radius)
    assert 0 < beyond < 0.1
    assert set(names(data)) == {"clipping norm"}
    assert cost(data) <= 0.03 * 2.0**2 * (1 + 1e-12)


def test_a_public_bound_saves_the_search():
    data = private_data(ROWS, n=20_000.0, norm_bound=7.0)
    assert clip_records(data, 15, 1.0) == Clip(7.0)
    assert names(data) == []


def test_rows_are_scaled_to_one_norm_where_all_would_be_clipped():
    data = private_data(ROWS[:50], 0.1, n=50.0)
    assert clip_records(data, 15, 0.1) == Clip(1.0, spherical=True)
    assert names(data) == []
    bounded = private_data(ROWS[:50], 0.1, n=50.0, norm_bound=3.0)
    assert clip_records(bounded, 15, 0.1) == Clip(3.0)


@pytest.mark.parametrize("told", [{}, {"norm_bound": 7.0}])
def test_rows_are_scaled_to_one_norm_if_asked_for(told):
    data = private_data(ROWS, n=20_000.0, **told)
    assert clip_records(data, 15, 1.0, spherical=True) == Clip(1.0, spherical=True)
    assert names(data) == []


def test_half_of_the_groups_at_least_are_left_as_they_are(monkeypatch):
    asked = []
    monkeypatch.setattr(PrivateData, "radius", lambda self, *told: asked.append(told) or 3.0)
    for mu in (0.002, 0.05, 2.0):
        assert clip_records(private_data(ROWS, mu, groups=GROUPS, n=5000.0), 15, mu) == Clip(3.0)
    assert {measure.key for measure, *_ in asked} == {GramNorms(np.zeros(5)).key}
    few, some, many = (excess for _, excess, _, _ in asked[::-1])
    assert few < some < many == 2500


def test_a_clipping_norm_bounds_the_groups_gram_matrices():
    data = private_data(ROWS, 2.0, groups=GROUPS, n=5000.0)
    clip = clip_records(data, 15, data.left)
    assert not clip.spherical
    grams = np.einsum("gij,gil->gjl", *[ROWS.reshape(-1, 4, 5)] * 2)
    inside = np.mean(np.sqrt(np.linalg.norm(grams, axis=(1, 2))) <= clip.radius)
    assert 0.9 < inside < 1


def test_rows_of_groups_are_counted_none_beyond_a_private_bound():
    sizes = np.r_[np.full(4999, 3), 5003]
    data = private_data(ROWS, 2.0, groups=np.repeat(np.arange(5000), sizes), n=5000.0)
    rows = count_rows(data, 0.4, 0.3)
    # the large group counts for no more than the others' bound
    assert abs(rows - 15_000) < 200
    assert set(names(data)) == {"rows of a group", "number of rows"}
    assert data.spender.queries[-1].mu == 0.3
    assert cost(data) <= 0.4**2 + 0.3**2 + 1e-12


def test_rows_are_no_fewer_than_groups_and_exact_without_noise():
    assert count_rows(private_data(ROWS, 2.0, groups=GROUPS, n=1e6), 0.1, 0.1) == 1e6
    exact = private_data(ROWS, math.inf, groups=GROUPS, n=5000.0)
    assert count_rows(exact, math.inf, math.inf) == 20_000
