"""PrivateData: nothing is learnt of the records that is not paid for, with the noise declared."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from skdppca.noise import GaussianQuery, LaplaceQuery, NoiseSource, gaussian
from skdppca.privacy import (
    ApproximateEvent,
    GaussianEvent,
    NonPrivateEvent,
    PrivacyFilter,
    PureEvent,
)
from skdppca.private_data import Source
from skdppca.records import Records
from skdppca.statistics import (
    BoundedTotal,
    ClippedGram,
    ClippedSum,
    Count,
    CountBeyond,
    RowCounts,
    ScoreGram,
    Spreads,
)

from ..private_data_of import cost, filled, names, on_both_adjacencies, private_data
from ..record_costs import largest_cost
from ..statistics.cases import CASES, FORMS, Case, Form, records_of, some_records

RNG = np.random.default_rng(0)
D = 5
ROWS = RNG.normal(size=(10_000, D))

EVERY = [
    pytest.param(case, FORMS[case.forms[0]], id=f"{name}-{i}")
    for name, rows in CASES.items()
    for i, case in enumerate(rows)
    if case.statistic.norm == 2
]


class Untouched:
    """A source that nothing may be asked of but its layout."""

    query, answer = Source.query, Source.answer

    def __init__(self, records: Records) -> None:
        self.layout = records.layout


def untouched(data):
    return replace(data, source=Untouched(data.source))


# What is asked, and what is paid.


@on_both_adjacencies
def test_more_than_is_left_is_refused_and_nothing_is_computed(adjacency):
    data = private_data(ROWS, 1.0, adjacency=adjacency)
    data.ask(Count(), 0.8)
    with pytest.raises(RuntimeError, match=r"ClippedSum: mu=0\.7 exceeds .*, mu=0\.[56]"):
        untouched(data).ask(ClippedSum(data.centre, 1.0), 0.7)
    assert names(data) == ["Count"]
    data.ask(ClippedSum(data.centre, 1.0))
    with pytest.raises(RuntimeError, match="exceeds what is left"):  # but for rounding
        untouched(data).ask(Count(), 1e-7)


@pytest.mark.parametrize("mu", [0.0, -1.0, math.nan])
def test_nothing_is_free(mu):
    data = untouched(private_data(ROWS))
    with pytest.raises(RuntimeError, match=f"Count: mu={mu} pays for no answer; give a positive"):
        data.ask(Count(), mu)
    with pytest.raises(RuntimeError, match="budget"):
        data.split(mu)
    assert data.remaining == 1.0


def test_by_default_it_costs_all_that_is_left():
    data = private_data(ROWS, 2.0)
    data.ask(Count(), data.fraction(0.25), "number of records")
    answer = data.ask(ClippedSum(data.centre, 1.0))
    assert names(data) == ["number of records", "ClippedSum"]
    assert cost(data) == pytest.approx(4.0)
    assert data.remaining < 1e-7
    assert answer.noise_sd == data.budget.queries[-1].noise_sd


class Told(NoiseSource):
    """It says with which sds it was asked."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.sds: list[np.ndarray] = []

    def rounded_gaussian(self, sd, size):
        self.sds.append(np.broadcast_to(sd, size))
        return super().rounded_gaussian(sd, size)


@on_both_adjacencies
@pytest.mark.parametrize(("case", "form"), EVERY)
@pytest.mark.parametrize("mu", [1e-3, 2.0])
def test_the_noise_drawn_is_that_of_the_query_recorded(
    case: Case, form: Form, mu: float, adjacency: str
):
    statistic = case.statistic
    records = case.prepare(records_of(some_records(form), form), 0)
    source = Total(records, case.total_of(records))
    noise = Told(1)
    data = replace(private_data(records, mu, adjacency=adjacency), noise=noise, source=source)
    answer = data.ask(statistic, name="asked")
    # 1. what is recorded is the statistic's own
    (query,) = data.budget.queries
    rounding = statistic.rounding(records.layout)
    assert query == GaussianQuery(
        "asked",
        mu,
        statistic.sensitivity(adjacency),
        size=statistic.shape[0] if statistic.symmetric else math.prod(statistic.shape),
        symmetric=statistic.symmetric,
        norm_error=rounding.norms,
        rounding=rounding.total,
    )
    assert source.asked == [statistic]
    # 2. what is drawn is what is recorded
    (sds,) = noise.sds
    drawn = query.grid * sds
    if statistic.symmetric:
        row, column = np.triu_indices(query.size)
        expected = np.where(row == column, query.noise_sd, query.noise_sd / math.sqrt(2))
    else:
        expected = np.full(sds.shape, query.noise_sd)
    np.testing.assert_allclose(drawn, expected, rtol=1e-15)
    assert np.all(drawn >= expected)
    # 3. and what is answered is that, on the grid
    assert answer.noise_sd == query.noise_sd == data.noise_sd(statistic, mu)
    assert query.noise_sd >= statistic.sensitivity(adjacency) / mu
    assert answer.value.shape == statistic.shape
    np.testing.assert_array_equal(answer.value / query.grid, np.rint(answer.value / query.grid))
    spread = np.abs(answer.value - source.exact) / query.noise_sd
    assert spread.max() < 6


