import pytest

from skdppca.exceptions import LedgerError
from skdppca.privacy import GaussianEvent, PureEvent, Receipt, ReleaseRow

NOTION = {"adjacency": "add-remove", "unit": "row"}
SMALL = GaussianEvent(0.01)
DIGEST = "0123456789abcdef" * 4
RELEASE = ReleaseRow(row=2, head=DIGEST, accountant="id", charge=1, release=DIGEST)


def test_receipts_are_numbered_chained_and_complete(make):
    accountant = make(unit="patient", adjacency="replace-one")
    notion = {"adjacency": "replace-one", "unit": "patient"}
    first = accountant.charge(SMALL, label="one ☃", **notion)
    second = accountant.charge(PureEvent(0.1), label="two", seeded=True, **notion)
    assert accountant.receipts == (first, second)
    assert (first.row, second.row) == (1, 2)
    assert first.head != second.head and len(second.head) == 64
    assert first.accountant == second.accountant == accountant.id
    assert (second.adjacency, second.unit, second.label) == ("replace-one", "patient", "two")
    assert (first.seeded, second.seeded) == (False, True)
    assert (first.event, second.event) == (SMALL, PureEvent(0.1))
    assert first.time <= second.time and second.time.endswith("+00:00")
    assert "." not in second.time  # the running time is not published


def test_no_two_charges_look_alike(make):
    # Else a charge that was rolled back and one in its place would have the same receipt.
    first, second = make().charge(SMALL, **NOTION), make().charge(SMALL, **NOTION)
    assert first.nonce != second.nonce


def test_rows_survive_their_dict(make):
    accountant = make()
    receipt = accountant.charge(SMALL, label="fit", **NOTION)
    row = accountant.record(receipt, DIGEST)
    assert Receipt.from_dict(receipt.to_dict()) == receipt
    assert ReleaseRow.from_dict(row.to_dict()) == row


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "release"},
        {"kind": "refund"},
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
    "change",
    [
        *({"row": 2}, {"row": 9}, {"head": "0" * 64}, {"label": "x"}, {"accountant": "0"}),
        {"event": PureEvent(1e-9).to_dict()},
    ],
)
def test_verify_refuses_a_receipt_that_was_changed(make, change):
    accountant = make()
    record = accountant.charge(SMALL, **NOTION).to_dict() | change
    accountant.charge(SMALL, **NOTION)
    with pytest.raises(LedgerError):
        accountant.verify(record)


@pytest.mark.parametrize("nonsense", [{}, {"row": 1}, None, 3, "receipt"])
def test_verify_refuses_what_is_no_receipt(make, nonsense):
    with pytest.raises(LedgerError, match="not a receipt"):
        make().verify(nonsense)


def test_verify_refuses_receipts_of_another_accountant(make):
    other = make().charge(SMALL, **NOTION)
    accountant = make()
    accountant.charge(SMALL, **NOTION)
    with pytest.raises(LedgerError, match="belongs to another ledger: "):
        accountant.verify(other)


def test_a_release_is_recorded_after_its_charge(make):
    accountant = make()
    first, second = (accountant.charge(SMALL, **NOTION) for _ in range(2))
    spent = accountant.spent
    row = accountant.record(first, DIGEST)
    assert (row.row, row.charge, row.release, row.accountant) == (3, 1, DIGEST, accountant.id)
    assert row.head not in {first.head, second.head, ""}
    assert accountant.record(second, DIGEST).charge == 2
    assert accountant.receipts == (first, second)
    assert [release.charge for release in accountant.releases] == [1, 2]
    assert accountant.spent == spent
    assert accountant.charge(SMALL, **NOTION).row == 5
    accountant.verify(first, row, row.to_dict(), *accountant.releases)


def test_a_release_row_holds_no_time():
    assert set(RELEASE.to_dict()) == {*("kind", "row", "head", "accountant", "charge", "release")}


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "charge"},
        {"row": 1},
        {"charge": 0},
        {"charge": True},
        {"charge": 2},
        {"release": DIGEST[:-1]},
        {"release": DIGEST.upper()},
        {"release": DIGEST + "\n"},
        {"release": None},
        {"time": "now"},
    ],
)
def test_records_that_are_no_release_row_are_refused(change):
    record = RELEASE.to_dict() | change
    with pytest.raises((ValueError, TypeError)):
        ReleaseRow.from_dict(record)


def test_a_charge_has_one_release(make):
    accountant = make()
    receipt = accountant.charge(SMALL, **NOTION)
    row = accountant.record(receipt, DIGEST)
    accountant.charge(SMALL, **NOTION)
    with pytest.raises(ValueError, match="row 1 has its release already; charge again"):
        accountant.record(receipt, DIGEST)
    assert accountant.releases == (row,)


def test_a_release_needs_a_receipt_of_the_same_accountant(make):
    accountant, other = make(), make()
    receipt = other.charge(SMALL, **NOTION)
    accountant.charge(SMALL, **NOTION)
    with pytest.raises(ValueError, match="pass the receipt that this accountant's `charge`"):
        accountant.record(receipt, DIGEST)
    assert accountant.releases == ()


@pytest.mark.parametrize("nonsense", [None, {}, 1, RELEASE])
def test_a_release_needs_a_receipt(make, nonsense):
    with pytest.raises(TypeError, match="receipt="):
        make().record(nonsense, DIGEST)


@pytest.mark.parametrize("release", ["", "0" * 63, "0" * 65, "g" * 64, b"0" * 64, None])
def test_what_is_no_hash_is_not_recorded(make, release):
    accountant = make()
    receipt = accountant.charge(SMALL, **NOTION)
    with pytest.raises((ValueError, TypeError), match="release="):
        accountant.record(receipt, release)
    assert accountant.releases == ()


def test_verify_refuses_a_release_row_that_was_changed(make):
    accountant = make()
    record = accountant.record(accountant.charge(SMALL, **NOTION), DIGEST).to_dict()
    with pytest.raises(LedgerError, match="differs from the release row"):
        accountant.verify(record | {"release": "f" * 64})
