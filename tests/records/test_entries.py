"""Records with other entries: each row changed by itself, as it is read."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from skdppca.records import KeepLargest, OnesByDegree, Records

RNG = np.random.default_rng(0)
KINDS = [np.asarray, np.asfortranarray, sparse.csr_array]


def rows_of(records):
    """The rows as blocks hold them."""
    blocks = (
        block.rows for _, block in records._blocks(records.members.spans(records.layout.span_rows))
    )
    return np.vstack([rows.toarray() if sparse.issparse(rows) else rows for rows in blocks])


def kept_of(X, most, **more):
    return rows_of(Records.of(sparse.csr_array(X), **more).changed(KeepLargest(most)))


@pytest.mark.parametrize("kind", KINDS)
def test_interactions_are_zeros_and_ones_over_the_root_of_their_number(kind):
    X = np.array([[0, 2.0, -1], [0, 0, 0], [5, 5, 5]])
    ones = (X != 0).astype(float)
    expected = ones / np.sqrt(np.maximum(ones.sum(axis=1), 2))[:, None]
    np.testing.assert_allclose(rows_of(Records.of(kind(X)).changed(OnesByDegree(2))), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_an_absent_entry_is_no_interaction(kind):
    X = np.array([[0, np.nan, -1], [np.nan, np.nan, np.nan], [5, 5, np.nan]])
    found = rows_of(Records.of(kind(X), may_miss=True).changed(OnesByDegree(1)))
    expected = rows_of(Records.of(np.nan_to_num(X)).changed(OnesByDegree(1)))
    np.testing.assert_array_equal(found, expected)


def test_the_largest_entries_stay_and_of_equal_ones_the_first():
    X = np.array([[1, -9, 3, 0, 2], [4, 4, 4, 4, 4], [0, 0, 0, 0, 7], [0, 0, 0, 0, 0]])
    kept = [[0, -9, 3, 0, 0], [4, 4, 0, 0, 0], [0, 0, 0, 0, 7], [0, 0, 0, 0, 0]]
    np.testing.assert_array_equal(kept_of(X, 2), kept)


def test_the_largest_entries_are_those_of_scaled_features():
    X, scale = np.array([[100.0, 2.0, 3.0], [500.0, 0.0, 4.0]]), np.array([100.0, 1.0, 1.0])
    np.testing.assert_array_equal(kept_of(X, 1, scale=scale), [[0, 0, 3], [5, 0, 0]])


def test_an_absent_entry_is_filled_before_the_smaller_ones_go():
    X = np.array([[np.nan, 2.0, 3.0, 1.0]])
    records = Records.of(sparse.csr_array(X), may_miss=True).changed(KeepLargest(2))
    for fill, kept in ((9.0, [9, 0, 3, 0]), (0.5, [0, 2, 3, 0])):
        rows = records.rows.given(slice(0, 1), np.full(4, fill)).toarray()
        np.testing.assert_array_equal(rows, [kept])


def test_the_entries_kept_of_a_row_do_not_depend_on_other_rows():
    X = RNG.normal(size=(50, 20)) * (RNG.random((50, 20)) < 0.6)
    together = kept_of(X, 5)
    alone = np.vstack([kept_of(row[None], 5) for row in X])
    np.testing.assert_array_equal(together, alone)
    assert np.count_nonzero(together, axis=1).max() == 5


def test_entries_in_parts_count_once():
    data, columns = np.array([100, 100, 3], dtype=np.int8), np.array([0, 0, 1])
    X = sparse.csr_array((data, columns, np.array([0, 3])), shape=(1, 3))
    np.testing.assert_array_equal(rows_of(Records.of(X).changed(KeepLargest(1))), [[200, 0, 0]])


def test_changes_of_rows_are_not_stacked():
    """The outer one would read the rows without the inner change; of scores there is none left."""
    inner = Records.of(sparse.csr_array(np.eye(3))).changed(KeepLargest(1))
    with pytest.raises(TypeError, match="OnesByDegree of KeepLargest"):
        inner.changed(OnesByDegree(1))
    inner.scores(np.eye(2, 3), None).changed(OnesByDegree(1))
