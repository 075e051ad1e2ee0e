"""No mix of asking, handing on and dividing spends more than the budget."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from skdppca.noise import GaussianQuery, LaplaceQuery
from skdppca.privacy import Spender

from ..record_costs import largest_cost


def most_paid(spender):
    """The exact square of what any record pays."""
    return largest_cost((query.part, Fraction(query.mu) ** 2) for query in spender.queries)


def spend_at_random(spender, rng, depth=0):
    """Ask, hand on and divide until nothing is left or chance ends it."""
    while spender.left and rng.uniform() < 0.9:
        mu = spender.left * rng.choice([1.0, rng.uniform(0.01, 1.0)])
        match rng.choice(["take", "portion", "split"], p=[0.5, 0.3, 0.2]):
            case "portion" if depth < 3:
                spend_at_random(spender.portion(mu), rng, depth + 1)
            case "split" if depth < 3:
                for part in spender.split(int(rng.integers(1, 4))):
                    spend_at_random(part, rng, depth + 1)
            case _:
                spender.take("query", mu, 1.0)


@pytest.mark.parametrize("mu", [1e-6, 0.1, 1 / 3, 2.0, 1e3])
def test_random_splits_never_spend_more_than_the_budget(mu):
    rng = np.random.default_rng(0)
    for _ in range(100):
        spender = Spender(mu)
        spend_at_random(spender, rng)
        assert most_paid(spender) <= Fraction(mu) ** 2


@pytest.mark.parametrize("mu", [1e-6, 0.1, 2.0])
def test_next_to_nothing_that_is_left_is_rounded_down_as_well(mu):
    """Down to squares that float64 would hold to few digits."""
    for seed in range(100):
        rng, spender = np.random.default_rng(seed), Spender(mu)
        while spender.left:
            spender.take("query", spender.left * rng.choice([1.0, 1e-20, rng.uniform()]), 1.0)
        assert most_paid(spender) <= Fraction(mu) ** 2


@pytest.mark.parametrize("fraction", [0.0, 0.3])
def test_every_part_gets_what_is_left(fraction):
    spender = Spender(2.0)
    if fraction:
        spender.take("first", spender.share(fraction), 1.0)
    for part in spender.split(3):
        part.take("query", part.left, 1.0)
    assert [query.part for query in spender.queries][-3:] == ["1 of 3", "2 of 3", "3 of 3"]
    assert float(most_paid(spender)) == pytest.approx(4.0, rel=1e-12)


def test_parts_of_parts_are_told_apart():
    spender = Spender(1.0)
    for part in spender.split(2):
        for inner in part.split(2):
            inner.take("query", inner.left, 1.0)
    assert [query.part for query in spender.queries] == [
        f"{i} of 2, {j} of 2" for i in (1, 2) for j in (1, 2)
    ]
    assert most_paid(spender) <= 1


@pytest.mark.parametrize("hand_on", [lambda s: s.split(2), lambda s: s.portion(s.left)])
def test_what_was_handed_on_is_spent(hand_on):
    spender = Spender(1.0)
    hand_on(spender)
    assert spender.left == 0.0
    for ask in (lambda: spender.take("query", 1e-6, 1.0), lambda: hand_on(spender)):
        with pytest.raises(RuntimeError, match="budget"):
            ask()


@pytest.mark.parametrize("hand_on", [lambda s: s.split(2)[0], lambda s: s.portion(0.5)])
def test_what_was_handed_on_cannot_be_exceeded(hand_on):
    handed_on = hand_on(Spender(1.0))
    with pytest.raises(RuntimeError, match="budget"):
        handed_on.take("query", handed_on.left * 1.001, 1.0)


def test_one_part_cannot_spend_for_another():
    first, second = Spender(1.0).split(2)
    first.take("query", first.left, 1.0)
    assert first.left == 0.0
    assert second.left == 1.0


@pytest.mark.parametrize("mu", [0.0, -1.0, math.nan])
def test_nothing_is_free(mu):
    with pytest.raises(RuntimeError, match="budget"):
        Spender(1.0).take("query", mu, 1.0)
    with pytest.raises(RuntimeError, match="budget"):
        Spender(1.0).portion(mu)


def test_an_infinite_budget_lasts():
    spender = Spender(math.inf)
    spender.take("query", math.inf, math.inf)
    portion = spender.portion(math.inf)
    parts = portion.split(2)
    for each in (spender, portion, *parts):
        assert math.isinf(each.left)
        assert math.isinf(each.take("query", each.left, math.inf).mu)


def test_an_infinite_budget_adds_no_noise_to_a_finite_question_either():
    query = Spender(math.inf).take("query", 1.0, 1.0)
    assert query.noise_sd == 0.0


@pytest.mark.parametrize("spent", [0.0, 1.0])
def test_a_budget_is_spent_once(spent):
    spender = Spender(2.0)
    if spent:
        spender.take("a", spent, 1.0)
    spender.take("b", spender.share(0.5), 1.0)
    spender.take("c", spender.left, 1.0)
    assert 4.0 * (1 - 1e-12) < most_paid(spender) <= 4
    with pytest.raises(RuntimeError, match="budget"):
        spender.take("d", 1e-3, 1.0)


def test_more_than_is_left_is_refused_and_costs_nothing():
    spender = Spender(1.0)
    for ask in (lambda: spender.take("a", 1.001, 1.0), lambda: spender.portion(1.001)):
        with pytest.raises(RuntimeError, match="budget"):
            ask()
    assert spender.queries == []
    assert spender.left == 1.0


def test_a_query_that_is_taken_is_listed():
    spender = Spender(1.0, "2 of 3")
    query = spender.take("query", 0.5, 3.0, size=7, rounding=1e-9)
    assert spender.queries == [query]
    assert query == GaussianQuery("query", 0.5, 3.0, size=7, rounding=1e-9, part="2 of 3")


def test_portions_are_of_the_same_records_and_listed_after_what_was_asked_before():
    spender = Spender(1.0, "1 of 2")
    portion = spender.portion(0.5)
    portion.take("second", 0.5, 1.0)
    spender.take("first", 0.5, 1.0)
    assert portion.part == "1 of 2"
    assert [query.name for query in spender.queries] == ["first", "second"]


def test_a_query_that_another_guarantee_pays_for_is_listed_where_there_is_no_budget():
    spender, query = Spender(0.0), LaplaceQuery("count", 1.0, 1.0)
    spender.note(query)
    assert spender.queries == [query]
    with pytest.raises(RuntimeError, match="budget"):  # and nothing else is
        spender.take("query", 1e-9, 1.0)


@pytest.mark.parametrize("mu", [1e-9, 1.0, math.inf])
def test_a_budget_does_not_pay_for_a_query_of_another_guarantee(mu):
    spender = Spender(mu)
    with pytest.raises(RuntimeError, match="count: the mechanism's budget"):
        spender.note(LaplaceQuery("count", 1.0, 1.0))
    assert spender.queries == []
