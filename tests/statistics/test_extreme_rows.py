"""Sums as they are computed, by blocks and in floating point, move no further than is claimed.

Of records that the search for neighbours does not find: almost at the centre or at what is
predicted, orthogonal to the directions but for rounding, far out along what is removed.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist

from skdppca.records import Records
from skdppca.statistics import (
    ClippedGram,
    Distances,
    NormProduct,
    ProductSum,
    ResidualNorms,
    ResidualSum,
)

from ..private_data_of import asked_sum, exact_sums

RNG = np.random.default_rng(0)
D = 6
BASE = RNG.normal(size=(12, D))
FRAME = np.linalg.qr(RNG.normal(size=(D, D)))[0].T
W, REMOVED, REST = FRAME[:2], FRAME[2:4], FRAME[4:]
CENTRE, AXES = np.full(D, 0.5), np.eye(D)
CENTRES = {"origin": np.zeros(D), "centre": CENTRE, "far centre": 1e14 * CENTRE}

# A record whose residual is nothing but rounding: its own product is what is predicted.
PREDICTED = CENTRE + W[0] + 0.5 * W[1] + 0.3 * REST[0]

EXTREME = [
    np.zeros(D),
    CENTRE,
    PREDICTED,
    *(PREDICTED + size * REST[1] for size in (1e-15, 1e-12, 1e-9, 1e-7, 1e-5, 1e-3)),
    *(CENTRE + distance * AXES[0] for distance in (1e-12, 1e-10, 1e-9, 1e-8, 1e-6, 1e-3)),
    np.full(D, 1e-170),
    1e200 * AXES[2],
    np.full(D, 1.7e308),
    5 * AXES[1],
    -5 * AXES[1],
    *(size * REMOVED[0] for size in (1e3, 1e8, 1e16)),
    *(size * REMOVED[0] + W[0] for size in (1e3, 1e8, 1e16)),
    *(size * REST[0] for size in (1.0, 1e4, 1e8, 1e16)),
    *(CENTRE + size * REST[0] + W[1] / size for size in (1e4, 1e8, 1e16)),
    (AXES[0] - W.T @ W[:, 0]) * 1e9,
    1e5 * W[0],
    5 * W[0],
    -5 * W[0] + REST[0],
    100 * (W[0] + W[1]),
]


def residuals(prediction, removed=None):
    def make(centre, grouped=False):
        C = prediction(centre)
        C = C if removed is None else C - (C @ removed.T) @ removed
        return ResidualSum(ResidualNorms(centre, removed, W, C), 2.0)

    return make


def exact(centre):
    y = PREDICTED - centre
    return np.outer(W @ y, y)


PREDICTIONS = {
    "nothing": lambda centre: np.zeros_like(W),
    "one record": exact,
    "much": lambda centre: 1e6 * (W + REST),
}
OF_BOTH = {
    "matrix": lambda centre, grouped=False: ClippedGram(centre, 1.0, 0.125, grouped),
    "products": lambda centre, grouped=False: ProductSum(
        ResidualNorms(centre, None, W, np.zeros_like(W)), 2.0
    ),
    "norms": lambda centre, grouped=False: NormProduct(centre, W, 1.0, False, grouped),
    **{
        f"residuals, {name} predicted{', removed' * (removed is not None)}": residuals(
            made, removed
        )
        for name, made in PREDICTIONS.items()
        for removed in (None, REMOVED)
    },
}
OF_ROWS = {
    "matrix of unit rows": lambda centre: ClippedGram(centre, 1.0, 0.125, spherical=True),
    "norms of unit rows": lambda centre: NormProduct(centre, W, 1.0, spherical=True),
    **OF_BOTH,
}


@pytest.fixture
def sums(monkeypatch):
    return exact_sums(monkeypatch)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("centre", CENTRES.values(), ids=CENTRES)
@pytest.mark.parametrize("make", OF_ROWS.values(), ids=OF_ROWS)
def test_no_row_moves_a_sum_further(sums, make, centre, kind):
    asked, records = make(centre), [*EXTREME, *(centre + x for x in EXTREME if centre[0] > 1)]
    totals = [asked_sum(sums, asked, kind(np.vstack([BASE, row])))[1] for row in records]
    added, without = asked_sum(sums, asked, kind(BASE))
    replaced, _ = asked_sum(sums, asked, kind(BASE), adjacency="replace-one")
    totals = np.array([total.ravel() for total in totals])
    assert np.linalg.norm(totals - without.ravel(), axis=1).max() <= added.widened_sensitivity
    assert pdist(totals).max() <= replaced.widened_sensitivity


@pytest.mark.parametrize("size", [1, 30])
@pytest.mark.parametrize("centre", CENTRES.values(), ids=CENTRES)
@pytest.mark.parametrize("make", OF_BOTH.values(), ids=OF_BOTH)
def test_no_group_moves_a_sum_further(sums, make, centre, size):
    asked, groups = make(centre, grouped=True), np.repeat(np.arange(6), 2)
    _, without = asked_sum(sums, asked, BASE, groups=groups)
    for record in EXTREME:
        rows = np.vstack([BASE, np.tile(record, (size, 1))])
        query, total = asked_sum(sums, asked, rows, groups=np.r_[groups, np.full(size, 6)])
        assert np.linalg.norm(total - without) <= query.widened_sensitivity


@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.float64])
@pytest.mark.parametrize("centre", [CENTRES["origin"], np.full(D, 100.0)], ids=["origin", "centre"])
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
    assert np.isinf(records.measured(Distances(CENTRES["origin"]))).any()
    _, total = asked_sum(sums, ClippedGram(CENTRES["origin"], 1.0, 0.125), records)
    np.testing.assert_allclose(total[:D, :D], np.eye(D), rtol=1e-12)