@pytest.mark.parametrize("name", CASES)
def test_sums_that_are_said_to_be_free_of_rounding_are_whole_numbers(name):
    """Only such a sum may be rounded to whole numbers without being moved by that."""
    for case in CASES[name]:
        for form in map(FORMS.get, case.forms):
            records = case.prepare(records_of(some_records(form), form), 0)
            total = case.total_of(records)
            assert case.statistic.rounding(records.layout).total or np.all(total == np.rint(total))


class Total:
    """A source of one known sum, as histograms of groups need."""

    query, answer = Source.query, Source.answer

    def __init__(self, records: Records, exact: np.ndarray) -> None:
        self.layout, self.exact = records.layout, exact
        self.asked: list = []

    def total(self, statistic):
        self.asked.append(statistic)
        return self.exact


@on_both_adjacencies
@pytest.mark.parametrize("asked", [Count(), ScoreGram(np.zeros(D), 2.0, np.eye(2, D))])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0])
def test_laplace_noise_is_that_of_the_query_recorded(monkeypatch, asked, epsilon, adjacency):
    scales, honest = [], gaussian.rounded_noise

    def spy(law, scale, size, noise):
        scales.append(scale)
        return honest(law, scale, size, noise)

    monkeypatch.setattr(gaussian, "rounded_noise", spy)
    data = private_data(ROWS, 0.0, adjacency=adjacency)
    answer = data.ask_laplace(asked, epsilon, "asked")
    (query,) = data.budget.queries
    rounding = asked.rounding(data.source.layout)
    assert query == LaplaceQuery(
        "asked",
        epsilon,
        asked.sensitivity(adjacency) * (1 + rounding.norms),
        size=math.prod(asked.shape),
        rounding=rounding.total,
    )
    (scale,) = scales
    assert scale * query.grid == pytest.approx(query.widened_sensitivity / epsilon, rel=1e-15)
    assert scale * query.grid >= asked.sensitivity(adjacency) / epsilon
    assert answer.noise_sd == query.noise_sd == pytest.approx(math.sqrt(2) * scale * query.grid)
    exact = asked.total(data.source)
    assert np.max(np.abs(answer.value - exact)) < 40 * query.noise_sd


@pytest.mark.parametrize("mu", [1e-9, 1.0, math.inf])
def test_laplace_noise_is_not_paid_with_a_gaussian_budget(mu):
    data = untouched(private_data(ROWS, mu))
    with pytest.raises(RuntimeError, match="count: the mechanism's budget does not pay"):
        data.ask_laplace(Count(), 1.0, "count")
    assert data.budget.queries == []


def test_a_sensitivity_is_taken_in_the_norm_of_its_noise():
    scores, rows = ScoreGram(np.zeros(D), 2.0, np.eye(2, D)), ClippedSum(np.zeros(D), 2.0)
    gaussian, pure = untouched(private_data(ROWS)), untouched(private_data(ROWS, 0.0))
    for ask in (gaussian.ask, lambda asked: gaussian.noise_sd(asked, 1.0)):
        with pytest.raises(TypeError, match=r"ScoreGram bounds an l1 norm.*with `ask_laplace`"):
            ask(scores)
    with pytest.raises(TypeError, match=r"ClippedSum bounds an l2 norm.*ask it with `ask`"):
        pure.ask_laplace(rows, 1.0, "rows")
    assert gaussian.remaining == 1.0
    assert pure.budget.queries == []


@pytest.mark.parametrize(
    "asked", [Count(), CountBeyond(Spreads(np.zeros(D)), 1.0), BoundedTotal(RowCounts(), 3)]
)
def test_of_a_single_number_all_norms_are_the_same(asked):
    assert private_data(ROWS).ask(asked).value.shape == ()
    assert private_data(ROWS, 0.0).ask_laplace(asked, 1.0, "asked").value.shape == ()


