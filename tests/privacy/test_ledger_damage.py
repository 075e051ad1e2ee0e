import hashlib
import json
import os
import pickle
import shutil
import warnings
from pathlib import Path

import pytest

from skdppca.exceptions import LedgerCutWarning, LedgerError
from skdppca.privacy import GaussianEvent, PrivacyLedger

NOTION = {"adjacency": "add-remove", "unit": "row"}
SMALL = GaussianEvent(1e-4)


def lines_of(path):
    return Path(path).read_bytes().splitlines(keepends=True)


def write_lines(path, lines):
    Path(path).write_bytes(b"".join(lines))


def edited(old, new, row):
    """Return what puts other bytes into one row."""

    def edit(path):
        lines = lines_of(path)
        assert old in lines[row]
        lines[row] = lines[row].replace(old, new)
        write_lines(path, lines)

    return edit


def replaced_by_a_folder(path):
    os.unlink(path)
    os.mkdir(path)


def emptied(path):
    os.truncate(path, 0)


def overwritten_by_text(path):
    Path(path).write_text("row,cost\n1,0.1\n" * 1000)


def overwritten_by_zeros(path):
    Path(path).write_bytes(bytes(os.path.getsize(path)))


def robbed_of_a_middle_row(path):
    lines = lines_of(path)
    write_lines(path, [*lines[:2], *lines[3:]])


def robbed_of_its_budget(path):
    write_lines(path, lines_of(path)[1:])


def given_a_row_twice(path):
    lines = lines_of(path)
    write_lines(path, [*lines, lines[-1]])


def given_an_empty_line(path):
    write_lines(path, [*lines_of(path), b"\n"])


FOUND_BY_ALL = {
    "deleted": (os.unlink, "there is no such file"),
    "replaced by a folder": (replaced_by_a_folder, "there is no such file"),
    "emptied": (emptied, "it has no whole row|row [03]: it is gone"),
    "a text": (overwritten_by_text, "it is no row|row [03]: it is (not what was|gone)"),
    "zeros": (overwritten_by_zeros, "it has no whole row|row [03]: it is (not what was|gone)"),
    "without a row": (robbed_of_a_middle_row, "row [03]: it|row 2: its hash"),
    "without a budget": (robbed_of_its_budget, "row 0: |row [03]: it is (not what was|gone)"),
    "a row twice": (given_a_row_twice, "row 4: its hash does not match"),
    "an empty line": (given_an_empty_line, "row 4: it is no row of a ledger"),
    "a cheaper last charge": (edited(b"0.0001", b"0.00001", 3), "row 3: it"),
    "half a letter": (edited(b"gaussian", b"gauss\xffan", 3), "row 3: it"),
    "returns": (edited(b"\n", b"\r\n", 3), "row 3: it"),
}
FOUND_ON_OPENING = {
    "a larger budget": (edited(b":1.0", b":9.0", 0), "row 0: "),
    "an infinite budget": (edited(b":1.0", b":Infinity", 0), "row 0: "),
    "another schema": (edited(b"file/1", b"file/2", 0), "no ledger of the schema"),
    "an unknown event": (edited(b"gaussian", b"free", 1), "row 1: its hash does not match"),
    "zeros within": (edited(b"gaussian", b"\0" * 8, 2), "row 2: its hash does not match"),
    "deep nonsense": (edited(b'{"acc', b"[" * 100_000, 2), "row 2: "),
}


def on(cases):
    return pytest.mark.parametrize(("damage", "reason"), cases.values(), ids=cases)


@on(FOUND_BY_ALL | FOUND_ON_OPENING)
def test_a_damaged_file_does_not_open(ledger, damage, reason):
    token = pickle.dumps(ledger)
    damage(ledger.path)
    with pytest.raises(LedgerError, match=reason) as error:
        PrivacyLedger(ledger.path)
    assert str(error.value).startswith(f"{ledger.path}: ")
    # What was pickled before opens the file as freshly.
    with pytest.raises(LedgerError):
        pickle.loads(token).charge(SMALL, **NOTION)


@on(FOUND_BY_ALL)
def test_a_damaged_file_is_not_charged(ledger, damage, reason):
    damage(ledger.path)
    for use in (
        lambda: ledger.charge(SMALL, **NOTION),
        lambda: ledger.spent,
        lambda: ledger.remaining,
        lambda: ledger.receipts,
        lambda: ledger.verify(),
    ):
        with pytest.raises(LedgerError, match=reason):
            use()
    assert repr(ledger).startswith("PrivacyLedger(")
    assert os.path.exists(ledger.path) == (damage is not os.unlink)  # it is never made again


