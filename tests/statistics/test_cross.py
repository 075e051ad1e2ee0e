"""What leads out of a span: every condition of its proof, and a copy without it that fails."""

import math

import numpy as np
import pytest
from scipy import sparse

from skdppca.records import Records, _dense
from skdppca.statistics import CrossNorms, CrossSum

D = 40
RNG = np.random.default_rng(0)
BASIS = np.linalg.qr(RNG.normal(size=(D, D)))[0].T
W, OUT = BASIS[:3].copy(), BASIS[3:]
ZERO = np.zeros(D)


def total(X, radius, groups=None, W=W, **more):
    statistic = CrossSum(CrossNorms(np.zeros(X.shape[1]), W, **more), radius)
    return statistic.total(Records.of(X, groups))


def norms(X, groups=None, W=W, **more):
    return Records.of(X, groups).measured(CrossNorms(np.zeros(X.shape[1]), W, **more))


def near_the_span(n, far, seed=0):
    """Rows of length `far` in the span, and 1e-9 of that out of it."""
    rng = np.random.default_rng(seed)
    return far * (rng.normal(size=(n, 3)) @ W + 1e-9 * rng.normal(size=(n, len(OUT))) @ OUT)


def products(rows, vectors):
    return rows @ vectors.T


def by_products(self, out, weights, cross):
    """A copy that leaves the rest to products."""
    rows, W = self._on_grids(self.centred(cross.centre)), cross.directions
    scores = rows @ W.T
    weighted = scores * weights[:, None]
    out += weighted.T @ rows - (weighted.T @ scores) @ W


# 1. Numbers of a record are those of the record alone


def places(X, of):
    """A row's numbers where it stands first, last and alone."""
    return [of(X)[0], of(np.vstack([X[1:], X[:1]]))[-1], of(X[:1])[0]]


