"""DPGauss keeps its promise, and the same audit convicts copies that do not.

Error rate: every bound holds with probability at least 1 - 1e-4 (two signs, two rates); the seeds
are fixed, so each test passes or fails for good. The weakened copies leak by sqrt2 or more.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from skdppca import DPGauss
from skdppca.decomposition.dp_gauss import mechanism as dp_gauss
from skdppca.decomposition.dp_gauss.mechanism import DPGaussMechanism
from skdppca.noise import NoiseSource
from skdppca.statistics import gram

from .audit import (
    Audited,
    Pair,
    collect,
    mostly_slow,
    mu_lower_bound,
    on_both_adjacencies,
    weaken_noise,
)
from .audit import build as build_any

ALPHA = 1e-4
RUNS = 4000
RADIUS = 3.0
BASE = np.zeros((20, 2))
FAR = np.array([[10 * RADIUS, 0.0]])
OTHER = np.array([[0.0, 1e7]])  # in other cells of all histograms
NEIGHBOURS = {
    "add-remove": (BASE, np.vstack([BASE, FAR])),
    "replace-one": (np.vstack([BASE, OTHER]), np.vstack([BASE, FAR])),
}
WAYS = {
    "bounded, about 0": {"norm_bound": RADIUS, "center": False},
    "bounded": {"norm_bound": RADIUS},
    "told nothing": {},
    "spherical": {"clip": "spherical"},
}


def build(mu: float, adjacency: str, **parameters: object) -> Audited:
    return build_any(DPGauss(adjacency=adjacency, **parameters), mu)


@pytest.fixture
def released_gram(monkeypatch):
    """The last noisy Gram matrix that a mechanism released."""
    seen = {}

    release = dp_gauss.release_gram

    def recording(*args, **kwargs):
        result = release(*args, **kwargs)
        seen["gram"] = result.matrix
        return result

    monkeypatch.setattr(dp_gauss, "release_gram", recording)
    return seen


def bound_of(game: Audited, adjacency: str, statistic, runs: int = RUNS) -> float:
    def show(X, offset):
        def once(seed):
            return statistic(game, X, NoiseSource(2 * seed + offset))

        return once

    without, with_record = NEIGHBOURS[adjacency]
    return mu_lower_bound(
        collect(show(without, 0), runs), collect(show(with_record, 1), runs), ALPHA
    )


def gram_statistic(seen, adjacency):
    """<M, f(D') - f(D)>: the entry that FAR fills, less the one that OTHER leaves."""

    def statistic(game, X, noise):
        game(X, noise)
        matrix = seen["gram"]
        return matrix[0, 0] - (matrix[1, 1] if adjacency == "replace-one" else 0.0)

    return statistic


@pytest.mark.parametrize("way", WAYS)
@on_both_adjacencies
@pytest.mark.parametrize("mu", [2.0, 20.0])
def test_what_a_path_tells_is_what_was_paid(way, adjacency, mu):
    game = build(mu, adjacency, **WAYS[way])
    pairs = [Pair(game, *NEIGHBOURS[adjacency], bool(s % 2), s) for s in range(6)]
    for pair in pairs:
        pair.assert_told_by_answers()
    found = [pair.path_mu for pair in pairs]
    assert max(found) <= mu
    assert np.median(found) > 0.93 * mu


@pytest.mark.parametrize("way", WAYS)
@on_both_adjacencies
def test_a_path_shows_noise_too_small_by_sqrt2(monkeypatch, way, adjacency):
    weaken_noise(monkeypatch)
    game = build(2.0, adjacency, **WAYS[way])
    assert Pair(game, *NEIGHBOURS[adjacency], True, 0).path_mu > 2.6


@pytest.mark.slow
@pytest.mark.parametrize("way", ["bounded, about 0", "bounded"])
@on_both_adjacencies
@pytest.mark.parametrize("mu", [2.0, 3.0])
def test_gram_matrix_holds_its_mu(released_gram, way, adjacency, mu):
    game = build(mu, adjacency, **WAYS[way])
    bound = bound_of(game, adjacency, gram_statistic(released_gram, adjacency))
    assert 0.6 * mu < bound <= mu


@pytest.mark.slow
@on_both_adjacencies
def test_gram_matrix_holds_its_mu_in_a_short_game(released_gram, adjacency):
    game = build(2.0, adjacency, **WAYS["bounded, about 0"])
    bound = bound_of(game, adjacency, gram_statistic(released_gram, adjacency), RUNS // 4)
    assert 1.2 < bound <= 2.0


@pytest.mark.slow
@pytest.mark.parametrize("mu", [2.0, 3.0])
def test_told_nothing_it_holds_its_mu(released_gram, mu):
    game = build(mu, "add-remove")
    statistic = gram_statistic(released_gram, "add-remove")
    assert bound_of(game, "add-remove", statistic, RUNS // 4) <= mu


@pytest.mark.slow
@pytest.mark.parametrize("mu", [2.0, 3.0])
def test_number_of_records_holds_its_mu(mu):
    game = build(mu, "add-remove", norm_bound=RADIUS)
    bound = bound_of(game, "add-remove", n_samples_shown)
    assert bound <= mu


@pytest.mark.slow
@on_both_adjacencies
@pytest.mark.parametrize("mu", [2.0, 3.0])
def test_noise_too_small_by_sqrt2_is_caught(released_gram, monkeypatch, adjacency, mu):
    weaken_noise(monkeypatch)
    game = build(mu, adjacency, norm_bound=RADIUS, center=False)
    assert bound_of(game, adjacency, gram_statistic(released_gram, adjacency)) > mu


@pytest.fixture
def without_clipping(monkeypatch):
    monkeypatch.setattr(gram, "clip_weights", lambda distances, radius: np.ones_like(distances))


@pytest.mark.usefixtures("without_clipping")
@pytest.mark.parametrize("way", ["bounded, about 0", "bounded"])
@on_both_adjacencies
def test_a_path_shows_missing_clipping(way, adjacency):
    game = build(2.0, adjacency, **WAYS[way])
    assert Pair(game, *NEIGHBOURS[adjacency], True, 0).path_mu > 20.0


@pytest.mark.slow
@pytest.mark.usefixtures("without_clipping")
@on_both_adjacencies
def test_missing_clipping_is_caught(released_gram, adjacency):
    game = build(3.0, adjacency, norm_bound=RADIUS, center=False)
    statistic = gram_statistic(released_gram, adjacency)
    assert bound_of(game, adjacency, statistic, RUNS // 4) > 3.0


class ExactCount(DPGaussMechanism):
    """Leaks n as the attribute."""

    def run(self, data):
        return replace(super().run(data), n_samples=data.source.private_n)


class ExactBranch(DPGaussMechanism):
    """Leaks n by the branch it takes."""

    def run(self, data):
        clip = "spherical" if data.source.private_n > len(BASE) else "auto"
        return super(ExactBranch, replace(self, clip=clip)).run(data)


class ExactShape(DPGaussMechanism):
    """Leaks n by the number of components."""

    def run(self, data):
        release = super().run(data)
        return replace(release, components=release.components[: 1 + data.source.private_n % 2])


class ExactError(DPGaussMechanism):
    """Leaks n by an error."""

    def run(self, data):
        if data.source.private_n <= len(BASE):
            raise ValueError("too few records")
        return super().run(data)


def n_samples_shown(game, X, noise):
    return game(X, noise)[0].n_samples


def clip_shown(game, X, noise):
    return float(game(X, noise)[0].details["clip"] == "spherical")


def shape_shown(game, X, noise):
    return float(len(game(X, noise)[0].components))


def error_shown(game, X, noise):
    try:
        game(X, noise)
    except ValueError:
        return 1.0
    return 0.0


LEAKS = [
    (ExactCount, n_samples_shown),
    (ExactBranch, clip_shown),
    (ExactShape, shape_shown),
    (ExactError, error_shown),
]


def jittered_statistic(statistic):
    """Ties broken by a coin, so that a threshold separates discrete outcomes too."""

    def jittered(game, X, noise):
        return statistic(game, X, noise) + 1e-9 * float(noise.words(1)[0] % 1000)

    return jittered


@pytest.mark.slow
@pytest.mark.parametrize(("weakened", "statistic"), LEAKS)
def test_exact_n_is_caught(weakened, statistic):
    game = build(3.0, "add-remove", norm_bound=RADIUS, center=False)
    game = replace(game, mechanism=weakened(**vars(game.mechanism)))
    bound = bound_of(game, "add-remove", jittered_statistic(statistic), RUNS // 4)
    assert bound > 3.0


@mostly_slow(
    "statistic",
    [n_samples_shown, clip_shown, shape_shown, error_shown],
    quick=[(n_samples_shown,)],
)
def test_honest_release_shows_no_exact_n(statistic):
    game = build(3.0, "add-remove", norm_bound=RADIUS, center=False)
    jittered = jittered_statistic(statistic)
    assert bound_of(game, "add-remove", jittered, RUNS // 4) <= 3.0
