"""GDPPCA keeps its promise, and the same audit convicts copies that do not.

Error rate: every bound holds with probability at least 1 - 1e-4 (two signs, two rates); the seeds
are fixed, so each test passes or fails for good.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from skdppca import GDPPCA
from skdppca.decomposition.gdppca import estimator
from skdppca.decomposition.gdppca import mechanism as gdppca
from skdppca.decomposition.gdppca.mechanism import GDPPCAMechanism
from skdppca.records import Records, kernels
from skdppca.records.kernels import Kernel
from skdppca.statistics import KendallMatrix, gram, pairs

from .audit import (
    Pair,
    bounds,
    build,
    collect,
    mu_lower_bound,
    on_both_adjacencies,
    run,
    weaken_noise,
)

ALPHA = 1e-4
RUNS = {2.0: 200, 3.0: 150}
MORE_RUNS = 500

# Others on a line, far from each other, and one beside it; or others all alike, and one on either
# of two lines that are orthogonal.
LINE = np.outer(np.arange(20) * 100.0, [1.0, 0.0])
ALIKE = np.zeros((20, 2))
RIGHT, UP = np.array([[1e7, 0.0]]), np.array([[0.0, 1e7]])
NEIGHBOURS = {
    "add-remove": (LINE, np.vstack([LINE, UP])),
    "replace-one": (np.vstack([ALIKE, RIGHT]), np.vstack([ALIKE, UP])),
}


def saturating(t):
    """Long differences get all of the bound."""
    return 3.0 * np.tanh(t)


OWN = {"kernel": saturating, "kernel_bound": 3.0}
TOLD = {"mean": np.zeros(2), "variance_share": 0.0}
WAYS = {
    "complete": {},
    "incomplete": {"pairs": "incomplete", "n_pairs": 6},
    "winsorized": {"kernel": "winsorized", "norm_bound": 3.0},
    "winsorized incomplete": {"kernel": "winsorized", "norm_bound": 3.0, "pairs": "incomplete"},
    "own kernel": OWN,
    "own kernel incomplete": {**OWN, "pairs": "incomplete"},
    "private centre": {"centering": "private"},
}
# More pairs than there are records too: every record meets each other one several times.
UNTOLD = {
    "complete": {},
    "incomplete": {"pairs": "incomplete", "n_pairs": 50},
    "winsorized": {"kernel": "winsorized"},
    "own kernel": OWN,
    "private centre": {"centering": "private"},
    "winsorized around a private centre": {"centering": "private", "kernel": "winsorized"},
}

# With so few records, only a large budget finds a centre that is precise enough.
CENTRED = {"private centre", "winsorized around a private centre"}

on_both_mus = pytest.mark.parametrize("mu", [2.0, 20.0])

on_all_ways = pytest.mark.parametrize("way", WAYS)


def build_any(mu, adjacency, n_records=21, **parameters):
    return build(GDPPCA(1, adjacency=adjacency, **parameters), mu, n_records)


def told(way, mu, adjacency):
    return build_any(mu, adjacency, **TOLD, **WAYS[way])


def least_path(game, one, other):
    """What a path tells of rows so near that nothing overflows, whatever is not clipped."""
    return Pair(game, 1e-4 * one, 1e-4 * other, True, 0).path_mu


@pytest.fixture
def quick(monkeypatch):
    """Leave out the slowest post-processing."""
    monkeypatch.setattr(gdppca, "kendall_shares", lambda *_: np.full(2, 0.5))


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("way", ["complete", "incomplete", "private centre"])
@on_both_adjacencies
@pytest.mark.parametrize("mu", [2.0, pytest.param(3.0, marks=pytest.mark.slow)])
def test_it_holds_its_mu(way, adjacency, mu):
    found = bounds(told(way, mu, adjacency), *NEIGHBOURS[adjacency], RUNS[mu], ALPHA)
    assert max(found.values()) <= mu
    assert found["transcript"] > 0.45 * mu


@on_all_ways
@on_both_adjacencies
@pytest.mark.parametrize("seen", [False, True])
def test_what_a_path_tells_is_what_was_paid(way, adjacency, seen):
    game = told(way, 2.0, adjacency)
    found = [Pair(game, *NEIGHBOURS[adjacency], seen, s).path_mu for s in range(10)]
    assert max(found) <= 2.0
    assert np.median(found) > 2.0 * 0.97


@on_both_mus
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("way", UNTOLD)
@on_both_adjacencies
@pytest.mark.parametrize("base", [LINE, ALIKE, LINE[:1], LINE[:0]], ids=["line", "alike", "1", "0"])
def test_told_nothing_no_path_tells_more_than_was_paid(way, adjacency, base, mu):
    game = build_any(mu, adjacency, len(base) + 1, **UNTOLD[way])
    huge = np.array([[0.0, 1e300]])
    for one, other in ((UP, RIGHT), (UP, 0 * UP), (huge, UP)):
        without = base if adjacency == "add-remove" else np.vstack([base, other])
        for seed in range(2):
            pair = Pair(game, without, np.vstack([base, one]), bool(seed % 2), seed)
            assert pair.path_mu <= mu


@on_both_mus
@pytest.mark.parametrize("way", UNTOLD)
@on_both_adjacencies
def test_the_release_is_a_function_of_the_answers(way, adjacency, mu):
    game = build_any(mu, adjacency, **UNTOLD[way])
    base = np.random.default_rng(0).normal(size=(20, 2))
    without = base if adjacency == "add-remove" else np.vstack([base, RIGHT])
    for seed in range(4):
        pair = Pair(game, without, np.vstack([base, UP]), bool(seed % 2), seed)
        pair.assert_told_by_answers()
        around_centre = pair.actual.release.details["pairs"] == "none"
        assert around_centre == (way in CENTRED and mu > 2.0)


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("way", "adjacency"), [("complete", "replace-one"), ("incomplete", "add-remove")]
)
def test_noise_too_small_by_sqrt2_is_caught(monkeypatch, way, adjacency):
    weaken_noise(monkeypatch)
    found = bounds(told(way, 2.0, adjacency), *NEIGHBOURS[adjacency], MORE_RUNS, ALPHA)
    assert found["transcript"] > 2.0


@on_all_ways
@on_both_adjacencies
def test_a_path_shows_noise_too_small_by_sqrt2(monkeypatch, way, adjacency):
    weaken_noise(monkeypatch)
    assert Pair(told(way, 2.0, adjacency), *NEIGHBOURS[adjacency], True, 0).path_mu > 2.5


@pytest.mark.parametrize("way", ["winsorized", "winsorized incomplete"])
@on_both_adjacencies
def test_differences_of_any_length_are_caught(monkeypatch, way, adjacency):
    assert least_path(told(way, 2.0, adjacency), *NEIGHBOURS[adjacency]) <= 2.0
    monkeypatch.setattr(Kernel, "apply", lambda kernel, differences: differences)
    monkeypatch.setattr(Kernel, "weights", lambda kernel, squares, *_: 1.0 * (squares < 1e300))
    assert least_path(told(way, 2.0, adjacency), *NEIGHBOURS[adjacency]) > 2.0


@pytest.mark.parametrize("pairs", ["complete", "incomplete"])
@on_both_adjacencies
def test_an_own_kernel_that_is_not_clipped_is_caught(monkeypatch, pairs, adjacency):
    kernel = {"kernel": lambda t: 2 * t, "kernel_bound": 3.0, "pairs": pairs}
    game = build_any(2.0, adjacency, **TOLD, **kernel)
    assert least_path(game, *NEIGHBOURS[adjacency]) <= 2.0
    monkeypatch.setattr(kernels, "_shares", lambda xi, radius, lengths: xi(lengths) / radius)
    assert least_path(game, *NEIGHBOURS[adjacency]) > 2.0


def at_most_the_longest(t):
    """One record's length reaches all pairs: refused, were it tried."""
    return t / t.max()


