"""No mix of asking, handing on and dividing spends more than the budget."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from skdppca.noise import LaplaceQuery
from skdppca.privacy import PrivacyFilter
from skdppca.privacy.fit_report import Spending, dearest

from ..record_costs import largest_cost


def most_paid(budget):
    """The exact square of what any record pays."""
    return largest_cost((query.part, Fraction(query.mu) ** 2) for query in budget.queries)


def spend_at_random(budget, rng, depth=0):
    """Ask, hand on and divide until nothing is left or chance ends it."""
    while budget.remaining and rng.uniform() < 0.9:
        mu = budget.remaining * rng.choice([1.0, rng.uniform(0.01, 1.0)])
        match rng.choice(["take", "portion", "split"], p=[0.5, 0.3, 0.2]):
            case "portion" if depth < 3:
                spend_at_random(budget.split(mu), rng, depth + 1)
            case "split" if depth < 3:
                for part in budget.in_parallel(int(rng.integers(1, 4))):
                    spend_at_random(part, rng, depth + 1)
            case _:
                budget.pay_for("query", mu, 1.0)


on_few_and_many_draws = pytest.mark.parametrize(
    "draws", [10, pytest.param(100, marks=pytest.mark.slow)]
)


@on_few_and_many_draws
@pytest.mark.parametrize("mu", [1e-6, 0.1, 1 / 3, 2.0, 1e3])
def test_random_splits_never_spend_more_than_the_budget(mu, draws):
    rng = np.random.default_rng(0)
    for _ in range(draws):
        budget = PrivacyFilter(mu)
        spend_at_random(budget, rng)
        assert most_paid(budget) <= Fraction(mu) ** 2


@on_few_and_many_draws
@pytest.mark.parametrize("mu", [1e-6, 0.1, 2.0])
def test_next_to_nothing_that_is_left_is_rounded_down_as_well(mu, draws):
    """Down to squares that float64 would hold to few digits."""
    for seed in range(draws):
        rng, budget = np.random.default_rng(seed), PrivacyFilter(mu)
        while budget.remaining:
            budget.pay_for("query", budget.remaining * rng.choice([1.0, 1e-20, rng.uniform()]), 1.0)
        assert most_paid(budget) <= Fraction(mu) ** 2


@pytest.mark.parametrize("hand_on", [lambda s: s.in_parallel(2), lambda s: s.split(s.remaining)])
def test_what_was_handed_on_is_spent(hand_on):
    budget = PrivacyFilter(1.0)
    hand_on(budget)
    assert budget.remaining == 0.0
    for ask in (
        lambda: budget.pay_for("query", 1e-6, 1.0),
        lambda: hand_on(budget),
    ):
        with pytest.raises(RuntimeError, match="budget"):
            ask()


@pytest.mark.parametrize("hand_on", [lambda s: s.in_parallel(2)[0], lambda s: s.split(0.5)])
def test_what_was_handed_on_cannot_be_exceeded(hand_on):
    handed_on = hand_on(PrivacyFilter(1.0))
    with pytest.raises(RuntimeError, match="budget"):
        handed_on.pay_for("query", handed_on.remaining * 1.001, 1.0)


def test_an_infinite_budget_lasts():
    budget = PrivacyFilter(math.inf)
    budget.pay_for("query", math.inf, math.inf)
    portion = budget.split(math.inf)
    parts = portion.in_parallel(2)
    for each in (budget, portion, *parts):
        assert math.isinf(each.remaining)
        assert math.isinf(each.pay_for("query", each.remaining, math.inf).mu)


def test_an_infinite_budget_adds_no_noise_to_a_finite_question_either():
    query = PrivacyFilter(math.inf).pay_for("query", 1.0, 1.0)
    assert query.noise_sd == 0.0


@pytest.mark.parametrize("spent", [0.0, 1.0])
def test_a_budget_is_spent_once(spent):
    budget = PrivacyFilter(2.0)
    if spent:
        budget.pay_for("a", spent, 1.0)
    budget.pay_for("b", budget.fraction(0.5), 1.0)
    budget.pay_for("c", budget.remaining, 1.0)
    assert 4.0 * (1 - 1e-12) < most_paid(budget) <= 4
    with pytest.raises(RuntimeError, match="budget"):
        budget.pay_for("d", 1e-3, 1.0)


def test_portions_are_of_the_same_records_and_listed_after_what_was_asked_before():
    budget = PrivacyFilter(1.0, "1 of 2")
    portion = budget.split(0.5)
    portion.pay_for("second", 0.5, 1.0)
    budget.pay_for("first", 0.5, 1.0)
    assert portion.part == "1 of 2"
    assert [query.name for query in budget.queries] == ["first", "second"]


def test_a_query_that_another_guarantee_pays_for_is_listed_where_there_is_no_budget():
    budget, query = PrivacyFilter(0.0), LaplaceQuery("count", 1.0, 1.0)
    budget.record(query)
    assert budget.queries == [query]
    with pytest.raises(RuntimeError, match="budget"):  # and nothing else is
        budget.pay_for("query", 1e-9, 1.0)


# What a record pays at most, in reports of any size.

PARTS = [
    "",
    "1 of 2",
    "1 of 2, 3 of 4",
    "1 of 2, 1 of 4",
    "2 of 2",
    "1 of 20",
    "1 of 2, 3 of 4, 1 of 2",
]


@pytest.mark.parametrize("seed", range(20))
def test_it_is_the_sum_over_all_parts_that_contain_one(seed):
    generator = np.random.default_rng(seed)
    spendings = [
        Spending("query", float(generator.random()), 1.0, 1.0, PARTS[generator.integers(7)])
        for _ in range(generator.integers(1, 12))
    ]
    costs = ((one.part, Fraction(one.mu) ** 2) for one in spendings)
    assert dearest(spendings) == largest_cost(costs)


def test_ten_thousand_parts_are_compared_with_those_that_contain_them_alone():
    spendings = [Spending("query", 1.0, 1.0, 1.0, f"{i} of 10") for i in range(10**4)]
    assert dearest(spendings) == 1
