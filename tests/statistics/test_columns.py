"""Sums of every feature by itself are numpy's, and absent entries add nothing to them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse

from skdppca.records import Records, _records
from skdppca.statistics import ColumnCells, MeanSquares

from ..private_data_of import filled

RNG = np.random.default_rng(0)
D = 4
X = RNG.normal(size=(200, D)) * (RNG.random((200, D)) < 0.5)
HOLES = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
HOLES[5] = np.nan
CENTRE, UNIT = np.array([0.5, 0.0, -1.0, 2.0]), np.array([1.0, 2.0, 3.0, 0.5])

KINDS = {
    "dense": (np.asarray, None),
    "fortran": (np.asfortranarray, None),
    "CSR": (sparse.csr_array, None),
    "groups": (np.asarray, np.repeat([0, 1, 2, 3], [1, 2, 7, 190])),
    "CSR groups": (sparse.csr_array, np.repeat([0, 1, 2, 3], [1, 2, 7, 190])),
}
on_all_kinds = pytest.mark.parametrize("kind", KINDS)


def records_of(rows, kind, **more):
    make, groups = KINDS[kind]
    return Records.of(make(rows), groups, **more)


def by_record(values, kind):
    """The sum over rows, or over the groups' means."""
    groups = KINDS[kind][1]
    if groups is None:
        return values.sum(axis=0)
    return sum(values[groups == g].mean(axis=0) for g in range(groups.max() + 1))


EDGES = np.array([-4.0, -0.5, 0.0, 0.5, 4.0])


def cells(kind, which=None, edges=EDGES):
    which = np.arange(D) if which is None else np.array(which)
    return ColumnCells(which, CENTRE[which], UNIT[which], edges, KINDS[kind][1] is not None)


def in_cells(rows, which, kind, edges=EDGES):
    """The definition: of every row 1 in a cell; of every group the shares of its rows."""
    units = (rows[:, which] - CENTRE[which]) / UNIT[which]
    lies = [(units >= low) & (units < high) for low, high in itertools.pairwise(edges)]
    return by_record(np.stack(lies, axis=2).astype(float), kind)


@on_all_kinds
@pytest.mark.parametrize("which", [[0, 1, 2, 3], [3, 1]])
@pytest.mark.parametrize("missing", [False, True])
def test_rows_lie_in_cells_and_groups_by_shares_of_their_rows(kind, which, missing):
    """An absent entry lies in no cell, and a group with one adds less."""
    rows = HOLES if missing else X
    found = cells(kind, which).total(records_of(rows, kind, may_miss=missing))
    # shares are rounded down to multiples of 2^-20
    np.testing.assert_allclose(found, in_cells(rows, which, kind), atol=1e-5)


@on_all_kinds
def test_public_scales_come_before_centre_and_unit(kind):
    scale = np.array([2.0, 0.1, 1.0, 7.0])
    found = cells(kind).total(records_of(X * scale, kind, scale=scale))
    scaled = X * scale / scale  # with its rounding
    np.testing.assert_allclose(found, in_cells(scaled, np.arange(D), kind), atol=1e-5)


@pytest.mark.parametrize("kind", ["groups", "CSR groups"])
def test_shares_are_summed_exactly_whatever_the_order(kind):
    """Sums of thirds and sevenths would be others in their last bits."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 8, 300)
    rows = [rng.normal(size=(m, D)) for m in sizes]
    asked, totals = cells(kind), []
    for order in (np.arange(300), rng.permutation(300)):
        labels = np.repeat(np.arange(300), sizes[order])
        shuffled = np.vstack([rows[i] for i in order])
        totals.append(asked.total(Records.of(KINDS[kind][0](shuffled), labels)))
    np.testing.assert_array_equal(*totals)
    np.testing.assert_array_equal(totals[0] * 2**20, np.rint(totals[0] * 2**20))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("centre", "unit", "expected"),
    [(0.0, 1.0, [1, 0, 0, 0]), (0.0, 1e-300, [0, 0, 0, 0]), (-1.7e308, 1e-10, [0, 0, 1, 0])],
)
def test_what_is_beyond_all_edges_or_overflows_lies_in_no_cell(form, centre, unit, expected):
    rows = np.array([[1.7e308], [-1.7e308], [5.0], [-5.0], [4.0], [-4.0]])
    asked = ColumnCells(np.arange(1), np.array([centre]), np.array([unit]), EDGES)
    np.testing.assert_array_equal(asked.total(Records.of(form(rows)))[0], expected)


def test_zeros_that_are_stored_are_zeros():
    stored = sparse.csr_array((np.zeros(2), ([0, 1], [0, 0])), shape=(5, 2))
    asked = ColumnCells(np.arange(2), np.zeros(2), np.ones(2), EDGES)
    np.testing.assert_array_equal(asked.total(Records.of(stored)), [[0, 0, 5, 0]] * 2)


def test_sparse_rows_are_not_made_dense(monkeypatch):
    rows = sparse.random_array((100, D), density=0.1, format="csr", rng=0)
    monkeypatch.setattr(sparse.csr_array, "toarray", None)
    found = cells("CSR").total(Records.of(rows))
    assert found.sum() > 0


def mean_squares(rows, kind, bound):
    """The definition: of every record the (mean) row of squares, clipped by its norm."""
    squares, groups = ((rows - CENTRE) / UNIT) ** 2, KINDS[kind][1]
    if groups is not None:
        squares = np.array([squares[groups == g].mean(axis=0) for g in range(4)])
    norms = np.linalg.norm(squares, axis=1, keepdims=True)
    return (squares * np.minimum(1, bound / np.maximum(norms, 1e-9))).sum(axis=0)


@on_all_kinds
@pytest.mark.parametrize("bound", [3.0, 1e6])
@pytest.mark.parametrize("missing", [False, True])
def test_mean_squares_are_those_of_the_deviations(kind, bound, missing):
    rows = HOLES if missing else X
    found = MeanSquares(CENTRE, UNIT, bound).total(records_of(rows, kind, may_miss=missing))
    expected = mean_squares(filled(rows, CENTRE), kind, bound)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_group_of_more_rows_than_a_block_counts_by_the_mean_of_its_squares(monkeypatch):
    """And not by the square of its mean."""
    monkeypatch.setattr(_records, "BLOCK_ENTRIES", 1)
    rows, groups = np.array([[1.0], [-1.0]] * 50), np.zeros(100, int)
    found = MeanSquares(np.zeros(1), np.ones(1), 9.0).total(Records.of(rows, groups))
    assert found == pytest.approx(1.0)


def test_a_row_that_overflows_weighs_nothing():
    rows = np.vstack([np.full(D, 1e300), np.full(D, -1.7e308), CENTRE + UNIT])
    for kind in (np.asarray, sparse.csr_array):
        found = MeanSquares(CENTRE, UNIT, 9.0).total(Records.of(kind(rows)))
        np.testing.assert_allclose(found, 1.0)
