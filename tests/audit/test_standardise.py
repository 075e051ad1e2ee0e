"""Private standardisation keeps its promise, and the same audit convicts copies that do not.

Error rate: every bound holds with probability at least 1 - 1e-4 (two signs, two rates); the seeds
are fixed, so each test passes or fails for good.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from skdppca import GDPPCA, KDPPCA, DPGauss, DPPowerMethod, ResidualGauss
from skdppca.mechanisms.scales import standardise
from skdppca.mechanisms.scales.private_scales import exact_scales
from skdppca.privacy import PrivacyFilter
from skdppca.statistics import columns

from .audit import (
    ADJACENCIES,
    Pair,
    bounds,
    build,
    mostly_slow,
    on_both_adjacencies,
    weaken_noise,
)
from .replay import Data, audit

ALPHA = 1e-4
RUNS = {2.0: 500, 3.0: 400}
MORE_RUNS = 500

# Records at 0 and one that is far in both features; for one below, one above.
NONE = np.zeros((20, 2))
HIGH, LOW = np.full((1, 2), 1e9), np.full((1, 2), -1e9)
NEIGHBOURS = {
    "add-remove": (NONE, np.vstack([NONE, HIGH])),
    "replace-one": (np.vstack([NONE, LOW]), np.vstack([NONE, HIGH])),
}
# What share of mu such a pair shows at least: with replace-one the medians' searches show all of
# theirs, but one record is as far from the centre as the other is, and is clipped to its opposite.
LEAST = {"add-remove": 0.97, "replace-one": 0.2}

METHODS = {
    "DPGauss": (DPGauss, {}),
    "DPGauss, 0": (DPGauss, {"center": False}),
    "KDPPCA": (KDPPCA, {"n_iter": 2}),
    "KDPPCA split": (KDPPCA, {"sampling": "split", "n_iter": 2}),
    "ResidualGauss": (ResidualGauss, {"n_iter": 1}),
    "GDPPCA": (GDPPCA, {}),
    "DPPowerMethod": (DPPowerMethod, {"n_iter": 2}),
}
RNG = np.random.default_rng(0)
# Features of two values, constant, far from 0, heavy-tailed: so that every question is asked.
BASES = {
    "none": NONE,
    "one": NONE[:1],
    "normal": RNG.normal([0.0, 300.0], size=(300, 2)),
    "two values": np.column_stack([np.arange(300) % 10 == 0, 5.0 + (np.arange(300) % 2)]),
    "heavy": np.column_stack([RNG.standard_cauchy(300), np.full(300, 7.0)]),
}


def told(mu, adjacency):
    """Nothing but the searches and one matrix; of the add-remove pair every question tells all."""
    return build(DPGauss(1, scale="private", norm_bound=3.0, adjacency=adjacency), mu)


def untold(method, mu, adjacency, n):
    factory, parameters = METHODS[method]
    return build(factory(1, scale="private", adjacency=adjacency, **parameters), mu, n)


def pairs_of(base, adjacency):
    others = [np.array([[x, y]]) for x, y in ((1e300, -1e300), (0.0, 0.0), (1e-3, 301.0))]
    for one, other in ((HIGH, LOW), (others[0], others[1]), (others[2], HIGH)):
        without = base if adjacency == "add-remove" else np.vstack([base, other])
        yield without, np.vstack([base, one])


@pytest.mark.slow
@mostly_slow("adjacency, mu", ADJACENCIES, RUNS, quick=[("replace-one", 2.0)])
def test_it_holds_its_mu(adjacency, mu):
    found = bounds(told(mu, adjacency), *NEIGHBOURS[adjacency], RUNS[mu], ALPHA)
    assert max(found.values()) <= mu
    if adjacency == "add-remove":
        assert found["transcript"] > 0.55 * mu


@on_both_adjacencies
@pytest.mark.parametrize("seen", [False, True])
def test_what_a_path_tells_is_what_was_paid(adjacency, seen):
    game = told(2.0, adjacency)
    found = [Pair(game, *NEIGHBOURS[adjacency], seen, s).path_mu for s in range(20)]
    assert max(found) <= 2.0
    assert np.median(found) > 2.0 * LEAST[adjacency]


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@on_both_adjacencies
@mostly_slow("base, mu", BASES, [2.0, 20.0], quick=[("normal", 2.0), *((b, 20.0) for b in BASES)])
def test_told_nothing_no_path_tells_more_than_was_paid(method, adjacency, base, mu):
    game = untold(method, mu, adjacency, len(BASES[base]) + 1)
    for seed, (without, with_record) in enumerate(pairs_of(BASES[base], adjacency)):
        pair = Pair(game, without, with_record, bool(seed % 2), seed)
        assert pair.path_mu <= mu


@pytest.mark.parametrize("method", METHODS)
@on_both_adjacencies
@pytest.mark.parametrize("base", ["normal", "two values"])
def test_the_release_is_a_function_of_the_answers(method, adjacency, base):
    game = untold(method, 20.0, adjacency, len(BASES[base]) + 1)
    for seed, (without, with_record) in enumerate(pairs_of(BASES[base], adjacency)):
        pair = Pair(game, without, with_record, bool(seed % 2), seed)
        pair.assert_told_by_answers()


def test_every_question_is_asked_somewhere():
    names = set()
    for base in BASES.values():
        game = untold("DPGauss", 20.0, "add-remove", len(base))
        without, with_record = next(pairs_of(base, "add-remove"))
        queries = Pair(game, without, with_record, True, 0).actual.queries
        names |= {query.name for query in queries}
    assert {"octaves", "closer cells", "mean squares"} < names


def rows_of_all_kinds(grouped):
    """Records with a far, a rare, a constant, a heavy-tailed and a tiny feature."""
    rng = np.random.default_rng(3)
    n = 200
    X = np.column_stack(
        [
            300 + rng.normal(size=n),
            rng.random(n) < 0.1,
            np.full(n, 7.0),
            rng.standard_cauchy(n),
            1e-9 * rng.normal(size=n),
        ]
    )
    sizes = rng.integers(1, 4, n) if grouped else np.ones(n, int)
    return [np.repeat(x[None, :], m, axis=0) for x, m in zip(X, sizes, strict=True)]


@mostly_slow(
    "kind, adjacency",
    ["dense", "float32", "csr", "csr in parts", "groups", "csr groups"],
    ADJACENCIES,
    quick=[("dense", "replace-one"), ("csr groups", "add-remove")],
)
def test_a_fit_is_a_function_of_its_answers(kind, adjacency):
    grouped = "groups" in kind
    others = rows_of_all_kinds(grouped)
    extremes = [np.zeros(5), np.full(5, -1.7e308), np.array([301, 1, 5e-324, -1e160, 1e-9])]
    odds = [*np.array(extremes)[:, None, :], others[0] * (1 + 2**-52)]
    if grouped:
        odds += [np.repeat(odds[2], 60, axis=0), np.vstack([odds[0], 1e3 * np.eye(5)])]
    container = kind.removesuffix("groups").strip() or "dense"
    first = Data(others, None if adjacency == "add-remove" else odds[-1], container, grouped)
    told = {"unit": "person"} if grouped else {}

    def fit(X, groups):
        pca = DPGauss(2, epsilon=60.0, adjacency=adjacency, random_state=0, scale="private", **told)
        return pca.fit(X, groups=groups)

    run = audit(fit, first, [replace(first, odd=odd) for odd in odds])
    names = {query.name for query in run.queries}
    assert {"octaves", "closer cells", "mean squares"} < names


def test_a_path_shows_noise_too_small_by_sqrt2(monkeypatch):
    weaken_noise(monkeypatch)
    game = told(2.0, "add-remove")
    assert Pair(game, *NEIGHBOURS["add-remove"], True, 0).path_mu > 2.6


@pytest.mark.slow
def test_noise_too_small_by_sqrt2_is_caught(monkeypatch):
    weaken_noise(monkeypatch)
    found = bounds(told(2.0, "add-remove"), *NEIGHBOURS["add-remove"], MORE_RUNS, ALPHA)
    assert found["transcript"] > 2.0


def test_counts_with_the_sensitivity_of_one_feature_are_caught(monkeypatch):
    # each of d counts moves by 1, but they are released together
    monkeypatch.setattr(columns, "psd_sum", lambda bound, adjacency: 1.0)
    game = told(2.0, "add-remove")
    found = [Pair(game, *NEIGHBOURS["add-remove"], True, s).path_mu for s in range(5)]
    assert np.median(found) > 2.1


def test_squares_that_are_not_clipped_are_caught(monkeypatch):
    monkeypatch.setattr(columns, "clip_weights", lambda norms, bound: np.ones_like(norms))
    base = BASES["normal"]
    game = untold("KDPPCA", 20.0, "add-remove", len(base))
    assert Pair(game, base, np.vstack([base, HIGH]), False, 0).path_mu > 21.0


def test_a_budget_that_both_parts_spend_is_caught(monkeypatch):
    monkeypatch.setattr(PrivacyFilter, "remaining", property(lambda budget: budget.mu))
    game = untold("KDPPCA", 2.0, "add-remove", len(NONE))
    found = Pair(game, *NEIGHBOURS["add-remove"], True, 0).path_mu
    monkeypatch.undo()
    assert found > 2.1


def test_exact_scales_are_caught(monkeypatch):
    """One far record moves the scales, and with them all others: nothing hides that."""
    monkeypatch.setattr(standardise, "private_scales", exact_scales)
    base = RNG.normal(size=(20, 2))
    with pytest.raises(AssertionError):
        pair = Pair(told(2.0, "add-remove"), base, np.vstack([base, HIGH]), True, 0)
        assert pair.path_mu <= 2.0
