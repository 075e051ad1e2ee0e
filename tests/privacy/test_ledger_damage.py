import hashlib
import json
import os
import pickle
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from skdppca.exceptions import LedgerError
from skdppca.privacy import GaussianEvent, PrivacyLedger

NOTION = {"adjacency": "add-remove", "unit": "row"}
SMALL = GaussianEvent(1e-4)


def sql(path, *statements):
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        return [db.execute(statement).fetchall() for statement in statements]


def without_triggers(path, *statements):
    kept = sql(path, "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")[0]
    drop = [f"DROP TRIGGER {name}" for name, _ in kept]
    sql(path, *drop, *statements, *[text for _, text in kept])


def replaced_by_a_folder(path):
    os.unlink(path)
    os.mkdir(path)


def replaced_by_another_database(path):
    os.unlink(path)
    sql(path, "CREATE TABLE notes (text)", "PRAGMA application_id=252006674")


def replaced_by_a_database_of_the_same_form(path):
    statements = sql(path, "SELECT sql FROM sqlite_master WHERE name != 'sqlite_sequence'")[0]
    os.unlink(path)
    sql(path, *[text for (text,) in statements])


def told(statement):
    return lambda path: sql(path, statement)


def changed(statement):
    """Change the rows as someone would who knows SQLite."""
    return lambda path: without_triggers(path, statement)


def body(value, row):
    return changed(f"UPDATE chain SET body = {value} WHERE row = {row}")


