"""Every person pays for what read that person's records: counted person by person."""

import json
import math
import pickle
from fractions import Fraction
from itertools import combinations
from random import Random

import pytest

from skdppca.exceptions import BudgetExceeded, LedgerError
from skdppca.privacy import (
    ApproximateEvent,
    ComposedEvent,
    ExternalReceipt,
    GaussianEvent,
    NonPrivateEvent,
    PrivacyAccountant,
    PrivacyLedger,
    PureEvent,
    Receipt,
    SelectionEvent,
    compose,
    epsilon_of_event,
    mu_of,
)
from skdppca.privacy.cohorts import CohortTotals
from skdppca.privacy.composition import Composition
from skdppca.privacy.events import add_event
from skdppca.privacy.versions import Versions

EPSILON, DELTA = 1.0, 1e-6
WHOLE = mu_of(EPSILON, DELTA)
NOTION = {"adjacency": "add-remove", "unit": "row"}
PATIENTS = {"adjacency": "add-remove", "unit": "patient"}
COHORTS = ("a", "b", "c", "d")
MIXED = (
    lambda random: GaussianEvent(WHOLE * random.uniform(0.1, 0.5)),
    lambda random: GaussianEvent(WHOLE * random.uniform(0.1, 0.5), failure=1e-7),
    lambda random: PureEvent(random.choice((0.05, 0.2, 0.3))),
    lambda random: ApproximateEvent(random.choice((0.1, 0.3)), 1e-7),
    lambda random: ComposedEvent((GaussianEvent(WHOLE * 0.2), PureEvent(0.1))),
)
SEARCHES = (MIXED[0], lambda random: SelectionEvent(WHOLE * random.uniform(0.3, 0.5), 3.0))
# Of histories whose prices take seconds.
SEEDS = (0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 10)))


@pytest.fixture(params=["memory", "ledger"])
def make(request, folder):
    """Return a maker of accountants, in memory or in a file."""
    names = iter(range(100))

    def make(epsilon=EPSILON, delta=DELTA, **notion):
        if request.param == "memory":
            return PrivacyAccountant(epsilon, delta, **notion)
        return PrivacyLedger.create(f"{folder}/{next(names)}.ledger", epsilon, delta, **notion)

    return make


def gaussian(random):
    # quarters of mu^2, too, so that a budget is met exactly
    return GaussianEvent(random.choice((WHOLE / 2, WHOLE / 4, WHOLE * random.uniform(0.05, 0.7))))


def scope(random, joint):
    """Whom a charge is on: all, a cohort, or several."""
    kind = random.random()
    if kind < 0.2:
        return None
    if kind < 0.7 or not joint:
        return random.choice(COHORTS)
    return random.sample(COHORTS, random.choice((2, 3)))


def people(most):
    """Who there may be: in cohorts that are charged, in some to come, or in none."""
    return [
        frozenset(own)
        for size in range(most + 1)
        for own in combinations((*COHORTS, "to come"), size)
    ]


def read(whom, person):
    """Whether a charge read the records of a person."""
    return whom is None or bool({*([whom] if isinstance(whom, str) else whom)} & person)


def paid(history, person):
    """All that a person has paid, charge by charge."""
    total = Composition()
    for event, whom in history:
        if read(whom, person):
            total = add_event(total, event)
    return total


def charged(accountant, event, whom, external):
    """Charge an event; return whether it was granted."""
    try:
        if external:
            accountant.charge_external("x", mu=event.mu, adjacency="add-remove", cohort=whom)
        else:
            unit = accountant.unit
            accountant.charge(event, adjacency="add-remove", unit=unit, cohort=whom)
    except BudgetExceeded:
        return False
    return True


def may_be_granted(history, most):
    """Whether the total of everyone fits."""
    return all(paid(history, person).fits(EPSILON, DELTA) for person in people(most))


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_no_gaussian_charge_is_granted_wrongly_or_refused_needlessly(seed, joint, most):
    """With several cohorts a person and joint charges, the accountant's sum is an upper bound."""
    random, history, refused = Random(seed), [], 0
    accountant = PrivacyAccountant(EPSILON, DELTA, unit="patient", max_cohorts_per_person=most)
    squares = dict.fromkeys((*COHORTS, "to come"), Fraction(0))
    everyone = Fraction(0)
    for _ in range(30):
        event, whom, external = gaussian(random), scope(random, joint), random.random() < 0.3
        own, all_of_them = dict(squares), everyone
        square = Fraction(event.mu) ** 2
        if whom is None:
            all_of_them += square
        for name in () if whom is None else [whom] if isinstance(whom, str) else whom:
            own[name] += square
        largest = all_of_them + sum(sorted(own.values())[-most:])
        granted = charged(accountant, event, whom, external)
        assert granted == (largest <= Fraction(WHOLE) ** 2)
        if granted:
            history.append((event, whom))
            squares, everyone = own, all_of_them
            assert may_be_granted(history, most)
        else:
            refused += 1
            if most == 1 or not joint:
                assert not may_be_granted([*history, (event, whom)], most)
    assert history and refused


