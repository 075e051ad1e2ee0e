"""Private locations and scales: where they are right, what they cost, and that nothing blows up."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from skdppca.mechanisms.scales import exact_scales, private_scales
from skdppca.records import _records

from ..asking import private_data

RNG = np.random.default_rng(0)
N = 20_000
UNITS = 10.0 ** np.arange(-5, 6)
NORMAL = RNG.normal(size=(N, len(UNITS)))


def scales(X, mu=1.0, around=None, **more):
    """The result and the spender; sd of a step's noise about 60 of 20000 at 11 features."""
    told = more if around is None else more | {"centre": around}
    data = private_data(X, mu, **told)
    return private_scales(data, located=around is None), data.spender


def one_hot(*shares):
    """Columns of which so many rows are 1."""
    ranks = RNG.permuted(np.tile(np.arange(N)[:, None], len(shares)), axis=0)
    return (ranks < N * np.array(shares)).astype(float)


def cost(spender):
    return math.fsum(query.mu**2 for query in spender.queries)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("offset", [0.0, 3.0, -20.0])
def test_normal_features_get_about_their_standard_deviation(seed, offset, adjacency):
    found, _ = scales((NORMAL + offset) * UNITS, seed=seed, adjacency=adjacency)
    # a power of 2 up or down, and the location's error
    assert np.all((found.scale / UNITS > 0.6) & (found.scale / UNITS < 1.7))
    assert np.all(np.abs(found.location / UNITS - offset) < 1.0)


def test_tails_count_as_in_a_standard_deviation():
    heavy = np.exp(RNG.normal(size=(N, 6)) * [0.2, 0.4, 0.6, 0.8, 1.0, 1.2]) * 10.0 ** np.arange(
        -3, 3
    )
    found, _ = scales(heavy, mu=4.0)
    ratio = found.scale / heavy.std(axis=0)
    # of the median deviations it is 2.1; what is left are the tails that are clipped
    assert ratio.max() / ratio.min() < 1.6


@pytest.mark.parametrize("seed", range(3))
def test_values_too_rare_to_be_counted_show_in_the_mean_squares(seed):
    X = np.hstack([NORMAL[:, :3] / 4, one_hot(0.02), np.zeros((N, 1))])
    found, spender = scales(X, mu=0.2, seed=seed)
    assert "distances of far values" not in [query.name for query in spender.queries]
    # in units of the others it would be 1.8
    assert 0.7 < found.scale[3] / X[:, 3].std() < 1.4
    assert found.scale[4] == np.median(found.scale[:4])


def test_a_far_location_is_narrowed():
    found, _ = scales((NORMAL + 200.0) * UNITS, mu=4.0)
    assert np.all((found.scale / UNITS > 0.6) & (found.scale / UNITS < 8.0))


@pytest.mark.parametrize("offset", [500.0, -1000.0, 2000.0])
def test_of_many_records_a_location_is_narrowed_further(offset):
    found, _ = scales((NORMAL + offset) * UNITS, mu=4.0)
    assert np.all((found.scale / UNITS > 0.6) & (found.scale / UNITS < 1.7))


def test_deviations_are_from_a_public_point_if_there_is_one():
    found, spender = scales((NORMAL + 200.0) * UNITS, around=200.0 * UNITS)
    assert np.all((found.scale / UNITS > 0.6) & (found.scale / UNITS < 1.7))
    assert "medians" not in [query.name for query in spender.queries]


# The location's error may make the scale too large, never far too small for more than 5 % of rows.
@pytest.mark.parametrize("share", [0.05, 0.1, 0.3, 0.45, 0.49, 0.5, 0.51, 0.55, 0.7, 0.9, 0.95])
@pytest.mark.parametrize("levels", [(0.0, 1.0), (0.0, 1000.0), (7.0, 8.0)])
@pytest.mark.parametrize("seed", range(3))
def test_features_of_two_values_are_not_blown_up(share, levels, seed):
    low, high = levels
    found, _ = scales(low + (high - low) * one_hot(share), mu=4.0, seed=seed)
    true = (high - low) * math.sqrt(share * (1 - share))
    assert 0.4 < found.scale[0] / true < 5.0


