"""The iterations take any product; those of the mechanism cost what they are told."""

from __future__ import annotations

import math

import numpy as np
import pytest

from skdppca.decomposition.dp_power import ClippedProducts, DPPowerMechanism, power_method

from ...private_data_of import private_data

RNG = np.random.default_rng(0)
D = 6
BASE = RNG.normal(size=(40, D))
W = np.linalg.qr(RNG.normal(size=(D, 2)))[0].T


def mechanism(**more):
    told = {
        "n_components": 2,
        "center": False,
        "variance_share": 0.0,
        "n_iter": 2,
        "oversampling": 0,
        "budget_ratio": 1.0,
        "clip": "auto",
        "max_nonzero": None,
        "degree_floor": None,
    }
    return DPPowerMechanism(**told | more)


def test_a_product_that_is_no_number_is_no_answer():
    with pytest.raises(ValueError, match="scale it down"):
        power_method(lambda W, mu: (W * math.inf, 0.0), W, [1.0], 2)


def test_products_cost_what_they_are_told_and_no_more():
    data = private_data(BASE, 1.0, n=40.0)
    product = ClippedProducts(data, [0.3, 0.3, 0.3])
    for mu in (0.5, 0.6):
        product(W, mu)
    names = ["product", "radius of the product"]
    queries = data.budget.queries
    costs = {name: math.hypot(*(q.mu for q in queries if q.name == name)) for name in names}
    assert {q.name for q in queries} == set(names)
    assert costs["product"] == pytest.approx(math.hypot(0.5, 0.6))
    assert costs["radius of the product"] == pytest.approx(0.3 * math.sqrt(2))
    with pytest.raises(RuntimeError, match="exceeds what is left"):
        product(W, 0.6)


@pytest.mark.parametrize("clip", ["auto", "norm", "spherical"])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_the_passes_spend_all_of_the_budget(clip, adjacency):
    data = private_data(np.tile(BASE, (50, 1)), 2.0, n=2000.0, adjacency=adjacency)
    mechanism(clip=clip, n_iter=3, budget_ratio=2.0).directions(data, 2)
    products = [q.mu for q in data.budget.queries if q.name == "product"]
    assert len(products) == 3
    np.testing.assert_allclose(products[1] / products[0], math.sqrt(2))
    assert math.fsum(q.mu**2 for q in data.budget.queries) == pytest.approx(4.0, rel=0.02)
    assert math.fsum(q.mu**2 for q in data.budget.queries) <= 4.0 * (1 + 1e-12)