@pytest.mark.parametrize("kinds", [MIXED, SEARCHES], ids=["mixed", "searches"])
@pytest.mark.parametrize("seed", SEEDS)
def test_no_other_charge_is_granted_wrongly_or_refused_needlessly(seed, kinds):
    random, history, refused = Random(seed), [], 0
    accountant = PrivacyAccountant(EPSILON, DELTA)
    for _ in range(12):
        event, whom = random.choice(kinds)(random), scope(random, joint=True)
        granted = charged(accountant, event, whom, False)
        assert granted == may_be_granted([*history, (event, whom)], 1)
        refused += not granted
        history += [(event, whom)] * granted
        totals = {name: paid(history, {name}) for name in COHORTS}
        for name, total in totals.items():
            assert accountant.spent_by(name).epsilon == total.epsilon(DELTA)
        if history:
            spent = max(total.epsilon(DELTA) for total in totals.values())
            assert accountant.spent.epsilon == spent
    assert history and refused


@pytest.mark.parametrize("seed", SEEDS)
def test_somebody_in_several_cohorts_has_gaussian_charges_and_any_on_all(seed):
    random, history, refused = Random(seed), [], 0
    accountant = PrivacyAccountant(EPSILON, DELTA, unit="patient", max_cohorts_per_person=2)
    for _ in range(14):
        whom = scope(random, joint=False)
        event = random.choice(MIXED)(random) if whom is None else gaussian(random)
        granted = charged(accountant, event, whom, False)
        assert granted == may_be_granted([*history, (event, whom)], 2)
        refused += not granted
        history += [(event, whom)] * granted
    assert history and refused


@pytest.mark.parametrize(
    "event", [PureEvent(0.1), ApproximateEvent(0, 1e-9), SEARCHES[1](Random())]
)
def test_what_somebody_in_several_cohorts_would_pay_is_bounded_or_refused(make, event):
    accountant = make(unit="patient", max_cohorts_per_person=2)
    for whom in ("a", ["a", "b"]):
        with pytest.raises(ValueError, match="max_cohorts_per_person=2, and this charge on a coh"):
            accountant.charge(event, **PATIENTS, cohort=whom)
    assert accountant.receipts == () and accountant.cohorts == ()
    accountant.charge(event, **PATIENTS)


def test_failures_of_several_cohorts_add_up(make):
    accountant = make(delta=2.5e-7, unit="patient", max_cohorts_per_person=2)
    for name in "ab":
        accountant.charge(GaussianEvent(0.01, failure=1e-7), **PATIENTS, cohort=name)
    with pytest.raises(BudgetExceeded):
        accountant.charge(GaussianEvent(0.01, failure=1e-7), **PATIENTS)
    accountant.charge(GaussianEvent(0.01, failure=1e-7), **PATIENTS, cohort="c")


def test_the_largest_cohort_composed_with_the_rest_is_no_bound():
    """One cohort has paid most, and after a charge on all it is the other one."""
    accountant = PrivacyAccountant(100.0, DELTA)
    own = {"first": GaussianEvent(WHOLE), "second": PureEvent(0.9)}
    for name, event in own.items():
        accountant.charge(event, **NOTION, cohort=name)
    assert accountant.spent == accountant.spent_by("first") > accountant.spent_by("second")
    accountant.charge(GaussianEvent(1.0), **NOTION)
    largest = epsilon_of_event(compose([own["first"], GaussianEvent(1.0)]), DELTA)
    assert accountant.spent_by("first").epsilon == pytest.approx(largest, rel=1e-9)
    assert accountant.spent == accountant.spent_by("second")
    assert accountant.spent.epsilon > 1.05 * largest


