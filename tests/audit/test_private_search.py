"""The scores of a private search keep their promise; copies that do not are convicted.

Error rate: every bound holds with probability at least 1 - 1e-4; the seeds are fixed, so each test
passes or fails for good. The weakened copies leak by sqrt2 or more.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from skdppca.mechanisms.base import Public, Spender
from skdppca.mechanisms.gaussian import GaussianQuery
from skdppca.model_selection import _scorer
from skdppca.model_selection._scorer import prepare_scorer
from skdppca.noise import NoiseSource
from skdppca.records import Records

from .audit import collect, mu_lower_bound

ALPHA, RUNS, RADIUS = 1e-4, 4000, 3.0
BASE = np.tile([RADIUS, 0.0], (20, 1))
AXIS, OFF_AXIS = np.array([[0.0, 1e4]]), np.array([[1e4, 0.0]])


def scores(rows, adjacency, mu, told):
    """Every seed's score of the second unit vector, times the count that is known to the audit."""
    public = Public(2, adjacency, n_records=21 if adjacency == "replace-one" else None)
    records = Records(rows)

    def one(seed):
        spender = Spender(1e6)  # what is asked before the score is not what is audited
        given = np.zeros(2), RADIUS if told else None
        noise = NoiseSource([seed, len(rows)])
        scorer = prepare_scorer(records, *given, spender, mu, public, noise)
        return scorer(np.array([[0.0, 1.0]])) * scorer.n

    return collect(one, RUNS)


def shown(adjacency, mu, told=True):
    without = BASE if adjacency == "add-remove" else np.vstack([BASE, OFF_AXIS])
    pair = (scores(rows, adjacency, mu, told) for rows in (without, np.vstack([BASE, AXIS])))
    return mu_lower_bound(*pair, ALPHA)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("mu", [2.0, 3.0])
def test_a_score_holds_its_mu(adjacency, mu):
    assert 0.7 * mu < shown(adjacency, mu) <= mu


def test_a_score_about_a_private_radius_holds_its_mu():
    assert shown("add-remove", 2.0, told=False) <= 2.0


def test_noise_too_small_by_sqrt2_is_caught(monkeypatch):
    honest = GaussianQuery.noise_sd.fget
    monkeypatch.setattr(GaussianQuery, "noise_sd", property(lambda q: honest(q) / math.sqrt(2)))
    assert shown("add-remove", 2.0) > 2.0


def test_a_sensitivity_too_small_by_half_is_caught(monkeypatch):
    monkeypatch.setattr(_scorer, "bounded_sum", lambda bound, adjacency: bound / 2)
    assert shown("add-remove", 2.0) > 2.0
