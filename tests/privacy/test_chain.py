import pytest

from skdppca.exceptions import LedgerError
from skdppca.privacy import GaussianEvent, PureEvent, Receipt

NOTION = {"adjacency": "add-remove", "unit": "row"}
SMALL = GaussianEvent(0.01)


def test_receipts_are_numbered_chained_and_complete(make):
    accountant = make(unit="patient", adjacency="replace-one")
    notion = {"adjacency": "replace-one", "unit": "patient"}
    first = accountant.charge(SMALL, label="one ☃ \ud800", **notion)
    second = accountant.charge(PureEvent(0.1), label="two", seeded=True, **notion)
    assert accountant.receipts == (first, second)
    assert (first.row, second.row) == (1, 2)
    assert first.head != second.head and len(second.head) == 64
    assert first.accountant == second.accountant == accountant.id
    assert (second.adjacency, second.unit, second.label) == ("replace-one", "patient", "two")
    assert (first.seeded, second.seeded) == (False, True)
    assert (first.event, second.event) == (SMALL, PureEvent(0.1))
    assert first.time <= second.time and second.time.endswith("+00:00")


def test_receipts_survive_their_dict(make):
    receipt = make().charge(SMALL, label="fit", **NOTION)
    assert Receipt.from_dict(receipt.to_dict()) == receipt


@pytest.mark.parametrize(
    "change",
    [
        {"row": 0},
        {"row": True},
        {"seeded": 1},
        {"label": None},
        {"event": {"type": "free"}},
        {"discount": 1},
    ],
)
def test_records_that_are_no_receipt_are_refused(make, change):
    record = make().charge(SMALL, **NOTION).to_dict() | change
    with pytest.raises((ValueError, TypeError)):
        Receipt.from_dict(record)


def test_verify_accepts_the_accountants_own_receipts(make):
    accountant = make()
    receipts = [accountant.charge(SMALL, **NOTION) for _ in range(3)]
    accountant.verify()
    accountant.verify(*receipts, receipts[1].to_dict())


@pytest.mark.parametrize(
    "change", [{"row": 2}, {"row": 9}, {"head": "0" * 64}, {"label": "x"}, {"accountant": "0"}]
)
def test_verify_refuses_a_receipt_that_was_changed(make, change):
    accountant = make()
    record = accountant.charge(SMALL, **NOTION).to_dict() | change
    accountant.charge(SMALL, **NOTION)
    with pytest.raises(LedgerError):
        accountant.verify(record)


def test_verify_refuses_a_receipt_whose_cost_was_changed(make):
    accountant = make()
    record = accountant.charge(SMALL, **NOTION).to_dict()
    with pytest.raises(LedgerError, match="differs"):
        accountant.verify(record | {"event": PureEvent(1e-9).to_dict()})


@pytest.mark.parametrize("nonsense", [{}, {"row": 1}, None, 3, "receipt"])
def test_verify_refuses_what_is_no_receipt(make, nonsense):
    with pytest.raises(LedgerError, match="not a receipt"):
        make().verify(nonsense)


def test_verify_refuses_receipts_of_another_accountant(make):
    other = make().charge(SMALL, **NOTION)
    accountant = make()
    accountant.charge(SMALL, **NOTION)
    with pytest.raises(LedgerError, match="of accountant"):
        accountant.verify(other)
