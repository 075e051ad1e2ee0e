"""Private mean squares: what they find, and where they are not worth their noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from skdppca.mechanisms.scales.private_scales import root_mean_squares
from skdppca.records import _records

from ...private_data_of import on_both_adjacencies, private_data

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(200, 3)) * [1.0, 2.0, 5.0]
CENTRE, UNIT = np.array([0.5, 0.0, -1.0]), np.array([1.0, 2.0, 3.0])
EVERY = np.arange(3)


def found(X, mu=50.0, groups=None, adjacency="add-remove", seed=0):
    n = len(X) if groups is None else len(np.unique(groups))
    X = sparse.csr_array(X) if groups is None and seed % 2 else X
    data = private_data(X, mu, groups=groups, adjacency=adjacency, seed=seed)
    n = np.full(3, float(n))
    return root_mean_squares(data, EVERY, CENTRE, UNIT, n, CENTRE), data.budget


@on_both_adjacencies
@pytest.mark.parametrize("seed", range(4))
def test_they_are_those_of_the_deviations(adjacency, seed):
    mine, budget = found(ROWS, mu=1e4, adjacency=adjacency, seed=seed)  # the odd ones as CSR
    true = np.sqrt(np.mean(((ROWS - CENTRE) / UNIT) ** 2, axis=0))
    np.testing.assert_allclose(mine, true, rtol=0.05)  # rows of norm above 16 sqrt(3) are clipped
    assert [query.name for query in budget.queries] == ["mean squares"]


def test_a_group_counts_by_the_mean_of_its_rows_squares(monkeypatch):
    monkeypatch.setattr(_records, "BLOCK_ENTRIES", 1)  # and by parts, if it has many rows
    X = np.vstack([np.full((300, 3), 2.0), np.zeros((199, 3))])
    groups = np.r_[np.zeros(300, int), 1 + np.arange(199)]
    mine, _ = found(X, mu=1e5, groups=groups)
    squares = ((np.array([[2.0] * 3, [0.0] * 3]) - CENTRE) / UNIT) ** 2
    true = np.sqrt(np.maximum((squares[0] + 199 * squares[1]) / 200, 0.25))
    np.testing.assert_allclose(mine, true, rtol=1e-3)


@on_both_adjacencies
def test_nothing_is_asked_where_noise_would_hide_it(adjacency):
    mine, budget = found(ROWS, mu=0.05, adjacency=adjacency)
    np.testing.assert_array_equal(mine, 1.0)
    assert budget.queries == []


def test_a_feature_is_divided_by_how_many_records_have_it():
    half = np.where(np.arange(200)[:, None] % 2 == 0, np.nan, ROWS[:, 1:2])
    X = np.hstack([ROWS[:, :1], half, ROWS[:, 2:]])
    data = private_data(X, 1e4, may_miss=True)
    mine = root_mean_squares(data, EVERY, CENTRE, UNIT, np.array([200.0, 100.0, 200.0]), CENTRE)
    true = np.sqrt(np.nanmean(((X - CENTRE) / UNIT) ** 2, axis=0))
    np.testing.assert_allclose(mine, true, rtol=0.05)


def test_features_that_too_few_records_have_are_hidden_alone():
    data = private_data(ROWS, 50.0)
    mine = root_mean_squares(data, EVERY, CENTRE, UNIT, np.array([200.0, 1.0, 200.0]), CENTRE)
    assert mine[1] == 1.0
    assert np.all(mine[[0, 2]] != 1.0)
