"""The best of a random number of runs: its event, its price, and what an attacker could do."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from skdppca.exceptions import BudgetExceeded
from skdppca.privacy import (
    ApproximateEvent,
    ComposedEvent,
    GaussianEvent,
    PureEvent,
    SelectionEvent,
    compose,
    epsilon_of,
    epsilon_of_event,
    is_affordable,
    mu_of,
)

EVENT = SelectionEvent(0.1, 10.0)
PLAN = ComposedEvent((GaussianEvent(0.05), EVENT))
NOTION = {"adjacency": "add-remove", "unit": "row"}


def log_inverse_gamma(mean):
    return brentq(lambda x: math.expm1(x) / x - mean, 1e-12, 50, xtol=1e-15) if mean > 1 else 0.0


@pytest.mark.parametrize(("mean", "multiplier"), [(5.0, 1.65), (20.0, 1.88), (100.0, 2.09)])
def test_noise_multipliers_at_epsilon_1_are_those_of_methods_13(mean, multiplier):
    mu = brentq(lambda mu: epsilon_of_event(SelectionEvent(mu, mean), 1e-6) - 1, 0.01, 0.3)
    assert mu_of(1.0, 1e-6) / mu == pytest.approx(multiplier, abs=0.005)


@pytest.mark.parametrize("mean", [1.0, 3.0, 10.0, 1e3, 1e6])
@pytest.mark.parametrize("mu", [1e-3, 0.1, 2.0])
def test_the_price_is_theorem_2_of_papernot_and_steinke_rounded_up(mu, mean):
    def price(orders, delta=1e-6):
        log_gamma = log_inverse_gamma(mean)
        second = np.min((orders - 1) * mu**2 / 2 + log_gamma / orders)
        rdp = orders * mu**2 / 2 + math.log(mean) / (orders - 1) + second
        return np.min(rdp + np.log1p(-1 / orders) - np.log(delta * orders) / (orders - 1))

    best = max(price(1 + np.logspace(-4, 8, 200_000)), 0.0)
    assert best <= epsilon_of_event(SelectionEvent(mu, mean), 1e-6) <= 1.005 * best + 2e-9


@pytest.mark.parametrize("mean", [2.0, 10.0, 100.0])
@pytest.mark.parametrize("mu", [0.1, 1.0])
def test_no_attack_on_the_best_gaussian_score_beats_the_price(mu, mean):
    """Exact: the largest of K scores N(0, 1) or N(mu, 1) has the density f'(Phi) phi."""
    ratio = -math.expm1(-log_inverse_gamma(mean))

    def density(y, shift):
        survival = 1 - ratio + ratio * norm.sf(y - shift)  # 1 - ratio * Phi
        return ratio / survival * norm.pdf(y - shift) / log_inverse_gamma(mean)

    y, step = np.linspace(-40, 40 + mu, 2_000_001, retstep=True)
    p, q = density(y, 0.0), density(y, mu)
    assert p.sum() * step == pytest.approx(1, rel=1e-6)
    price, one_run = epsilon_of_event(SelectionEvent(mu, mean), 1e-6), epsilon_of(mu, 1e-6)

    def delta(epsilon):
        above = (np.maximum(a - math.exp(epsilon) * b, 0).sum() for a, b in ((p, q), (q, p)))
        return max(above) * step

    assert delta(price) <= 1e-6
    assert delta(one_run) > 1e-6  # the price of a single run would be broken


def test_selecting_among_one_costs_no_less_than_that_one():
    price, exact = epsilon_of_event(SelectionEvent(0.3, 1.0), 1e-6), epsilon_of(0.3, 1e-6)
    assert exact < price < 1.1 * exact


def test_everything_composed_counts_and_in_any_order():
    parts = [EVENT, EVENT, SelectionEvent(0.1, 5.0), GaussianEvent(0.1), PureEvent(0.1)]
    whole = epsilon_of_event(compose(parts), 1e-6)
    for left_out in range(len(parts)):
        assert epsilon_of_event(compose(parts[:left_out] + parts[left_out + 1 :]), 1e-6) < whole
    for order in itertools.islice(itertools.permutations(parts), 0, 120, 17):
        assert epsilon_of_event(compose(order), 1e-6) == whole


def test_composition_keeps_selections_apart_and_gathers_the_gaussians():
    total = compose([PLAN, GaussianEvent(0.12), EVENT])
    assert total == ComposedEvent((GaussianEvent(0.13), EVENT, EVENT))
    assert compose([EVENT, GaussianEvent(0.0)]) == EVENT


def test_pure_steps_add_their_epsilon():
    price = epsilon_of_event(compose([PLAN, PureEvent(0.25), PureEvent(0.25)]), 1e-6)
    assert price == pytest.approx(epsilon_of_event(PLAN, 1e-6) + 0.5, rel=1e-12)


def test_failures_and_approximate_steps_take_their_part_of_delta():
    event = compose([PLAN, GaussianEvent(0.0, 4e-7), ApproximateEvent(0.25, 5e-7)])
    left = epsilon_of_event(PLAN, 1e-7)
    assert epsilon_of_event(event, 1e-6) == pytest.approx(left + 0.25, rel=1e-9)
    assert epsilon_of_event(event, 8e-7) == math.inf


def test_a_selection_without_a_proof_costs_infinity():
    assert epsilon_of_event(EVENT, 0.0) == math.inf
    assert epsilon_of_event(EVENT, 1e-50) == math.inf
    assert not is_affordable(EVENT, 1e9, 0.0)
    assert epsilon_of_event(SelectionEvent(100.0, 10.0), 1e-6) == math.inf


@pytest.mark.parametrize("make", ["memory", "ledger"], indirect=True)
def test_accountants_charge_and_refuse_totals_of_several_selections(make):
    accountant = make(epsilon=1.5)
    for event in (PLAN, GaussianEvent(0.05), EVENT):
        accountant.charge(event, **NOTION)
    assert accountant.spent.epsilon == epsilon_of_event(
        compose([PLAN, GaussianEvent(0.05), EVENT]), 1e-6
    )
    left = accountant.remaining.epsilon
    assert 0 < left < 1.5
    with pytest.raises(BudgetExceeded, match=r"\(mu 0\.3, mean_runs 10\)"):
        accountant.charge(SelectionEvent(0.3, 10.0), **NOTION)
    accountant.charge(GaussianEvent(mu_of(left, 1e-6)), **NOTION)
    assert len(accountant.receipts) == 4
