import copy
import math
import pickle
import re
import threading

import pytest
from sklearn.base import BaseEstimator, clone

from skdppca.exceptions import BudgetExceeded, UnknownEventError
from skdppca.privacy import (
    ApproximateEvent,
    ComposedEvent,
    GaussianEvent,
    NonPrivateEvent,
    PrivacyAccountant,
    PureEvent,
    SelectionEvent,
    composition,
    mu_of,
)

BUDGET = {"epsilon": 1.0, "delta": 1e-6}
NOTION = {"adjacency": "add-remove", "unit": "row"}
WHOLE = GaussianEvent(mu_of(**BUDGET))
SMALL = GaussianEvent(0.01)


def test_a_fresh_budget_is_whole(make):
    accountant = make()
    assert accountant.spent == (0.0, 0.0)
    assert accountant.remaining == (1.0, 1e-6)
    assert accountant.receipts == ()
    assert (accountant.epsilon, accountant.delta) == (1.0, 1e-6)
    assert (accountant.adjacency, accountant.unit) == ("add-remove", "row")


def test_a_budget_grants_its_own_mu_once(make):
    accountant = make()
    with pytest.raises(BudgetExceeded):
        accountant.charge(GaussianEvent(math.nextafter(WHOLE.mu, 1)), **NOTION)
    assert accountant.spent == (0.0, 0.0)
    accountant.charge(WHOLE, **NOTION)
    with pytest.raises(BudgetExceeded):
        accountant.charge(WHOLE, **NOTION)
    assert len(accountant.receipts) == 1
    assert accountant.spent.epsilon <= 1.0
    assert accountant.remaining == (0.0, 1e-6)


def test_a_failure_is_spent_from_delta(make):
    accountant = make()
    event = GaussianEvent(mu_of(1.0, 1e-6, failure=1e-7), failure=1e-7)
    accountant.charge(event, **NOTION)
    with pytest.raises(BudgetExceeded):
        accountant.charge(GaussianEvent(0.0, failure=1e-9), **NOTION)


def test_a_pure_budget_grants_pure_events_only(make):
    accountant = make(1.0, 0.0)
    for event in (SMALL, ApproximateEvent(0.1, 1e-12), GaussianEvent(0.0, 1e-12)):
        with pytest.raises(BudgetExceeded):
            accountant.charge(event, **NOTION)
    accountant.charge(PureEvent(0.75), **NOTION)
    assert accountant.spent == (0.75, 0.0)
    assert accountant.remaining == (0.25, 0.0)
    accountant.charge(PureEvent(0.25), **NOTION)
    assert accountant.remaining == (0.0, 0.0)


def test_mixtures_are_charged_and_what_remains_of_them_is_granted(make):
    accountant = make()
    accountant.charge(ComposedEvent((PureEvent(0.1), SMALL)), **NOTION)
    accountant.charge(ApproximateEvent(0.1, 1e-7), **NOTION)
    left = accountant.remaining.epsilon
    assert 0.7 < left < 0.9
    accountant.charge(GaussianEvent(mu_of(left, 1e-6)), **NOTION)
    assert accountant.spent.epsilon <= 1.0


def test_what_remains_of_a_mixture_takes_a_bounded_number_of_prices(make, monkeypatch):
    # A search without an explicit bracket has taken dp-accounting's calibration 48 seconds.
    accountant = make()
    for event in (PureEvent(0.3), PureEvent(0.3), SMALL):
        accountant.charge(event, **NOTION)
    prices = []
    monkeypatch.setattr(composition, "pld_epsilon", lambda *args: prices.append(args) or math.inf)
    assert accountant.remaining.epsilon >= 0
    assert len(prices) <= 14


@pytest.mark.parametrize("event", [NonPrivateEvent(), ComposedEvent((SMALL, NonPrivateEvent()))])
def test_what_is_not_private_is_refused(make, event):
    accountant = make(1e6, 0.5)
    with pytest.raises(ValueError, match="choose a finite epsilon, or accountant=None"):
        accountant.charge(event, **NOTION)
    assert accountant.receipts == ()


@pytest.mark.parametrize("event", [None, 0.1, {"type": "gaussian", "mu": 0.1, "failure": 0.0}])
def test_what_is_no_event_is_refused(make, event):
    accountant = make()
    with pytest.raises(UnknownEventError):
        accountant.charge(event, **NOTION)
    assert accountant.receipts == ()


@pytest.mark.parametrize(
    ("other", "remedy"),
    [
        ({"adjacency": "replace-one"}, "Fit with adjacency='add-remove'."),
        ({"adjacency": None}, "Fit with adjacency='add-remove'."),
        ({"unit": "patient"}, "PrivacyLedger.create(path, ..., unit='patient')"),
    ],
)
def test_a_charge_about_other_neighbours_is_refused(make, other, remedy):
    accountant = make()
    asked = NOTION | other
    with pytest.raises(ValueError) as refusal:
        accountant.charge(SMALL, **asked)
    for name, value in (*NOTION.items(), *asked.items()):
        assert f"{name}={value!r}" in str(refusal.value)
    assert remedy in str(refusal.value)
    assert accountant.receipts == ()


@pytest.mark.parametrize(
    ("unit", "remedy"),
    [
        ("row", "Pass unit='patient' and the groups to this step, too."),
        ("visit", "If each visit is one patient, pass unit='patient'."),
    ],
)
def test_a_charge_for_another_unit_than_the_accountants_is_told_its_unit(unit, remedy):
    accountant = PrivacyAccountant(epsilon=1.0, delta=1e-6, unit="patient")
    with pytest.raises(ValueError) as refusal:
        accountant.charge(SMALL, adjacency="add-remove", unit=unit)
    assert remedy in str(refusal.value)


