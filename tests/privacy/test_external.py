"""What other tools released of the same people, in the same account."""

import math
import pickle

import pytest

from skdppca.exceptions import BudgetExceeded, LedgerError
from skdppca.privacy import (
    ApproximateEvent,
    ExternalReceipt,
    GaussianEvent,
    PrivacyLedger,
    PrivacyReport,
    PureEvent,
    Receipt,
    ledger,
    mu_of,
)

NOTION = {"adjacency": "add-remove", "unit": "row"}
ADDED = {"adjacency": "add-remove"}
DIGEST = "0" * 64

STATED = [
    ({"epsilon": 0.5, "delta": 0.0}, PureEvent(0.5)),
    ({"epsilon": 1, "delta": 0}, PureEvent(1.0)),
    ({"epsilon": 0.5, "delta": 1e-7}, ApproximateEvent(0.5, 1e-7)),
    ({"epsilon": 0.0, "delta": 1e-7}, ApproximateEvent(0.0, 1e-7)),
    ({"mu": 0.1}, GaussianEvent(0.1)),
]


@pytest.mark.parametrize(("stated", "event"), STATED)
def test_an_external_release_is_charged_as_it_is_stated(make, stated, event):
    accountant = make()
    receipt = accountant.charge_external("counts", **stated, **ADDED)
    assert type(receipt) is ExternalReceipt
    assert (receipt.event, receipt.label, receipt.seeded) == (event, "counts", False)
    assert (receipt.adjacency, receipt.unit, receipt.row) == ("add-remove", "row", 1)
    assert accountant.receipts == (receipt,)


def test_external_and_own_charges_share_one_budget(make):
    first, second = make(), make()
    for accountant, charge in (
        (first, lambda: first.charge_external("sums", mu=0.1, **ADDED)),
        (second, lambda: second.charge(GaussianEvent(0.1), **NOTION)),
    ):
        accountant.charge(GaussianEvent(0.1), **NOTION)
        charge()
    assert first.spent == second.spent and first.remaining == second.remaining


@pytest.mark.parametrize("stated", [{"epsilon": 0.9, "delta": 0.0}, {"mu": mu_of(0.9, 1e-6)}])
def test_over_budget_is_refused_and_nothing_is_charged(make, stated):
    accountant = make()
    accountant.charge(GaussianEvent(mu_of(0.9, 1e-6)), **NOTION)
    spent = accountant.spent
    with pytest.raises(BudgetExceeded, match=r"nothing was charged: .*this external"):
        accountant.charge_external("counts", **stated, **ADDED)
    assert len(accountant.receipts) == 1 and accountant.spent == spent


@pytest.mark.parametrize(
    ("stated", "reason"),
    [
        ({}, "no cost was given; give epsilon and delta"),
        ({"epsilon": 0.5}, "epsilon=0.5 was given"),
        ({"delta": 1e-7}, "delta=1e-07 was given"),
        ({"epsilon": 0.5, "mu": 0.1}, "epsilon=0.5, mu=0.1 was given"),
        ({"epsilon": 0.5, "delta": 0.0, "mu": 0.1}, "or mu alone"),
        ({"epsilon": 0.0, "delta": 0.0}, "costs nothing"),
        ({"mu": 0.0}, "costs nothing"),
        ({"epsilon": 0.5, "delta": 1.0}, "promises nothing"),
        ({"epsilon": math.inf, "delta": 0.0}, "epsilon=inf is out of range"),
        ({"epsilon": -0.5, "delta": 0.0}, "epsilon=-0.5 is out of range"),
        ({"epsilon": 0.5, "delta": 1.5}, "delta=1.5 is out of range"),
        ({"mu": math.nan}, "mu=nan is out of range"),
    ],
)
def test_a_cost_that_is_not_stated_clearly_is_refused(make, stated, reason):
    accountant = make()
    with pytest.raises(ValueError, match=reason):
        accountant.charge_external("counts", **stated, **ADDED)
    assert accountant.receipts == ()


@pytest.mark.parametrize("bad", ["0.5", True, [0.5]])
def test_a_cost_that_is_no_number_is_refused(make, bad):
    with pytest.raises(TypeError, match=r"mu=.* is not a number"):
        make().charge_external("counts", mu=bad, **ADDED)


