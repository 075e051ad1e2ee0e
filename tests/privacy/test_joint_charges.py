"""A joint charge is on the accounts of all people it reads, or on none of them."""

import os
import pickle
import shutil
from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
import pytest

from skdppca import GDPPCA, DPGauss
from skdppca.exceptions import BudgetExceeded, LedgerError, SealedAccountantError
from skdppca.maps import projection_map
from skdppca.model_selection import PrivateSearchCV
from skdppca.neighbors import PrivateNearestCentroid
from skdppca.privacy import (
    ApproximateEvent,
    ComposedEvent,
    GaussianEvent,
    PrivacyAccountant,
    PrivacyLedger,
    PureEvent,
    SelectionEvent,
    epsilon_of_event,
    ledger,
    mu_of,
)
from skdppca.privacy.accountant import charge_all
from skdppca.privacy.composition import Composition
from skdppca.privacy.events import add_event

from .conftest import kill_at_random

EPSILON, DELTA = 1.0, 1e-6
WHOLE = mu_of(EPSILON, DELTA)
NOTION = {"adjacency": "add-remove", "unit": "row"}
SMALL = GaussianEvent(WHOLE / 8)
DIGEST = "0" * 64
EVENTS = {
    # quarters of mu^2, too, so that a budget is met exactly
    "gaussian": (
        lambda random: GaussianEvent(
            random.choice((WHOLE / 2, WHOLE / 4, WHOLE * random.uniform(0.05, 0.7)))
        ),
    ),
    "mixed": (
        lambda random: GaussianEvent(WHOLE * random.uniform(0.1, 0.5), failure=1e-7),
        lambda random: PureEvent(random.choice((0.05, 0.2, 0.3))),
        lambda random: ApproximateEvent(random.choice((0.1, 0.3)), 1e-7),
        lambda random: ComposedEvent((GaussianEvent(WHOLE * 0.2), PureEvent(0.1))),
    ),
    "searches": (
        lambda random: GaussianEvent(WHOLE * random.uniform(0.1, 0.5)),
        lambda random: SelectionEvent(WHOLE * random.uniform(0.3, 0.5), 3.0),
    ),
}


@pytest.fixture
def accounts(make):
    return [make(EPSILON, DELTA) for _ in range(3)]


def counts(accounts):
    return [len(one.receipts) for one in accounts]


def total(history, account):
    """All that the people of an account have paid, charge by charge."""
    paid = Composition()
    for event, whom in history:
        if account in whom:
            paid = add_event(paid, event)
    return paid


@pytest.mark.parametrize(
    ("kind", "seed"),
    [
        *(("gaussian", seed) for seed in range(8)),
        *(pytest.param("mixed", seed, marks=[pytest.mark.slow] * (seed > 0)) for seed in range(6)),
        *(pytest.param("searches", seed, marks=pytest.mark.slow) for seed in range(4)),
    ],
)
def test_nobody_pays_less_than_was_read_and_none_is_refused_in_need(accounts, kind, seed):
    random, history = Random(seed), []
    for _ in range(12 if kind == "gaussian" else 6):
        event, size = random.choice(EVENTS[kind])(random), random.choice((1, 1, 2, 3))
        whom, before = random.sample(accounts, size), counts(accounts)
        longer = [*history, (event, whom)]
        fits = all(total(longer, one).fits(EPSILON, DELTA) for one in whom)
        external = size == 1 and isinstance(event, GaussianEvent) and not event.failure
        try:
            if external and random.random() < 0.5:
                whom[0].charge_external("other tool", mu=event.mu)
            else:
                receipts = charge_all(whom, event, **NOTION)
                assert [one.accountant for one in receipts] == [one.id for one in whom]
            granted = True
        except BudgetExceeded:
            granted = False
        assert granted == fits
        history = longer if granted else history
        added = [one in whom and granted for one in accounts]
        assert counts(accounts) == [n + new for n, new in zip(before, added, strict=True)]
    for one in accounts:
        assert one.spent.epsilon == total(history, one).epsilon(DELTA)


def test_an_account_that_is_used_up_leaves_all_others_as_they_were(accounts):
    accounts[1].charge(GaussianEvent(WHOLE), **NOTION)
    before = counts(accounts)
    for order in (accounts, accounts[::-1]):
        with pytest.raises(BudgetExceeded, match=r"refused, nothing was released.*\n.*1 charge"):
            charge_all(order, SMALL, **NOTION)
    assert counts(accounts) == before


@pytest.mark.parametrize("notion", [{"unit": "patient"}, {"adjacency": "replace-one"}])
def test_an_account_of_other_neighbours_leaves_all_others_as_they_were(accounts, make, notion):
    other = make(EPSILON, DELTA, **notion)
    with pytest.raises(ValueError, match="such costs do not add up"):
        charge_all([*accounts, other], SMALL, **NOTION)
    assert counts([*accounts, other]) == [0, 0, 0, 0]


def test_a_sealed_account_leaves_all_others_as_they_were(accounts, in_child):
    own = PrivacyAccountant(EPSILON, DELTA)

    def child():
        with pytest.raises(SealedAccountantError):
            charge_all([*accounts, pickle.loads(token)], SMALL, **NOTION)
        return True

    token = pickle.dumps(own)
    assert in_child(child)()
    assert counts([*accounts[1:], own])[-1] == 0
    assert all(not one.receipts for one in accounts if isinstance(one, PrivacyLedger))


# Fits.


ROWS = np.random.default_rng(0).normal(size=(300, 4))


COST = {"epsilon": 0.5, "delta": 1e-7}