def test_a_feature_of_which_no_value_is_seen_to_differ_takes_the_others_units():
    hardly = np.zeros((N, 1))
    hardly[0] = 1e6
    found, _ = scales(np.hstack([1000 * NORMAL[:, :3], hardly]))
    assert found.scale[3] == np.median(found.scale[:3])


def test_without_any_other_feature_the_units_stay():
    np.testing.assert_array_equal(scales(np.zeros((N, 3)))[0].scale, 1.0)


@pytest.mark.parametrize("constant", [0.0, 1.0, -3.7, 1e6, 1e300, -1e300, 1e-300])
def test_a_constant_feature_stays_constant(constant):
    X = np.hstack([NORMAL[:, :3], np.full((N, 1), constant)])
    found, _ = scales(X)
    reach = np.abs(constant - found.location[3]) / found.scale[3]
    assert np.all(found.scale >= 2.0**-41) and np.isfinite(found.scale).all()
    assert reach <= 3.0 or abs(constant) > 2.0**40


@pytest.mark.parametrize("mu", [1e-6, 1e-3, 0.01, 0.1, 1.0, 100.0])
@pytest.mark.parametrize("n", [1, 10, 500])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_any_budget_gives_positive_scales_for_at_most_its_share(mu, n, adjacency):
    found, spender = scales(100 + NORMAL[:n] * UNITS, mu=mu, adjacency=adjacency)
    assert np.all((found.scale >= 2.0**-41) & (found.scale <= 2.0**41))
    assert np.isfinite(found.location).all()
    assert cost(spender) <= 0.425 * mu**2


@pytest.mark.parametrize("mu", [1.0, 10.0])
def test_of_many_records_the_searches_take_15_percent_and_the_squares_5(mu):
    X = np.hstack([(NORMAL + 200.0) * UNITS, one_hot(0.1, 0.3), np.full((N, 1), 5.0)])
    assert 0.15 * mu**2 < cost(scales(X, mu=mu)[1]) <= 0.2 * mu**2


def test_with_too_few_records_nothing_is_standardised():
    found, spender = scales(NORMAL[:50] * UNITS, mu=0.1)
    np.testing.assert_array_equal(found.scale, 1.0)
    np.testing.assert_array_equal(found.location, 0.0)
    assert [query.name for query in spender.queries] == ["number of records"]


@pytest.mark.parametrize("form", [sparse.csr_array, np.asfortranarray])
def test_sparse_rows_give_what_dense_ones_give(form):
    X = np.hstack([one_hot(0.01, 0.2, 0.8) * 100, NORMAL[:, :2] + 3])
    mine, others = scales(form(X))[0], scales(X)[0]
    np.testing.assert_array_equal(mine.scale, others.scale)
    np.testing.assert_array_equal(mine.location, others.location)


