"""The answers along a path tell what was paid and no more, and noise that is too small tells more.

The mu of a path is exact, and no experiment. In the games every bound holds with probability at
least 1 - 1e-4 (two signs, two rates); the seeds are fixed, so each test passes or fails for good.
"""

from __future__ import annotations

import numpy as np
import pytest

from skdppca import DPPowerMethod, SmoothSensitivityPCA
from skdppca.decomposition import METHODS

from ..covering import pairwise
from .audit import (
    ADJACENCIES,
    Pair,
    bounds,
    build,
    weaken_noise,
)
from .cases import (
    ALONG,
    BASES,
    BY_CHANCE,
    CASES,
    ODD,
    RIGHT,
    SIDES,
    STAYS,
    UNTOLD,
    UP,
    maker,
    neighbours,
    on_all_cases,
)

ALPHA = 1e-4
# One game a case, the adjacencies by turns, with a record exchanged at the larger budget. What is
# declared, the paths show exactly and for every side; a game adds that as much noise is drawn.
GAMES = [
    (name, adjacency, (min if adjacency == "add-remove" else max)(case.runs))
    for i, (name, case) in enumerate((n, c) for n, c in CASES.items() if c.runs)
    for adjacency in [[*case.pairs][i % len(case.pairs)]]
]
# One case a method: what is drawn is the same in all, and their paths show what is declared.
WEAKENED = {type(case.make()): name for name, case in reversed(CASES.items()) if case.runs}


def paths(game, pair, seeds):
    """Follow one path a seed, half of them of the data with the record."""
    found = [Pair(game, *pair, bool(seed % 2), seed) for seed in seeds]
    for one in found:
        one.assert_told_by_answers()
    return found


def test_every_method_is_audited():
    audited = {type(case.make()) for case in CASES.values()}
    others = {method.estimator for method in METHODS.values()} - audited
    assert others == {SmoothSensitivityPCA}, "add a case"  # test_smooth_sensitivity.py


@on_all_cases
@pytest.mark.parametrize("seeds", [6, pytest.param(40, marks=pytest.mark.slow)])
def test_a_path_tells_what_was_paid(name, adjacency, seeds, monkeypatch):
    case = CASES[name]
    for mu in case.mus:
        game = case.game(mu, adjacency, monkeypatch)
        found = paths(game, case.pairs[adjacency], range(seeds))
        # of more seeds, the noise may lead some another way
        ways = [pair.actual.release.details for pair in found[:6]]
        assert all(case.released in details for details in ways if case.released)
        told = [pair.path_mu for pair in found]
        assert max(told) <= mu
        if (name, adjacency) != BY_CHANCE:
            assert np.median(told) > mu * case.share(adjacency)
        elif seeds > 6:
            assert max(told) > mu * case.share(adjacency)


@pytest.mark.parametrize(
    ("name", "adjacency"), [side for side in SIDES if CASES[side[0]].share(side[1]) > 0.75]
)
def test_a_path_shows_noise_too_small_by_sqrt2(name, adjacency, monkeypatch):
    weaken_noise(monkeypatch)
    case = CASES[name]
    game = case.game(2.0, adjacency, monkeypatch)
    seeds = range(20) if (name, adjacency) == BY_CHANCE else range(1)
    told = [Pair(game, *case.pairs[adjacency], True, seed).path_mu for seed in seeds]
    assert max(told) > 1.4 * 2.0 * case.share(adjacency)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "adjacency", "mu"), GAMES)
def test_a_game_holds_its_mu(name, adjacency, mu, monkeypatch):
    case = CASES[name]
    game = case.game(mu, adjacency, monkeypatch)
    found = bounds(game, *case.pairs[adjacency], case.runs[mu], ALPHA)
    assert max(found.values()) <= mu
    if case.share(adjacency) > 0.75 and (name, adjacency) != BY_CHANCE:
        assert found["transcript"] > mu * case.shown


@pytest.mark.slow
@pytest.mark.parametrize("name", WEAKENED.values())
def test_a_game_shows_noise_too_small_by_sqrt2(name, monkeypatch):
    weaken_noise(monkeypatch)
    case = CASES[name]
    game = case.game(2.0, "add-remove", monkeypatch)
    runs = max(500, case.runs[2.0])
    assert bounds(game, *case.pairs["add-remove"], runs, ALPHA)["transcript"] > 2.0


@pytest.mark.parametrize(
    ("name", "base", "adjacency"),
    [
        pytest.param(*case, marks=() if case[1] == "normal" else pytest.mark.slow)
        for case in pairwise(list(UNTOLD), list(BASES), ADJACENCIES)
    ],
)
def test_told_nothing_a_release_shows_its_answers_and_no_path_more_than_was_paid(
    name, base, adjacency, monkeypatch
):
    for patch in STAYS:
        monkeypatch.setattr(*patch)
    rows = BASES[base]
    mus = (2.0, 20.0)
    games = [build(UNTOLD[name](adjacency), mu, len(rows) + 1) for mu in mus]
    for seed, odd in enumerate(ODD if base != "normal" else ODD[:4]):
        pair = neighbours(rows, *odd)[adjacency]
        (found,) = paths(games[seed % 2], pair, [seed])
        assert found.path_mu <= mus[seed % 2]


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_pairs_are_asked_unless_a_large_budget_finds_a_centre(adjacency):
    pair = neighbours(BASES["normal"], *ODD[2])[adjacency]
    for name in ("GDPPCA", "GDPPCA, private centre", "GDPPCA, winsorized, private centre"):
        for mu in (2.0, 20.0):
            (found,) = paths(build(UNTOLD[name](adjacency), mu, 21), pair, [0])
            around_centre = found.actual.release.details["pairs"] == "none"
            assert around_centre == ("centre" in name and mu > 2.0)


@pytest.mark.slow
def test_told_nothing_a_game_holds_its_mu(monkeypatch):
    for patch in STAYS:
        monkeypatch.setattr(*patch)
    game = build(UNTOLD["KDPPCA"](), 3.0)
    pair = CASES["KDPPCA, block"].pairs["add-remove"]
    assert max(bounds(game, *pair, 150, ALPHA).values()) <= 3.0


@pytest.mark.parametrize("floor", [1, 2, 5])
def test_no_interaction_tells_more_than_was_paid(floor):
    parameters = {"protect": "interaction", "center": False, "degree_floor": floor}
    game = build(maker(DPPowerMethod, **parameters)(), 2.0)
    rows = [0 * RIGHT, RIGHT, 7 * UP, RIGHT + UP]
    for less, more in [(0, 1), (0, 2), (1, 3), (2, 3)]:
        pair = [np.vstack([ALONG, rows[i]]) for i in (less, more)]
        assert max(one.path_mu for one in paths(game, pair, range(6))) <= 2.0