def fitted(accounts):
    return DPGauss(2, **COST, accountant=accounts).fit(ROWS)


def searched(accounts):
    pca, grid = DPGauss(2, delta=1e-7), {"n_components": [1, 2]}
    return PrivateSearchCV(pca, grid, **COST, accountant=accounts).fit(ROWS)


def classified(accounts):
    model = PrivateNearestCentroid(classes=[0, 1], **COST, accountant=accounts)
    return model.fit(ROWS, np.arange(300) % 2)


def mapped(accounts):
    return projection_map(DPGauss(2).fit(ROWS), ROWS, **COST, accountant=accounts)


@pytest.mark.parametrize("release", [fitted, searched, classified, mapped])
def test_a_joint_release_charges_and_records_in_every_account(release, accounts):
    report = release(accounts).privacy_
    assert report.receipts == tuple(one.receipts[0] for one in accounts)
    assert report.releases == tuple(one.releases[0] for one in accounts)
    assert {row.release for row in report.releases} == {report.release_id}
    assert report.parameters["accountant"] == [one.id for one in accounts]


def test_a_list_that_changes_after_the_charge_changes_no_release(accounts):
    named = list(accounts)

    def kernel(t):
        if accounts[0].receipts:
            named.clear()
        return np.tanh(t)

    told = {"kernel": kernel, "kernel_bound": 1.0, "mean": np.zeros(4), "norm_bound": 9.0}
    report = GDPPCA(1, **COST, **told, accountant=named).fit(ROWS).privacy_
    assert not named
    assert report.releases == tuple(one.releases[0] for one in accounts)


def test_one_account_twice_is_refused_however_it_is_reached(folder):
    path = f"{folder}/q1.ledger"
    one = PrivacyLedger.create(path, EPSILON, DELTA)
    shutil.copy(path, f"{folder}/copy.ledger")
    os.link(path, f"{folder}/hard.ledger")
    os.symlink(path, f"{folder}/soft.ledger")
    others = [PrivacyLedger(f"{folder}/{name}.ledger") for name in ("copy", "hard", "soft", "q1")]
    for other in (one, *others):
        with pytest.raises(ValueError, match="one account twice, or a copy of it"):
            DPGauss(2, epsilon=0.5, accountant=[one, other]).fit(ROWS)
    assert not one.receipts


def test_a_row_that_cannot_be_written_wastes_budget_and_releases_nothing(folder, monkeypatch):
    pair = [PrivacyLedger.create(f"{folder}/{n}.ledger", EPSILON, DELTA) for n in range(2)]
    first, last = sorted(pair, key=lambda one: one.id)
    append, pca = ledger._append, DPGauss(2, epsilon=0.5, delta=1e-7, accountant=pair)

    def full(path, *given):
        if path == first.path:  # which is locked first, and written last
            raise LedgerError("no space left")
        append(path, *given)

    monkeypatch.setattr(ledger, "_append", full)
    with pytest.raises(LedgerError, match=r"no space left; nothing was released"):
        pca.fit(ROWS)
    assert counts([first, last]) == [0, 1] and not hasattr(pca, "components_")
    assert len(last.unrecorded) == 1


# Processes.


def test_processes_that_name_the_accounts_in_any_order_never_wait_for_each_other(folder, in_child):
    names = [f"{folder}/{n}.ledger" for n in range(3)]
    ledgers = [PrivacyLedger.create(name, EPSILON, DELTA) for name in names]
    event = GaussianEvent(WHOLE / 32)

    def child(seed):
        random = Random(seed)
        for _ in range(20):
            charge_all(random.sample(ledgers, random.choice((2, 3))), event, **NOTION)
        return True

    children = [in_child(lambda seed=seed: child(seed)) for seed in range(4)]
    assert all(ended() for ended in children)
    for one in ledgers:
        one.verify()
        assert one.spent.epsilon <= epsilon_of_event(GaussianEvent(WHOLE), DELTA)


@pytest.mark.slow
def test_kills_in_the_middle_leave_no_joint_release_without_all_its_charges(folder):
    """It takes half a minute or more."""
    pair = [PrivacyLedger.create(f"{folder}/{n}.ledger", EPSILON, DELTA) for n in range(2)]
    kills, released = 150, Path(folder) / "released"
    event = GaussianEvent(WHOLE / (20 * kills) ** 0.5)
    released.touch()

    def release_for_ever():
        output, order = os.open(released, os.O_WRONLY | os.O_APPEND), Random(os.getpid())
        while True:
            try:
                receipts = charge_all(order.sample(pair, 2), event, **NOTION)
            except BudgetExceeded:
                continue
            by_id = {receipt.accountant: receipt for receipt in receipts}
            rows = [one.record(by_id[one.id], DIGEST).charge for one in pair]
            os.write(output, f"{rows[0]} {rows[1]}\n".encode())

    kill_at_random(release_for_ever, kills, lambda: [one.verify() for one in pair])
    pairs = [tuple(map(int, line.split())) for line in released.read_text().splitlines()]
    assert pairs
    for place, one in enumerate(pair):
        one.verify()
        recorded = {row.charge for row in one.releases}
        charges = [rows[place] for rows in pairs]
        assert len(set(charges)) == len(charges) and set(charges) <= recorded
        assert one.spent.epsilon <= EPSILON
    assert all(first != second for first, second in pairwise(sorted(pairs)))
    # a kill between the two writes leaves a charge in the one that is written first
    first, last = sorted(pair, key=lambda one: one.id)
    assert 0 <= len(last.receipts) - len(first.receipts) <= kills + 4
