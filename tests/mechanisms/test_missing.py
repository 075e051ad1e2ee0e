"""How many entries are there, and what filling the others did to the moments."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from skdppca.mechanisms.missing import (
    MISSING,
    _directions_without,
    _empty,
    left_along,
    undone,
    with_present,
)
from skdppca.mechanisms.noisy_covariance import NoisyGram

from ..private_data_of import private_data

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(50, 3)) @ RNG.normal(size=(3, 3)) + [3.0, -1.0, 0.5]
SHARES = np.array([0.5, 0.8, 1.0])


def filled_sums(rows, shares):
    """Expected sums of ``[y, 1]^T [y, 1]``, entries of y left out independently: over all masks."""
    d, total = rows.shape[1], 0.0
    for mask in itertools.product([0.0, 1.0], repeat=d):
        weight = math.prod(q if there else 1 - q for q, there in zip(shares, mask, strict=True))
        y = np.column_stack([rows * mask, np.ones(len(rows))])
        total = total + weight * (y.T @ y)
    return total


def test_second_moments_are_those_of_complete_rows():
    moments = filled_sums(ROWS, SHARES)[:3, :3]
    np.testing.assert_allclose(undone(moments, SHARES), ROWS.T @ ROWS, rtol=1e-12)


def test_scatter_and_mean_are_those_of_complete_rows():
    gram = NoisyGram(filled_sums(ROWS, SHARES), 1.0, noise_sd=0.0)
    scatter, mean = gram.about_mean(len(ROWS), SHARES)
    np.testing.assert_allclose(mean, ROWS.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(scatter, (len(ROWS) - 1) * np.cov(ROWS.T), rtol=1e-9, atol=1e-9)


def test_the_share_that_is_left_along_a_direction():
    direction = np.linalg.qr(RNG.normal(size=(3, 3)))[0][0]
    complete, filled = ROWS.T @ ROWS, filled_sums(ROWS, SHARES)[:3, :3]
    left = (direction @ filled @ direction) / (direction @ complete @ direction)
    assert left_along(direction, complete, SHARES) == pytest.approx(left, rel=1e-12)
    assert left_along(direction, complete, None) == 1.0


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("absent", [0.0, 0.3, 1.0])
def test_the_same_is_asked_whatever_is_absent(adjacency, absent):
    X = np.where(RNG.random((400, 5)) < absent, np.nan, 1.0)
    data = private_data(X, 2.0, adjacency=adjacency, may_miss=True)
    with_present(data)
    asked = [(query.name, round((query.mu / 2.0) ** 2, 12)) for query in data.budget.queries]
    expected = [("number of records", 0.01), ("present values", 0.02)]
    assert asked == expected[adjacency == "replace-one" :]


def test_shares_that_noise_alone_parts_are_one():
    # 8 features, noise of .02 of the records: their mean is kept, what they differ by is not
    found = [with_present(left_out(np.full(8, 0.8), seed))[1] for seed in range(20)]
    assert np.mean([np.std(present) for present in found]) < 0.01
    assert np.mean(found) == pytest.approx(0.8, abs=0.02)


def test_shares_that_differ_stay_apart():
    shares = np.linspace(0.3, 1.0, 8)
    np.testing.assert_allclose(with_present(left_out(shares, 0))[1], shares, atol=0.08)


def left_out(shares, seed, n=5000, mu=0.2):
    X = np.where(np.random.default_rng(seed).random((n, len(shares))) < shares, 1.0, np.nan)
    return private_data(X, mu, seed=seed, may_miss=True)


@pytest.mark.parametrize("mu", [0.01, math.inf])
def test_no_share_is_below_the_least_or_above_one(mu):
    data = private_data(np.full((50, 3), np.nan), mu, n=50.0, may_miss=True)
    present = with_present(data)[0].present
    assert (present >= MISSING.least_present).all()
    assert (present <= 1).all()


def drawn(shares, error, times=20_000):
    """Noisy shares, and which of them are taken for empty ones."""
    noisy = np.random.default_rng(3).normal(shares, error, (times, len(shares)))
    return np.array([_empty(row, error) for row in noisy])


@pytest.mark.parametrize("error", [0.03, 0.1, 0.3])
def test_features_like_the_others_are_hardly_ever_taken_for_empty(error):
    # 20000 tables at a rate of at most .01 have it in 200 +- 14; 5 sds are exceeded once in 10^6
    wrong = drawn(np.full(10, 0.8), error).any(axis=1)
    assert wrong.mean() < MISSING.error + 5 * np.sqrt(MISSING.error / len(wrong))


@pytest.mark.parametrize(("share", "error"), [(0.0, 0.08), (0.01, 0.02), (0.05, 0.001)])
def test_features_with_hardly_any_values_are_nearly_always_found(share, error):
    # likewise: nearly all of the noise's z sds, or of MISSING.least_present, are left
    seen = drawn(np.r_[np.full(8, 0.9), share, share], error)[:, 8:].all(axis=1)
    assert (~seen).mean() < MISSING.error + 5 * np.sqrt(MISSING.error / len(seen))


def test_empty_features_are_hidden_and_have_no_part_in_the_mean_share():
    data, shares = with_present(left_out(np.array([0.0, 0.8, 0.8, 0.8]), 0, n=50_000, mu=2.0))
    np.testing.assert_allclose(shares, [0.0, 0.8, 0.8, 0.8], atol=0.01)
    np.testing.assert_allclose(data.present, 0.8, atol=0.01)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_directions_stay_orthonormal_without_empty_features(k):
    empty = np.array([False, True, False, False, True])
    directions = np.linalg.qr(np.random.default_rng(k).normal(size=(5, 5)))[0][:k]
    directions[:, empty] *= 0.1
    directions = np.linalg.qr(directions.T)[0].T
    found = _directions_without(empty, directions)
    np.testing.assert_allclose(found @ found.T, np.eye(k), atol=1e-12)
    np.testing.assert_array_equal(found[:3, empty], 0.0)
    assert directions[0] @ found[0] > 0.9


def test_a_direction_of_an_empty_feature_makes_way():
    axes = np.eye(4)[[2, 0, 1]]  # the third feature is empty
    found = _directions_without(np.arange(4) == 2, axes)
    np.testing.assert_allclose(found[:2], axes[1:], atol=1e-12)


@pytest.mark.parametrize("shares", [[0.02, 0.05, 0.08], [0.0, 0.0, 0.0], [0.15, 0.5, 0.9]])
def test_few_values_in_all_features_are_kept(shares):
    assert not _empty(np.array(shares), 1e-3)[1:].any()
