"""KDPPCA and KDPOjas: how they divide their budget or their records, and oracles of users."""

import math
from collections import Counter

import numpy as np
import pytest

from skdppca import KDPPCA, KDPOjas, PrivacyAccountant
from skdppca.decomposition import OjasOracle
from skdppca.decomposition.iterative.iteration import ITERATION, orthonormal_start
from skdppca.exceptions import SeededNoiseWarning
from skdppca.metrics import sin_theta
from skdppca.statistics import Count

from ...secret_rows import refused
from ..spiked_fits import BARE, fitted, names, share_spent, spiked


def spent(pca, name):
    """Sum of the squares of mu of all queries of that name, by part of the records."""
    total = Counter()
    for spending in pca.privacy_.spendings:
        total[spending.part] += spending.mu**2 * (spending.name == name)
    return total


def test_reused_records_pay_for_every_step():
    pca = fitted(KDPPCA, 2, range_share=0.4, **BARE)
    whole = pca.privacy_.event.mu**2
    length, radii, means = (
        spent(pca, name)[""] / whole
        for name in ("length of the records", "radius of the gradient", "gradient")
    )
    # At most `range_share` of the remaining mu^2, and less where more records make less enough.
    assert 0.1 < radii < 0.4 * (1 - length)
    assert length + radii + means == pytest.approx(1)


@pytest.mark.parametrize("factory", [KDPPCA, KDPOjas])
@pytest.mark.parametrize(("strategy", "n_parts"), [("block", 6), ("deflation", 12)])
def test_split_records_pay_for_one_step_all_there_is(factory, strategy, n_parts):
    pca = fitted(factory, 2, strategy=strategy, sampling="split", n_iter=3, **BARE)
    total = spent(pca, "gradient") + spent(pca, "radius of the gradient")
    length = spent(pca, "length of the records")[""]
    assert len([part for part in total if part]) == n_parts
    shares = np.array([total[part] for part in total if part]) / pca.privacy_.event.mu**2
    np.testing.assert_allclose(shares, 1 - length / pca.privacy_.event.mu**2, rtol=1e-9)


def test_the_noise_follows_the_spread_and_not_the_length_of_the_records():
    radii = {}
    for factory in (KDPPCA, KDPOjas):
        spendings = fitted(factory, 2, **BARE).privacy_.spendings
        radii[factory] = [s.sensitivity for s in spendings if s.name == "gradient"]
    assert radii[KDPPCA][-1] < 0.1 * radii[KDPPCA][0]
    assert radii[KDPOjas][-1] > 0.5 * radii[KDPOjas][0]


def random_direction(mean):
    return orthonormal_start(1, mean.n_features, mean.removed, mean.data.noise)


def three_steps(mean):
    """The power iteration, around 0, with a third of the budget a step."""
    whole, w = mean.remaining, random_direction(mean)
    for _ in range(3):
        mus = (whole * math.sqrt(share) for share in (0.03, 0.3))
        gradient = mean(w, np.zeros_like(w), *mus).mean
        value = float((w @ gradient.T)[0, 0])
        w = gradient / np.linalg.norm(gradient)
    return w[0], value


@pytest.mark.parametrize("sampling", ["reuse", "split"])
def test_an_oracle_of_the_user_finds_the_components(sampling):
    # None of 40 seeds was off by more than 0.02.
    pca = fitted(KDPPCA, 2, strategy="deflation", sampling=sampling, oracle=three_steps)
    assert sin_theta(pca, spiked(2).components) < 0.05
    search = spent(pca, "gradient")
    assert sum(search.values()) > 0
    assert max(search.values()) <= pca.privacy_.event.mu**2


def too_large_a_mean(mean):
    w = random_direction(mean)
    mean(w, 0 * w, 0.1 * mean.remaining, 1.01 * mean.remaining)


def one_mean_too_many(mean):
    mu, w = mean.remaining / math.sqrt(3), random_direction(mean)
    for _ in range(4):
        mean(w, 0 * w, 0.1 * mu, 0.99 * mu)


def a_portion_and_all(mean):
    whole = mean.remaining
    mean.split(0.5 * whole)
    mean.split(whole)


def parts_and_more(mean):
    whole = mean.remaining
    mean.parts((1, 1))
    mean.data.ask(Count(), 0.01 * whole)