@pytest.mark.parametrize("text", [None, 1, b"fit"])
def test_a_label_that_is_no_text_is_refused_before_anything_is_charged(make, text):
    accountant = make()
    with pytest.raises(TypeError, match="label="):
        accountant.charge(SMALL, label=text, **NOTION)
    assert accountant.receipts == ()


BAD_TERMS = [
    *(("epsilon", epsilon) for epsilon in (0.0, -1.0, math.inf, math.nan, True, "1", None)),
    *(("delta", delta) for delta in (-1e-9, 1.0, 1.5, math.nan, True, "1", None)),
    *(("adjacency", adjacency) for adjacency in ("add", None)),
    *(("unit", unit) for unit in ("", 3)),
]


@pytest.mark.parametrize(("name", "bad"), BAD_TERMS)
def test_terms_that_promise_nothing_are_refused(make, name, bad):
    number = name in BUDGET and (bad in ("1", None) or bad is True)
    with pytest.raises(TypeError if number else ValueError, match=name):
        make(**{name: bad})


def test_a_budget_cannot_be_changed(make):
    accountant = make()
    for name in ("epsilon", "delta", "adjacency", "unit", "receipts", "spent", "remaining"):
        with pytest.raises(AttributeError):
            setattr(accountant, name, 100.0)


@pytest.mark.parametrize("make", ["memory", "ledger"], indirect=True)
def test_over_budget_says_what_happened(make):
    accountant = make()
    accountant.charge(GaussianEvent(mu_of(0.5, 1e-6)), **NOTION)
    with pytest.raises(BudgetExceeded) as refusal:
        accountant.charge(GaussianEvent(mu_of(0.9, 1e-6)), **NOTION)
    first, spent, request, budget, remedy = str(refusal.value).splitlines()
    assert "refused" in first and 'error_score="raise"' in first
    assert spent == "spent before: epsilon=0.5 at delta=1e-06 in 1 charge"
    assert request == "this request: epsilon=0.9 at delta=1e-06 (mu 0.215)"
    assert budget == "budget: epsilon=1, delta=1e-06"
    assert remedy == (
        "remedy: ask for at most epsilon=0.8411 at delta=1e-06, or agree on a larger budget"
    )


@pytest.mark.parametrize("spent", [0.25, 0.5, 0.9999])
def test_the_epsilon_that_a_refusal_names_is_granted(make, spent):
    accountant = make()
    accountant.charge(GaussianEvent(mu_of(spent, 1e-6)), **NOTION)
    with pytest.raises(BudgetExceeded) as refusal:
        accountant.charge(WHOLE, **NOTION)
    (epsilon,) = re.findall(r"remedy: .* epsilon=(\S+) at", str(refusal.value))
    assert len(epsilon.lstrip("0.")) <= 4
    accountant.charge(GaussianEvent(mu_of(float(epsilon), 1e-6)), **NOTION)


def test_what_adds_up_otherwise_is_not_told_that_a_single_fit_would_fit(make):
    accountant = make()
    accountant.charge(GaussianEvent(0.2), **NOTION)
    with pytest.raises(BudgetExceeded, match=r"ask for less, for a single fit may have no more"):
        accountant.charge(SelectionEvent(1.0, 10.0), **NOTION)


def test_a_remedy_is_rounded_down_to_the_last_bit(make):
    accountant = make(1.0, 0.0)
    accountant.charge(PureEvent(math.nextafter(0.5, 1)), **NOTION)
    with pytest.raises(BudgetExceeded, match=r"at most epsilon=0\.4999 at delta=0\.0,"):
        accountant.charge(PureEvent(0.5), **NOTION)


@pytest.mark.parametrize("make", ["memory", "ledger"], indirect=True)
@pytest.mark.parametrize(
    ("event", "said"),
    [
        (PureEvent(9.0), "epsilon 9"),
        (ApproximateEvent(9.0, 1e-7), "epsilon 9, delta 1e-07"),
        (GaussianEvent(9.0, 1e-7), "mu 9, failure 1e-07"),
        (ComposedEvent((WHOLE, PureEvent(0.5))), "2 releases together"),
    ],
)
def test_a_refusal_says_in_short_what_was_asked(make, event, said):
    with pytest.raises(BudgetExceeded, match=rf"this request: .* \({said}\)\n"):
        make().charge(event, **NOTION)


def test_over_budget_is_a_runtime_error_that_pickles_with_its_message(make):
    accountant = make()
    with pytest.raises(RuntimeError) as refusal:
        accountant.charge(GaussianEvent(9.0), **NOTION)
    copied = pickle.loads(pickle.dumps(refusal.value))
    assert type(copied) is BudgetExceeded
    assert str(copied) == str(refusal.value)


def test_copies_and_clones_are_the_accountant_itself(make):
    class Estimator(BaseEstimator):
        def __init__(self, accountant=None):
            self.accountant = accountant

    accountant = make()
    assert copy.copy(accountant) is accountant
    assert copy.deepcopy([accountant])[0] is accountant
    assert clone(Estimator(accountant)).accountant is accountant
    assert clone(clone(Estimator(accountant))).accountant is accountant


def test_threads_share_one_budget(make):
    accountant = make()
    # Room for 40 and a half.
    share = GaussianEvent(WHOLE.mu / math.sqrt(40.5))
    granted = []

    def work():
        for _ in range(15):
            try:
                granted.append(accountant.charge(share, **NOTION).row)
            except BudgetExceeded:
                pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(granted) == list(range(1, 41))
