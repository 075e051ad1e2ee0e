"""Means of clipped residuals: their sensitivity is attained, and they spend what they have."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from skdppca.mechanisms.block_mean import BlockMean, Gradient

from ..private_data_of import exact_sums, private_data

RNG = np.random.default_rng(0)
D = 6
BASE = RNG.normal(size=(40, D))
FRAME = np.linalg.qr(RNG.normal(size=(D, D)))[0].T
W, REMOVED, REST = FRAME[:2], FRAME[2:4], FRAME[4:]
ORIGIN, CENTRE = np.zeros(D), np.full(D, 0.5)
RADIUS = 2.0

KINDS = {"C": np.asarray, "F": np.asfortranarray, "CSR": sparse.csr_array}


@pytest.fixture
def sums(monkeypatch):
    return exact_sums(monkeypatch)


def sum_of(sums, X, W, C, centre, removed=None, **more):
    """The query of a mean, and the exact sum behind it."""
    data = private_data(X, centre=centre, norm_bound=RADIUS**0.5, n=1.0, **more)
    BlockMean(data, removed)(W, C, 0.0, 1.0)
    return sums.pop()


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_the_widening_stays_small(sums, kind, adjacency):
    query, _ = sum_of(sums, kind(BASE), W, 3.0 * W, CENTRE, adjacency=adjacency)
    assert query.sensitivity < query.widened_sensitivity < 1.05 * query.sensitivity


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("starts", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_the_sensitivity_is_attained_and_never_exceeded(sums, starts, adjacency):
    """An optimiser over one record or two, the prediction and the direction."""
    moved = []

    def shorter(z):
        x, y, C, w = z.reshape(4, 2)
        asked = {"W": w[None] / np.linalg.norm(w), "C": C[None], "centre": np.zeros(2)}
        asked["adjacency"] = adjacency
        partner = [] if adjacency == "add-remove" else [y]
        query, total = sum_of(sums, np.vstack([np.eye(2), x]), **asked)
        _, other = sum_of(sums, np.vstack([np.eye(2), *partner]), **asked)
        moved.append(np.linalg.norm(total - other) / query.sensitivity)
        assert moved[-1] <= query.widened_sensitivity / query.sensitivity
        return -moved[-1]

    rng = np.random.default_rng(0)
    for _ in range(starts):
        minimize(shorter, 2 * rng.normal(size=8), method="Nelder-Mead", options={"maxfev": 400})
    assert max(moved) > 0.999


def exact_mean(rows, groups=None):
    """``C + mean (A_i W - C)``, of which C is nothing without clipping."""
    n = len(rows) if groups is None else groups.max() + 1
    y = rows - CENTRE
    return (W @ y.T) @ y / n


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("groups", [None, np.repeat(np.arange(10), 4)], ids=["rows", "groups"])
def test_without_noise_it_is_the_mean(kind, groups):
    n = 40.0 if groups is None else 10.0
    data = private_data(kind(BASE), np.inf, groups=groups, centre=CENTRE, n=n)
    found = BlockMean(data)(W, 3.0 * W, np.inf, np.inf)
    np.testing.assert_allclose(found.mean, exact_mean(BASE, groups), rtol=1e-9, atol=1e-9)
    assert found.noise_sd == 0
    assert found.radius == np.inf


def test_what_is_known_of_the_radius_is_not_looked_for():
    data = private_data(BASE, 1.0, centre=CENTRE, n=40.0)
    found = BlockMean(data)(W, np.zeros_like(W), 0.0, 0.5, radius=7.0)
    assert isinstance(found, Gradient)
    assert found.radius == 7.0
    (query,) = data.budget.queries
    assert (query.name, query.mu, query.sensitivity) == ("gradient", 0.5, 7.0)
    bounded = private_data(BASE, 1.0, centre=CENTRE, n=40.0, norm_bound=3.0)
    assert BlockMean(bounded)(W, np.zeros_like(W), 0.3, 0.5).radius == 9.0
    assert len(bounded.budget.queries) == 1


@pytest.mark.parametrize(("n", "seen"), [(4000, True), (10, False)])
def test_a_radius_that_is_not_seen_is_the_last_one(n, seen):
    rows = RNG.normal(size=(n, D))
    data = private_data(rows, 1.0, n=float(n))
    found = BlockMean(data)(W, np.zeros_like(W), 0.05, 0.5, radius=7.0)
    norms = np.linalg.norm(rows, axis=1) * np.linalg.norm(rows @ W.T, axis=1)
    assert (found.radius == 7.0) == (not seen)
    if seen:
        assert 0.01 < np.mean(norms > found.radius) < 0.2


def test_parts_spend_all_they_have_on_their_own_records():
    data = private_data(RNG.normal(size=(4000, D)), 1.0, n=4000.0)
    others, mine = BlockMean(data, name="step").parts((1, 3))
    found = mine.ranged_by(others, W, np.zeros_like(W))
    queries = data.budget.queries
    searches = [q for q in queries if q.part == "1 of 2"]
    assert {q.name for q in searches} == {"radius of the step"}
    assert sum(q.mu**2 for q in searches) <= 1 + 1e-12
    assert [(q.name, q.mu) for q in queries if q.part == "2 of 2"] == [("step", 1.0)]
    assert mine.remaining == 0
    # every record of the part once
    assert found.noise_sd == pytest.approx(queries[-1].noise_sd / 3000)


def test_directions_that_are_not_orthonormal_are_refused():
    mean = BlockMean(private_data(BASE, n=40.0))
    with pytest.raises(ValueError, match=r"of shape \(p, d\); orthonormalise them first"):
        mean(2 * W, W, 0.1, 0.1)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_without_directions_it_is_the_mean_of_projected_records(kind):
    data = private_data(kind(BASE), np.inf, centre=CENTRE, n=40.0)
    found = BlockMean(data).without(REMOVED)(W, np.zeros_like(W), np.inf, np.inf)
    y = (BASE - CENTRE) - ((BASE - CENTRE) @ REMOVED.T) @ REMOVED
    np.testing.assert_allclose(found.mean, (W @ y.T) @ y / 40, rtol=1e-9, atol=1e-9)
    assert BlockMean(data, REMOVED).without(REMOVED[:0]).removed is None
