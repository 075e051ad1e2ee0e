"""How many records' numbers lie in each of many intervals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from skdppca.records import Records
from skdppca.statistics import (
    AdjacentDifferences,
    CountBeyond,
    Distances,
    MeasureHistogram,
    RowCounts,
)

from ..private_data_of import private_data

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(500, 3))
EDGES = 2.0 ** np.arange(-2, 3, 0.5)
KINDS = [np.asarray, np.asfortranarray, sparse.csr_array]
on_all_kinds = pytest.mark.parametrize("kind", KINDS)


def total(X, centre=(0.0, 0.0, 0.0), edges=EDGES, **more):
    return MeasureHistogram(Distances(np.array(centre)), edges).total(Records.of(X, **more))


@on_all_kinds
@pytest.mark.parametrize("centre", [(0.0, 0.0, 0.0), (0.5, -0.5, 2.0)])
def test_counts_are_numpys(kind, centre):
    distances = np.linalg.norm(ROWS - centre, axis=1)
    np.testing.assert_array_equal(total(kind(ROWS), centre), np.histogram(distances, EDGES)[0])


def test_it_is_the_difference_of_the_counts_beyond_two_edges():
    """Numbers on an edge, too: they belong to the interval below."""
    X = np.outer(np.r_[EDGES, 0.3, 1.1], [1.0, 0.0, 0.0])
    zero = Distances(np.zeros(3))
    beyond = [CountBeyond(zero, float(edge)).total(Records.of(X)) for edge in EDGES]
    np.testing.assert_array_equal(total(X), -np.diff(beyond))


@on_all_kinds
def test_numbers_beyond_all_edges_are_counted_nowhere(kind):
    first = np.array([0.0, 5e-324, EDGES[0], EDGES[-1] * 1.01, 1e160, 1.7e308, 1.0])
    X = np.outer(first, [1.0, 0.0, 0.0])
    found = total(kind(X))
    assert found.sum() == 1
    assert found[np.searchsorted(EDGES, 1.0) - 1] == 1


def test_a_group_counts_once_by_its_own_number():
    groups = np.repeat([0, 1, 2], [1, 3, 4])
    records = Records.of(ROWS[:8], groups)
    sizes = MeasureHistogram(RowCounts(), np.array([0.5, 1.0, 2.0, 4.0]))
    np.testing.assert_array_equal(sizes.total(records), [1, 0, 2])
    means = np.linalg.norm([ROWS[:8][groups == g].mean(axis=0) for g in range(3)], axis=1)
    np.testing.assert_array_equal(total(ROWS[:8], groups=groups), np.histogram(means, EDGES)[0])


def test_numbers_that_several_records_change_are_refused_and_cost_nothing():
    data = private_data(ROWS).mean_rows().shuffled()
    with pytest.raises(TypeError, match="AdjacentDifferences changes for 2 records"):
        data.ask(MeasureHistogram(AdjacentDifferences(), EDGES))
    assert data.budget.queries == []