def test_what_is_no_sum_is_paid_as_its_proof_says():
    data = private_data(ROWS)
    query = data.pay_for("eigengap", 0.6, 2.0, size=3, rounding=1e-3)
    assert data.budget.queries == [query]
    assert query == GaussianQuery("eigengap", 0.6, 2.0, size=3, rounding=1e-3)
    with pytest.raises(RuntimeError, match=r"eigengap: mu=0\.9 exceeds what is left"):
        data.pay_for("eigengap", 0.9, 2.0, rounding=1e-3)


@pytest.mark.parametrize("symmetric", [False, True])
def test_without_noise_answers_are_exact_and_the_budget_lasts(symmetric):
    data = private_data(ROWS, math.inf)
    assert data.exact
    asked = ClippedGram(data.centre, 2.0) if symmetric else ClippedSum(data.centre, 2.0)
    answer = data.ask(asked)
    upper = np.triu if symmetric else np.asarray
    np.testing.assert_array_equal(upper(answer.value), upper(asked.total(data.source)))
    assert answer.noise_sd == 0
    assert data.remaining == math.inf
    if symmetric:
        np.testing.assert_array_equal(answer.value, answer.value.T)
    assert not private_data(ROWS, 1e9).exact


# Who holds the records.


def test_the_noise_follows_public_facts_alone():
    """Not how many records there are, nor what is in them."""
    few, many = private_data(ROWS[:1]), private_data(1e6 * ROWS)
    for asked in (ClippedGram(np.ones(D), 2.0), BoundedTotal(Spreads(np.ones(D)), 3.0, 2)):
        assert few.ask(asked, 0.5).noise_sd == many.ask(asked, 0.5).noise_sd


def test_a_count_is_exact_only_where_it_is_public():
    told = untouched(private_data(ROWS[:7], adjacency="replace-one"))
    assert told.ask_count(0.5).n == 7
    assert names(told) == []
    found = private_data(ROWS[:7], seed=3)
    noisy = found.ask_count(0.5)
    assert noisy.n >= 1.0 and noisy.n != 7
    assert [(q.name, q.mu) for q in found.budget.queries] == [("number of records", 0.5)]
    assert min(private_data(ROWS[:1], seed=s).ask_count(0.01).n for s in range(20)) == 1.0
    assert private_data(ROWS, math.inf).ask_count(math.inf).n == 10_000


