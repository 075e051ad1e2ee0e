"""How a private search divides its budget, and how far one record moves a score."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from skdppca.model_selection._scorer import prepare_scorer
from skdppca.model_selection._search_plan import budget_of, plan_search
from skdppca.privacy import is_affordable, mu_of

from ..private_data_of import on_both_adjacencies
from .neighbouring_tables import D, held, pairs_of_tables


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 8.0, 100.0])
@pytest.mark.parametrize("score_share", [0.01, 0.1, 0.9])
def test_a_candidate_spends_no_more_than_the_plan_says(epsilon, score_share):
    plan = plan_search(epsilon, 1e-6, 10.0, score_share, 0.25)
    fit = mu_of(*budget_of(plan.mu_fit, 1e-6))
    assert plan.mu_fit * (1 - 1e-12) < fit <= plan.mu_fit
    squares = Fraction(fit) ** 2 + Fraction(plan.mu_score) ** 2
    assert squares <= Fraction(plan.mu) ** 2
    assert is_affordable(plan.event, epsilon, 1e-6)


def test_the_smallest_budget_that_can_pay_is_refused_below():
    assert math.isfinite(plan_search(1e-4, 1e-6, 10.0, 0.1, 0.25).mu)
    with pytest.raises(ValueError, match="cannot pay for the best of"):
        plan_search(1.0, 1e-50, 10.0, 0.1, 0.25)


@on_both_adjacencies
@pytest.mark.parametrize("grouped", [False, True])
def test_no_record_moves_a_score_further_than_its_sensitivity(adjacency, grouped):
    moved = []
    for tables, axes in pairs_of_tables(adjacency, grouped):
        totals = []
        for rows, labels in tables:
            data = held(rows, adjacency, labels, centre=np.ones(D), norm_bound=2.0)
            scorer = prepare_scorer(data, centred=False, mu_score=1e8)
            totals.append(scorer(axes) * scorer.data.n)
        moved.append(abs(totals[0] - totals[1]))
    assert scorer._captured(axes).sensitivity(adjacency) == 4.0
    assert 3.9 < max(moved) <= 4.0 + 1e-3
