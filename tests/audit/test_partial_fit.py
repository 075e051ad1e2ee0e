"""A release that grows keeps its promise to people of either cohort; weakened copies do not.

Error rate: every bound holds with probability at least 1 - 1e-4 (two signs, two rates); the seeds
are fixed, so each test passes or fails for good.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from skdppca import DPGauss
from skdppca.decomposition.dp_gauss import cohorts
from skdppca.decomposition.dp_gauss.cohorts import JoinedMechanism, NextCohort
from skdppca.mechanisms.scatter import NoisyScatter
from skdppca.noise import GaussianQuery

from .audit import (
    ADJACENCIES,
    Pair,
    bounds,
    build,
    mostly_slow,
    on_both_adjacencies,
    weaken_noise,
)
from .replay import Data, Leak, audit

D = 4
RNG = np.random.default_rng(0)
RECORDS = [RNG.normal(size=(1, D)) * [4.0, 2.0, 1.0, 1.0] + 3.0 for _ in range(60)]
GROUPS = [RNG.normal(size=(2, D)) * [4.0, 2.0, 1.0, 1.0] + 3.0 for _ in range(60)]
LATER = np.vstack([record + 0.5 for record in RECORDS[:40]])
HOLES = np.where(RNG.random(LATER.shape) < 0.2, np.nan, LATER)
ODD = {
    "long": np.full((1, D), 1e9),
    "at the centre": np.full((1, D), 3.0),
    "zero": np.zeros((1, D)),
}
WAYS = {
    "told nothing": {},
    "spherical": {"clip": "spherical"},
    "told all": {"mean": np.full(D, 3.0), "norm_bound": 9.0},
    "private scales": {"scale": "private"},
    "missing": {"missing": "mean"},
    "scales, missing": {"scale": "private", "missing": "mean"},
    "drift": {"forget": "auto"},
    "no centre": {"center": False},
}


def growing(first, adjacency, **parameters):
    """What is audited: two cohorts, of which the audited records are the first or the second."""

    def grow(X, groups):
        told = {"epsilon": 20.0, "adjacency": adjacency, "random_state": 0}
        if groups is None:
            other, names = LATER, None
        else:
            other, names = np.vstack(GROUPS[:40]), np.repeat(np.arange(40), 2)
            told["unit"] = "person"
        pca = DPGauss(2, **told | parameters)
        order = [(X, groups), (other, names)]
        for place, (rows, who) in enumerate(order if first else order[::-1]):
            pca.partial_fit(rows, groups=who, cohort=f"2026-Q{place + 1}")
        return pca

    return grow


def neighbours(adjacency, odd, others=RECORDS, **more):
    """A data set with an odd record; and without, or with another one."""
    data = Data(others, odd, **more)
    other = None if adjacency == "add-remove" else others[0] * 2.0
    return data, [replace(data, odd=other)]


@mostly_slow(
    "way, adjacency, first",
    WAYS,
    ADJACENCIES,
    (True, False),
    quick=[
        ("told nothing", "add-remove", True),
        ("told nothing", "add-remove", False),
        ("scales, missing", "add-remove", False),
        ("drift", "replace-one", False),
    ],
)
def test_neighbours_in_either_cohort_look_alike(way, adjacency, first):
    for odd in ODD.values():
        run = audit(growing(first, adjacency, **WAYS[way]), *neighbours(adjacency, odd))
        assert run.error is None
        assert run.queries


@pytest.mark.parametrize("first", [True, False], ids=["first", "second"])
@on_both_adjacencies
def test_groups_in_either_cohort_look_alike(adjacency, first):
    odd = np.full((3, D), 1e9)
    run = audit(growing(first, adjacency), *neighbours(adjacency, odd, GROUPS, grouped=True))
    assert run.error is None


@pytest.mark.parametrize("container", ["csr", "float32", "list", "fortran"])
def test_containers_of_the_second_cohort_look_alike(container):
    run = audit(
        growing(False, "add-remove"), *neighbours("add-remove", ODD["long"], container=container)
    )
    assert run.error is None


def spying(monkeypatch, told):
    """A cohort that keeps something of its records."""
    honest = NextCohort.run

    def run(self, data):
        release = honest(self, data)
        return replace(release, n_samples=told(data, release))

    monkeypatch.setattr(NextCohort, "run", run)


def test_a_cohort_that_tells_its_exact_size_is_convicted(monkeypatch):
    spying(monkeypatch, lambda data, release: float(data.source.private_n))
    with pytest.raises(Leak, match="told"):
        audit(growing(False, "add-remove"), *neighbours("add-remove", ODD["zero"]))


def test_a_cohort_whose_norm_follows_its_records_is_convicted(monkeypatch):
    honest = cohorts.release_gram

    def release(data, clip, constant):
        return honest(data, replace(clip, radius=clip.radius * data.source.private_n), constant)

    monkeypatch.setattr(cohorts, "release_gram", release)
    with pytest.raises(Leak, match="asked"):
        audit(growing(False, "add-remove"), *neighbours("add-remove", ODD["zero"]))


@pytest.mark.parametrize("first", [True, False], ids=["first", "second"])
def test_noise_that_is_too_small_is_convicted(monkeypatch, first):
    honest = GaussianQuery.noise_sd.func
    monkeypatch.setattr(GaussianQuery, "noise_sd", property(lambda q: honest(q) / 4))
    with pytest.raises(Leak, match="moved"):
        audit(growing(first, "add-remove"), *neighbours("add-remove", ODD["long"]))


# The second cohort by itself, about released numbers of the first.

RADIUS = 3.0
BASE = np.zeros((20, 2))
FAR, OTHER = np.array([[30.0, 0.0]]), np.array([[0.0, 30.0]])
PAIRS = {
    "add-remove": (BASE, np.vstack([BASE, FAR])),
    "replace-one": (np.vstack([BASE, OTHER]), np.vstack([BASE, FAR])),
}
BEFORE = NoisyScatter.of_cohort(
    np.diag([60.0, 20.0]),
    5.0,
    np.zeros(2),
    n_rows=20.0,
    n_records=20.0,
    radius=RADIUS,
    distance=RADIUS,
    units=np.ones(2),
    present=np.ones(2),
)


def second_cohort(mu, adjacency):
    """The game in which the adversary sees all of the second cohort's answers."""
    game = build(DPGauss(2, adjacency=adjacency), mu)
    reader = replace(game.mechanism, nested=False)
    return replace(game, mechanism=JoinedMechanism(reader, NextCohort(reader, BEFORE), BEFORE, 1.0))