@pytest.mark.parametrize("pairs", ["complete", "incomplete"])
def test_an_own_kernel_that_looks_at_other_pairs_is_caught(monkeypatch, pairs):
    monkeypatch.setattr(estimator, "check_kernel", lambda kernel: None)
    kernel = {"kernel": at_most_the_longest, "kernel_bound": 1.0, "pairs": pairs}
    game = build_any(2.0, "add-remove", **TOLD, **kernel)
    assert least_path(game, *NEIGHBOURS["add-remove"]) > 2.0


def test_missing_clipping_around_the_centre_is_caught(monkeypatch):
    monkeypatch.setattr(gram, "clip_weights", lambda distances, radius: np.ones_like(distances))
    way = {**TOLD, "centering": "private", "kernel": "winsorized", "norm_bound": 3.0}
    game = build_any(2.0, "add-remove", **way)
    assert least_path(game, *NEIGHBOURS["add-remove"]) > 2.0


@pytest.mark.parametrize("adjacency", NEIGHBOURS)
def test_the_sensitivity_of_a_single_sum_is_not_enough(monkeypatch, adjacency):
    # (1 + 1 / 4)^(1/2) and 2^(1/2), not 1: a path shows it without noise
    monkeypatch.setattr(KendallMatrix, "sensitivity", lambda statistic, adjacency: 1.0)
    game = told("complete", 2.0, adjacency)
    assert Pair(game, *NEIGHBOURS[adjacency], True, 0).path_mu > 2.0 * 1.1


