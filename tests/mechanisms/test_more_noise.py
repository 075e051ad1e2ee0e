"""Where noise is larger than its price needs, a fit is the one in memory whose noise is as large.

Nothing here is random but the noise, whose seeds are fixed. A factor of 2 rounds nothing, so the
same seeds give the same noise.
"""

import math

import numpy as np
import pytest

from skdppca import decomposition
from skdppca.datasets import make_spiked
from skdppca.mechanisms.clipping import CLIPPING, excess_records, find_radius
from skdppca.mechanisms.norm_histogram import with_sample
from skdppca.privacy import epsilon_of, mu_of
from skdppca.records import Source
from skdppca.statistics import Distances

from ..estimators import SUMS, but_the_first_slow
from ..private_data_of import private_data

FACTOR = 2.0
DELTA = 1e-6
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(4000, 20)) * np.linspace(4, 1, 20) + 3
FEW = RNG.normal(size=(400, 30)) * np.linspace(4, 1, 30)
HOLES = np.where(RNG.random(ROWS.shape) < 0.1, np.nan, ROWS)
GROUPS = make_spiked(600, 12, 2, [10, 5], 0.1, random_state=0)

# Rows, their groups, epsilon, parameters.
DATA = {
    "rows": (ROWS, None, 1.0, {}),
    "few": (FEW, None, 2.0, {}),
    "scales": (ROWS * 10.0 ** np.arange(20), None, 2.0, {"scale": "private"}),
    "groups": (GROUPS.X, GROUPS.groups, 2.0, {"unit": "patient"}),
    "holes": (HOLES, None, 2.0, {"missing": "mean"}),
    "bounded": (ROWS, None, 1.0, {"norm_bound": 20.0}),
}


@pytest.fixture
def noisier(monkeypatch):
    """Sums in memory have twice the noise that their price needs."""
    query = Source.query

    def more(self, *asked):
        at = query(self, *asked)
        return lambda mu: at(mu / FACTOR)

    monkeypatch.setattr(Source, "query", more)
    monkeypatch.setattr(Source, "noise_factor", FACTOR, raising=False)


def fit(name, data, epsilon):
    X, groups, _, parameters = DATA[data]
    method = decomposition.METHODS[name].estimator
    pca = method(2, epsilon=epsilon, delta=DELTA, random_state=0, **parameters)
    return pca.fit(X, groups=groups)


@pytest.mark.parametrize("name", but_the_first_slow(SUMS))
def test_a_fit_is_that_of_the_budget_that_has_its_noise(name, request):
    """Of half of the mu, and of all of it where noise is twice as large."""
    half = {data: epsilon_of(mu_of(DATA[data][2], DELTA) / FACTOR, DELTA) for data in DATA}
    fitted = {data: fit(name, data, half[data]) for data in DATA}
    request.getfixturevalue("noisier")
    for data, expected in fitted.items():
        found = fit(name, data, DATA[data][2])
        questions = [(s.name, s.noise_sd) for s in found.privacy_.spendings]
        others = [(s.name, s.noise_sd) for s in expected.privacy_.spendings]
        assert [q for q, _ in questions] == [q for q, _ in others], data
        sds, others_sds = ([sd for _, sd in q] for q in (questions, others))
        np.testing.assert_allclose(sds, others_sds, rtol=1e-6, err_msg=data)
        close = {"rtol": 1e-4, "atol": 1e-6, "err_msg": data}
        np.testing.assert_allclose(found.components_, expected.components_, **close)
        np.testing.assert_allclose(found.mean_, expected.mean_, **close)


@pytest.mark.parametrize("mu", [0.1, 1 / 3, 7.0, math.inf])
def test_in_memory_the_noise_is_what_its_price_needs(mu):
    assert private_data(ROWS, mu).effective(mu) == mu


def test_a_norm_is_clipped_to_for_the_noise_that_there_will_be(noisier):
    X = np.abs(np.random.default_rng(0).normal(size=(20_000, 1)))
    data = private_data(X, 100.0, n=20_000.0)
    radius, _ = find_radius(data, Distances(np.zeros(1)), 40_000, 0.8, 50.0, "norm")
    beyond = excess_records(20_000.0, 40_000, 0.8 / FACTOR)
    assert beyond > CLIPPING.least_clipped * 20_000
    assert np.sum(X > radius) == pytest.approx(beyond, rel=0.03)


def test_a_random_part_is_as_large_as_the_noise_asks(noisier):
    X = np.ones((100_000, 2))
    shares = [with_sample(private_data(X, mu, n=1e5)).sample_share for mu in (1.0, FACTOR)]
    assert math.isclose(shares[0], 4000 * FACTOR / 1e5, abs_tol=2e-3)
    assert math.isclose(shares[1], 4000 / 1e5, abs_tol=2e-3)


@pytest.mark.parametrize("mu", [1.1 * FACTOR, 1e3])
def test_an_ample_budget_asks_all_records(noisier, mu):
    assert with_sample(private_data(np.ones((100_000, 2)), mu, n=1e5)).sample is None
