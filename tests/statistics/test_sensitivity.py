"""No neighbours move a statistic further than it claims, and some move it nearly as far."""

from __future__ import annotations

import math

import numpy as np
import pytest

from skdppca.statistics import Statistic

from .cases import CASES, Case, D, Form, every_form, kinds_of, records_of
from .search import Neighbours, furthest


def bases(adds_up: bool) -> list[list[np.ndarray]]:
    """What the other records are: it matters where records are looked at together."""
    rng = np.random.default_rng(1)
    ordinary = list(rng.normal(size=(6, 1, D)) + 1)
    if adds_up:
        return [ordinary]
    line = [np.eye(D)[:1] * (1.0 + i / 8) for i in range(5)]
    return [ordinary, line, line[:1], [line[0]] * 3]


def test_the_table_covers_every_statistic():
    lacking = "give what is lacking a case in tests/statistics/cases.py"
    assert set(CASES) == kinds_of(Statistic), lacking


@pytest.mark.slow
@pytest.mark.parametrize(("case", "form"), every_form(CASES))
def test_the_sensitivity_is_the_least_that_holds(case: Case, form: Form):
    statistic = case.statistic
    found = dict.fromkeys(("add-remove", "replace-one"), -math.inf)
    for base in bases(case.adds_up):
        for seed in case.seeds:
            neighbours = Neighbours(
                lambda records, seed=seed: case.total(records, form, seed),
                base,
                several_rows=form.grouped,
                may_miss=form.may_miss,
                near=case.near,
            )
            for adjacency, moved in furthest(statistic, neighbours, list(case.known)).items():
                found[adjacency] = max(found[adjacency], moved)
    layout = case.prepare(records_of(bases(True)[0], form), 0).layout
    rounding = statistic.rounding(layout)
    for adjacency, moved in found.items():
        claimed = statistic.sensitivity(adjacency) * (1 + rounding.norms)
        assert moved <= claimed + 2 * rounding.total, "one record moves it by more than it claims"
        caught = moved - 2 * rounding.total > claimed / math.sqrt(2)
        assert caught == (adjacency not in case.unattained)
