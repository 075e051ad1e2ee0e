"""Sums over pairs are what they should be, and no neighbour moves them further than declared."""

from __future__ import annotations

import math
import threading

import numpy as np
import pytest

from skdppca.noise import NoiseSource
from skdppca.records import Records
from skdppca.records.pairs import (
    CANCELLATION,
    MAX_COMPLETE,
    NEAR,
    Kernel,
    _cyclic_weights,
    adjacent_differences,
    complete_error,
    complete_sum,
    cyclic_error,
    cyclic_sum,
    term_error,
)
from skdppca.records.sources import MAX_ROWS
from skdppca.statistics import AdjacentDifferences, CountBeyond, KendallMatrix

from ..private_data_of import filled, on_both_adjacencies, private_data
from .cases import Words

RNG = np.random.default_rng(0)
BASE = RNG.normal(size=(41, 3))
SCALES = 10.0 ** RNG.integers(-200, 130, size=(41, 1))
NORMAL = RNG.normal(size=(600, 3))

ROWS = {
    "normal": BASE,
    "more than a block": NORMAL,
    "duplicates": np.tile(BASE[:14], (3, 1)),
    "far from the origin": BASE + 1e12,
    "clusters far apart": np.vstack([BASE[:20] * 1e-3, BASE[20:] * 1e-3 + 1e9]),
    "all alike": np.full((7, 3), 0.1),
    "tiny": 1e-300 * BASE,
    "smallest": 5e-324 * np.round(BASE * 3),
    "near overflow": 1e130 * BASE,
    "of all sizes": BASE * SCALES,
    "tiny amidst huge": np.vstack([1e-300 * BASE[:9], 1e100 * BASE, -1e100 * BASE]),
    "heavy-tailed": BASE / RNG.normal(size=(41, 1)) ** 2,
    "one": BASE[:1],
    "none": BASE[:0],
}


def proportional(t):
    """Winsorised, once it is clipped."""
    return t


def jumping(t):
    """Keeps pairs that are near, and some a little longer than allowed."""
    return np.where(t < 2.0, 1.5 * t, np.nan)


KERNELS = [
    *(Kernel(radius) for radius in (None, 1.0, 1e-3, 1e-100, 1e100)),
    Kernel(1.0, proportional),
    Kernel(2.0, jumping),
]
DESIGNS = {"complete": KendallMatrix(3), "cyclic": KendallMatrix(3, offsets=3)}

on_all_rows = pytest.mark.parametrize("X", ROWS.values(), ids=ROWS)


def shown(kernel):
    """A name that is the same in every process."""
    name = kernel.xi.__name__ if callable(kernel.xi) else "own lengths"
    return f"{name}, {kernel.radius}"


on_all_kernels = pytest.mark.parametrize("kernel", KERNELS, ids=shown)


def random_order(n, noise):
    return Records.of(np.zeros((n, 1))).shuffled(noise).private_cycle


def signs(differences, kernel):
    """g / r of many differences of rows, in extended precision, nothing clever."""
    t = differences.astype(np.longdouble) / np.sqrt(np.longdouble(2))
    largest = np.abs(t).max(axis=-1, keepdims=True)
    largest[largest == 0] = 1
    lengths = largest * np.sqrt(((t / largest) ** 2).sum(axis=-1, keepdims=True))
    if kernel.xi is not None:
        xi = np.clip(np.nan_to_num(kernel.xi(lengths.astype(float))), 0, kernel.radius)
        return (t / np.where(lengths > 0, lengths, 1)).astype(float) * (xi / kernel.radius)
    if kernel.radius is not None:
        return (t / np.maximum(lengths, kernel.radius)).astype(float)
    return (t / np.where(lengths > 0, lengths, 1)).astype(float)


def slow_sum(X, pairs, kernel):
    i, j = np.array(pairs, dtype=int).reshape(-1, 2).T
    g = signs(X[i].astype(np.longdouble) - X[j], kernel)
    return g.T @ g


def all_pairs(n):
    return np.column_stack(np.triu_indices(n, 1))


