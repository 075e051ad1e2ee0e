"""A projection map keeps its promise, and the same audit convicts copies that do not.

Error rate: every bound holds with probability at least 1 - 1e-4 (two rates); the seeds are fixed,
so each test passes or fails for good.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from skdppca.maps._mechanism import MapMechanism
from skdppca.mechanisms import histogram
from skdppca.mechanisms.base import Public
from skdppca.mechanisms.gaussian import GaussianQuery
from skdppca.noise import NoiseSource
from skdppca.privacy import GaussianEvent
from skdppca.records import Records

from .audit import mu_lower_bound

ALPHA, RUNS = 1e-4, 3000
EDGES = (np.linspace(-2.0, 2.0, 3), np.linspace(-2.0, 2.0, 3))
BASE = np.zeros((20, 2))
ONE, OTHER = np.array([[1.0, 1.0]]), np.array([[-1.0, -1.0]])
WAYS = {
    "rows": {},
    "groups": {"groups": 3},
    "classes": {"classes": (0, 1)},
    "outside": {"far": 1e300},
}

on_both_adjacencies = pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])


def neighbours(adjacency, groups=1, classes=None, far=1.0):
    """(X, groups, classes) of both: the last record, of so many rows, comes or is exchanged."""
    last = [far * ONE] if adjacency == "add-remove" else [far * ONE, OTHER]
    sides = [] if adjacency == "replace-one" else [(BASE, 0)]
    sides += [(np.vstack([BASE, np.repeat(row, groups, axis=0)]), groups) for row in last]
    found = []
    for i, (X, m) in enumerate(sides):
        labels = np.r_[np.arange(20), np.full(m, 20)] if groups > 1 else None
        kinds = None if classes is None else np.r_[np.zeros(20, int), np.full(m, classes[i])]
        found.append((X, labels, kinds))
    return found


def mechanism(mu, adjacency, way):
    unit = "patient" if "groups" in way else "row"
    n_classes = 2 if "classes" in way else 1
    public = Public(2, adjacency, unit)
    return MapMechanism(public, GaussianEvent(mu), np.eye(2), np.zeros(2), EDGES, n_classes)


def found_mu(mu, adjacency, way):
    """The bound that the best test proves: the answers along the line of the exact histograms."""
    asked, sides = mechanism(mu, adjacency, way), neighbours(adjacency, **way)
    exact, honest = [], histogram.weigh
    for X, groups, classes in sides:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(histogram, "weigh", lambda *a: exact.append(honest(*a)) or exact[-1])
            asked(Records(X), NoiseSource(0), groups, classes)
    line = exact[1] - exact[0]
    middle = line @ (exact[0] + exact[1]) / 2
    shown = [
        np.array(
            [
                line @ asked(Records(X), NoiseSource([seed, o]), groups, classes)[0].ravel()
                for seed in range(RUNS)
            ]
        )
        for o, (X, groups, classes) in enumerate(sides)
    ]
    return mu_lower_bound(*shown, ALPHA, middle)


@pytest.mark.parametrize("way", WAYS)
@on_both_adjacencies
@pytest.mark.parametrize("mu", [2.0, 3.0])
def test_it_holds_its_mu(way, adjacency, mu):
    assert 0.75 * mu < found_mu(mu, adjacency, WAYS[way]) <= mu


@pytest.mark.parametrize("way", WAYS)
@on_both_adjacencies
def test_noise_too_small_by_sqrt2_is_caught(monkeypatch, way, adjacency):
    honest = GaussianQuery.noise_sd.fget
    monkeypatch.setattr(GaussianQuery, "noise_sd", property(lambda q: honest(q) / math.sqrt(2)))
    assert found_mu(2.0, adjacency, WAYS[way]) > 2.0


def test_an_exchange_at_the_cost_of_an_addition_is_caught(monkeypatch):
    monkeypatch.setattr(histogram, "histogram_sum", lambda adjacency: 1.0)
    assert found_mu(2.0, "replace-one", {}) > 2.0


def test_rows_of_a_group_that_weigh_one_each_are_caught(monkeypatch):
    honest = histogram.weigh
    monkeypatch.setattr(histogram, "weigh", lambda cells, n, groups=None: honest(cells, n))
    assert found_mu(2.0, "add-remove", WAYS["groups"]) > 2.0
