"""A histogram moves no further than is claimed, for rows and for groups, and some move as far."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from skdppca.records import Records
from skdppca.statistics import Histogram
from skdppca.statistics.counts import STEPS, weigh

from ..private_data_of import on_both_adjacencies

N_CELLS = 4
EDGES = np.array([-1.0, 0.0, 1.0])


def histogram(centre=(0.0, 0.0), **more):
    """Four cells of two features, and the outside."""
    return Histogram(np.eye(2), np.array(centre), EDGES, EDGES, **more)


def weights(records, grouped):
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
        moved = weights(one, grouped) - weights([*base, *other], grouped)
        most = max(most, np.linalg.norm(moved))
    claimed = histogram(grouped=grouped).sensitivity(adjacency)
    assert 0.999 * claimed < most <= claimed * (1 + 1e-15)


def test_rows_of_a_group_that_each_weigh_one_would_move_it_further():
    claimed = histogram(grouped=True).sensitivity("replace-one")
    assert np.linalg.norm(weigh(np.full(5, 2), N_CELLS)) > claimed


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


ROWS = np.array(
    [
        [-0.5, -0.5],
        [-0.5, 0.5],
        [0.5, -0.5],
        [0.5, 0.5],
        [-1.0, 0.0],  # the first bound belongs to a cell, and so does the last
        [1.0, 1.0],
        [1.0001, 0.0],
        [0.0, -7.0],
        [1e300, 1e300],
        [np.inf, 0.0],
    ]
)
CELLS = np.array([0, 1, 2, 3, 1, 3, 4, 4, 4, 4])


@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sparse.csr_array])
@pytest.mark.parametrize("shift", [0.0, 4.0])
def test_rows_lie_in_the_cell_of_their_scores_or_outside(kind, shift):
    found = histogram((shift, shift)).total(Records.of(kind(ROWS + shift)))
    np.testing.assert_array_equal(found, [np.bincount(CELLS)])


def test_cells_are_numpys():
    X = np.random.default_rng(0).normal(size=(500, 2))
    expected, *_ = np.histogram2d(*X.T, bins=[EDGES, EDGES])
    found = histogram().total(Records.of(X))
    np.testing.assert_array_equal(found[0, :-1], expected.ravel())
    assert found[0, -1] == 500 - expected.sum()


def test_classes_have_a_histogram_each_and_a_row_of_none_counts_nowhere():
    classes = np.array([0, 1, 1, 1, -1, 0, 0, 1, -1, 1])
    found = histogram(n_classes=2).total(Records.of(ROWS), classes=classes)
    expected = [np.bincount(CELLS[classes == c], minlength=5) for c in range(2)]
    np.testing.assert_array_equal(found, expected)


def test_a_group_weighs_one_over_cells_and_classes():
    groups, classes = np.array([0, 0, 1, 1, 1, 1, 2, 2, 2, 2]), np.array([0, 1] * 5)
    asked = histogram(n_classes=2, grouped=True)
    found = asked.total(Records.of(ROWS), groups=groups, classes=classes)
    assert found.sum() == 3
    np.testing.assert_array_equal(found[:, 0], [0.5, 0])
    np.testing.assert_array_equal(found[:, 4], [0.5, 0.5])


@pytest.mark.parametrize("grouped", [False, True])
def test_rows_and_groups_are_told_apart(grouped):
    groups = None if grouped else np.zeros(len(ROWS), int)
    with pytest.raises(TypeError, match="needs the rows' groups"):
        histogram(grouped=grouped).total(Records.of(ROWS), groups=groups)