class ExactBranch(GDPPCAMechanism):
    """Chooses the pairs by the exact number of records, and says which."""

    def run(self, data):
        pairs = "incomplete" if data.source.private_n > len(LINE) else "complete"
        return super(ExactBranch, replace(self, pairs=pairs)).run(data)


class ExactCount(GDPPCAMechanism):
    """Leaks n as the attribute."""

    def run(self, data):
        return replace(super().run(data), n_samples=data.source.private_n)


def pairs_shown(release):
    return float(release.details["pairs"] == "complete")


def n_samples_shown(release):
    return release.n_samples


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("weakened", "statistic"), [(ExactBranch, pairs_shown), (ExactCount, n_samples_shown)]
)
def test_exact_n_is_caught(weakened, statistic):
    honest = told("complete", 2.0, "add-remove")
    found, runs = [], RUNS[2.0]
    both = replace(honest.mechanism, pairs="auto"), weakened(**vars(honest.mechanism))
    for mechanism in both:
        game = replace(honest, mechanism=mechanism)
        sides = [
            collect(lambda i, X=X, o=o, g=game: statistic(run(g, X, 2 * i + o).release), RUNS[2.0])
            for o, X in enumerate(NEIGHBOURS["add-remove"])
        ]
        jitter = 1e-9 * np.random.default_rng(0).random((2, runs))  # breaks ties
        found.append(mu_lower_bound(*(np.array(sides) + jitter), ALPHA))
    assert found[0] <= 2.0 < found[1]


def in_their_order(records, noise):
    return replace(records, cycle=np.arange(records.private_n))


def test_a_median_over_disjoint_pairs_of_an_order_is_caught(monkeypatch):
    def disjoint(rows, order, direction=None, centre=None):
        rows = rows[order]
        differences = rows[1::2] - rows[: len(rows) // 2 * 2 : 2]
        return np.abs(differences @ direction) / math.sqrt(2)

    monkeypatch.setattr(pairs, "adjacent_differences", disjoint)
    monkeypatch.setattr(Records, "shuffled", in_their_order)
    base = np.repeat(LINE, 2, axis=0)
    game = build_any(2.0, "add-remove", mean=np.zeros(2), variance_share=0.3)
    pair = Pair(game, base, np.vstack([UP * 0 - 50.0, base]), True, 0)
    assert pair.path_mu > 2.0


def exactly_located(data, mu):
    return data.centred_at(data.source.private_rows.sum(axis=0))


@pytest.mark.usefixtures("quick")
def test_an_exact_location_is_caught(monkeypatch):
    monkeypatch.setattr(gdppca, "robust_location", exactly_located)
    game = build_any(2.0, "add-remove")
    sides = [
        collect(lambda i, X=X, o=o: run(game, X, 2 * i + o).release.centre[1], RUNS[2.0])
        for o, X in enumerate(NEIGHBOURS["add-remove"])
    ]
    assert mu_lower_bound(*sides, ALPHA) > 2.0
