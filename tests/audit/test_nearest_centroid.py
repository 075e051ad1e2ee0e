"""The class sums of a private classifier keep their promise; copies that do not are convicted.

Error rate: every bound holds with probability at least 1 - 1e-4; the seeds are fixed, so each test
passes or fails for good. The weakened copies leak by sqrt2 or more.
"""

from __future__ import annotations

import numpy as np
import pytest

from skdppca.neighbors._class_means import ClassMeans, LabelledRows
from skdppca.noise import NoiseSource
from skdppca.privacy import PrivacyFilter
from skdppca.private_data import PrivateData, Public
from skdppca.records import Records
from skdppca.statistics import ClippedSum

from .audit import ADJACENCIES, collect, mu_lower_bound, weaken_noise

pytestmark = pytest.mark.slow

ALPHA, RUNS, RADIUS = 1e-4, 4000, 3.0
BASE = np.tile([0.1, 0.0], (20, 1))
ODD = np.array([[1e4, 0.0]])


def sums(rows, adjacency, mu):
    """Every seed's sum of the class, along the record that comes, goes or is another."""
    public = Public(2, adjacency, n_records=21 if adjacency == "replace-one" else None)
    records = Records.of(rows)
    labelled = LabelledRows(rows, None, np.zeros(len(rows), int), 2)

    def one(seed):
        data = PrivateData(
            source=records,
            public=public,
            budget=PrivacyFilter(mu),
            noise=NoiseSource([seed, len(rows)]),
            centre=np.zeros(2),
            norm_bound=RADIUS,
        )
        found = ClassMeans.of(data, labelled, center=False)
        return found.counts[0] * found.means[0, 0]

    return collect(one, RUNS)


def shown(adjacency, mu):
    without = BASE if adjacency == "add-remove" else np.vstack([BASE, -ODD])
    pair = (sums(rows, adjacency, mu) for rows in (without, np.vstack([BASE, ODD])))
    return mu_lower_bound(*pair, ALPHA)


@pytest.mark.parametrize("mu", [2.0, 3.0])
@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_the_class_sums_hold_their_mu(adjacency, mu):
    assert 0.6 * mu < shown(adjacency, mu) <= mu


def test_noise_too_small_by_sqrt2_is_caught(monkeypatch):
    weaken_noise(monkeypatch)
    assert shown("add-remove", 2.0) > 2.0


def test_a_sensitivity_too_small_by_half_is_caught(monkeypatch):
    honest = ClippedSum.sensitivity
    monkeypatch.setattr(ClippedSum, "sensitivity", lambda *asked: honest(*asked) / 2)
    assert shown("add-remove", 2.0) > 2.0