@on(FOUND_ON_OPENING)
def test_a_damaged_file_is_not_verified(ledger, damage, reason):
    damage(ledger.path)
    with pytest.raises(LedgerError):
        ledger.verify()


def forged(path, row, change):
    """Change one row as someone would who can compute the hashes of all rows that follow."""
    bodies = [line.split(b"\t")[0].decode() for line in lines_of(path)]
    bodies[row] = change(bodies[row])
    head, lines = "", []
    for body in bodies:
        head = hashlib.sha256(f"{head}\n{body}".encode()).hexdigest()
        lines.append(f"{body}\t{head}\n".encode())
    write_lines(path, lines)


def with_values(**changes):
    def change(body):
        return json.dumps(json.loads(body) | changes, sort_keys=True, separators=(",", ":"))

    return change


@pytest.mark.parametrize(
    ("row", "change", "reason"),
    [
        (2, with_values(kind="refund"), "row 2: .*Invalid value 'refund'"),
        (2, with_values(kind="release"), "row 2: .*unknown field"),
        (2, with_values(event={"type": "free"}), "row 2: .*Invalid value 'free'"),
        (2, with_values(row=3), "row 2: it belongs to another place"),
        (2, with_values(row=True), "row 2: "),
        (2, with_values(accountant="0"), "row 2: it belongs to another ledger"),
        (2, with_values(unit="patient"), "row 2: it belongs to another ledger"),
        (2, with_values(adjacency="replace-one"), "row 2: it belongs to another ledger"),
        (2, with_values(discount=1), "row 2: .*unknown field `discount`"),
        (2, lambda body: body.replace(":", ": "), "row 2: it is not written as skdppca writes"),
        (2, lambda body: body.replace("0.0001", "1e-4"), "it is not written as skdppca writes"),
        (2, lambda body: "[1]", "row 2: "),
        (0, lambda body: body.replace(":", ": "), "row 0: its budget is not written as"),
        (4, with_values(charge=4), "row 4: .*charge=4 must be a row before"),
        (4, with_values(charge=0), "row 4: .*`int` >= 1"),
        (4, with_values(release="0"), "row 4: .*`\\$.release`"),
        (5, with_values(charge=4), "row 5: row 4 is no charge"),
        (5, with_values(charge=1), "row 5: the charge in row 1 has its release already"),
    ],
)
def test_rows_that_were_forged_with_their_hashes_do_not_open(ledger, row, change, reason):
    for receipt in ledger.receipts[:2]:
        ledger.record(receipt, "0" * 64)
    forged(ledger.path, 0, str)  # what is forged without a change is the ledger itself
    ledger.verify()
    forged(ledger.path, row, change)
    with pytest.raises(LedgerError, match=reason):
        PrivacyLedger(ledger.path)


def test_a_damaged_file_is_never_recreated(ledger):
    os.unlink(ledger.path)
    with pytest.raises(LedgerError):
        ledger.charge(SMALL, **NOTION)
    with pytest.raises(LedgerError):
        PrivacyLedger(ledger.path)
    assert not os.path.exists(ledger.path)


def test_every_prefix_is_an_older_ledger_and_no_other(ledger):
    """A whole row whose newline is missing is there; less of a row is not, and is told of."""
    whole, receipts = Path(ledger.path).read_bytes(), ledger.receipts
    ends = [place for place, byte in enumerate(whole) if byte == ord("\n")]
    for size in range(len(whole)):
        Path(ledger.path).write_bytes(whole[:size])
        n_rows = sum(end <= size for end in ends)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if not n_rows:
                with pytest.raises(LedgerError, match="row 0: it has no whole row"):
                    PrivacyLedger(ledger.path)
                continue
            opened = PrivacyLedger(ledger.path)
        assert opened._known[0].receipts == receipts[: n_rows - 1]
        assert bool(caught) == (size not in {end + more for end in ends for more in (0, 1)})
        if n_rows < 4:  # who saw more rows is not deceived
            with pytest.raises(LedgerError, match="older copy"):
                ledger.charge(SMALL, **NOTION)


