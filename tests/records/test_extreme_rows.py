"""Norms of rows that are very wide, or that overflow."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

from skdppca.records import Records
from skdppca.statistics import Distances, GramNorms

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("n_features", [8191, 8193, 9000, 20_000])
def test_a_wide_row_alone_has_the_norm_it_has_among_others(n_features):
    rows, distances = RNG.normal(size=(40, n_features)), Distances(np.zeros(n_features))
    whole = Records.of(rows).measured(distances)
    alone = [Records.of(row[None]).measured(distances)[0] for row in rows]
    assert np.array_equal(whole, alone)


def test_a_groups_norm_does_not_follow_how_many_spans_share_the_threads():
    d = 10_001
    row = RNG.normal(size=(1, d))
    span = 2 * d  # rows; with one more there are two spans, and so two threads

    def norm(n_rows):
        rows = np.broadcast_to(row, (n_rows, d))
        records = Records.of(rows, np.arange(n_rows), n_jobs=2)
        return records.measured(GramNorms(np.zeros(d)))[0]

    with threadpool_limits(limits=2, user_api="blas"):
        assert norm(3) == norm(span + 1)


@pytest.mark.parametrize("scale", [1e-170, 1e200, 1.7e308])
def test_rows_that_overflow_raise_nothing_under_strict_errors(scale):
    rows = np.vstack([RNG.normal(size=(40, 6)), scale * np.ones(6), -scale * np.eye(6)])
    centre = np.full(6, 0.5)
    with np.errstate(all="raise"):
        for X in (rows, sparse.csr_array(rows)):
            assert np.all(Records.of(X).measured(Distances(centre)) > 0)
        groups = np.arange(len(rows))
        assert np.all(Records.of(rows, groups).measured(GramNorms(centre, 0.1)) > 0)