@pytest.mark.parametrize("most", [1, 2])
def test_what_remains_is_granted_and_nothing_more(make, most):
    budget = {"unit": "patient", "max_cohorts_per_person": most}

    def grown():
        accountant = make(**budget)
        accountant.charge(GaussianEvent(0.3 * WHOLE), **PATIENTS)
        accountant.charge(GaussianEvent(0.5 * WHOLE), **PATIENTS, cohort="a")
        accountant.charge(GaussianEvent(0.4 * WHOLE), **PATIENTS, cohort="b")
        return accountant

    for name in (None, "a", "b", "to come"):
        accountant = grown()
        left = (accountant.remaining if name is None else accountant.remaining_for(name)).epsilon
        with pytest.raises(BudgetExceeded):
            more = GaussianEvent(mu_of(left * (1 + 1e-12), DELTA))
            accountant.charge(more, **PATIENTS, cohort=name)
        accountant.charge(GaussianEvent(mu_of(left, DELTA)), **PATIENTS, cohort=name)
        assert accountant.spent.epsilon <= EPSILON
    assert grown().remaining.epsilon == grown().remaining_for("a").epsilon


def test_a_charge_on_all_falls_on_cohorts_to_come(make):
    accountant = make()
    accountant.charge(GaussianEvent(WHOLE), **NOTION)
    with pytest.raises(BudgetExceeded):
        accountant.charge(GaussianEvent(1e-9), **NOTION, cohort="2027-Q1")
    assert accountant.remaining_for("2027-Q1") == (0.0, DELTA)
    assert accountant.spent_by("2027-Q1") == accountant.spent


def test_cohorts_do_not_pay_for_each_other(make):
    accountant = make()
    for name in COHORTS:
        accountant.charge(GaussianEvent(WHOLE), **NOTION, cohort=name)
    assert accountant.cohorts == COHORTS
    assert accountant.spent.epsilon <= EPSILON
    assert accountant.remaining == (0.0, DELTA)
    assert accountant.remaining_for("e") == (EPSILON, DELTA)


def test_a_refused_charge_leaves_no_cohort_behind(make):
    accountant = make()
    with pytest.raises(BudgetExceeded):
        accountant.charge(GaussianEvent(2 * WHOLE), **NOTION, cohort=["a", "b"])
    assert accountant.cohorts == () and accountant.remaining_for("a") == (EPSILON, DELTA)


def test_a_refusal_names_the_cohort_that_has_least_left(make):
    accountant = make()
    accountant.charge(GaussianEvent(WHOLE / 2), **NOTION, cohort="a")
    accountant.charge(GaussianEvent(0.9 * WHOLE), **NOTION, cohort="b")
    for whom in (None, ["a", "b"], "b"):
        with pytest.raises(BudgetExceeded, match="spent before by cohort 'b', which has least"):
            accountant.charge(GaussianEvent(WHOLE / 2), **NOTION, cohort=whom)
    with pytest.raises(BudgetExceeded) as error:
        accountant.charge(GaussianEvent(WHOLE), **NOTION, cohort=["a", "c"])
    said = str(error.value)
    assert "by cohort 'a'" in said and ", on 'a', 'c')" in said
    epsilon = float(said.partition("at most epsilon=")[2].split()[0])
    accountant.charge(GaussianEvent(mu_of(epsilon, DELTA)), **NOTION, cohort=["a", "c"])


def test_running_totals_are_those_of_who_has_paid_most(make):
    accountant, spent = make(), []
    for i, whom in enumerate(["a", None, "b", ["b", "c"], "a"]):
        accountant.charge(GaussianEvent((0.2 + 0.05 * i) * WHOLE), **NOTION, cohort=whom)
        spent.append(accountant.spent.epsilon)
    statement = accountant.statement()
    assert [entry.total for entry in statement.entries] == spent
    assert statement.cohorts == accountant.cohorts == ("a", "b", "c")


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        ("", ValueError),
        (" ", ValueError),
        ("a ", ValueError),
        ("a\nb", ValueError),
        ("a\u202eb", ValueError),
        ("a\ud83d", ValueError),
        ("a\0", ValueError),
        ("a" * 101, ValueError),
        ([], ValueError),
        (["a", "a"], ValueError),
        (["a", "A"], ValueError),
        (["a", ""], ValueError),
        (1, TypeError),
        (b"a", TypeError),
        ({"a"}, TypeError),
        ({"a": 1}, TypeError),
        (["a", None], TypeError),
        ([["a"]], TypeError),
    ],
)
def test_names_that_nobody_could_read_are_refused_before_the_charge(make, bad, error):
    accountant = make()
    with pytest.raises(error, match="cohort"):
        accountant.charge(GaussianEvent(0.1), **NOTION, cohort=bad)
    with pytest.raises(error, match="cohort"):
        accountant.charge_external("x", mu=0.1, adjacency="add-remove", cohort=bad)
    assert accountant.receipts == ()


