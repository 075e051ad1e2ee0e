"""No pair of neighbours moves a sum further than its sensitivity, and some move it as far."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize

from skdppca.statistics.lemmas import ball_sum, bounded_sum, box_sum, count, psd_sum

from ..private_data_of import on_both_adjacencies


def into_ball(vector, bound):
    length = np.linalg.norm(vector)
    return vector * min(1.0, bound / length) if length else vector


def row_gram(z, d, bound, constant):
    row = np.r_[into_ball(z, np.sqrt(bound - constant**2)), constant]
    return np.outer(row, row)


def group_gram(z, d, bound, constant):
    rows = z.reshape(-1, d)
    return into_ball(rows.T @ rows, bound)


def largest_difference(summand, size, adjacency, starts=6):
    """An optimiser over neighbouring pairs, from many starts (seeds fixed)."""

    def distance(z):
        other = summand(z[size:]) if adjacency == "replace-one" else 0.0
        return -np.linalg.norm(summand(z[:size]) - other)

    rng = np.random.default_rng(0)
    found = [
        minimize(
            distance,
            rng.normal(size=2 * size) * 3,
            method="Nelder-Mead",
            options={"maxiter": 4000, "maxfev": 4000, "fatol": 1e-12, "xatol": 1e-9},
        ).fun
        for _ in range(starts)
    ]
    return -min(found)


@on_both_adjacencies
@pytest.mark.parametrize("bound", [1.0, 7.0])
@pytest.mark.parametrize(
    ("summand", "d", "rows", "constant"),
    [(row_gram, 2, 1, 0.0), (row_gram, 3, 1, 0.5), (group_gram, 2, 2, 0.0)],
)
def test_gram_sums(adjacency, bound, summand, d, rows, constant):
    largest = largest_difference(lambda z: summand(z, d, bound, constant), d * rows, adjacency)
    assert 0.99 * psd_sum(bound, adjacency) < largest <= psd_sum(bound, adjacency) * (1 + 1e-12)


@on_both_adjacencies
def test_vector_sums(adjacency):
    largest = largest_difference(lambda z: into_ball(z, 3.0), 3, adjacency)
    assert 0.99 * ball_sum(3.0, adjacency) < largest <= ball_sum(3.0, adjacency) * (1 + 1e-12)


@on_both_adjacencies
@pytest.mark.parametrize(("low", "high"), [(-1.0, 1.0), (0.0, 1.0), (-0.25, 3.0)])
@pytest.mark.parametrize("size", [1, 3])
def test_sums_of_boxes(adjacency, low, high, size):
    corners = np.array(list(itertools.product([low, high], repeat=size)))
    inside = np.random.default_rng(0).uniform(low, high, size=(200, size))
    points = np.vstack([corners, inside])
    others = points if adjacency == "replace-one" else np.zeros((1, size))
    moved = np.linalg.norm(points[:, None] - others, axis=2).max()
    assert moved == pytest.approx(box_sum(low, high, size, adjacency), rel=1e-12)


@on_both_adjacencies
def test_counts_and_bounded_sums(adjacency):
    values = np.linspace(0, 5, 101)
    others = values if adjacency == "replace-one" else np.zeros(1)
    moved = np.abs(values[:, None] - others).max()
    assert moved == bounded_sum(5.0, adjacency)
    assert count(adjacency) == 1.0


def test_unknown_adjacency_has_no_sensitivity():
    with pytest.raises(ValueError, match="adjacency"):
        count("neighbours")


@pytest.mark.parametrize("low", [0.0, -1.0, -0.1])
def test_the_sensitivity_of_many_numbers_is_rounded_up(low):
    for size in range(1, 200):
        for adjacency, moved in [("add-remove", 1), ("replace-one", 1 - Fraction(low))]:
            found = box_sum(low, 1.0, size, adjacency)
            assert Fraction(found) ** 2 >= size * moved**2
            assert found == pytest.approx(math.sqrt(size) * float(moved), rel=1e-15)