# What may have happened to the file, and what the error says.
FOUND_BY_ALL = {
    "deleted": (os.unlink, "there is no such file"),
    "a folder": (replaced_by_a_folder, "there is no such file"),
    "emptied": (lambda path: os.truncate(path, 0), "it is empty"),
    "text": (
        lambda path: Path(path).write_text("row,cost\n1,0.1\n" * 1000),
        "file is not a database",
    ),
    "zeros": (
        lambda path: Path(path).write_bytes(bytes(os.path.getsize(path))),
        "file is not a database",
    ),
    "another database": (replaced_by_another_database, "it is no skdppca ledger"),
    "the same form": (replaced_by_a_database_of_the_same_form, "it is no skdppca ledger"),
    "no application": (told("PRAGMA application_id=0"), "it is no skdppca ledger"),
    "a newer version": (told("PRAGMA user_version=4"), "upgrade skdppca"),
    "an older version": (
        told("PRAGMA user_version=1"),
        "older skdppca .* make a new ledger for what remains",
    ),
    "no version": (told("PRAGMA user_version=0"), "its tables were altered"),
    "a trigger less": (told("DROP TRIGGER no_delete"), "its tables were altered"),
    "a trigger more": (
        told("CREATE TRIGGER forget AFTER INSERT ON chain BEGIN SELECT 1; END"),
        "its tables were altered",
    ),
    "no table": (told("DROP TABLE chain"), "its tables were altered"),
    "no rows": (changed("DELETE FROM chain"), "row 0: |row 3: it is gone"),
}
FOUND_ON_OPENING = {
    "a row less": (
        changed("DELETE FROM chain WHERE row = 2"),
        "row 3: its hash does not match",
    ),
    "no budget": (changed("DELETE FROM chain WHERE row = 0"), "row 0: "),
    "a larger budget": (body("replace(body, '1.0', '9.0')", 0), "row 0: |row 1: "),
    "an infinite budget": (body("replace(body, '1.0', 'Infinity')", 0), "row 0: "),
    "a cheaper charge": (
        body("replace(body, '0.0001', '0.00001')", 3),
        "row 3: its hash does not match",
    ),
    "an unknown event": (
        changed("UPDATE chain SET body = replace(body, 'gaussian', 'free')"),
        "row 1: its hash does not match",
    ),
    "bytes": (body("CAST(x'fffe' AS TEXT)", 3), "Could not decode"),
    "deep nonsense": (body(f"'{'[' * 100_000}'", 3), "row 3: "),
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
    bodies = [body for (body,) in sql(path, "SELECT body FROM chain ORDER BY row")[0]]
    bodies[row] = change(bodies[row])
    head, links = "", []
    for place, body in enumerate(bodies):
        head = hashlib.sha256(f"{head}\n{body}".encode()).hexdigest()
        quoted = body.replace("'", "''")
        links.append(f"UPDATE chain SET body = '{quoted}', head = '{head}' WHERE row = {place}")
    without_triggers(path, *links)


def with_values(**changes):
    def change(body):
        return json.dumps(json.loads(body) | changes, sort_keys=True, separators=(",", ":"))

    return change


@pytest.mark.parametrize(
    ("row", "change", "reason"),
    [
        (2, with_values(kind="refund"), "kind='refund' is unknown"),
        (2, with_values(kind="release"), "row 2: a release must have exactly the keys"),
        (2, with_values(event={"type": "free"}), "no known privacy event"),
        (2, with_values(row=3), "row 2: it belongs to another place"),
        (2, with_values(row=True), "row 2: "),
        (2, with_values(accountant="0"), "row 2: it belongs to another ledger"),
        (2, with_values(unit="patient"), "row 2: it belongs to another ledger"),
        (2, with_values(adjacency="replace-one"), "row 2: it belongs to another ledger"),
        (2, with_values(discount=1), "row 2: a charge must have exactly the keys"),
        (2, lambda body: body.replace(":", ": "), "row 2: it is not written as skdppca writes"),
        (2, lambda body: body.replace("0.0001", "1e-4"), "it is not written as skdppca writes"),
        (2, lambda body: "[1]", "row 2: "),
        (0, lambda body: body.replace(":", ": "), "row 0: its budget is not written as"),
        (4, with_values(charge=4), "row 4: charge=4 must be a row before"),
        (4, with_values(charge=0), "row 4: charge=0 is no place"),
        (4, with_values(release="0"), "row 4: release='0' is no SHA-256"),
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


@pytest.mark.parametrize(
    ("row", "change", "reason"),
    [
        (4, with_values(cohorts=["b"]), None),  # agrees with itself: only a receipt tells
        (4, with_values(cohorts=[]), "row 4: cohorts=.* must be a list of names"),
        (4, with_values(cohorts=["a", "a"]), "row 4: cohorts names 'a' twice"),
        (4, with_values(cohorts=["a\n"]), "row 4: cohorts='a.*n' has a character"),
        (4, with_values(cohorts="a"), "row 4: cohorts='a' must be a list"),
        (4, with_values(kind="charge"), "row 4: kind='charge' has no cohorts"),
        (4, with_values(kind="release-on-cohorts"), "kind='release-on-cohorts' is unknown"),
        (5, with_values(cohorts=["A", "b"]), "row 5: cohort='A' reads like 'a'"),
        (5, with_values(cohorts=["b", "a", "c"]), None),
        (1, with_values(cohorts=["a"]), "row 1: kind='charge' has no cohorts"),
        (0, with_values(max_cohorts_per_person=2), "row 0: .*several rows"),
        (0, with_values(max_cohorts_per_person=1), "row 0: its budget is not written as"),
    ],
)
def test_rows_of_cohorts_that_were_forged_do_not_pass(ledger, row, change, reason):
    receipts = [ledger.charge(SMALL, **NOTION, cohort=name) for name in ("a", ("b", "a"))]
    forged(ledger.path, 0, str)
    ledger.verify()
    forged(ledger.path, row, change)
    with pytest.raises(LedgerError, match=reason):
        PrivacyLedger(ledger.path).verify(*receipts)


def test_cohorts_below_the_schema_number_of_a_ledger_without_are_refused(ledger):
    ledger.charge(SMALL, **NOTION, cohort="a")
    sql(ledger.path, "PRAGMA user_version=2")
    with pytest.raises(LedgerError, match="the schema number of a ledger without"):
        PrivacyLedger(ledger.path)
    with pytest.raises(LedgerError, match="the schema number of a ledger without"):
        ledger.charge(SMALL, **NOTION)


def test_a_truncated_file_is_found_wherever_it_was_cut(ledger):
    whole = Path(ledger.path).read_bytes()
    for size in [*range(0, 600, 50), *range(600, len(whole), 512), len(whole) - 1]:
        Path(ledger.path).write_bytes(whole[:size])
        with pytest.raises(LedgerError):
            PrivacyLedger(ledger.path)
        with pytest.raises(LedgerError):
            ledger.charge(SMALL, **NOTION)
    Path(ledger.path).write_bytes(whole)
    ledger.verify()


def reading(path):
    ledger = PrivacyLedger(path)
    return repr(ledger), ledger.id, ledger.receipts, ledger.releases


@pytest.mark.parametrize(
    ("bits", "step"),
    [(range(8), 256), *(pytest.param([bit], 1, marks=pytest.mark.slow) for bit in range(8))],
)
def test_a_flipped_bit_is_an_error_or_changes_nothing(ledger, bits, step):
    """For all bits, this takes two to six minutes. The highest one makes a byte no ASCII."""
    ledger.record(ledger.receipts[0], "0" * 64)
    whole, before = Path(ledger.path).read_bytes(), reading(ledger.path)
    found = 0
    for place in [8 * byte + bit for bit in bits for byte in range(len(whole))][::step]:
        broken = bytearray(whole)
        broken[place // 8] ^= 1 << place % 8
        Path(ledger.path).write_bytes(broken)
        try:
            assert reading(ledger.path) == before
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
    without_triggers(ledger.path, "DELETE FROM chain WHERE row = 3")
    with pytest.raises(LedgerError, match="row 2: it is not the last row"):
        PrivacyLedger(ledger.path)
    sql(ledger.path, "UPDATE sqlite_sequence SET seq = 2")
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
    without_triggers(
        ledger.path, "UPDATE chain SET body = replace(body, '0.0001', '0.00001') WHERE row = 2"
    )
    with pytest.raises(LedgerError, match="row 2: its hash does not match"):
        ledger.verify()
