"""The class sums of a private classifier, and the scores of a search, keep their promise.

Error rate: every bound holds with probability at least 1 - 1e-4; the seeds are fixed, so each test
passes or fails for good. The weakened copies leak by sqrt2 or more.
"""

from __future__ import annotations

import numpy as np
import pytest

from skdppca.model_selection._scorer import prepare_scorer
from skdppca.neighbors._nearest_centroid import LabelledRows, class_means
from skdppca.noise import NoiseSource
from skdppca.privacy import PrivacyFilter
from skdppca.private_data import PrivateData, Public
from skdppca.records import Records
from skdppca.statistics import CapturedTotal, ClippedSum

from ..covering import pairwise
from .audit import ADJACENCIES, collect, mu_lower_bound, weaken_noise
from .cases import ALONG, FAR, RADIUS, RIGHT, UP, neighbours

pytestmark = pytest.mark.slow

ALPHA, RUNS = 1e-4, 4000


def class_sum(data, mu):
    """The sum of the class, along the record that comes, goes or is another."""
    labelled = LabelledRows(data.source.rows.X, None, np.zeros(data.source.private_n, int), 2)
    means, counts, *_ = class_means(data, labelled, center=False)
    return counts[0] * means[0, 0]


def score(data, mu):
    """The score of the second unit vector, times the count that is known to the audit."""
    scorer = prepare_scorer(data, centred=False, mu_score=mu)
    return scorer(UP) * scorer.data.n


# The number, the neighbours, the norm bound, whether all of the budget is audited, and the least
# share of mu. What is asked before a score is not what is audited.
GAMES = {
    "class sum": (
        class_sum,
        neighbours(np.tile(RIGHT / 10, (20, 1)), FAR * RIGHT, -FAR * RIGHT),
        RADIUS,
        True,
        0.6,
    ),
    "score": (score, neighbours(ALONG, FAR * UP, FAR * RIGHT), RADIUS, False, 0.7),
    "score, private radius": (score, neighbours(ALONG, FAR * UP, FAR * RIGHT), None, False, -9.0),
}
on_both_games = pytest.mark.parametrize("name", ["class sum", "score"])


def shown(name, adjacency, mu):
    number, pairs, norm_bound, whole, _ = GAMES[name]
    public = Public(2, adjacency, n_records=21 if adjacency == "replace-one" else None)

    def release(rows):
        records = Records.of(rows)

        def one(seed):
            data = PrivateData(
                source=records,
                public=public,
                budget=PrivacyFilter(mu if whole else 1e6),
                noise=NoiseSource([seed, len(rows)]),
                centre=np.zeros(2),
                norm_bound=norm_bound,
            )
            return number(data, mu)

        return collect(one, RUNS)

    return mu_lower_bound(*map(release, pairs[adjacency]), ALPHA)


@pytest.mark.parametrize(
    ("name", "adjacency", "mu"), pairwise(list(GAMES), ADJACENCIES, [2.0, 3.0])
)
def test_it_holds_its_mu(name, adjacency, mu):
    assert GAMES[name][-1] * mu < shown(name, adjacency, mu) <= mu


@on_both_games
def test_noise_too_small_by_sqrt2_is_caught(name, monkeypatch):
    weaken_noise(monkeypatch)
    assert shown(name, "add-remove", 2.0) > 2.0


@on_both_games
def test_a_sensitivity_too_small_by_half_is_caught(name, monkeypatch):
    kind = {"class sum": ClippedSum, "score": CapturedTotal}[name]
    honest = kind.sensitivity
    monkeypatch.setattr(kind, "sensitivity", lambda *asked: honest(*asked) / 2)
    assert shown(name, "add-remove", 2.0) > 2.0
