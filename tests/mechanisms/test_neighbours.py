"""Sums as they are computed, in floating point and by blocks, move no further than is claimed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

from skdppca.mechanisms.base import Public, Spender
from skdppca.mechanisms.clipping import Clipping
from skdppca.mechanisms.gaussian import GaussianQuery
from skdppca.mechanisms.gram import release_gram
from skdppca.records import Records, _records

RNG = np.random.default_rng(0)
D = 6
BASE = RNG.normal(size=(40, D))
CENTRE = np.full(D, 0.5)
EXTREME = [
    np.zeros(D),
    CENTRE,
    *(CENTRE + distance * np.eye(D)[0] for distance in (1e-12, 1e-10, 1e-9, 1e-8, 1e-6, 1e-3)),
    np.full(D, 1e-170),
    np.full(D, 1.7e308),
    1e200 * np.eye(D)[2],
    5 * np.eye(D)[1],
    -5 * np.eye(D)[1],
]


@pytest.fixture
def sums(monkeypatch):
    """The exact sums behind the releases."""
    seen = []

    def spy(query, total, noise):
        upper = np.triu(total)
        seen.append((query, upper + np.triu(upper, 1).T))
        return np.zeros((query.size, query.size))

    monkeypatch.setattr(GaussianQuery, "release", spy)
    return seen


def gram_of(sums, X, centre, spherical, constant, groups=None, adjacency="add-remove"):
    records = Records(X, groups)
    if groups is None:
        norms = records.map(lambda block: block.distances(centre))
    else:
        norms = records.map(lambda block: block.gram_norms(centre, constant))
    clipping = Clipping(1.0, constant, norms, median=1.0 if spherical else None)
    unit = "row" if groups is None else "person"
    public = Public(D, adjacency, unit, sparse.issparse(X))
    release_gram(records, centre, clipping, Spender(1.0), public, None)
    return sums.pop()


@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sparse.csr_array])
@pytest.mark.parametrize("centre", [None, CENTRE])
@pytest.mark.parametrize("spherical", [False, True])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_no_row_moves_the_gram_matrix_further(sums, kind, centre, spherical, adjacency):
    partners = EXTREME if adjacency == "replace-one" else [None]
    for record in EXTREME:
        for partner in partners:
            first = BASE if partner is None else np.vstack([BASE, partner])
            second = np.vstack([BASE, record])
            query, one = gram_of(sums, kind(first), centre, spherical, 0.125, adjacency=adjacency)
            _, other = gram_of(sums, kind(second), centre, spherical, 0.125, adjacency=adjacency)
            assert np.linalg.norm(one - other) <= query.widened_sensitivity


@pytest.mark.parametrize("largest", [1, 300])
def test_no_group_moves_the_gram_matrix_further(sums, monkeypatch, largest):
    monkeypatch.setattr(_records, "BLOCK_ENTRIES", 64)
    monkeypatch.setattr(_records, "MIN_BLOCK_ROWS", 64)
    groups = np.repeat(np.arange(20), 2)
    for record in EXTREME:
        rows = np.vstack([BASE, np.tile(record, (largest, 1))])
        query, one = gram_of(sums, BASE, CENTRE, False, 0.1, groups)
        _, other = gram_of(sums, rows, CENTRE, False, 0.1, np.r_[groups, np.full(largest, 20)])
        assert np.linalg.norm(one - other) <= query.widened_sensitivity


@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.float64])
@pytest.mark.parametrize("centre", [None, np.full(D, 100.0)])
def test_entries_stored_in_parts_weigh_their_sum(sums, dtype, centre):
    # one row whose first entry is 100 + 100, stored in two parts
    data, columns = np.array([100, 100], dtype=dtype), np.array([0, 0])
    record = sparse.csr_array((data, columns, np.array([0, 2])), shape=(1, D))
    assert not record.has_canonical_format
    query, sum_of_parts = gram_of(sums, record, centre, False, 0.125)
    assert np.linalg.norm(sum_of_parts) <= query.widened_sensitivity


def test_a_sparse_row_that_overflows_its_scale_is_left_out(sums):
    rows = sparse.csr_array(np.vstack([np.eye(D), [[1e300] + [0] * (D - 1)]]))
    records = Records(rows, scale=np.full(D, 1e-30))
    norms = records.map(lambda block: block.distances(None))
    clipping = Clipping(1.0, 0.125, norms)
    release_gram(records, None, clipping, Spender(1.0), Public(D, "add-remove"), None)
    assert np.isfinite(sums.pop()[1]).all()


@pytest.mark.parametrize("n_features", [8191, 8193, 9000, 20_000])
def test_a_wide_row_alone_has_the_norm_it_has_among_others(n_features):
    rows = RNG.normal(size=(40, n_features))
    whole = Records(rows).map(lambda block: block.distances(None))
    alone = [Records(row[None]).map(lambda block: block.distances(None))[0] for row in rows]
    assert np.array_equal(whole, alone)


def test_a_groups_norm_does_not_follow_how_many_spans_share_the_threads():
    d = 10_001
    row = RNG.normal(size=(1, d))
    span = 2 * d  # rows; with one more there are two spans, and so two threads

    def norm(n_rows):
        rows = np.broadcast_to(row, (n_rows, d))
        records = Records(rows, np.arange(n_rows), n_jobs=2)
        return records.map(lambda block: block.gram_norms(None, 0.0))[0]

    with threadpool_limits(limits=2, user_api="blas"):
        assert norm(3) == norm(span + 1)


def test_rows_that_overflow_raise_nothing_under_strict_errors():
    with np.errstate(all="raise"):
        for X in (BASE, sparse.csr_array(BASE)):
            rows = np.vstack([X.toarray() if sparse.issparse(X) else X, *EXTREME])
            records = Records(type(X)(rows) if sparse.issparse(X) else rows)
            records.map(lambda block: block.distances(CENTRE))
        groups = np.arange(len(rows))
        Records(rows, groups).map(lambda block: block.gram_norms(CENTRE, 0.1))