@pytest.mark.parametrize("far", [1.0, 1e6])
@pytest.mark.parametrize("spherical", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_the_norm_of_a_row_is_the_same_wherever_it_stands(far, spherical, kind):
    for seed in range(5):
        X = near_the_span(97, far, seed)
        found = places(X, lambda rows: norms(kind(rows), spherical=spherical))
        assert len(set(found)) == 1


def test_a_copy_with_plain_products_follows_the_blocks(monkeypatch):
    monkeypatch.setattr(_dense, "exact_dots", products)
    monkeypatch.setattr(_dense, "on_row_grids", lambda rows: rows)
    found = [len(set(places(near_the_span(97, 1e6, seed), norms))) for seed in range(5)]
    assert max(found) > 1


def moved(n, radius=1.0):
    """How far one record more of norm 0 moves the sum of n others, over what it may."""
    X = near_the_span(n, 1e6)
    return np.linalg.norm(total(np.vstack([X, np.zeros((1, D))]), radius) - total(X, radius))


def test_a_record_of_norm_0_moves_the_sum_of_others_by_its_rounding_at_most():
    statistic, layout = CrossSum(CrossNorms(ZERO, W), 1.0), Records.of(near_the_span(2, 1)).layout
    error = statistic.rounding(layout).total
    assert max(moved(n) for n in (1, 30, 300)) <= error < 1e-3


# 2. The rest is added itself


def error_of_one(seed):
    """How far a single term is from the one that its own numbers make, over the radius."""
    X = near_the_span(1, 1e6, seed)
    block = _dense.DenseRows(X, np.empty((1, D + 1)))
    found = total(X, 1e-6)
    scores, rest, norms = block.crossed(CrossNorms(ZERO, W).cross)
    exact = np.outer(scores[0], rest[0]) * (1e-6 / norms[0])
    return np.linalg.norm(found - exact) / 1e-6


def test_a_term_is_rounded_as_one_of_norm_r_is():
    assert max(error_of_one(seed) for seed in range(10)) < 1e-14


def test_a_copy_that_adds_by_products_rounds_longer_terms(monkeypatch):
    monkeypatch.setattr(_dense.DenseRows, "add_cross", by_products)
    assert max(error_of_one(seed) for seed in range(10)) > 1e-9


# 3. What has no norm is nothing


LONG_AND_SHORT = np.array([[2.0**449, 2.0**-451]])


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("spherical", [False, True])
def test_where_a_factor_has_no_norm_nothing_is_added(turned, spherical):
    axis = np.eye(2)[:1] if turned else np.eye(2)[1:]
    found = total(LONG_AND_SHORT, 1e-3, W=axis, spherical=spherical)
    assert not found.any()


def test_a_copy_that_adds_it_exceeds_any_radius(monkeypatch):
    honest = _dense.DenseRows.crossed

    def crossed(self, cross):
        _, _, found = honest(self, cross)
        return self.rows @ cross.directions.T, self.rows * [0.0, 1.0], found

    monkeypatch.setattr(_dense.DenseRows, "crossed", crossed)
    monkeypatch.setattr(_dense, "on_row_grids", lambda rows: rows)
    assert np.linalg.norm(total(LONG_AND_SHORT, 1e-3, W=np.eye(2)[:1])) > 0.2


@pytest.mark.parametrize("bad", [1e200, np.inf, np.nan])
@pytest.mark.parametrize("groups", [None, np.array([0, 0, 1, 1])])
def test_rows_without_a_norm_count_nothing(bad, groups):
    X = np.vstack([near_the_span(3, 1.0), np.full((1, D), bad)])
    with np.errstate(all="ignore"):
        found = total(X, 1.0, groups)
    kept = slice(3) if groups is None else slice(2)
    expected = total(X[kept], 1.0, None if groups is None else groups[kept])
    np.testing.assert_allclose(found, expected, atol=1e-15)


def test_a_row_at_the_centre_has_no_direction():
    assert not total(np.zeros((2, D)), 1.0, spherical=True).any()
    assert not norms(np.zeros((2, D)), spherical=True).any()


# 4. A group is clipped by what is formed of it


def test_rows_of_a_group_may_cancel_and_so_does_its_norm():
    x = W[0] + OUT[0]
    both = np.vstack([x, W[0] - OUT[0]])
    groups = np.zeros(2, dtype=np.intp)
    assert norms(both, groups)[0] < 1e-6
    assert norms(np.vstack([x, x]), groups)[0] == pytest.approx(2, rel=1e-6)


def test_a_group_is_no_row_that_can_be_put_on_a_sphere():
    statistic = CrossSum(CrossNorms(ZERO, W, spherical=True), 1.0)
    layout = Records.of(near_the_span(2, 1.0), np.zeros(2, dtype=np.intp)).layout
    with pytest.raises(TypeError, match="set spherical=False for groups"):
        statistic.check(layout)


# 5. Values


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("spherical", [False, True])
@pytest.mark.parametrize("radius", [0.5, 1e6])
def test_it_is_the_block_of_the_gram_matrices_that_leads_out_of_the_span(
    grouped, spherical, radius
):
    if grouped and spherical:
        return
    X = RNG.normal(size=(30, D))
    groups = np.repeat(np.arange(10), 3) if grouped else None
    rows = X / np.linalg.norm(X, axis=1)[:, None] if spherical else X
    members = rows.reshape(10, 3, D) if grouped else rows[:, None]
    off = np.eye(D) - W.T @ W
    expected = np.zeros_like(W)
    for x in members:
        term = W @ x.T @ x @ off
        expected += term * min(1.0, radius / np.linalg.norm(term))
    found = total(X, radius, groups, spherical=spherical)
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("radius", [1e-9, 1.0, 2.0, 1e9])
def test_its_rounding_error_is_never_0(radius):
    layout = Records.of(near_the_span(2, 1.0)).layout
    assert 0 < CrossSum(CrossNorms(ZERO, W), radius).rounding(layout).total < 1e-3 * radius


def test_no_product_is_longer_than_half_of_the_gram_matrix():
    X = RNG.normal(size=(200, D)) * 10.0 ** RNG.uniform(-3, 3, size=(200, 1))
    assert (norms(X) <= 0.5 * np.linalg.norm(X, axis=1) ** 2 * (1 + 1e-6)).all()
    half = (W[:1] + OUT[:1]) / math.sqrt(2)
    assert norms(half)[0] == pytest.approx(0.5, rel=1e-6)
    groups = np.repeat(np.arange(50), 4)
    grams = [np.linalg.norm(x @ x.T) for x in X.reshape(50, 4, D)]
    assert (norms(X, groups) <= 0.5 * np.array(grams) * (1 + 1e-6)).all()


@pytest.mark.parametrize("d", [325, 5000])
@pytest.mark.parametrize("n", [0, 1])
def test_equal_entries_may_round_alike(d, n):
    statistic = CrossSum(CrossNorms(np.zeros(d), np.full((1, d), d**-0.5)), 1.0)
    records = Records.of(np.ones((n, d)))
    statistic.check(records.layout)
    assert not statistic.total(records).any() or n


@pytest.mark.parametrize("n", [0, 2])
def test_directions_are_refused_whether_there_is_a_record_or_not(n):
    statistic = CrossSum(CrossNorms(ZERO, 2 * W), 1.0)
    with pytest.raises(ValueError, match="orthonormal rows; orthonormalise them first"):
        statistic.check(Records.of(np.zeros((n, D))).layout)


@pytest.mark.parametrize("radius", [math.inf, 0.0, 2.0**-450])
def test_a_radius_that_clips_all_or_none_is_refused(radius):
    with pytest.raises(ValueError, match="set a finite one"):
        CrossSum(CrossNorms(ZERO, W), radius)