def test_groups_count_by_shares_of_their_rows(monkeypatch):
    monkeypatch.setattr(_records, "BLOCK_ENTRIES", 1)  # and groups of more rows than a block holds
    X = np.vstack([np.full((300, 2), 50.0), NORMAL[:9700, :2]])
    groups = np.r_[np.zeros(300, int), 1 + np.arange(9700) // 2]
    found, _ = scales(X, groups=groups)
    assert np.all((found.scale > 0.5) & (found.scale < 2.0))


def with_holes(X, share=0.3, seed=1):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


@pytest.mark.parametrize("kind", ["dense", "CSR", "groups"])
@pytest.mark.parametrize("located", [True, False])
def test_values_that_are_there_get_about_their_standard_deviation(kind, located):
    X = with_holes((NORMAL + 3.0) * UNITS)
    groups = np.arange(N) // 2 if kind == "groups" else None
    around = None if located else 3.0 * UNITS
    rows = sparse.csr_array(X) if kind == "CSR" else X
    found, spender = scales(rows, mu=2.0, around=around, groups=groups, may_miss=True)
    assert np.all((found.scale / UNITS > 0.6) & (found.scale / UNITS < 1.7))
    assert np.all(np.abs(found.location / UNITS - 3.0) < 1.0)
    assert [query.name for query in spender.queries].count("present values") == 1


def test_the_centres_entry_is_not_taken_for_a_value():
    """Read as 0, half of the values would make a median of 0 and a deviation of 3."""
    found, _ = scales(with_holes((NORMAL + 6.0) * UNITS, 0.6), mu=2.0, may_miss=True)
    assert np.all(np.abs(found.location / UNITS - 6.0) < 1.0)
    assert np.all((found.scale / UNITS > 0.6) & (found.scale / UNITS < 1.7))


@pytest.mark.parametrize("nothing", [np.full((N, 1), np.nan), with_holes(NORMAL[:, :1], 0.9999)])
def test_a_feature_that_hardly_any_record_has_takes_the_others_units(nothing):
    X = np.hstack([1000 * NORMAL[:, :3], nothing])
    found, _ = scales(X, may_miss=True)
    assert found.scale[3] == np.median(found.scale[:3])
    assert found.location[3] == 0.0
    expected, _ = scales(1000 * NORMAL[:, :3])
    np.testing.assert_allclose(found.scale[:3], expected.scale, rtol=0.5)


def test_where_no_record_has_anything_nothing_is_standardised():
    found, _ = scales(np.full((N, 3), np.nan), may_miss=True)
    np.testing.assert_array_equal(found.scale, 1.0)
    np.testing.assert_array_equal(found.location, 0.0)


def test_how_many_values_there_are_is_asked_only_where_some_may_be_absent():
    _, told = scales(NORMAL, may_miss=True)
    _, untold = scales(NORMAL)
    names = [[query.name for query in spender.queries] for spender in (told, untold)]
    assert "present values" not in names[1]
    assert names[0][:2] == ["number of records", "present values"]


@pytest.mark.parametrize("mu", [1e-3, 0.1, 1.0, 100.0])
@pytest.mark.parametrize("n", [1, 10, 500])
def test_absent_entries_cost_no_more_than_their_share(mu, n):
    found, spender = scales(with_holes(100 + NORMAL[:n] * UNITS), mu=mu, may_miss=True)
    assert np.all((found.scale >= 2.0**-41) & (found.scale <= 2.0**41))
    assert np.isfinite(found.location).all()
    assert cost(spender) <= (0.425 + 0.0055) * mu**2


SCALED = {
    "normal": NORMAL[:200] * UNITS + 100,
    "constant": np.hstack([NORMAL[:200, :2], np.full((200, 1), 0.1), np.zeros((200, 1))]),
    "one-hot": one_hot(0.1, 0.5)[:200],
}


def exact(X, located=True, **more):
    return exact_scales(private_data(X, math.inf, **more), located)


@pytest.mark.parametrize("name", SCALED)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("missing", [False, True])
def test_without_noise_they_are_a_standard_scalers(name, form, missing):
    X = with_holes(SCALED[name]) if missing else SCALED[name]
    found, theirs = exact(form(X), may_miss=missing), StandardScaler().fit(X)
    np.testing.assert_allclose(found.location, theirs.mean_, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(found.scale, theirs.scale_, rtol=1e-12)


def test_without_noise_they_are_root_mean_squares_about_a_public_point():
    X, centre = SCALED["normal"], np.full(len(UNITS), 7.0)
    found = exact(X, located=False, centre=centre)
    np.testing.assert_array_equal(found.location, centre)
    np.testing.assert_allclose(found.scale, np.sqrt(np.mean((X - centre) ** 2, axis=0)))


def test_without_noise_groups_count_by_their_rows():
    X, groups = SCALED["normal"], np.repeat(np.arange(3), [1, 9, 190])
    np.testing.assert_allclose(exact(X, groups=groups).scale, X.std(axis=0))


def test_squares_that_overflow_are_refused_where_there_is_no_noise():
    with pytest.raises(ValueError, match="scale it down"):
        exact(np.array([[1e200], [-1e200]]))
