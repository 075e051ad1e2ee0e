"""The Gram matrix as it is computed, by blocks and in floating point, moves as little as claimed.

Of records that the search for neighbours does not find: almost at the centre, or stored in parts.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from skdppca.records import Records
from skdppca.statistics import ClippedGram, Distances

from ..private_data_of import asked_sum, exact_sums

RNG = np.random.default_rng(0)
D = 6
BASE = RNG.normal(size=(40, D))
CENTRE = np.full(D, 0.5)
ORIGIN = np.zeros(D)
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
    return exact_sums(monkeypatch)


@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sparse.csr_array])
@pytest.mark.parametrize("centre", [ORIGIN, CENTRE], ids=["origin", "centre"])
@pytest.mark.parametrize("spherical", [False, True])
def test_no_row_moves_the_gram_matrix_further(sums, kind, centre, spherical):
    gram = ClippedGram(centre, 1.0, 0.125, spherical=spherical)
    totals = [asked_sum(sums, gram, kind(np.vstack([BASE, row])))[1] for row in EXTREME]
    added, without = asked_sum(sums, gram, kind(BASE))
    replaced, _ = asked_sum(sums, gram, kind(BASE), adjacency="replace-one")
    for total in totals:
        assert np.linalg.norm(total - without) <= added.widened_sensitivity
        for other in totals:
            assert np.linalg.norm(total - other) <= replaced.widened_sensitivity


@pytest.mark.parametrize("largest", [1, 300])
def test_no_group_moves_the_gram_matrix_further(sums, largest):
    gram = ClippedGram(CENTRE, 1.0, 0.1, grouped=True)
    groups = np.repeat(np.arange(20), 2)
    _, without = asked_sum(sums, gram, BASE, groups=groups)
    for row in EXTREME:
        rows = np.vstack([BASE, np.tile(row, (largest, 1))])
        more = np.r_[groups, np.full(largest, 20)]
        query, total = asked_sum(sums, gram, rows, groups=more)
        assert np.linalg.norm(total - without) <= query.widened_sensitivity


@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.float64])
@pytest.mark.parametrize("centre", [ORIGIN, np.full(D, 100.0)], ids=["origin", "centre"])
def test_entries_stored_in_parts_weigh_their_sum(sums, dtype, centre):
    # one row whose first entry is 100 + 100, stored in two parts
    data, columns = np.array([100, 100], dtype=dtype), np.array([0, 0])
    record = sparse.csr_array((data, columns, np.array([0, 2])), shape=(1, D))
    assert not record.has_canonical_format
    query, total = asked_sum(sums, ClippedGram(centre, 1.0, 0.125), record)
    assert np.linalg.norm(total) <= query.widened_sensitivity
    y = np.r_[200.0, np.zeros(D - 1)] - centre
    y /= np.linalg.norm(y)
    np.testing.assert_allclose(total[:D, :D], np.outer(y, y), atol=1e-9)


def test_a_sparse_row_that_overflows_its_scale_is_left_out(sums):
    rows = sparse.csr_array(np.vstack([np.eye(D), [[1e300] + [0] * (D - 1)]]))
    records = Records.of(rows, scale=np.full(D, 1e-30))
    assert np.isinf(records.measured(Distances(ORIGIN))).any()
    _, total = asked_sum(sums, ClippedGram(ORIGIN, 1.0, 0.125), records)
    np.testing.assert_allclose(total[:D, :D], np.eye(D), rtol=1e-12)
