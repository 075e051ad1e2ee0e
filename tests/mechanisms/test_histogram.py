"""A histogram moves no further than is claimed, for rows and for groups, and some move as far."""

from __future__ import annotations

import math

import numpy as np
import pytest

from skdppca.mechanisms.base import Public, Spender
from skdppca.mechanisms.histogram import STEPS, histogram_sum, release_histogram, weigh
from skdppca.noise import NoiseSource

ADJACENCIES = ["add-remove", "replace-one"]
N_CELLS = 4

on_both_adjacencies = pytest.mark.parametrize("adjacency", ADJACENCIES)


def histogram(records, grouped):
    """Of records that are arrays of cells, a row each."""
    sizes = [len(record) for record in records]
    cells = np.concatenate([*records, np.zeros(0)]).astype(int)
    return weigh(cells, N_CELLS, np.repeat(np.arange(len(sizes)), sizes) if grouped else None)


@on_both_adjacencies
@pytest.mark.parametrize("grouped", [False, True])
def test_no_neighbours_are_further_apart_and_some_are_as_far(adjacency, grouped):
    # 3000 pairs at a fixed seed; cell -1 counts nowhere. Half of the records lie in one cell.
    rng, most = np.random.default_rng(0), 0.0
    for trial in range(3000):

        def record(rng=rng, trial=trial):
            m = rng.integers(1, 9) if grouped else 1
            return np.repeat(rng.integers(-1, N_CELLS), m) if trial % 2 else rng.integers(-1, 4, m)

        base = [record() for _ in range(rng.integers(0, 4))]
        other = [record()] if adjacency == "replace-one" else []
        place = rng.integers(0, len(base) + 1)
        one = [*base[:place], record(), *base[place:]]
        moved = histogram(one, grouped) - histogram([*base, *other], grouped)
        most = max(most, np.linalg.norm(moved))
    claimed = histogram_sum(adjacency)
    assert 0.999 * claimed < most <= claimed * (1 + 1e-15)


def test_rows_of_a_group_that_each_weigh_one_would_move_it_further():
    rows = np.full(5, 2)
    assert np.linalg.norm(weigh(rows, N_CELLS)) > histogram_sum("replace-one")


def test_a_group_weighs_its_share_of_all_its_rows():
    cells = np.array([0, 0, 1, -1, 3])
    found = weigh(cells, N_CELLS, np.array([0, 0, 0, 0, 1]))
    np.testing.assert_array_equal(found, [0.5, 0.25, 0, 1])


def test_shares_are_rounded_down_so_that_no_order_of_the_sum_matters():
    rng = np.random.default_rng(1)
    cells, groups = rng.integers(0, N_CELLS, 7000), rng.integers(0, 1000, 7000)
    groups = np.unique(groups, return_inverse=True)[1]
    found = weigh(cells, N_CELLS, groups)
    order = rng.permutation(7000)
    np.testing.assert_array_equal(found, weigh(cells[order], N_CELLS, groups[order]))
    np.testing.assert_array_equal(found * STEPS, np.rint(found * STEPS))
    n_groups = groups.max() + 1
    assert n_groups * (1 - N_CELLS / STEPS) <= found.sum() <= n_groups


@on_both_adjacencies
@pytest.mark.parametrize("unit", ["row", "patient"])
def test_the_noise_has_the_declared_sd(adjacency, unit):
    mu, n_cells = 0.5, 20_000
    groups = None if unit == "row" else np.zeros(1, int)
    spender = Spender(mu)
    public = Public(2, adjacency, unit)
    found = release_histogram(np.zeros(1, int), n_cells, groups, spender, public, NoiseSource(0))
    (query,) = spender.queries
    assert query.mu == mu
    assert query.noise_sd == pytest.approx(histogram_sum(adjacency) / mu, rel=1e-6)
    # 20000 draws: the sd is within 3 % but for a chance of 1e-8
    assert found.std() == pytest.approx(query.noise_sd, rel=0.03)


def test_without_noise_it_is_the_histogram():
    cells, public = np.array([0, 1, 1, -1]), Public(2, "add-remove")
    found = release_histogram(cells, N_CELLS, None, Spender(math.inf), public, NoiseSource(0))
    np.testing.assert_array_equal(found, [1, 2, 0, 0])
