"""The scores of a private search keep their promise; copies that do not are convicted.

Error rate: every bound holds with probability at least 1 - 1e-4; the seeds are fixed, so each test
passes or fails for good. The weakened copies leak by sqrt2 or more.
"""

from __future__ import annotations

import numpy as np
import pytest

from skdppca.model_selection._scorer import prepare_scorer
from skdppca.noise import NoiseSource
from skdppca.privacy import PrivacyFilter
from skdppca.private_data import PrivateData, Public
from skdppca.records import Records
from skdppca.statistics import CapturedTotal

from .audit import ADJACENCIES, collect, mostly_slow, mu_lower_bound, weaken_noise

ALPHA, RUNS, RADIUS = 1e-4, 4000, 3.0
BASE = np.tile([RADIUS, 0.0], (20, 1))
AXIS, OFF_AXIS = np.array([[0.0, 1e4]]), np.array([[1e4, 0.0]])


def scores(rows, adjacency, mu, told):
    """Every seed's score of the second unit vector, times the count that is known to the audit."""
    public = Public(2, adjacency, n_records=21 if adjacency == "replace-one" else None)
    records = Records.of(rows)

    def one(seed):
        data = PrivateData(
            source=records,
            public=public,
            budget=PrivacyFilter(1e6),  # what is asked before the score is not what is audited
            noise=NoiseSource([seed, len(rows)]),
            centre=np.zeros(2),
            norm_bound=RADIUS if told else None,
        )
        scorer = prepare_scorer(data, centred=False, mu_score=mu)
        return scorer(np.array([[0.0, 1.0]])) * scorer.data.n

    return collect(one, RUNS)


def shown(adjacency, mu, told=True):
    without = BASE if adjacency == "add-remove" else np.vstack([BASE, OFF_AXIS])
    pair = (scores(rows, adjacency, mu, told) for rows in (without, np.vstack([BASE, AXIS])))
    return mu_lower_bound(*pair, ALPHA)


@pytest.mark.slow
@mostly_slow("adjacency, mu", ADJACENCIES, [2.0, 3.0], quick=[("add-remove", 2.0)])
def test_a_score_holds_its_mu(adjacency, mu):
    assert 0.7 * mu < shown(adjacency, mu) <= mu


@pytest.mark.slow
def test_a_score_about_a_private_radius_holds_its_mu():
    assert shown("add-remove", 2.0, told=False) <= 2.0


@pytest.mark.slow
def test_noise_too_small_by_sqrt2_is_caught(monkeypatch):
    weaken_noise(monkeypatch)
    assert shown("add-remove", 2.0) > 2.0


@pytest.mark.slow
def test_a_sensitivity_too_small_by_half_is_caught(monkeypatch):
    honest = CapturedTotal.sensitivity
    monkeypatch.setattr(CapturedTotal, "sensitivity", lambda *asked: honest(*asked) / 2)
    assert shown("add-remove", 2.0) > 2.0
