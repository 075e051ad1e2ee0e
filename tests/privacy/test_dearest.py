"""What a record pays at most, in reports of any size."""

from fractions import Fraction

import numpy as np
import pytest

from skdppca.privacy.fit_report import Spending, dearest

from ..record_costs import largest_cost as by_definition

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
    assert dearest(spendings) == by_definition(costs)


def test_ten_thousand_parts_are_compared_with_those_that_contain_them_alone():
    spendings = [Spending("query", 1.0, 1.0, 1.0, f"{i} of 10") for i in range(10**4)]
    assert dearest(spendings) == 1
