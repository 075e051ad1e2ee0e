"""No mix of asking, handing on and dividing spends more than the budget."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from skdppca.mechanisms.base import Spender

from ..parts import dearest


def most_paid(spender):
    """The exact square of what any record pays."""
    return dearest((query.part, Fraction(query.mu) ** 2) for query in spender.queries)


def spend_at_random(spender, rng, depth=0):
    """Ask, hand on and divide until nothing is left or chance ends it."""
    while spender.left and rng.uniform() < 0.9:
        mu = spender.left * rng.choice([1.0, rng.uniform(0.01, 1.0)])
        match rng.choice(
            ["take", "portion", "split", "enclose", "rest"], p=[0.4, 0.2, 0.15, 0.15, 0.1]
        ):
            case "portion" if depth < 3:
                spend_at_random(spender.portion(mu), rng, depth + 1)
            case "split" if depth < 3:
                for part in spender.split(int(rng.integers(1, 4))):
                    spend_at_random(part, rng, depth + 1)
            case "enclose" if depth < 3:
                other = Spender(min(mu, spender.left), spender.part)
                spend_at_random(other, rng, depth + 1)
                spender.enclose(other)
            case "rest":
                spender.rest("query", 1.0)
            case _:
                spender.take("query", mu, 1.0)


@pytest.mark.parametrize("mu", [1e-6, 0.1, 1 / 3, 2.0, 1e3])
def test_no_mix_overspends(mu):
    rng = np.random.default_rng(0)
    for _ in range(100):
        spender = Spender(mu)
        spend_at_random(spender, rng)
        assert most_paid(spender) <= Fraction(mu) ** 2


@pytest.mark.parametrize("fraction", [0.0, 0.3])
def test_every_part_gets_what_is_left(fraction):
    spender = Spender(2.0)
    if fraction:
        spender.take("first", spender.share(fraction), 1.0)
    for part in spender.split(3):
        part.rest("query", 1.0)
    assert [query.part for query in spender.queries][-3:] == ["1 of 3", "2 of 3", "3 of 3"]
    assert float(most_paid(spender)) == pytest.approx(4.0, rel=1e-12)


def test_parts_of_parts_are_told_apart():
    spender = Spender(1.0)
    for part in spender.split(2):
        for inner in part.split(2):
            inner.rest("query", 1.0)
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
    first.rest("query", 1.0)
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
        assert math.isinf(each.rest("query", math.inf).mu)


def test_an_infinite_budget_adds_no_noise_to_a_finite_question_either():
    query = Spender(math.inf).take("query", 1.0, 1.0)
    assert query.noise_sd == 0.0


def test_a_budget_is_not_enclosed_in_a_smaller_one():
    spender = Spender(1.0)
    spender.take("query", 0.6, 1.0)
    with pytest.raises(RuntimeError, match="more than is left"):
        spender.enclose(Spender(math.nextafter(spender.left, 2.0)))
    with pytest.raises(RuntimeError, match="of other records"):
        spender.enclose(Spender(0.1, "1 of 2"))
    spender.enclose(Spender(spender.left))
    assert spender.left <= 1e-7
