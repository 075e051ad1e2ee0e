"""A projection map keeps its promise, and the same audit convicts copies that do not.

Error rate: every bound holds with probability at least 1 - 1e-4 (two rates); the seeds are fixed,
so each test passes or fails for good.
"""

from __future__ import annotations

import math
from unittest.mock import patch

import numpy as np
import pytest

from skdppca import DPGauss
from skdppca.maps import _map, projection_map
from skdppca.maps._map import LabelledSource
from skdppca.noise import NoiseSource
from skdppca.privacy import PrivacyFilter, epsilon_of
from skdppca.private_data import PrivateData, Public
from skdppca.records import Records
from skdppca.statistics import Histogram, counts

from ..covering import pairwise
from .audit import ADJACENCIES, mostly_slow, mu_lower_bound, on_both_adjacencies, weaken_noise

ALPHA, RUNS, DELTA = 1e-4, 3000, 1e-6
EDGES = (np.linspace(-2.0, 2.0, 3), np.linspace(-2.0, 2.0, 3))
BASE = np.zeros((20, 2))
AXES = DPGauss(2, epsilon=math.inf, center=False).fit(np.diag([2.0, 1.0]))  # the unit vectors
ONE, OTHER = np.array([[1.0, 1.0]]), np.array([[-1.0, -1.0]])
WAYS = {
    "rows": {},
    "groups": {"groups": 3},
    "classes": {"classes": (0, 1)},
    "outside": {"far": 1e300},
}


def neighbours(adjacency, groups=1, classes=None, far=1.0):
    """(X, groups, classes) of both: the last record, of `groups` rows, comes or is exchanged."""
    last = [far * ONE] if adjacency == "add-remove" else [far * ONE, OTHER]
    sides = [] if adjacency == "replace-one" else [(BASE, 0)]
    sides += [(np.vstack([BASE, np.repeat(row, groups, axis=0)]), groups) for row in last]
    found = []
    for i, (X, m) in enumerate(sides):
        labels = np.r_[np.arange(20), np.full(m, 20)] if groups > 1 else None
        kinds = None if classes is None else np.r_[np.zeros(20, int), np.full(m, classes[i])]
        found.append((X, labels, kinds))
    return found


def question(groups, classes):
    return Histogram(
        axes=np.eye(2),
        centre=np.zeros(2),
        x_edges=EDGES[0],
        y_edges=EDGES[1],
        n_classes=1 if classes is None else 2,
        grouped=groups is not None,
    )


def answer(mu, adjacency, side, noise):
    X, groups, classes = side
    asked = question(groups, classes)
    rows = LabelledSource(Records.of(X), groups, classes)
    public = Public(2, adjacency, unit="row" if groups is None else "patient")
    data = PrivateData(rows, public, PrivacyFilter(mu), noise, centre=asked.centre)
    return data.ask(asked).value


def whole_map(mu, adjacency, side, noise):
    X, groups, classes = side
    with patch.object(_map, "noise_source", lambda *_, **__: noise):
        found = projection_map(
            AXES,
            X,
            epsilon=epsilon_of(mu, DELTA),
            delta=DELTA,
            bins=2,
            extent=((-2.0, 2.0), (-2.0, 2.0)),
            y=classes,
            classes=None if classes is None else (0, 1),
            groups=groups,
            adjacency=adjacency,
            unit="row" if groups is None else "patient",
        )
    outside = found.outside.reshape(-1, 1)
    return np.hstack([found.counts.reshape(len(outside), -1), outside])


def found_mu(mu, adjacency, way, release=answer, runs=RUNS):
    """The bound that the best test proves: the answers along the line of the exact histograms."""
    sides = neighbours(adjacency, **way)
    exact = [question(*labels).total(Records.of(X), *labels).ravel() for X, *labels in sides]
    line = exact[1] - exact[0]
    middle = line @ (exact[0] + exact[1]) / 2
    shown = [
        np.array(
            [
                line @ release(mu, adjacency, side, NoiseSource([seed, o])).ravel()
                for seed in range(runs)
            ]
        )
        for o, side in enumerate(sides)
    ]
    return mu_lower_bound(*shown, ALPHA, middle)


@pytest.mark.slow
@pytest.mark.parametrize(("way", "adjacency", "mu"), pairwise(list(WAYS), ADJACENCIES, [2.0, 3.0]))
def test_it_holds_its_mu(way, adjacency, mu):
    assert 0.75 * mu < found_mu(mu, adjacency, WAYS[way]) <= mu


@pytest.mark.slow
@mostly_slow("way, adjacency", WAYS, ADJACENCIES, quick=[("groups", "replace-one")])
def test_a_whole_map_holds_its_mu(way, adjacency):
    assert 1.3 < found_mu(2.0, adjacency, WAYS[way], whole_map, runs=1000) <= 2.0


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@on_both_adjacencies
def test_noise_too_small_by_sqrt2_is_caught(monkeypatch, way, adjacency):
    weaken_noise(monkeypatch)
    assert found_mu(2.0, adjacency, WAYS[way]) > 2.0


def test_an_exchange_at_the_cost_of_an_addition_is_caught(monkeypatch):
    assert found_mu(2.0, "replace-one", {}, runs=500) <= 2.0
    monkeypatch.setattr(Histogram, "sensitivity", lambda statistic, adjacency: 1.0)
    assert found_mu(2.0, "replace-one", {}, runs=1000) > 2.0


@pytest.mark.slow
def test_rows_of_a_group_that_weigh_one_each_are_caught(monkeypatch):
    honest = counts.weigh
    monkeypatch.setattr(counts, "weigh", lambda places, n, groups=None: honest(places, n))
    assert found_mu(2.0, "add-remove", WAYS["groups"]) > 2.0


@pytest.mark.slow
def test_a_whole_map_of_other_neighbours_is_caught(monkeypatch):
    monkeypatch.setattr(_map, "neighbours", lambda pca, adjacency, unit: ("add-remove", unit))
    assert found_mu(2.0, "replace-one", {}, whole_map, runs=1000) > 2.0