def cyclic_pairs_of(order, offsets):
    n = len(order)
    return [(order[i], order[(i + t) % n]) for i in range(n) for t in range(1, offsets + 1)]


def assert_close(found, expected, pairs):
    assert np.linalg.norm(np.triu(found - expected)) <= 1e-11 * max(pairs, 1)


@on_all_rows
@on_all_kernels
def test_complete_sum(X, kernel):
    pairs = all_pairs(len(X))
    assert_close(complete_sum(X, kernel), slow_sum(X, pairs, kernel), len(pairs))


@on_all_rows
@on_all_kernels
@pytest.mark.parametrize("offsets", [1, 4, 50])
def test_cyclic_sum(X, kernel, offsets):
    order = random_order(len(X), NoiseSource(0))
    pairs = cyclic_pairs_of(order, offsets)
    found = cyclic_sum(X, order, offsets, kernel)
    assert_close(found, slow_sum(X, pairs, kernel), len(pairs))


@pytest.mark.parametrize("n", [1, 31, 33, 3000])
@pytest.mark.parametrize("d", [1, 2, 130])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_blocks_and_bands_of_all_shapes_add_up(threads, n, d):
    X = np.random.default_rng(0).normal(size=(n, d))
    order = random_order(n, NoiseSource(0))
    pairs = cyclic_pairs_of(order, 3)
    found = cyclic_sum(X, order, 3, Kernel(), threads=threads)
    assert_close(found, slow_sum(X, pairs, Kernel()), len(pairs))


@pytest.mark.parametrize("own", [True, False], ids=["own kernel", "signs"])
def test_threads_share_pairs_but_never_call_a_kernel_of_the_user(own, monkeypatch):
    used = set()
    weights = Kernel.weights
    monkeypatch.setattr(
        Kernel, "weights", lambda *a: used.add(threading.get_ident()) or weights(*a)
    )
    X = np.random.default_rng(0).normal(size=(6000, 3))
    records = Records.of(X, n_jobs=2).mean_rows(None).shuffled(NoiseSource(0))
    statistic = KendallMatrix(3, 2.0, 4, np.square if own else None)
    statistic.total(records)
    assert (len(used) == 1) == own


@pytest.mark.parametrize("d", [1, 3, 17, 100, 4100])
def test_the_weight_of_a_pair_is_a_function_of_its_two_rows(d):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(45, d)) * 10.0 ** rng.integers(-3, 4, size=(45, 1))
    X[10:13] = X[9] + 1e-3 * rng.normal(size=(3, d))
    weights, near = _cyclic_weights(X, 4, Kernel())
    assert near.any() and not near.all()
    for start in range(1, 9):
        moved, near_there = _cyclic_weights(X[start:].copy(), 4, Kernel())
        np.testing.assert_array_equal(moved, weights[:, start:])
        np.testing.assert_array_equal(near_there, near[:, start:])
    for i in range(0, 40, 7):
        for t in range(4):
            alone, _ = _cyclic_weights(X[[i, i + t + 1]], 1, Kernel())
            assert alone[0, 0] == weights[t, i]


@pytest.mark.parametrize("d", [1, 3, 1000])
def test_no_term_is_longer_than_1_by_more_than_is_declared(d):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, d))
    # as near as they may be without being formed anew: there the square is least precise
    y = x + 1.01 * np.sqrt(2 * NEAR) * rng.normal(size=(500, d))
    X = np.stack([x, y], axis=1).reshape(-1, d)
    weights, _ = _cyclic_weights(X, 1, Kernel())
    squares = np.sum((np.diff(X.astype(np.longdouble), axis=0)) ** 2, axis=1) / 2
    terms = weights[0] * squares
    assert np.count_nonzero(terms) > 100
    assert (terms - 1).max() <= term_error(d)


