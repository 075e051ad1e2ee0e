"""Sums of every feature by itself are numpy's, and absent entries add nothing to them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from skdppca.records import Records, _records
from skdppca.statistics import Above, Beyond, ColumnCounts, MeanSquares, Present

from ..asking import filled

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

CONDITIONS = {
    "above": (Above(CENTRE), lambda x: x > CENTRE),
    "beyond": (Beyond.about(CENTRE, UNIT), lambda x: np.abs(x - CENTRE) > UNIT),
    "present": (Present(), lambda x: ~np.isnan(x)),
}
on_all_conditions = pytest.mark.parametrize("condition", CONDITIONS)


def records_of(rows, kind, **more):
    make, groups = KINDS[kind]
    return Records(make(rows), groups, **more)


def by_record(values, kind):
    """The sum over rows, or over the groups' means."""
    groups = KINDS[kind][1]
    if groups is None:
        return values.sum(axis=0)
    return sum(values[groups == g].mean(axis=0) for g in range(groups.max() + 1))


@on_all_kinds
def test_column_sums_equal_numpys(kind):
    def f(x, j):
        return np.cos(x) + np.arange(D)[j]

    found = records_of(X, kind).fold(lambda out, b, _: b.add_columns(out, f), (D,))
    np.testing.assert_allclose(found, by_record(f(X, slice(None)), kind), rtol=1e-12)


@on_all_kinds
@on_all_conditions
@pytest.mark.parametrize("low", [0.0, -1.0])
@pytest.mark.parametrize("which", [None, np.array([3, 1])])
@pytest.mark.parametrize("missing", [False, True])
def test_they_count_records_by_their_rows(kind, condition, low, which, missing):
    """Less those that do not satisfy the condition, if low is -1; of an absent entry neither."""
    rows = HOLES if missing else X
    asked, holds = CONDITIONS[condition]
    there = ~np.isnan(rows)
    with np.errstate(invalid="ignore"):
        satisfied = holds(rows) & there
    expected = by_record(np.where(satisfied, 1.0, low * there), kind)
    counts = ColumnCounts(asked, D, which, low, KINDS[kind][1] is not None)
    found = counts.total(records_of(rows, kind, may_miss=missing))
    np.testing.assert_allclose(found, expected if which is None else expected[which], rtol=1e-12)


@on_all_kinds
def test_without_absent_entries_it_does_not_matter_whether_there_may_be_any(kind):
    counts = ColumnCounts(Above(CENTRE), D, None, -1.0, KINDS[kind][1] is not None)
    told, untold = (counts.total(records_of(X, kind, may_miss=m)) for m in (True, False))
    np.testing.assert_allclose(told, untold, rtol=1e-12)


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
    found = MeanSquares(np.zeros(1), np.ones(1), 9.0).total(Records(rows, groups))
    assert found == pytest.approx(1.0)


def test_a_row_that_overflows_weighs_nothing():
    rows = np.vstack([np.full(D, 1e300), np.full(D, -1.7e308), CENTRE + UNIT])
    for kind in (np.asarray, sparse.csr_array):
        found = MeanSquares(CENTRE, UNIT, 9.0).total(Records(kind(rows)))
        np.testing.assert_allclose(found, 1.0)
