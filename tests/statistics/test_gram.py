"""The Gram matrix of sparse rows that are stored in parts, or that overflow their scale."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from skdppca.records import Records
from skdppca.statistics import ClippedGram, Distances

from ..private_data_of import asked_sum, exact_sums

D = 6
ORIGIN = np.zeros(D)


@pytest.fixture
def sums(monkeypatch):
    return exact_sums(monkeypatch)


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