def test_rounding_of_cyclic_pairs_stays_within_its_bound_where_it_is_worst():
    rng = np.random.default_rng(1)
    step = 1.2 * math.sqrt(2 * NEAR)
    X = 100 * (np.array([1.0, 0, 0]) + step * rng.normal(size=(600, 3)) / math.sqrt(3))
    pairs = cyclic_pairs_of(np.arange(600), 10)
    error = cyclic_sum(X, np.arange(600), 10, Kernel()) - slow_sum(X, pairs, Kernel())
    # the bound is for MAX_ROWS records, and grows with their number
    assert np.linalg.norm(np.triu(error)) / 20 < cyclic_error(10) * 600 / MAX_ROWS


@pytest.mark.parametrize("rows", ["normal", "far from the origin", "duplicates"])
def test_a_kernel_that_jumps_sees_each_length_to_the_last_bit(rows):
    """Lengths from matrix products, off by some bits, count every other pair on the wrong side."""
    X = ROWS[rows]
    i, j = all_pairs(len(X)).T
    lengths = adjacent_differences(
        np.stack([X[i], X[j]], axis=1).reshape(-1, 3), np.arange(2 * len(i))
    )
    lengths = lengths[::2]
    for threshold in lengths[lengths > 0][::20]:
        kernel = Kernel(1.0, lambda t, most=threshold: (t <= most).astype(float))
        count = np.count_nonzero((lengths > 0) & (lengths <= threshold))
        for total in (
            complete_sum(X, kernel),
            cyclic_sum(X, np.arange(len(X)), len(X), kernel) / 2,  # each pair from both ends
        ):
            assert np.trace(total) == pytest.approx(count)


@pytest.mark.parametrize("kernel", [Kernel(), Kernel(1.0)], ids=shown)
def test_rounding_stays_within_its_bound_where_it_is_worst(kernel):
    # distances just above the share of their terms below which they would be computed anew
    rng = np.random.default_rng(1)
    near = 2 * math.sqrt(CANCELLATION)
    centres = np.repeat([[1.0, 0, 0], [-1.0, 0, 0]], 60, axis=0)
    X = 100 * (centres + near * rng.normal(size=(120, 3)) / math.sqrt(3))
    error = complete_sum(X, kernel) - slow_sum(X, all_pairs(120), kernel)
    # the bound is for MAX_COMPLETE records, and grows with their number
    assert np.linalg.norm(np.triu(error)) / 119 < complete_error(3) * 120 / MAX_COMPLETE
    assert complete_error(1000) < 0.01
    assert cyclic_error(512) < 0.005  # of 1.118: less than 1 % more noise


def neighbours(X, x, other, adjacency):
    return (X if adjacency == "add-remove" else np.vstack([X, other])), np.vstack([X, x])


def moved(design, one, two, kernel, offsets=3, seed=0):
    """How far the normalised sum moves; the order of the first survives in the second."""

    def matrix(X):
        n = len(X)
        if design == "complete":
            return slow_sum(X, all_pairs(n), kernel) / max(n - 1, 1)
        order = random_order(n, NoiseSource(seed))
        return slow_sum(X, cyclic_pairs_of(order, offsets), kernel) / (2 * offsets)

    return np.linalg.norm(matrix(two) - matrix(one))


@pytest.mark.parametrize("design", DESIGNS)
@on_both_adjacencies
@pytest.mark.parametrize(
    "kernel",
    [Kernel(), *(pytest.param(k, marks=pytest.mark.slow) for k in (Kernel(0.7), KERNELS[-1]))],
    ids=shown,
)
def test_no_neighbour_moves_it_further(design, adjacency, kernel):
    # Fewer records than offsets too, and lines, on which signs do not cancel.
    rng = np.random.default_rng(2)
    most = DESIGNS[design].sensitivity(adjacency) * (1 + 1e-12)
    for trial in range(1500):
        n, d = rng.integers(0, 9), rng.integers(1, 4)
        X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-1, 2, size=d)
        if trial % 2:
            X[:, 1:] = 0.0
        x, other = 10.0 ** rng.uniform(-1, 4, size=(2, 1)) * rng.normal(size=(2, d))
        pair = neighbours(X, x, other, adjacency)
        assert moved(design, *pair, kernel, rng.integers(1, 12), seed=trial) <= most


