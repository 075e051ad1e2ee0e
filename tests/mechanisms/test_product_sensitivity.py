"""No record, and no interaction, moves a product further than its sensitivity says."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from skdppca.mechanisms.product_sensitivity import (
    coherence,
    interaction_product,
    longest_rows,
    product_sum,
    slack,
)

BOUNDS = ["tight", "nicolas", "balcan"]
ADJACENCIES = ["add-remove", "replace-one"]


def directions(p, d, spread, seed=0):
    """Orthonormal rows; a small spread leaves them on the first features."""
    rows = np.random.default_rng(seed).normal(size=(p, d))
    rows[:, p:] *= spread
    return np.linalg.qr(rows.T)[0].T


def moved(W, y, z=None):
    """Norm of ``(y y^T - z z^T) Q``."""
    product = np.outer(W @ y, y)
    return np.linalg.norm(product if z is None else product - np.outer(W @ z, z))


def record(free, radius, most, centre, rng):
    """A row that keeps the rules: few non-zeros, subtracted, scaled down to the radius."""
    x = np.zeros_like(free)
    support = np.argsort(-np.abs(free))[: most or len(free)]
    x[support] = free[support]
    y = x if centre is None else x - centre
    length = np.linalg.norm(y)
    return y * min(1.0, radius / length) if length else y


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("most", [None, 1, 3])
@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize("spread", [0.01, 1.0])
def test_no_row_moves_a_product_further(adjacency, most, shifted, spread):
    rng = np.random.default_rng(1)
    p, d, radius = 2, 8, 3.0
    W = directions(p, d, spread)
    centre = rng.normal(size=d) if shifted else None
    bounds = [product_sum(W, radius, adjacency, bound, most, centre) for bound in BOUNDS]

    def distance(z):
        one = record(z[:d], radius, most, centre, rng)
        other = record(z[d:], radius, most, centre, rng) if adjacency == "replace-one" else None
        return -moved(W, one, other)

    worst = 0.0
    for scale in (1.0, 10.0, 1e3):
        starts = [rng.normal(size=2 * d) * scale for _ in range(40)]
        best = min(starts, key=distance)
        found = minimize(distance, best, method="Nelder-Mead", options={"maxfev": 2000})
        worst = max(worst, -found.fun)
    assert worst <= min(bounds) * (1 + 1e-12)
    assert bounds == sorted(bounds)
    if most is None:
        assert worst > 0.9 * bounds[0]


def test_one_row_attains_the_bound_of_few_nonzeros():
    # One direction of equal entries: D ones are as long along it as the bound says.
    d, most = 16, 4
    W = np.full((1, d), d**-0.5)
    y = np.zeros(d)
    y[:most] = most**-0.5
    bound = product_sum(W, 1.0, "add-remove", most=most)
    assert moved(W, y) == pytest.approx(bound)
    z = np.zeros(d)
    z[:most] = y[:most]
    z[-most:] = 0
    other = np.roll(z, most)
    assert moved(W, y, -other) <= product_sum(W, 1.0, "replace-one", most=most)


def test_few_nonzeros_alone_would_not_do_under_a_centre():
    d = 100
    W = np.full((1, d), d**-0.5)
    y = -np.full(d, 1.0)  # a row of zeros less a centre of ones
    radius = np.linalg.norm(y)
    wrong = product_sum(W, radius, "add-remove", most=1)
    assert moved(W, y) > 5 * wrong
    assert moved(W, y) <= product_sum(W, radius, "add-remove", most=1, centre=np.ones(d))


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_no_group_moves_a_product_further(adjacency):
    rng = np.random.default_rng(0)
    d, radius = 6, 2.0
    W = directions(2, d, 1.0)
    bounds = [product_sum(W, radius, adjacency, bound) for bound in BOUNDS]

    def gram(z):
        rows = z.reshape(3, d)
        A = rows.T @ rows
        return A * min(1.0, radius**2 / np.linalg.norm(A))

    for _ in range(2000):
        z = rng.normal(size=6 * d) * 10 ** rng.uniform(-1, 2)
        A = gram(z[: 3 * d])
        B = gram(z[3 * d :]) if adjacency == "replace-one" else 0.0
        assert np.linalg.norm(W @ (A - B)) <= min(bounds) * (1 + 1e-12)


def gram(row, floor):
    return np.outer(row, row) / max(row.sum(), floor)


@pytest.mark.parametrize("floor", [1, 2, 4, 7, 20])
@pytest.mark.parametrize("p", [1, 3, 9])
@pytest.mark.parametrize("spread", [1e-3, 0.3, 1.0])
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
    tight, nicolas, balcan = (interaction_product(W, floor, bound) for bound in BOUNDS)
    assert worst <= tight * (1 + 1e-12)
    assert worst <= nicolas * (1 + 1e-12) <= balcan * (1 + 1e-11)
    assert tight <= 1 + 1e-12
    if p == d:
        assert worst > 0.8 * tight


def test_a_floor_makes_users_of_few_items_weigh_less():
    W = directions(3, 50, 1.0)
    bounds = [interaction_product(W, floor) for floor in (1, 3, 10, 30)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] < 0.5 * bounds[0]


def test_long_rows_of_the_directions_are_found():
    W = directions(3, 10, 1.0)
    lengths = np.sort(np.linalg.norm(W, axis=0))[::-1]
    assert coherence(W) == pytest.approx(lengths[0])
    assert longest_rows(W, 4) == pytest.approx(np.linalg.norm(lengths[:4]))
    assert longest_rows(W, 10) == pytest.approx(np.sqrt(3))


def test_directions_that_are_not_quite_orthonormal_are_allowed_for():
    W = directions(4, 30, 1.0)
    assert slack(W) < 1e-12
    assert slack(W * (1 + 1e-6)) >= 2e-6


def test_an_unknown_bound_has_no_sensitivity():
    with pytest.raises(ValueError, match="bound='loose'"):
        product_sum(np.eye(2), 1.0, "add-remove", "loose")