@on_both_adjacencies
@pytest.mark.parametrize("mu", [2.0, 20.0])
def test_what_a_path_of_the_second_cohort_tells_is_what_was_paid(adjacency, mu):
    pairs = [Pair(second_cohort(mu, adjacency), *PAIRS[adjacency], s % 2 == 1, s) for s in range(6)]
    found = [pair.path_mu for pair in pairs]
    assert max(found) <= mu
    assert np.median(found) > 0.93 * mu


@on_both_adjacencies
def test_a_path_of_the_second_cohort_shows_noise_too_small_by_sqrt2(monkeypatch, adjacency):
    weaken_noise(monkeypatch)
    assert Pair(second_cohort(2.0, adjacency), *PAIRS[adjacency], True, 0).path_mu > 2.6


@pytest.mark.slow
@on_both_adjacencies
@pytest.mark.parametrize("mu", [2.0, 3.0])
def test_the_second_cohort_holds_its_mu(adjacency, mu):
    found = bounds(second_cohort(mu, adjacency), *PAIRS[adjacency], 1000, 1e-4)
    assert 0.6 * mu < found["transcript"] <= mu


@pytest.mark.slow
def test_the_same_audit_convicts_noise_too_small_by_sqrt2(monkeypatch):
    weaken_noise(monkeypatch)
    found = bounds(second_cohort(2.0, "add-remove"), *PAIRS["add-remove"], 1000, 1e-4)
    assert found["transcript"] > 2.0
    assert math.isfinite(found["transcript"])