@pytest.mark.parametrize("design", DESIGNS)
@on_both_adjacencies
@pytest.mark.parametrize("kernel", [Kernel(), Kernel(2.0)], ids=shown)
@pytest.mark.parametrize("n", [7, 30])
def test_some_neighbour_moves_it_as_far(design, adjacency, kernel, n):
    # all others on one line, far from each other; or all alike, so that only one record counts
    line = np.outer(np.arange(n) * (100.0 if adjacency == "add-remove" else 0.0), [1.0, 0.0])
    x, other = np.array([0.0, 1e9]), np.array([1e9, 0.0])
    found = moved(design, *neighbours(line, x, other, adjacency), kernel)
    sensitivity = DESIGNS[design].sensitivity(adjacency)
    assert 0.999 * sensitivity < found <= sensitivity * (1 + 1e-12)


def test_a_smaller_normaliser_would_move_it_further():
    # n / 2 records' worth of old pairs go, as well as the new: an exact S / n is not enough
    line = np.outer(np.arange(30) * 100.0, [1.0, 0.0])
    two = np.vstack([line, [0.0, 1e9]])
    ones = slow_sum(line, all_pairs(30), Kernel())
    twos = slow_sum(two, all_pairs(31), Kernel())
    assert np.linalg.norm(twos - ones) / 29 > 1.0  # the same divisor: n / (n - 1)
    assert np.linalg.norm(twos / 30 - ones / 29) > 1.11 > 1.0  # so sensitivity 1 would not do


@pytest.mark.parametrize("place", [0, 3, 9])
def test_one_record_more_keeps_the_order_of_the_others(place):
    words = NoiseSource(0).words(10) % 4  # with ties

    class Drawn:
        def __init__(self, words):
            self.words = lambda n: words

    with_record = random_order(10, Drawn(words))
    without = random_order(9, Drawn(np.delete(words, place)))
    others = with_record[with_record != place]
    np.testing.assert_array_equal(others - (others > place), without)


def test_an_order_of_many_is_a_permutation_that_no_two_runs_share():
    orders = [random_order(50, NoiseSource()) for _ in range(2)]
    assert all(sorted(order) == list(range(50)) for order in orders)
    assert not np.array_equal(*orders)  # alike with probability 1 / 50!


@on_both_adjacencies
def test_adjacent_counts_move_by_two_and_some_do(adjacency):
    rng = np.random.default_rng(3)
    most = 0
    for trial in range(700):
        n = rng.integers(0, 7)
        X, x, other = (rng.integers(0, 3, size=(m, 1)).astype(float) for m in (n, 1, 1))
        counts = [
            np.count_nonzero(
                adjacent_differences(Y, random_order(len(Y), NoiseSource(trial))) > 0.1
            )
            for Y in neighbours(X, x, other, adjacency)
        ]
        most = max(most, abs(counts[1] - counts[0]))
    asked = CountBeyond(AdjacentDifferences(), 0.1)
    assert most == asked.sensitivity(adjacency) == 2