@pytest.mark.parametrize("label", ["", " \n", None, 3])
def test_a_label_must_say_what_was_released(make, label):
    accountant = make()
    with pytest.raises((ValueError, TypeError), match="label="):
        accountant.charge_external(label, mu=0.1, **ADDED)
    assert accountant.receipts == ()


@pytest.mark.parametrize(
    ("ours", "theirs", "reason"),
    [
        ("add-remove", "replace-one", "says nothing about a record that is added or removed"),
        ("replace-one", "add-remove", r"\(2 epsilon, \(1 \+ exp\(epsilon\)\) delta\)"),
        ("add-remove", "bounded", "adjacency='bounded' is unknown; choose one of"),
    ],
)
def test_a_guarantee_for_other_neighbours_is_refused(make, ours, theirs, reason):
    accountant = make(adjacency=ours)
    with pytest.raises(ValueError, match=reason):
        accountant.charge_external("counts", mu=0.1, adjacency=theirs)
    assert accountant.receipts == ()


def test_no_release_of_ours_can_be_recorded_for_an_external_charge(make):
    accountant = make()
    receipt = accountant.charge_external("counts", mu=0.1, **ADDED)
    with pytest.raises(ValueError, match="row 1 is external: it pays for what another tool"):
        accountant.record(receipt, DIGEST)
    assert accountant.releases == ()


def test_a_file_with_a_release_of_an_external_charge_is_refused(folder, monkeypatch):
    account = PrivacyLedger.create(f"{folder}/study.ledger", 1.0, 1e-6)
    receipt = account.charge_external("counts", mu=0.1, **ADDED)
    monkeypatch.setattr(ledger.Chain, "_pays", lambda *_: None)
    account.record(receipt, DIGEST)
    monkeypatch.undo()
    with pytest.raises(LedgerError, match="row 2: the charge in row 1 is external"):
        PrivacyLedger(account.path)


def test_an_external_receipt_survives_the_file_and_its_dict(folder):
    account = PrivacyLedger.create(f"{folder}/study.ledger", 1.0, 1e-6)
    receipt = account.charge_external("counts \u2603", epsilon=0.1, delta=1e-8, **ADDED)
    opened = PrivacyLedger(account.path)
    assert opened.receipts == (receipt,) == pickle.loads(pickle.dumps((receipt,)))
    assert ExternalReceipt.from_dict(receipt.to_dict()) == receipt
    opened.verify(receipt, receipt.to_dict())


@pytest.mark.parametrize("kind", ["charge", "release", "refund"])
def test_an_external_receipt_passes_for_nothing_else(make, kind):
    accountant = make()
    receipt = accountant.charge_external("counts", mu=0.1, **ADDED)
    with pytest.raises(LedgerError):
        accountant.verify(receipt.to_dict() | {"kind": kind})
    with pytest.raises(ValueError):
        Receipt.from_dict(receipt.to_dict())


def test_an_external_receipt_has_no_seed(make):
    record = make().charge_external("counts", mu=0.1, **ADDED).to_dict()
    with pytest.raises(ValueError, match="an external charge has no seed"):
        ExternalReceipt.from_dict(record | {"seeded": True})


@pytest.mark.parametrize("make", ["memory", "ledger"], indirect=True)
def test_no_report_is_paid_by_an_external_charge(make):
    receipt = make().charge_external("counts", mu=0.1, **ADDED)
    report = PrivacyReport(
        "PCA", 1.0, 1e-6, "add-remove", "row", receipt.event, receipts=(receipt,)
    )
    with pytest.raises(ValueError, match="Invalid value 'external'"):
        PrivacyReport.from_dict(report.to_dict())


def test_a_ledger_that_fails_says_that_the_charge_may_be_there(folder, monkeypatch):
    account = PrivacyLedger.create(f"{folder}/study.ledger", 1.0, 1e-6)
    monkeypatch.setattr(ledger, "_is_at", lambda path, file: False)
    with pytest.raises(LedgerError, match="look whether the ledger has this charge before"):
        account.charge_external("counts", mu=0.1, **ADDED)
