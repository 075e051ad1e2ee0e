"""Private locations and scales: where they are right, what they cost, and that nothing blows up."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from skdppca.mechanisms.base import Public, Spender
from skdppca.mechanisms.gaussian import GaussianQuery
from skdppca.mechanisms.scales import exact_scales, private_scales
from skdppca.noise import NoiseSource
from skdppca.records import Records, _records

RNG = np.random.default_rng(0)
N = 20_000
UNITS = 10.0 ** np.arange(-5, 6)
NORMAL = RNG.normal(size=(N, len(UNITS)))


def scales(X, mu=1.0, groups=None, around=None, seed=0, adjacency="add-remove"):
    """The result and the spender; sd of a step's noise about 60 of 20000 at 11 features."""
    unit = "row" if groups is None else "person"
    n_records = None if adjacency == "add-remove" else len(X)
    public = Public(X.shape[1], adjacency, unit, sparse.issparse(X), n_records)
    spender = Spender(mu)
    found = private_scales(Records(X, groups), around, spender, public, NoiseSource(seed))
    return found, spender


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


KINDS = {
    "dense": (lambda X: X, None),
    "CSR": (sparse.csr_array, None),
    "groups": (lambda X: X, np.repeat([0, 1, 2, 3], [1, 2, 7, 190])),
}


@pytest.mark.parametrize("kind", KINDS)
def test_column_sums_equal_numpys(monkeypatch, kind):
    monkeypatch.setattr(_records, "MIN_BLOCK_ROWS", 8)
    monkeypatch.setattr(_records, "BLOCK_ENTRIES", 1)
    make, groups = KINDS[kind]
    X = RNG.normal(size=(200, 4)) * (RNG.random((200, 4)) < 0.5)

    def f(x, j):
        return np.cos(x) + np.arange(4)[j]

    values = f(X, slice(None))
    if groups is not None:
        values = np.array([values[groups == g].mean(axis=0) for g in range(4)])
    found = Records(make(X), groups).fold(lambda out, b, _: b.add_columns(out, f), (4,))
    np.testing.assert_allclose(found, values.sum(axis=0), rtol=1e-12)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("kind", ["rows", "CSR", "groups"])
def test_no_record_moves_an_answer_further_than_is_claimed(monkeypatch, adjacency, kind):
    """Over extreme neighbours, along common answers; and the bound is attained."""
    D, base = 3, RNG.normal(size=(30, 3))
    ends = [np.array(v) for v in ([1e300, 1e300, 1e300], [-1e300] * 3, [0.0] * 3, [1.0, -5, 1e9])]
    seen, largest = [], 0.0

    def spy(query, total, noise):
        seen.append((query, np.asarray(total, dtype=float)))
        return np.zeros(query.size) if query.size > 1 else 30.0

    monkeypatch.setattr(GaussianQuery, "release", spy)

    def totals(rows):
        groups = np.r_[np.arange(30) // 3, np.full(len(rows) - 30, 10)]
        X = sparse.csr_array(rows) if kind == "CSR" else rows
        seen.clear()
        unit = "person" if kind == "groups" else "row"
        public = Public(D, adjacency, unit, kind == "CSR", None if adjacency[0] == "a" else 31)
        records = Records(X, groups if kind == "groups" else None)
        private_scales(records, None, Spender(50.0), public, None)
        return list(seen)

    for one in ends:
        for other in ends:
            without = base if adjacency == "add-remove" else np.vstack([base, other, other])
            pairs = zip(totals(without), totals(np.vstack([base, one, one])), strict=True)
            for (query, absent), (same, present) in pairs:
                assert query == same
                if kind != "groups" and query.size > 1:
                    moved = np.linalg.norm(present - absent) / 2  # two rows
                else:
                    moved = np.linalg.norm(present - absent) / (1 + (query.size == 1))
                assert moved <= query.widened_sensitivity * (1 + 1e-12)
                largest = max(largest, moved / query.sensitivity)
    assert largest > 0.999


SCALED = {
    "normal": NORMAL[:200] * UNITS + 100,
    "constant": np.hstack([NORMAL[:200, :2], np.full((200, 1), 0.1), np.zeros((200, 1))]),
    "one-hot": one_hot(0.1, 0.5)[:200],
}


@pytest.mark.parametrize("name", SCALED)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_without_noise_they_are_a_standard_scalers(name, form):
    X = SCALED[name]
    found, theirs = exact_scales(Records(form(X)), None), StandardScaler().fit(X)
    np.testing.assert_allclose(found.location, theirs.mean_, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(found.scale, theirs.scale_, rtol=1e-12)


def test_without_noise_groups_count_by_their_rows():
    X, groups = SCALED["normal"], np.repeat(np.arange(3), [1, 9, 190])
    np.testing.assert_allclose(exact_scales(Records(X, groups), None).scale, X.std(axis=0))