@pytest.mark.parametrize("tail", [b"{", b"\0", b"\0" * 600 + b"\n", b'{"row":4}\tff'])
def test_a_write_that_was_cut_off_gives_way_to_the_next_row_which_states_it(ledger, tail):
    whole = Path(ledger.path).read_bytes()
    Path(ledger.path).write_bytes(whole + tail)
    with pytest.warns(LedgerCutWarning):
        opened = PrivacyLedger(ledger.path)
    receipt = opened.charge(SMALL, **NOTION)
    row = opened.record(receipt, "0" * 64)
    assert (receipt.cut, row.cut) == (hashlib.sha256(tail).hexdigest(), "")
    text = f"{receipt.body}\t{receipt.head}\n{row.body}\t{row.head}\n"
    assert Path(ledger.path).read_bytes() == whole + text.encode()
    assert type(receipt).from_dict(receipt.to_dict()) == receipt
    PrivacyLedger(ledger.path).verify(receipt, row)


def test_a_row_without_its_newline_is_charged_and_completed(ledger):
    whole = Path(ledger.path).read_bytes()
    Path(ledger.path).write_bytes(whole[:-1])
    receipt = PrivacyLedger(ledger.path).charge(SMALL, **NOTION)
    assert (receipt.row, receipt.cut) == (4, "")
    assert Path(ledger.path).read_bytes().startswith(whole)
    ledger.verify(receipt)


def reading(path):
    ledger = PrivacyLedger(path)
    return repr(ledger), ledger.id, ledger.receipts, ledger.releases


@pytest.mark.parametrize(
    ("bits", "step"),
    [(range(8), 256), *(pytest.param([bit], 1, marks=pytest.mark.slow) for bit in range(8))],
)
def test_a_flipped_bit_is_an_error_or_changes_nothing(ledger, bits, step):
    """The highest bit makes a byte no ASCII; the last row may be taken for a write cut off."""
    ledger.record(ledger.receipts[0], "0" * 64)
    whole, before = Path(ledger.path).read_bytes(), reading(ledger.path)
    found = 0
    for place in [8 * byte + bit for bit in bits for byte in range(len(whole))][::step]:
        broken = bytearray(whole)
        broken[place // 8] ^= 1 << place % 8
        Path(ledger.path).write_bytes(broken)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                # of a row that is taken for a write cut off, nothing is read but that it is missing
                without_last = (*before[:-1], before[-1][:-1])
                assert reading(ledger.path) == (without_last if caught else before)
            except LedgerError:
                found += 1
    assert found


@pytest.mark.parametrize("again", [0, 1, 2, 3])
def test_a_restored_copy_is_found_even_if_it_was_charged_again(ledger, again):
    shutil.copy(ledger.path, f"{ledger.path}.copy")
    for _ in range(2):
        receipt = ledger.charge(SMALL, **NOTION)
    token = pickle.dumps(ledger)
    os.replace(f"{ledger.path}.copy", ledger.path)
    fresh = PrivacyLedger(ledger.path)  # nothing is wrong with the copy itself
    for _ in range(again):
        fresh.charge(SMALL, **NOTION)
    for known in (ledger, pickle.loads(token)):
        with pytest.raises(LedgerError, match="older copy"):
            known.charge(SMALL, **NOTION)
        with pytest.raises(LedgerError, match="older copy"):
            known.verify()
    with pytest.raises(LedgerError, match=r"missing|differs"):
        fresh.verify(receipt)


def test_removed_last_rows_are_found(ledger):
    receipt, token = ledger.receipts[-1], pickle.dumps(ledger)
    write_lines(ledger.path, lines_of(ledger.path)[:-1])
    for known in (ledger, pickle.loads(token)):
        with pytest.raises(LedgerError, match="older copy"):
            known.charge(SMALL, **NOTION)
    with pytest.raises(LedgerError, match="row 3 of the receipt is missing"):
        PrivacyLedger(ledger.path).verify(receipt)


def test_another_ledger_in_its_place_is_found(ledger, folder):
    token, receipt = pickle.dumps(ledger), ledger.receipts[0]
    other = PrivacyLedger.create(f"{folder}/other.ledger", 100.0, 1e-6)
    for _ in range(5):
        other.charge(SMALL, **NOTION)
    os.replace(other.path, ledger.path)
    for known in (ledger, pickle.loads(token)):
        with pytest.raises(LedgerError, match="another file"):
            known.charge(SMALL, **NOTION)
    with pytest.raises(LedgerError, match="belongs to another ledger: "):
        PrivacyLedger(ledger.path).verify(receipt)


def test_a_changed_charge_is_found_by_verify_though_it_was_seen_before(ledger):
    edited(b"0.0001", b"0.0009", 2)(ledger.path)
    with pytest.raises(LedgerError, match="row 2: its hash does not match"):
        ledger.verify()
