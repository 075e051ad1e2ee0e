"""Sums of clipped residuals, as they are computed, move no further than is claimed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from skdppca.mechanisms.base import Public, Spender
from skdppca.mechanisms.block_mean import BlockMean
from skdppca.mechanisms.gaussian import GaussianQuery
from skdppca.records import Records, _records

RNG = np.random.default_rng(0)
D = 6
BASE = RNG.normal(size=(40, D))
FRAME = np.linalg.qr(RNG.normal(size=(D, D)))[0].T
W, REMOVED, REST = FRAME[:2], FRAME[2:4], FRAME[4:]
CENTRE = np.full(D, 0.5)
RADIUS = 2.0

# A record whose residual is nothing but rounding: its own product is what is predicted.
PREDICTED = CENTRE + W[0] + 0.5 * W[1] + 0.3 * REST[0]


def product(row, centre):
    y = row if centre is None else row - centre
    return np.outer(W @ y, y)


EXTREME = [
    np.zeros(D),
    CENTRE,
    PREDICTED,
    *(PREDICTED + size * REST[1] for size in (1e-15, 1e-12, 1e-9, 1e-7, 1e-5, 1e-3)),
    np.full(D, 1e-170),
    1e200 * np.eye(D)[2],
    np.full(D, 1.7e308),
    # far out along what is removed, alone and with a little of W
    *(size * REMOVED[0] for size in (1e3, 1e8, 1e16)),
    *(size * REMOVED[0] + W[0] for size in (1e3, 1e8, 1e16)),
    # orthogonal to W, up to scores that are rounding
    *(size * REST[0] for size in (1.0, 1e4, 1e8, 1e16)),
    *(CENTRE + size * REST[0] + W[1] / size for size in (1e4, 1e8, 1e16)),
    5 * W[0],
    -5 * W[0] + REST[0],
    100 * (W[0] + W[1]),
]

KINDS = {"C": np.asarray, "F": np.asfortranarray, "CSR": sparse.csr_array}
CENTRES = {"no centre": None, "centre": CENTRE, "far centre": 1e14 * CENTRE}
PREDICTIONS = {
    "none": lambda centre: np.zeros((2, D)),
    "exact": lambda centre: product(PREDICTED, centre),
    "long": lambda centre: 1e6 * (W + REST),
}


@pytest.fixture
def sums(monkeypatch):
    """The exact sums behind the releases."""
    seen = []

    def spy(query, total, noise):
        seen.append((query, total))
        return np.zeros(query.size)

    monkeypatch.setattr(GaussianQuery, "release", spy)
    return seen


def sum_of(sums, X, W, C, centre=None, removed=None, groups=None, adjacency="add-remove"):
    unit = "row" if groups is None else "person"
    public = Public(X.shape[1], adjacency, unit, sparse.issparse(X), len(BASE))
    mean = BlockMean(Records(X, groups), 1.0, public, centre, RADIUS**0.5, removed)
    mean(W, C, Spender(1.0), 0.0, 1.0, None)
    return sums.pop()


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("far", CENTRES)
@pytest.mark.parametrize("predicted", PREDICTIONS)
@pytest.mark.parametrize("removed", [None, REMOVED], ids=["all", "removed"])
def test_no_row_moves_the_sum_further(sums, kind, far, predicted, removed):
    centre = CENTRES[far]
    C = PREDICTIONS[predicted](centre)
    if removed is not None:
        C = C - (C @ removed.T) @ removed
    asked = {"W": W, "C": C, "centre": centre, "removed": removed}
    added, without = sum_of(sums, kind(BASE), **asked)
    replaced, _ = sum_of(sums, kind(BASE), adjacency="replace-one", **asked)
    records = EXTREME if far != "far centre" else [*EXTREME, *(centre + x for x in EXTREME)]
    totals = [sum_of(sums, kind(np.vstack([BASE, record])), **asked)[1] for record in records]
    for total in totals:
        assert np.linalg.norm(total - without) <= added.widened_sensitivity
        for other in totals:
            assert np.linalg.norm(total - other) <= replaced.widened_sensitivity


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_the_widening_stays_small(sums, kind, adjacency):
    C = product(PREDICTED, CENTRE)
    query, _ = sum_of(sums, kind(BASE), W, C, CENTRE, adjacency=adjacency)
    assert query.sensitivity < query.widened_sensitivity < 1.05 * query.sensitivity


@pytest.mark.parametrize("size", [1, 3, 300])
@pytest.mark.parametrize("far", CENTRES)
@pytest.mark.parametrize("removed", [None, REMOVED], ids=["all", "removed"])
def test_no_group_moves_the_sum_further(sums, monkeypatch, size, far, removed):
    monkeypatch.setattr(_records, "BLOCK_ENTRIES", 64)
    monkeypatch.setattr(_records, "MIN_BLOCK_ROWS", 64)
    centre = CENTRES[far]
    C = size * product(PREDICTED, centre)
    if removed is not None:
        C = C - (C @ removed.T) @ removed
    groups = np.repeat(np.arange(20), 2)
    asked = {"W": W, "C": C, "centre": centre, "removed": removed}
    _, without = sum_of(sums, BASE, groups=groups, **asked)
    for record in EXTREME:
        rows = np.vstack([BASE, np.tile(record, (size, 1))])
        query, total = sum_of(sums, rows, groups=np.r_[groups, np.full(size, 20)], **asked)
        assert np.linalg.norm(total - without) <= query.widened_sensitivity


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_record_at_the_front_moves_the_sum_as_one_at_the_end(sums, kind):
    C = product(PREDICTED, CENTRE)
    _, without = sum_of(sums, kind(BASE), W, C, CENTRE)
    for record in EXTREME:
        query, total = sum_of(sums, kind(np.vstack([record, BASE])), W, C, CENTRE)
        assert np.linalg.norm(total - without) <= query.widened_sensitivity


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_the_sensitivity_is_attained_and_never_exceeded(sums, adjacency):
    """An optimiser over one record or two, the prediction and the direction."""
    moved = []

    def shorter(z):
        x, y, C, w = z.reshape(4, 2)
        asked = {"W": w[None] / np.linalg.norm(w), "C": C[None], "adjacency": adjacency}
        partner = [] if adjacency == "add-remove" else [y]
        query, total = sum_of(sums, np.vstack([np.eye(2), x]), **asked)
        _, other = sum_of(sums, np.vstack([np.eye(2), *partner]), **asked)
        moved.append(np.linalg.norm(total - other) / query.sensitivity)
        assert moved[-1] <= query.widened_sensitivity / query.sensitivity
        return -moved[-1]

    rng = np.random.default_rng(0)
    for _ in range(4):
        minimize(shorter, 2 * rng.normal(size=8), method="Nelder-Mead", options={"maxfev": 400})
    assert max(moved) > 0.999