@pytest.mark.parametrize("sampling", ["reuse", "split"])
@pytest.mark.parametrize(
    "oracle", [too_large_a_mean, one_mean_too_many, a_portion_and_all, parts_and_more]
)
def test_an_oracle_cannot_overspend(oracle, sampling):
    with pytest.raises(RuntimeError, match="exceeds what is left"):
        fitted(KDPPCA, 2, strategy="deflation", sampling=sampling, oracle=oracle)


@pytest.mark.parametrize("factory", [KDPPCA, KDPOjas])
@pytest.mark.parametrize("unit", ["row", "flower"])
@pytest.mark.parametrize("epsilon", [1.0, math.inf])
@pytest.mark.parametrize("strategy", ["block", "deflation"])
def test_parts_without_a_record_do(factory, strategy, epsilon, unit):
    # An error would tell that there are few records.
    X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]])
    told = {"strategy": strategy, "sampling": "split", "epsilon": epsilon, "unit": unit}
    pca = factory(2, random_state=0, **told)
    pca.fit(X, groups=None if unit == "row" else [0, 1])
    assert np.isfinite(pca.components_).all()


def returning(make):
    """An oracle that asks once, and returns what is made of the answer."""

    def oracle(mean):
        w = orthonormal_start(1, mean.n_features, mean.removed, mean.data.noise)
        answer = mean(w, np.zeros_like(w), mean.remaining / 2, mean.remaining / 2)
        return make(answer.mean)

    return oracle


@pytest.mark.parametrize(
    ("oracle", "says"),
    [
        (OjasOracle, "is a class; pass an instance"),
        (returning(lambda mean: None), "returned a NoneType"),
        (returning(lambda mean: mean[0]), "returned an array of shape"),
        (returning(lambda mean: (mean[0], 1.0, 2)), "returned a tuple of length 3"),
        (returning(lambda mean: (mean, 1.0)), "direction of shape"),
        (returning(lambda mean: (0 * mean[0], 1.0)), "not all 0"),
        (returning(lambda mean: (mean[0] * np.nan, 1.0)), "finite real numbers"),
        (returning(lambda mean: (mean[0], "large")), "finite number as value"),
        (returning(lambda mean: (mean[0], np.nan)), "finite number as value"),
    ],
)
def test_an_oracle_that_returns_no_direction_and_value_is_refused_before_the_charge(oracle, says):
    accountant = PrivacyAccountant(1.0, 1e-6)
    pca = KDPPCA(2, strategy="deflation", oracle=oracle, accountant=accountant)
    refused(pca, np.random.default_rng(0).normal(size=(300, 5)), says)


def test_a_rehearsal_takes_nothing_from_the_draws_of_a_fit(monkeypatch):
    X = np.random.default_rng(0).normal(size=(300, 5))
    pca = KDPPCA(2, strategy="deflation", oracle=OjasOracle(), random_state=0)
    with pytest.warns(SeededNoiseWarning):
        found = pca.fit(X).components_
    monkeypatch.setattr("skdppca.decomposition.iterative.kdppca.rehearse_oracle", lambda *_: None)
    with pytest.warns(SeededNoiseWarning):
        assert found.tobytes() == pca.fit(X).components_.tobytes()


on_both_strategies = pytest.mark.parametrize("strategy", ["block", "deflation"])


@on_both_strategies
@pytest.mark.parametrize("n_iter", [1, 7])
def test_passes_are_as_many_as_asked_for_and_spend_all_there_is(strategy, n_iter):
    pca = fitted(KDPOjas, 2, strategy=strategy, n_iter=n_iter, **BARE)
    rounds = 2 if strategy == "deflation" else 1
    assert names(pca).count("gradient") == rounds * n_iter
    assert set(names(pca)) == {"length of the records", "gradient", "radius of the gradient"}
    assert names(pca).count("radius of the gradient") == rounds * min(
        n_iter, ITERATION.ojas_searches
    )
    assert share_spent(pca) == pytest.approx(1)


def test_deflation_is_that_of_kdppca_over_the_oracle():
    for sampling in ("reuse", "split"):
        told = {"strategy": "deflation", "sampling": sampling}
        ours = fitted(KDPOjas, 2, n_iter=4, learning_rate=5.0, **told)
        oracle = OjasOracle(4, 5.0, sampling)
        theirs = fitted(KDPPCA, 2, oracle=oracle, **told)
        np.testing.assert_array_equal(ours.components_, theirs.components_)
        assert ours.privacy_.spendings == theirs.privacy_.spendings
