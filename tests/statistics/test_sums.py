"""Where a centre would cost too many digits of a sparse sum, it is subtracted from dense blocks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from skdppca.records import Records
from skdppca.statistics import ClippedGram, ClippedSum, NormProduct, ProductSum, ResidualNorms
from skdppca.statistics.sums import sparse_terms

from ..private_data_of import private_data


@pytest.mark.parametrize(("distance", "stays_sparse"), [(0.0, True), (1.0, True), (1e9, False)])
def test_sparse_rows_are_made_dense_only_where_a_centre_costs_digits(distance, stays_sparse):
    records = Records.of(sparse.csr_array(np.eye(4, 30_000 if distance == 0 else 50)))
    centre = np.full(records.n_features, distance / math.sqrt(records.n_features))
    explicit, terms = sparse_terms(records.layout, centre, 1.0)
    assert explicit != stays_sparse
    if stays_sparse and distance:
        assert terms == 1.0 + 2 * np.linalg.norm(centre)
    else:
        assert terms == 1.0


@pytest.mark.parametrize("radius", [0.5, 4.0])
def test_rounding_grows_with_the_terms_that_the_centre_brings(radius):
    """A sparse row adds products of itself and of the centre, each longer than what is left."""
    centre, W = np.full(5, 0.1), np.eye(2, 5)
    sparse_rows, dense = (
        Records.of(kind(np.eye(5))).layout for kind in (sparse.csr_array, np.array)
    )
    length = np.linalg.norm(centre)
    products = ProductSum(ResidualNorms(centre, None, W, np.zeros_like(W)), radius)
    for asked, terms in (
        (ClippedSum(centre, radius), (radius + 2 * length) / radius),
        (ClippedGram(centre, radius), ((radius + 2 * length) / radius) ** 2),
        (NormProduct(centre, W, radius), ((radius + 2 * length) / radius) ** 2),
        (products, (radius + 2 * length * math.sqrt(radius)) / radius),
    ):
        ratio = asked.rounding(sparse_rows).total / asked.rounding(dense).total
        assert ratio == pytest.approx(terms)


# At this distance a sum by products would lose every digit that the noise leaves.
FAR = 1e9


def sums_of(centre):
    W = np.eye(2, len(centre))
    return [
        ClippedSum(centre, 1.0),
        ClippedGram(centre, 1.0, 0.125),
        ClippedGram(centre, 1.0, spherical=True),
        NormProduct(centre, W, 1.0),
        ProductSum(ResidualNorms(centre, None, W, np.zeros_like(W)), 1.0),
    ]


@pytest.mark.parametrize("index", range(5))
@pytest.mark.parametrize("distance", [0.0, 1.0, FAR])
def test_the_widening_stays_small_and_the_digits_are_those_of_dense_rows(index, distance):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 5)) / 3 + distance
    asked = sums_of(np.full(5, distance))[index]
    data = private_data(sparse.csr_array(rows))
    data.ask(asked)
    (query,) = data.budget.queries
    assert query.widened_sensitivity <= 1.05 * query.sensitivity
    dense, csr = asked.total(Records.of(rows)), asked.total(Records.of(sparse.csr_array(rows)))
    if asked.symmetric:
        dense, csr = np.triu(dense), np.triu(csr)
    np.testing.assert_allclose(csr, dense, atol=1e-5)