def test_groups_are_counted_and_not_their_rows():
    data = private_data(ROWS, 1e3, groups=np.arange(10_000) // 10)
    assert data.ask_count(1e3).n == pytest.approx(1000, abs=1)


# The same records, looked at in another way.


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_the_centre_is_what_absent_entries_are_read_as(kind):
    holes = np.where(RNG.random(ROWS.shape) < 0.2, np.nan, ROWS)
    data = private_data(kind(holes), math.inf, may_miss=True)
    for centre in (np.zeros(D), np.full(D, 3.0)):
        moved = data.centred_at(centre)
        found = moved.ask(ClippedSum(moved.centre, 9.0)).value
        full = Records.of(kind(filled(holes, centre)))
        np.testing.assert_allclose(found, ClippedSum(centre, 9.0).total(full), rtol=1e-9)


def test_scaled_features_have_the_same_centre_in_other_units():
    scale = np.arange(1.0, D + 1)
    data = private_data(ROWS, math.inf, centre=np.full(D, 6.0)).scaled(scale)
    np.testing.assert_array_equal(data.centre, 6.0 / scale)
    found = data.ask(ClippedSum(data.centre, math.inf)).value
    np.testing.assert_allclose(found, ((ROWS - 6.0) / scale).sum(axis=0), rtol=1e-9)
    assert data.n_features == D


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_records_within_directions_are_their_scores_about_the_centre(kind):
    directions = np.linalg.qr(RNG.normal(size=(D, 2)))[0].T
    data = private_data(kind(ROWS), math.inf, centre=np.full(D, 6.0)).projected(directions)
    assert data.n_features == 2
    np.testing.assert_array_equal(data.centre, 0.0)
    found = data.ask(ClippedGram(data.centre, math.inf)).value
    scores = (ROWS - 6.0) @ directions.T
    np.testing.assert_allclose(found, scores.T @ scores, rtol=1e-9)


def test_mean_rows_are_single_records_of_their_own():
    groups = np.arange(10_000) // 4
    data = private_data(ROWS, math.inf, groups=groups)
    assert data.public.grouped
    rows = data.mean_rows()
    assert rows.public == replace(data.public, unit="row")
    assert not rows.public.grouped
    assert rows.ask(Count()).value == 2500
    found = rows.ask(ClippedGram(rows.centre, math.inf)).value
    means = ROWS.reshape(2500, 4, D).mean(axis=1)
    np.testing.assert_allclose(found, means.T @ means, rtol=1e-9)


def test_an_order_is_drawn_anew_every_time_and_without_a_look_at_data():
    data = private_data(ROWS[:100]).mean_rows()
    one, other = (data.shuffled().source.private_cycle for _ in range(2))
    assert not np.array_equal(one, other)
    again = private_data(9 * ROWS[100:200]).mean_rows().shuffled()
    np.testing.assert_array_equal(again.source.private_cycle, one)


def test_a_portion_is_of_the_same_records_and_no_more_is_spent():
    data = private_data(ROWS, 2.0)
    portion = data.split(1.2)
    assert portion.remaining == 1.2
    assert data.remaining == pytest.approx(1.6)
    assert portion.source is data.source
    portion.ask(Count(), 0.5)
    with pytest.raises(RuntimeError, match="exceeds what is left"):
        untouched(portion).ask(Count(), 1.2)
    assert names(data) == ["Count"]


def test_no_more_is_kept_for_later_than_leaves_something_for_now():
    data = private_data(ROWS, 2.0)
    data.ask(Count(), 1.8)
    before = data.remaining
    assert data.reserving(0.5).remaining == pytest.approx(before / 2)


@pytest.mark.parametrize("spent", [0.0, 0.5])
@pytest.mark.parametrize("fraction", [0.0, 0.05, 0.5])
def test_a_share_of_the_whole_is_kept_for_later(spent, fraction):
    data = private_data(ROWS, 2.0)
    if spent:
        data.ask(Count(), spent)
    before = data.remaining
    paid = data.reserving(fraction)
    assert paid.remaining**2 == pytest.approx(before**2 - fraction * 4.0)
    assert data.remaining >= data.fraction(fraction) * (1 - 1e-9)
    if fraction:
        paid.ask(Count())
        data.ask(Count(), data.fraction(fraction))  # is there
        assert cost(data) <= 4.0
    kept = private_data(ROWS, math.inf).reserving(fraction)
    assert kept.exact


# Disjoint parts.


@pytest.mark.parametrize("spent", [0.0, 0.6])
def test_every_part_has_all_that_is_left(spent):
    data = private_data(ROWS, 1.0, adjacency="replace-one", n=10_000.0)
    if spent:
        data.ask(Count(), spent)
    left = data.remaining
    parts = data.parts((1, 0, 3))
    assert data.remaining < 1e-7
    assert [part.remaining for part in parts] == [left] * 3
    assert [part.n for part in parts] == [2500.0, 0.0, 7500.0]
    # how many records a part has is private, even where that of all is not
    assert all(part.public == replace(data.public, n_records=None) for part in parts)
    assert [part.ask_count(0.1).n for part in parts] == [2500.0, 0.0, 7500.0]
    for part in parts:
        part.ask(ClippedSum(part.centre, 1.0))
    assert {query.part for query in data.budget.queries[bool(spent) :]} == {
        f"{i} of 3" for i in (1, 2, 3)
    }
    paid = largest_cost((query.part, query.mu**2) for query in data.budget.queries)
    assert 1 - 1e-9 < paid <= 1 + 1e-12


def test_one_part_cannot_spend_for_another():
    first, second = private_data(ROWS).parts((1, 1))
    first.ask(Count())
    assert first.remaining == 0.0
    with pytest.raises(RuntimeError, match="exceeds what is left"):
        untouched(first).ask(Count(), 0.1)
    second.ask(Count(), 1.0)


def test_parts_of_parts_pay_once():
    data = private_data(ROWS)
    for part in data.parts((1, 1)):
        for inner in part.parts((1, 2)):
            inner.ask(Count())
    assert largest_cost((query.part, query.mu**2) for query in data.budget.queries) <= 1.0
    assert len(data.budget.queries) == 4


# Its budget.


@pytest.mark.parametrize(
    ("event", "mu"),
    [
        (GaussianEvent(0.7), 0.7),
        (GaussianEvent(0.7, 1e-7), 0.7),
        (NonPrivateEvent(), math.inf),
        (PureEvent(1.0), 0.0),
        (ApproximateEvent(0.5, 1e-6), 0.0),
    ],
)
def test_gaussian_noise_is_paid_by_gaussian_events_alone(event, mu):
    assert PrivacyFilter.of(event).mu == mu


def test_shares_are_of_the_whole_budget():
    data = private_data(ROWS, 2.0, budget=PrivacyFilter(2.0))
    data.ask(Count(), 1.0)
    assert data.fraction(0.25) == 1.0
    assert data.fraction(0.0) == 0.0
    assert private_data(ROWS, math.inf).fraction(0.0) == 0.0