def test_disjoint_pairs_of_an_order_would_move_by_more():
    def disjoint(X):
        return np.count_nonzero(X[: len(X) // 2 * 2 : 2] != X[1::2][: len(X) // 2])

    X = np.repeat([0.0, 1.0, 2.0, 3.0, 4.0], 2)
    assert disjoint(np.insert(X, 0, 0.0)) - disjoint(X) > 2


@pytest.mark.parametrize("centre", [None, BASE[0] + 1e12])
def test_differences_along_a_direction_are_precise_far_from_the_origin(centre):
    X, direction = ROWS["far from the origin"], np.array([0.6, 0.8, 0.0])
    order = random_order(len(X), NoiseSource(0))
    found = adjacent_differences(X, order, direction, centre)
    expected = np.abs((X[np.roll(order, -1)] - X[order]) @ direction) / math.sqrt(2)
    np.testing.assert_allclose(found, expected, atol=1e-3 if centre is None else 1e-12)


def paired(X, mu=0.5, seed=0, **more):
    """Rows that are looked at in pairs, and their budget."""
    return private_data(X, mu, seed=seed, **more).mean_rows().shuffled()


@pytest.mark.parametrize("kernel", [Kernel(), Kernel(0.7)], ids=shown)
@pytest.mark.parametrize("n", [0, 1, 2, 61])
def test_the_matrix_is_half_a_mean_over_the_pairs_of_a_record(kernel, n):
    records = Records.of(NORMAL[:n]).mean_rows(None).shuffled(NoiseSource(0))
    found = KendallMatrix(3, kernel.radius).total(records)
    assert_close(found, slow_sum(NORMAL[:n], all_pairs(n), kernel) / max(n - 1, 1), n)
    pairs = cyclic_pairs_of(records.private_cycle, 4)
    found = KendallMatrix(3, kernel.radius, 4).total(records)
    assert_close(found, slow_sum(NORMAL[:n], pairs, kernel) / 8, n)


def test_more_records_than_the_proof_covers_are_refused():
    records = Records.of(np.zeros((MAX_COMPLETE + 1, 1))).mean_rows(None)
    with pytest.raises(ValueError, match=r"pairs='complete' takes at most .*pairs='incomplete'"):
        KendallMatrix(1).total(records)


@pytest.mark.parametrize(
    "asked", [KendallMatrix(3, offsets=1), CountBeyond(AdjacentDifferences(), 1.0)]
)
def test_pairs_are_formed_of_single_finite_rows_in_an_order_alone(asked):
    with pytest.raises(TypeError, match="look through MeanRows first"):
        asked.total(Records.of(NORMAL).shuffled(NoiseSource(0)))
    with pytest.raises(TypeError, match="put them into one by shuffled"):
        asked.total(Records.of(NORMAL).mean_rows(None))


@pytest.mark.parametrize("fill", [np.zeros(3), np.array([1.0, -2.0, 0.5])])
@pytest.mark.parametrize("groups", [None, np.arange(600) // 3])
@pytest.mark.parametrize("offsets", [None, 2])
def test_absent_entries_are_the_centres_before_any_difference_is_formed(fill, groups, offsets):
    X = np.where(np.random.default_rng(1).random(NORMAL.shape) < 0.3, np.nan, NORMAL)
    told = {"centre": fill, "groups": groups, "mu": math.inf}
    missing, full = paired(X, may_miss=True, **told), paired(filled(X, fill), **told)
    for asked in (KendallMatrix(3, 0.7, offsets), CountBeyond(AdjacentDifferences(), 1.0)):
        np.testing.assert_array_equal(missing.ask(asked).value, full.ask(asked).value)
    # they stay what they are wherever the centre moves
    elsewhere = missing.centred_at(np.full(3, 9.0)).source.private_rows
    np.testing.assert_array_equal(elsewhere, full.source.private_rows)


# Rows that overflow are no records of pairs.

OVERFLOWS = np.array([0.0, 1e300, 0.0])


def overflowing_total(asked, X, seed):
    return asked.total(Records.of(X).mean_rows(None).shuffled(Words(seed)))


@pytest.mark.parametrize(
    "asked",
    [
        KendallMatrix(3),
        KendallMatrix(3, offsets=2),
        KendallMatrix(3, radius=2.0),
        CountBeyond(AdjacentDifferences(), 0.1),
    ],
    ids=["complete", "cyclic", "winsorized", "differences"],
)
@on_both_adjacencies
def test_a_row_that_overflows_moves_a_sum_over_pairs_no_further_than_declared(asked, adjacency):
    furthest = 0.0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        others = np.eye(3)[rng.integers(0, 3, size=rng.integers(0, 6))] * rng.choice([1.0, 50.0])
        record = np.eye(3)[rng.integers(0, 3)]
        one = np.vstack([others, OVERFLOWS])
        two = others if adjacency == "add-remove" else np.vstack([others, record])
        one, two = (overflowing_total(asked, X, seed) for X in (one, two))
        moved = float(np.linalg.norm(one - two))
        assert moved <= asked.sensitivity(adjacency) * (1 + 1e-9)
        furthest = max(furthest, moved)
    assert (furthest > 0) == (adjacency == "replace-one")  # who comes as no record moves nothing