LOOKALIKES = {
    "case": "2026-q1",
    "full width": "\uff12026-Q1",
    "hyphen": "2026\u2010Q1",
    "no-break hyphen": "2026\u2011Q1",
    "en dash": "2026\u2013Q1",
    "minus": "2026\u2212Q1",
    "Arabic digits": "\u0662\u0660\u0662\u0666-Q1",
    "a mark": "2026-Q\u03381",
}


@pytest.mark.parametrize("other", LOOKALIKES.values(), ids=LOOKALIKES)
def test_a_name_that_looks_like_another_has_no_budget_of_its_own(make, other):
    accountant = make()
    with pytest.raises(ValueError, match="reads like"):
        accountant.charge(GaussianEvent(0.1), **NOTION, cohort=["2026-Q1", other])
    accountant.charge(GaussianEvent(WHOLE), **NOTION, cohort="2026-Q1")
    with pytest.raises(ValueError, match="reads like '2026-Q1'"):
        accountant.charge(GaussianEvent(WHOLE), **NOTION, cohort=other)
    assert accountant.cohorts == ("2026-Q1",)


def test_names_of_other_letters_are_names_of_their_own(make):
    accountant = make()
    for name in ("Zoe", "Zo\u00eb", "2026-Q1", "2026-Q2", "2026 Q1", "20-26"):
        accountant.charge(GaussianEvent(WHOLE), **NOTION, cohort=name)
    assert len(accountant.cohorts) == 6


@pytest.mark.parametrize("most", [0, -1, 1.5, True, "2", None])
def test_how_many_cohorts_a_person_may_be_in_is_a_number(make, most):
    with pytest.raises(ValueError, match="max_cohorts_per_person="):
        make(unit="patient", max_cohorts_per_person=most)


@pytest.mark.parametrize("unit", ["row", "interaction"])
def test_somebody_in_several_cohorts_has_several_rows(make, unit):
    with pytest.raises(ValueError, match="somebody in several cohorts has several rows"):
        make(unit=unit, max_cohorts_per_person=2)


def test_a_receipt_has_its_cohorts_and_survives_its_dict(make):
    accountant = make()
    receipts = [
        accountant.charge(GaussianEvent(0.01), **NOTION, cohort="a"),
        accountant.charge(GaussianEvent(0.01), **NOTION, cohort=("b", "a")),
        accountant.charge(GaussianEvent(0.01), **NOTION),
        accountant.charge_external("x", mu=0.01, adjacency="add-remove", cohort=["c"]),
    ]
    assert [receipt.cohorts for receipt in receipts] == [("a",), ("b", "a"), (), ("c",)]
    for receipt in receipts:
        again = type(receipt).from_dict(json.loads(json.dumps(receipt.to_dict())))
        assert again == receipt and again.body == receipt.body
        assert ("cohorts" in receipt.to_dict()) == bool(receipt.cohorts)
    kinds = ["charge-on-cohorts", "charge-on-cohorts", "charge", "external-on-cohorts"]
    assert [receipt.to_dict()["kind"] for receipt in receipts] == kinds
    assert isinstance(receipts[-1], ExternalReceipt)
    accountant.verify(*receipts, *[receipt.to_dict() for receipt in receipts])


@pytest.mark.parametrize(
    "change",
    [
        {"cohorts": ["b"]},
        {"cohorts": ["a", "b"]},
        {"cohorts": []},
        {"cohorts": "a"},
        {"cohorts": None},
        {"cohorts": [1]},
        {"kind": "charge"},
        {"kind": "external-on-cohorts"},
        {"kind": "release-on-cohorts"},
    ],
)
def test_verify_refuses_a_receipt_with_other_cohorts(make, change):
    accountant = make()
    record = accountant.charge(GaussianEvent(0.01), **NOTION, cohort="a").to_dict()
    accountant.verify(record)
    with pytest.raises(LedgerError):
        accountant.verify(record | change)


def test_a_receipt_of_all_has_no_cohorts_in_its_dict(make):
    record = make().charge(GaussianEvent(0.01), **NOTION).to_dict()
    for bad in ([], ["a"]):
        with pytest.raises(ValueError, match="has no cohorts"):
            Receipt.from_dict(record | {"cohorts": bad})


