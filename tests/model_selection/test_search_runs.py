"""The secret number of candidates, and the best of them."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from dp_accounting.rdp import rdp_privacy_accountant
from joblib import parallel_config
from scipy.stats import chisquare, logser

from skdppca.model_selection._search_plan import (
    WORDS,
    best_run,
    draw_runs,
    stopping_probability,
    workers,
)
from skdppca.noise import NoiseSource

MEANS = [1 + 1e-9, 1.001, 2.0, 10.0, 1e3, 1e6]


@pytest.mark.parametrize("mean", [2.0, 10.0])
def test_draws_follow_the_logarithmic_distribution(mean):
    # error 1e-6, fixed seed
    noise = NoiseSource(0)
    draws = [draw_runs(noise, mean) for _ in range(4000)]
    expected = logser(1 - stopping_probability(mean))
    last = int(expected.ppf(0.98))
    seen = [draws.count(k) for k in range(1, last)] + [sum(k >= last for k in draws)]
    shares = np.append(expected.pmf(np.arange(1, last)), expected.sf(last - 1))
    assert chisquare(seen, 4000 * shares).pvalue > 1e-6


@pytest.mark.parametrize("mean", MEANS)
def test_the_mean_is_the_one_declared_and_never_more(mean):
    gamma = stopping_probability(mean)
    x = -mpmath.log(mpmath.mpf(gamma))
    exact = mpmath.expm1(x) / x
    assert mean * (1 - 2e-8) < exact <= mean


@pytest.mark.parametrize("mean", MEANS)
def test_it_stops_no_later_than_the_price_assumes(mean):
    priced = rdp_privacy_accountant._gamma_truncated_negative_binomial(0.0, mean)
    assert stopping_probability(mean) >= priced


def test_one_candidate_is_one():
    assert {draw_runs(NoiseSource(), 1.0) for _ in range(20)} == {1}


@pytest.mark.parametrize("k", [1, 2, 30])
def test_the_boundaries_between_two_values_are_exact(k):
    mp = mpmath.mp.clone()
    mp.prec = 4000
    gamma = mp.mpf(stopping_probability(10.0))
    below = mp.fsum((1 - gamma) ** j / j for j in range(1, k + 1)) / -mp.log(gamma)
    edge = int(mp.floor(mp.ldexp(below, 64 * WORDS)))

    class Given:
        def __init__(self, number):
            self.number = number

        def words(self, n):
            return np.frombuffer(self.number.to_bytes(8 * n, "little"), dtype="<u8")

    assert draw_runs(Given(edge), 10.0) == k
    assert draw_runs(Given(edge + 1), 10.0) == k + 1


def fit(score):
    """A candidate that is its score; None fails."""
    if score is None:
        raise ValueError("secret 4711")
    return score


def run(*scores, score=float):
    return best_run(scores, fit, score, workers(None))


@pytest.mark.parametrize(
    "scores", [(1.0, 3.0, 2.0), (None, -math.inf, None), (1.0, 2.0, 2.0, None, 2.0)]
)
def test_the_first_of_the_best_runs_is_kept_and_one_that_fails_loses(scores):
    score, place, winner = run(*scores)
    assert place == 1 and score == winner == scores[1]
    assert run(5.0, 1.0, score=lambda s: 1 / (s - 5.0))[1] == 1


def test_no_line_of_progress_tells_how_many_runs_there_were(capfd):
    with parallel_config(backend="sequential", verbose=50):
        run(1.0, 3.0, 2.0)
    assert capfd.readouterr() == ("", "")
