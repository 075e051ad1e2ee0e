"""No record, and no interaction, moves a product further than its sensitivity says.

First of the theorems, in exact terms; then of the sums, as they are computed where it is hardest.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from skdppca.statistics import (
    Interactions,
    LargestEntries,
    NormProduct,
    ProductSum,
    ResidualNorms,
    View,
)
from skdppca.statistics.products import slack

from ..private_data_of import ADJACENCIES, asked_sum, exact_sums, on_both_adjacencies, private_data


def slowly(value):
    return pytest.param(value, marks=pytest.mark.slow)


def directions(p, d, spread, seed=0):
    """Orthonormal rows; a small spread leaves them on the first features."""
    rows = np.random.default_rng(seed).normal(size=(p, d))
    rows[:, p:] *= spread
    return np.linalg.qr(rows.T)[0].T


def sensitivity(W, radius, adjacency, most=None, centre=None, **more):
    centre = np.zeros(W.shape[1]) if centre is None else centre
    return NormProduct(centre, W, radius, most=most, **more).sensitivity(adjacency)


def moved(W, y, z=None):
    """Norm of ``(y y^T - z z^T) Q``."""
    product = np.outer(W @ y, y)
    return np.linalg.norm(product if z is None else product - np.outer(W @ z, z))


def record(free, radius, most, centre):
    """A row that keeps the rules: few non-zeros, subtracted, scaled down to the radius."""
    x = np.zeros_like(free)
    support = np.argsort(-np.abs(free))[: most or len(free)]
    x[support] = free[support]
    y = x - centre
    length = np.linalg.norm(y)
    return y * min(1.0, radius / length) if length else y


@on_both_adjacencies
@pytest.mark.parametrize("most", [None, 1, 3])
@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize("spread", [1.0, slowly(0.01)])
def test_no_row_moves_a_product_further(adjacency, most, shifted, spread):
    rng = np.random.default_rng(1)
    p, d, radius = 2, 8, 3.0
    W = directions(p, d, spread)
    centre = rng.normal(size=d) if shifted else np.zeros(d)
    bound = sensitivity(W, radius, adjacency, most, centre)

    def distance(z):
        one = record(z[:d], radius, most, centre)
        other = record(z[d:], radius, most, centre) if adjacency == "replace-one" else None
        return -moved(W, one, other)

    worst = 0.0
    for scale in (1.0, 10.0, 1e3):
        starts = [rng.normal(size=2 * d) * scale for _ in range(40)]
        best = min(starts, key=distance)
        found = minimize(distance, best, method="Nelder-Mead", options={"maxfev": 2000})
        worst = max(worst, -found.fun)
    assert worst <= bound * (1 + 1e-12)
    if most is None:
        assert worst > 0.9 * bound


def test_one_row_attains_the_bound_of_few_nonzeros():
    # One direction of equal entries: D ones are as long along it as the bound says.
    d, most = 16, 4
    W = np.full((1, d), d**-0.5)
    y = np.zeros(d)
    y[:most] = most**-0.5
    assert moved(W, y) == pytest.approx(sensitivity(W, 1.0, "add-remove", most))
    other = np.roll(y, most)
    assert moved(W, y, -other) <= sensitivity(W, 1.0, "replace-one", most)


def test_few_nonzeros_alone_would_not_do_under_a_centre():
    d = 100
    W = np.full((1, d), d**-0.5)
    y = -np.full(d, 1.0)  # a row of zeros less a centre of ones
    radius = np.linalg.norm(y)
    wrong = sensitivity(W, radius, "add-remove", most=1)
    assert moved(W, y) > 5 * wrong
    assert moved(W, y) <= sensitivity(W, radius, "add-remove", most=1, centre=np.ones(d))


def test_the_length_of_the_centre_counts_even_where_no_direction_sees_it():
    # Two entries of the centre, one of the row: it is longer than what is left of it.
    radius = 3.0
    W, centre = np.array([[1.0, -1.0]]) / math.sqrt(2), np.full(2, radius / math.sqrt(2))
    y = record(np.array([radius * math.sqrt(2), 0.0]), radius, 1, centre)
    assert np.linalg.norm(y) == pytest.approx(radius)
    assert W @ centre == pytest.approx(0)
    bound = sensitivity(W, radius, "add-remove", most=1, centre=centre)
    assert moved(W, y) == pytest.approx(bound)
    assert bound > 1.4 * sensitivity(W, radius, "add-remove", most=1)


@on_both_adjacencies
def test_few_nonzeros_do_not_help_rows_that_are_scaled_up_about_a_centre(adjacency):
    d = 100
    W, centre = np.full((1, d), d**-0.5), np.full(d, 0.01)
    known = sensitivity(W, 1.0, adjacency, 1, centre, spherical=True)
    assert known == sensitivity(W, 1.0, adjacency, centre=centre, spherical=True)
    assert known > sensitivity(W, 1.0, adjacency, 1, centre)
    # a row of zeros is then the centre, scaled up: as long along W as it is
    assert moved(W, centre / np.linalg.norm(centre)) == pytest.approx(1.0)


@on_both_adjacencies
def test_no_group_moves_a_product_further(adjacency):
    rng = np.random.default_rng(0)
    d, radius = 6, 2.0
    W = directions(2, d, 1.0)
    bound = sensitivity(W, radius, adjacency, grouped=True)

    def gram(z):
        rows = z.reshape(3, d)
        A = rows.T @ rows
        return A * min(1.0, radius**2 / np.linalg.norm(A))

    for _ in range(2000):
        z = rng.normal(size=6 * d) * 10 ** rng.uniform(-1, 2)
        A = gram(z[: 3 * d])
        B = gram(z[3 * d :]) if adjacency == "replace-one" else 0.0
        assert np.linalg.norm(W @ (A - B)) <= bound * (1 + 1e-12)


def gram(row, floor):
    return np.outer(row, row) / max(row.sum(), floor)


@pytest.mark.parametrize("floor", [1, 2, 4, 7, 20])
@pytest.mark.parametrize("p", [1, 3, 9])
@pytest.mark.parametrize("spread", [1.0, *(slowly(s) for s in (1e-3, 0.3))])
def test_no_interaction_moves_a_product_further(floor, p, spread):
    # every row of 0 and 1, every entry that it may lose
    d = 9
    W = directions(p, d, spread)
    worst = 0.0
    for bits in range(1, 2**d):
        row = np.array([bits >> j & 1 for j in range(d)], dtype=float)
        for k in np.flatnonzero(row):
            less = row.copy()
            less[k] = 0
            worst = max(worst, np.linalg.norm(W @ (gram(row, floor) - gram(less, floor))))
    for adjacency in ADJACENCIES:
        bound = sensitivity(W, 1.0, adjacency, floor=floor)
        assert worst <= bound * (1 + 1e-12)
        assert bound <= 1 + 1e-12
        assert p < d or worst > 0.8 * bound


def test_directions_that_are_not_quite_orthonormal_are_allowed_for():
    W = directions(4, 30, 1.0)
    assert slack(W) < 1e-12
    assert slack(W * (1 + 1e-6)) >= 2e-6


@pytest.mark.parametrize(
    "parameters",
    [
        {"grouped": True, "most": 2},
        {"grouped": True, "spherical": True},
        {"floor": 2, "most": 2},
        {"floor": 2, "spherical": True},
        {"floor": 2, "grouped": True},
        {"floor": 2, "radius": 0.5},
        {"floor": 2, "centre": np.ones(4)},
    ],
    ids=lambda parameters: ", ".join(parameters),
)
def test_what_no_proof_covers_is_refused(parameters):
    told = {"centre": np.zeros(4), "directions": np.eye(2, 4), "radius": 1.0}
    with pytest.raises(ValueError, match=r"set .* to|set spherical=False"):
        NormProduct(**told | parameters)


@pytest.mark.parametrize("changed", [{"prediction": np.ones((2, 4))}, {"removed": np.eye(1, 4)}])
def test_a_product_sum_predicts_and_removes_nothing(changed):
    told = {"prediction": np.zeros((2, 4)), "removed": None} | changed
    with pytest.raises(ValueError, match="use ResidualSum"):
        ProductSum(ResidualNorms(np.zeros(4), directions=np.eye(2, 4), **told), 1.0)


# The sums as they are computed. The generic search does not find these records.

RNG = np.random.default_rng(0)
D, P = 6, 2
BASE = RNG.normal(size=(40, D))
ORIGIN, CENTRE = np.zeros(D), np.full(D, 0.5)
W = np.linalg.qr(RNG.normal(size=(D, P)))[0].T
GROUPS = np.repeat(np.arange(20), 2)
KINDS = [np.asarray, np.asfortranarray, sparse.csr_array]


def clipped_products(centre, radius=2.0, grouped=False):
    return ProductSum(ResidualNorms(centre, None, W, np.zeros_like(W)), radius)


def clipped_norms(centre, grouped=False, spherical=False):
    return NormProduct(centre, W, 1.0, spherical, grouped)


@pytest.fixture
def sums(monkeypatch):
    return exact_sums(monkeypatch)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("centre", [ORIGIN, CENTRE], ids=["origin", "centre"])
@pytest.mark.parametrize("groups", [None, GROUPS], ids=["rows", "groups"])
@pytest.mark.parametrize("infinite", ["products", "norms"])
def test_without_noise_it_is_the_product(kind, centre, groups, infinite):
    data = private_data(kind(BASE), math.inf, groups=groups)
    if infinite == "products":
        asked = clipped_products(centre, math.inf)
    else:
        asked = NormProduct(centre, W, math.inf, grouped=groups is not None)
    rows = BASE - centre
    np.testing.assert_allclose(data.ask(asked).value, W @ rows.T @ rows)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("centre", [ORIGIN, CENTRE], ids=["origin", "centre"])
@pytest.mark.parametrize("groups", [None, GROUPS], ids=["rows", "groups"])
def test_norms_are_clipped_one_by_one(sums, kind, centre, groups):
    _, found = asked_sum(sums, clipped_norms(centre, groups is not None), kind(BASE), groups=groups)
    labels = np.arange(40) if groups is None else groups
    total = np.zeros((P, D))
    for label in np.unique(labels):
        rows = BASE[labels == label] - centre
        A = rows.T @ rows
        total += W @ A / max(1.0, np.linalg.norm(A))
    np.testing.assert_allclose(found.reshape(P, D), total, rtol=1e-9, atol=1e-12)


def seen_sum(sums, view: View, asked, X):
    private_data(X).through(view).ask(asked)
    return sums.pop()


@pytest.mark.parametrize("floor", [1, 3, 50])
@pytest.mark.parametrize("kind", KINDS)
def test_no_interaction_moves_the_sum_further(sums, floor, kind):
    X = (RNG.random((30, D)) < 0.5) * 7.5
    asked, view = NormProduct(ORIGIN, W, 1.0, floor=floor), Interactions(floor)
    query, one = seen_sum(sums, view, asked, kind(X))
    for row, column in [(0, 0), (3, 4), (29, 5), (7, 1)]:
        other = X.copy()
        other[row, column] = 0 if X[row, column] else -3
        _, changed = seen_sum(sums, view, asked, kind(other))
        assert 0 < np.linalg.norm(one - changed) <= query.widened_sensitivity


@pytest.mark.parametrize("most", [1, 3])
def test_rows_of_too_many_entries_move_it_no_further(sums, most):
    """What a bound on the non-zeros promises is enforced, not believed."""
    Q = np.full((1, D), D**-0.5)
    asked, view = NormProduct(ORIGIN, Q, 1.0, most=most), LargestEntries(most)
    query, without = seen_sum(sums, view, asked, sparse.csr_array(BASE))
    assert query.sensitivity < 0.8
    _, total = seen_sum(sums, view, asked, sparse.csr_array(np.vstack([BASE, 9 * np.ones(D)])))
    assert 0.99 * query.sensitivity < np.linalg.norm(total - without) <= query.widened_sensitivity