# The export to dp-accounting.


def test_the_event_of_gaussian_charges_is_that_of_who_has_paid_most(make):
    accountant = make(epsilon=5.0)
    accountant.charge(GaussianEvent(0.3), **NOTION)
    for name, mu in (("a", 0.4), ("b", 0.2)):
        accountant.charge(GaussianEvent(mu), **NOTION, cohort=name)
    assert accountant.to_dp_event().noise_multiplier == pytest.approx(1 / 0.5)
    assert accountant.to_dp_event(cohort="a") == accountant.to_dp_event()
    assert accountant.to_dp_event(cohort="b").noise_multiplier == pytest.approx(1 / 0.13**0.5)
    assert accountant.to_dp_event(cohort="c").noise_multiplier == pytest.approx(1 / 0.3)


def test_the_event_of_unlike_cohorts_holds_what_each_of_them_has_paid(make):
    accountant = make(epsilon=5.0)
    for event, whom in (
        (PureEvent(0.1), None),
        (PureEvent(0.2), "a"),
        (PureEvent(0.2), "a"),
        (PureEvent(0.2), "b"),
        (GaussianEvent(0.3), "b"),
    ):
        accountant.charge(event, **NOTION, cohort=whom)
    parts = [PureEvent(0.1), PureEvent(0.2), PureEvent(0.2), GaussianEvent(0.3)]
    together = PrivacyAccountant(5.0, DELTA)
    for event in parts:
        together.charge(event, **NOTION)
    assert accountant.to_dp_event() == together.to_dp_event()


def test_one_cohort_that_paid_all_that_others_did_is_the_event(make):
    accountant = make(epsilon=5.0)
    for event, whom in ((PureEvent(0.2), "a"), (PureEvent(0.2), "b"), (GaussianEvent(0.3), "b")):
        accountant.charge(event, **NOTION, cohort=whom)
    assert accountant.to_dp_event() == accountant.to_dp_event(cohort="b")
    assert list(accountant.statement().chain.total.people()) == ["b"]


def test_a_seeded_charge_breaks_its_own_cohort(make):
    accountant = make()
    accountant.charge(GaussianEvent(0.1), seeded=True, **NOTION, cohort="a")
    accountant.charge(GaussianEvent(0.1), **NOTION, cohort="b")
    statement = accountant.statement()
    assert statement.event() == statement.event("a") == NonPrivateEvent()
    assert statement.event("b") == GaussianEvent(0.1)


def test_a_ledger_of_cohorts_is_opened_with_them(folder):
    options = {"unit": "patient", "max_cohorts_per_person": 3}
    ledger = PrivacyLedger.create(f"{folder}/l", 1.0, 1e-6, **options)
    ledger.charge(GaussianEvent(1e-4), adjacency="add-remove", unit="patient", cohort="a")
    opened = PrivacyLedger(ledger.path)
    assert opened.cohorts == ("a",) and opened.receipts == ledger.receipts
    assert opened.max_cohorts_per_person == 3
    assert "max_cohorts_per_person=3" in repr(opened)
    assert "each in at most 3 cohorts" in str(opened.statement().chain.terms)
    assert pickle.loads(pickle.dumps(opened)).max_cohorts_per_person == 3


# The mapping of cohorts.


@pytest.mark.parametrize("seed", range(5))
def test_versions_of_a_mapping_stay_as_they_were(seed):
    random, versions = Random(seed), [(Versions(), {})]
    for step in range(200):
        mapping, expected = random.choice(versions[-3:] if random.random() < 0.8 else versions)
        key = random.choice("abcdefgh")
        versions.append((mapping.changed(key, step), expected | {key: step}))
    for mapping, expected in versions:
        assert dict(mapping) == expected and list(mapping) == list(expected)
        assert len(mapping) == len(expected) and "z" not in mapping


def test_a_charge_on_a_cohort_copies_no_other_one():
    total = CohortTotals()
    for i in range(300):
        total = total.charged(GaussianEvent(0.01), (f"cohort {i}",))
    changes, places = total.own._changes._items, total.own._places
    for i in range(300):
        total = total.charged(GaussianEvent(0.01), (f"cohort {i}",))
    assert total.own._changes._items is changes and total.own._places is places
    assert math.isclose(total.of("cohort 7").mu, 0.01 * 2**0.5)
