"""Products are the sums they should be, move no further than is claimed, and cost what is said."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from skdppca.mechanisms import gram_product
from skdppca.mechanisms.base import Public, Spender
from skdppca.mechanisms.gaussian import GaussianQuery
from skdppca.mechanisms.gram_product import ClippedProduct, power_method
from skdppca.mechanisms.norm_product import Bound, Clipped, NormProduct
from skdppca.noise import NoiseSource
from skdppca.records import Interactions, LargestEntries, Records, _records

RNG = np.random.default_rng(0)
D, P = 6, 2
BASE = RNG.normal(size=(40, D))
CENTRE = np.full(D, 0.5)
W = np.linalg.qr(RNG.normal(size=(D, P)))[0].T
EXTREME = [
    np.zeros(D),
    CENTRE,
    *(CENTRE + distance * np.eye(D)[0] for distance in (1e-12, 1e-9, 1e-8, 1e-6, 1e-3)),
    np.full(D, 1e-170),
    np.full(D, 1.7e308),
    1e200 * np.eye(D)[2],
    5 * np.eye(D)[1],
    -5 * np.eye(D)[1],
    W[0] * 1e5,
    (np.eye(D)[0] - W.T @ W[:, 0]) * 1e9,  # orthogonal to the directions but for rounding
]
GROUPS = np.repeat(np.arange(20), 2)
KINDS = [np.asarray, np.asfortranarray, sparse.csr_array]
PUBLIC = Public(D, "add-remove")
NAMES = ["product", "radius of the product"]


def clipped_product(X, centre, adjacency="add-remove", groups=None, spender=None):
    public = Public(D, adjacency, is_sparse=sparse.issparse(X))
    spender = spender or Spender(1.0)
    return ClippedProduct(Records(X, groups), 40.0, centre, 0.3, public, spender, NoiseSource(0))


def norm_product(X, centre, adjacency="add-remove", bound=None, spherical=False, groups=None):
    records = Records(X, groups)
    if groups is None:
        norms = records.map(lambda block: block.distances(centre))
    else:
        norms = records.map(lambda block: block.gram_norms(centre, 0.0))
    with np.errstate(divide="ignore"):
        weights = np.where(norms > 0, 1 / norms, 0.0)
    clipped = Clipped(1.0, weights if spherical else np.minimum(1.0, weights), spherical)
    public = Public(D, adjacency, is_sparse=sparse.issparse(X))
    told = (records, 40.0, centre, clipped, bound or Bound(), public)
    return NormProduct(*told, Spender(1.0), NoiseSource(0))


@pytest.fixture
def sums(monkeypatch):
    """Queries and the exact sums behind the releases; the radius of all products is 2."""
    seen = []

    def spy(query, total, noise):
        seen.append((query, np.asarray(total)))
        return np.zeros(query.size)

    monkeypatch.setattr(GaussianQuery, "release", spy)
    monkeypatch.setattr(gram_product, "private_radius", lambda *_: 2.0)
    return seen


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("centre", [None, CENTRE])
@pytest.mark.parametrize("groups", [None, GROUPS])
def test_without_noise_it_is_the_product(kind, centre, groups):
    rows = BASE if centre is None else BASE - centre
    spender = Spender(math.inf)
    told = (kind(BASE), centre, "add-remove", groups, spender)
    np.testing.assert_allclose(clipped_product(*told)(W, math.inf) * 40, W @ rows.T @ rows)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("centre", [None, CENTRE])
@pytest.mark.parametrize("groups", [None, GROUPS])
@pytest.mark.parametrize("small_blocks", [False, True])
def test_records_are_clipped_one_by_one(sums, monkeypatch, kind, centre, groups, small_blocks):
    if small_blocks:  # and so groups larger than one
        monkeypatch.setattr(_records, "BLOCK_ENTRIES", 1)
        monkeypatch.setattr(_records, "MIN_BLOCK_ROWS", 1)
    norm_product(kind(BASE), centre, groups=groups)(W, 1.0)
    labels = np.arange(40) if groups is None else groups
    total = np.zeros((P, D))
    for label in np.unique(labels):
        rows = BASE[labels == label] - (0.0 if centre is None else centre)
        A = rows.T @ rows
        total += W @ A / max(1.0, np.linalg.norm(A))
    np.testing.assert_allclose(sums[0][1].reshape(P, D), total, rtol=1e-9, atol=1e-12)


def pairs(adjacency):
    for record in EXTREME:
        for partner in EXTREME if adjacency == "replace-one" else [None]:
            first = BASE if partner is None else np.vstack([BASE, partner])
            yield first, np.vstack([BASE, record])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("centre", [None, CENTRE, 1e6 * CENTRE])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_no_row_moves_a_clipped_product_further(sums, kind, centre, adjacency):
    for first, second in pairs(adjacency):
        for X in (first, second):
            clipped_product(kind(X), centre, adjacency)(W, 0.5)
        (query, one), (same, other) = sums
        sums.clear()
        assert query == same
        assert np.linalg.norm(one - other) <= query.widened_sensitivity


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("centre", [None, CENTRE])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("spherical", [False, True])
def test_no_row_moves_a_product_of_bounded_rows_further(sums, kind, centre, adjacency, spherical):
    for first, second in pairs(adjacency):
        for X in (first, second):
            norm_product(kind(X), centre, adjacency, spherical=spherical)(W, 1.0)
        (query, one), (_, other) = sums
        sums.clear()
        assert np.linalg.norm(one - other) <= query.widened_sensitivity


@pytest.mark.parametrize("largest", [1, 300])
@pytest.mark.parametrize("make", [clipped_product, norm_product])
def test_no_group_moves_a_product_further(sums, monkeypatch, make, largest):
    monkeypatch.setattr(_records, "BLOCK_ENTRIES", 64)
    monkeypatch.setattr(_records, "MIN_BLOCK_ROWS", 64)
    for record in EXTREME:
        rows = np.vstack([BASE, np.tile(record, (largest, 1))])
        more = np.r_[GROUPS, np.full(largest, 20)]
        make(BASE, CENTRE, groups=GROUPS)(W, 0.5)
        make(rows, CENTRE, groups=more)(W, 0.5)
        (query, one), (_, other) = sums
        sums.clear()
        assert np.linalg.norm(one - other) <= query.widened_sensitivity


def test_products_cost_what_they_are_told_and_no_more():
    spender = Spender(1.0)
    product = clipped_product(BASE, None, spender=spender)
    for mu in (0.5, 0.6):
        product(W, mu)
    costs = {name: math.hypot(*(q.mu for q in spender.queries if q.name == name)) for name in NAMES}
    assert costs["product"] == pytest.approx(math.hypot(0.5, 0.6))
    assert 0.93 * 0.3 * math.sqrt(2) < costs["radius of the product"] <= 0.3 * math.sqrt(2)
    with pytest.raises(RuntimeError, match="exceeds what is left"):
        product(W, 0.6)


def interactions(sums, X, floor):
    product = norm_product(X, None, bound=Bound(floor=floor))
    records = Interactions(product.records, floor)
    told = (records, 40.0, None, Clipped(1.0), product.bound, PUBLIC)
    NormProduct(*told, Spender(1.0), NoiseSource(0))(W, 1.0)
    return sums.pop()


@pytest.mark.parametrize("floor", [1, 3, 50])
@pytest.mark.parametrize("kind", KINDS)
def test_no_interaction_moves_a_product_further(sums, floor, kind):
    X = (RNG.random((30, D)) < 0.5) * 7.5
    query, one = interactions(sums, kind(X), floor)
    for row, column in [(0, 0), (3, 4), (29, 5), (7, 1)]:
        other = X.copy()
        other[row, column] = 0 if X[row, column] else -3
        _, moved = interactions(sums, kind(other), floor)
        assert 0 < np.linalg.norm(one - moved) <= query.widened_sensitivity


@pytest.mark.parametrize("kind", KINDS)
def test_interactions_are_zeros_and_ones_over_the_root_of_their_number(kind):
    X = np.array([[0, 2.0, -1], [0, 0, 0], [5, 5, 5]])
    records = Interactions(Records(kind(X)), 2)
    gram = np.zeros((3, 3), order="F")
    records.fold(lambda out, block, w: block.add_gram(gram, None, None, 0.0), (3, 3))
    ones = (X != 0).astype(float)
    weight = 1 / np.maximum(ones.sum(axis=1), 2)
    np.testing.assert_allclose(np.triu(gram), np.triu(ones.T * weight @ ones))


def kept_of(X, most):
    records = LargestEntries(Records(sparse.csr_array(X)), most)
    return np.vstack([b.rows.toarray() for _, b in records._blocks(records._spans())])


def test_the_largest_entries_stay_and_of_equal_ones_the_first():
    X = np.array([[1, -9, 3, 0, 2], [4, 4, 4, 4, 4], [0, 0, 0, 0, 7], [0, 0, 0, 0, 0]])
    kept = [[0, -9, 3, 0, 0], [4, 4, 0, 0, 0], [0, 0, 0, 0, 7], [0, 0, 0, 0, 0]]
    np.testing.assert_array_equal(kept_of(X, 2), kept)


def test_the_largest_entries_are_those_of_scaled_features():
    X = np.array([[100.0, 2.0, 3.0], [500.0, 0.0, 4.0]])
    records = LargestEntries(Records(sparse.csr_array(X), scale=np.array([100.0, 1.0, 1.0])), 1)
    (_, block), *_ = records._blocks(records._spans())
    np.testing.assert_array_equal(block.rows.toarray(), [[0, 0, 3], [5, 0, 0]])


def test_what_a_row_keeps_is_its_own_affair():
    X = RNG.normal(size=(50, 20)) * (RNG.random((50, 20)) < 0.6)
    together = kept_of(X, 5)
    alone = np.vstack([kept_of(row[None], 5) for row in X])
    np.testing.assert_array_equal(together, alone)
    assert np.count_nonzero(together, axis=1).max() == 5


def test_entries_in_parts_count_once():
    data, columns = np.array([100, 100, 3], dtype=np.int8), np.array([0, 0, 1])
    X = sparse.csr_array((data, columns, np.array([0, 3])), shape=(1, 3))
    records = LargestEntries(Records(X), 1)
    (_, block), *_ = records._blocks(records._spans())
    np.testing.assert_array_equal(block.rows.toarray(), [[200, 0, 0]])


def test_any_product_will_do():
    # such as a secure sum of what two parties hold
    parts = [BASE[:20], BASE[20:]]
    asked = []

    def product(directions, mu):
        asked.append(mu)
        np.testing.assert_allclose(directions @ directions.T, np.eye(4), atol=1e-12)
        return sum(directions @ part.T @ part for part in parts)

    start = np.linalg.qr(RNG.normal(size=(D, 4)))[0].T
    V, core = power_method(product, start, [1.0] * 60, 2)
    values, vectors = np.linalg.eigh(BASE.T @ BASE)
    np.testing.assert_allclose(np.abs(np.sum(V * vectors.T[::-1][:2], axis=1)), 1.0)
    np.testing.assert_allclose(np.diag(core), values[::-1][:2])
    assert asked == [1.0] * 60


def test_changes_of_rows_are_not_stacked():
    """The outer one would read the rows without the inner change; of scores there is none left."""
    inner = LargestEntries(Records(sparse.csr_array(np.eye(3))), 1)
    with pytest.raises(TypeError, match="Interactions of LargestEntries"):
        Interactions(inner, 1)
    Interactions(inner.scores(np.eye(2, 3), None), 1)
