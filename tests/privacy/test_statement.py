"""An account at one moment, and how notebooks show it."""

import os
import pickle

import pytest

from skdppca.privacy import (
    ApproximateEvent,
    GaussianEvent,
    PrivacyAccountant,
    PureEvent,
    SelectionEvent,
    Statement,
    statement,
)
from skdppca.privacy.chain import Chain, Terms

NOTION = {"adjacency": "add-remove", "unit": "row"}
MANY_KINDS = [
    *(GaussianEvent(0.1), GaussianEvent(0.05, 1e-8), PureEvent(0.1), ApproximateEvent(0.1, 1e-8)),
    GaussianEvent(0.1),
]


@pytest.mark.parametrize("events", [MANY_KINDS, [SelectionEvent(0.01, 5.0), PureEvent(0.1)]])
def test_a_running_total_is_what_was_spent_then(make, events):
    accountant, spent = make(), []
    for event in events:
        accountant.charge(event, **NOTION)
        spent.append(accountant.spent.epsilon)
    assert [entry.total for entry in accountant.statement().entries] == spent


def test_an_entry_has_its_release(make):
    accountant = make()
    first, second = (accountant.charge(GaussianEvent(0.1), **NOTION) for _ in range(2))
    row = accountant.record(second, "0" * 64)
    external = accountant.charge_external("counts", mu=0.1, adjacency="add-remove")
    entries = accountant.statement().entries
    assert [entry.receipt for entry in entries] == [first, second, external]
    assert [entry.release for entry in entries] == [None, row, None]
    assert [entry.external for entry in entries] == [False, False, True]


def test_a_statement_does_not_change(make):
    accountant = make()
    accountant.charge(GaussianEvent(0.1), **NOTION)
    before = accountant.statement()
    accountant.charge(GaussianEvent(0.1), **NOTION)
    assert len(before.entries) == 1
    assert before.spent.epsilon == before.entries[-1].total < accountant.spent.epsilon
    assert before.remaining.epsilon > accountant.remaining.epsilon


def test_of_many_slow_totals_some_are_left_out_but_never_the_last(make, monkeypatch):
    monkeypatch.setattr(statement, "MOST_PRICED", 3)
    accountant = make()
    accountant.charge(GaussianEvent(0.01), **NOTION)
    for _ in range(8):
        accountant.charge(PureEvent(0.01), **NOTION)
    totals = [entry.total for entry in accountant.statement().entries]
    known = [i for i, total in enumerate(totals) if total is not None]
    assert known == [0, 1, 4, 8]
    assert totals[-1] == accountant.spent.epsilon


def test_html_has_the_budget_what_was_spent_and_what_is_left(make):
    accountant = make()
    accountant.charge(GaussianEvent(0.1), **NOTION)
    accountant.charge_external("counts", mu=0.1, adjacency="add-remove")
    shown = accountant._repr_html_()
    assert "epsilon 1, delta 1e-06 for every row, under add-remove" in shown
    assert f"epsilon {accountant.spent.epsilon:.6g} at delta 1e-06" in shown
    assert f"epsilon {accountant.remaining.epsilon:.6g} at delta 1e-06" in shown
    assert "2 charges, 1 of them external, 1 without a recorded release" in shown


def test_html_obeys_no_text(make, monkeypatch):
    for module in ("accountant", "ledger"):  # as older ledgers were made
        monkeypatch.setattr(f"skdppca.privacy.{module}.check_unit", lambda unit: None)
    shown = make(unit="<script>\x1b[2J&")._repr_html_()
    assert "<script>" not in shown and "\x1b" not in shown and "&lt;script&gt;" in shown


def test_html_of_a_sealed_accountant_says_so(make, in_child):
    accountant = make()
    token = pickle.dumps(accountant)
    shown = in_child(lambda: pickle.loads(token)._repr_html_())()
    sealed = isinstance(accountant, PrivacyAccountant)
    assert ("made in another process" in shown) == sealed
    assert ("remaining" in shown) == (not sealed)


def test_html_of_a_ledger_out_of_reach_says_so(ledger):
    os.unlink(ledger.path)
    assert "there is no such file" in ledger._repr_html_()


def test_repr_prices_nothing(make, monkeypatch):
    accountant = make()
    accountant.charge(GaussianEvent(0.1), **NOTION)
    account = accountant.statement()
    monkeypatch.delattr("skdppca.privacy.composition.Composition.epsilon")
    assert repr(account).startswith("<Statement: 1 charge, 1 without a recorded release; budget:")


def test_totals_of_a_long_ledger_are_those_of_the_newest_and_of_some_older_charges(monkeypatch):
    monkeypatch.setattr(statement, "MOST_QUICK", 3)
    chain = Chain(Terms("0" * 32, 10.0, 1e-6, "add-remove", "row"))
    for _ in range(12):
        chain = chain.charged(GaussianEvent(0.1), "", False)
    told = Statement(chain)
    totals = [entry.total for entry in told.entries]
    assert [i for i, total in enumerate(totals) if total is not None] == [0, 4, 8, 9, 10, 11]
    assert totals[-1] == told.spent.epsilon
