import json
import math
import os
import pickle
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from skdppca.exceptions import BudgetExceeded, LedgerError
from skdppca.privacy import GaussianEvent, PrivacyLedger, PureEvent, SelectionEvent, chain, mu_of

NOTION = {"adjacency": "add-remove", "unit": "row"}
SMALL = GaussianEvent(1e-4)


def sql(path, *statements):
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        return [db.execute(statement).fetchall() for statement in statements]


def test_a_ledger_is_an_sqlite_file_with_the_budget_in_it(ledger):
    assert ledger.path.endswith("study.ledger") and os.path.isabs(ledger.path)
    body = sql(ledger.path, "SELECT body FROM chain WHERE row = 0")[0][0][0]
    assert json.loads(body) == {
        "accountant": ledger.id,
        "epsilon": 1.0,
        "delta": 1e-6,
        "adjacency": "add-remove",
        "unit": "row",
    }


def test_opening_finds_budget_notion_and_charges(folder):
    path = f"{folder}/study.ledger"
    made = PrivacyLedger.create(path, 2.0, 1e-7, adjacency="replace-one", unit="patient")
    receipt = made.charge(SMALL, adjacency="replace-one", unit="patient", label="first")
    opened = PrivacyLedger(path)
    assert (opened.epsilon, opened.delta, opened.id) == (2.0, 1e-7, made.id)
    assert (opened.adjacency, opened.unit) == ("replace-one", "patient")
    assert opened.receipts == (receipt,)
    assert opened.spent == made.spent and opened.remaining == made.remaining


def test_two_objects_spend_one_budget(ledger):
    other = PrivacyLedger(ledger.path)
    other.charge(GaussianEvent(mu_of(0.99, 1e-6)), **NOTION)
    with pytest.raises(BudgetExceeded):
        ledger.charge(GaussianEvent(mu_of(0.99, 1e-6)), **NOTION)
    assert ledger.receipts == other.receipts


@pytest.mark.parametrize(
    "name", ["a b", "what?mode=memory", "a#b", "100%41", "größe-日本", "a&b=c;d", ":memory:", "'\""]
)
def test_any_file_name_works(folder, name):
    PrivacyLedger.create(f"{folder}/{name}", 1.0, 1e-6).charge(SMALL, **NOTION)
    assert len(PrivacyLedger(Path(folder) / name).receipts) == 1
    assert os.listdir(folder) == [name]


def test_a_relative_path_stays_where_it_was(folder, monkeypatch):
    monkeypatch.chdir(folder)
    ledger = PrivacyLedger.create("study.ledger", 1.0, 1e-6)
    monkeypatch.chdir("/")
    ledger.charge(SMALL, **NOTION)
    assert ledger.path == f"{folder}/study.ledger"


def test_create_never_replaces_a_file(ledger):
    with pytest.raises(LedgerError, match="never replaced; open it with PrivacyLedger"):
        PrivacyLedger.create(ledger.path, 100.0, 1e-6)
    assert PrivacyLedger(ledger.path).epsilon == 1.0


@pytest.mark.parametrize("budget", [(0.0, 1e-6), (math.inf, 1e-6), (1.0, 1.0), (1.0, -1.0)])
def test_a_refused_budget_leaves_no_file(folder, budget):
    with pytest.raises(ValueError):
        PrivacyLedger.create(f"{folder}/study.ledger", *budget)
    assert os.listdir(folder) == []


def test_create_where_nothing_can_be_written_says_so(folder):
    for path in (f"{folder}/missing/study.ledger", f"{folder}/nul\0l"):
        with pytest.raises(LedgerError, match="choose a folder that you can write to"):
            PrivacyLedger.create(path, 1.0, 1e-6)


def test_charges_sync_the_disk_without_a_write_ahead_log(ledger, monkeypatch):
    # A trace of what SQLite is told: the safest settings, before the transaction begins.
    told = []
    connect = sqlite3.connect

    def traced(*args, **kwargs):
        db = connect(*args, **kwargs)
        db.set_trace_callback(told.append)
        return db

    monkeypatch.setattr(sqlite3, "connect", traced)
    ledger.charge(SMALL, **NOTION)
    told = [statement for statement in told if not statement.startswith("--")]
    assert {"PRAGMA journal_mode=DELETE", "PRAGMA synchronous=EXTRA"} <= set(told)
    # The row is inserted in a transaction of its own, which no signal handler or fork can divide.
    insert = next(place for place, text in enumerate(told) if text.startswith("INSERT"))
    assert told[insert - 1] == "COMMIT"
    assert set(told[insert:]) == {told[insert]}  # the trigger is traced, too


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM chain WHERE row = 3",
        "UPDATE chain SET body = '{}'",
        "REPLACE INTO chain VALUES (3, '{}', '')",
        "INSERT INTO chain VALUES (9, '{}', '')",
        "INSERT INTO chain VALUES (-1, '{}', '')",
    ],
)
def test_the_file_itself_is_append_only(ledger, statement):
    with pytest.raises(sqlite3.Error, match="append-only"):
        sql(ledger.path, statement)
    ledger.verify()


def test_a_write_ahead_log_is_undone_before_the_next_charge(ledger):
    sql(ledger.path, "PRAGMA journal_mode=WAL")
    ledger.charge(SMALL, **NOTION)
    assert sql(ledger.path, "PRAGMA journal_mode") == [[("delete",)]]
    assert len(PrivacyLedger(ledger.path).receipts) == 4


def test_a_pickled_ledger_charges_the_same_file(ledger):
    copied = pickle.loads(pickle.dumps(ledger))
    assert copied is not ledger
    copied.charge(SMALL, **NOTION)
    assert (copied.id, copied.path, repr(copied)) == (ledger.id, ledger.path, repr(ledger))
    assert ledger.receipts == copied.receipts and len(ledger.receipts) == 4


def test_a_pickled_ledger_loads_where_the_file_is_out_of_reach(ledger):
    token = pickle.dumps(ledger)
    os.unlink(ledger.path)
    copied = pickle.loads(token)
    assert (copied.epsilon, copied.unit) == (1.0, "row")
    assert pickle.loads(pickle.dumps(copied)).id == ledger.id
    with pytest.raises(LedgerError, match="there is no such file"):
        copied.charge(SMALL, **NOTION)


def test_a_fork_charges_the_same_file(ledger, in_child):
    assert in_child(lambda: ledger.charge(SMALL, **NOTION).row)() == 4
    assert ledger.charge(SMALL, **NOTION).row == 5


def test_charges_without_a_release_are_listed(ledger):
    first, second, third = ledger.receipts
    ledger.record(second, "0" * 64)
    assert ledger.unrecorded == PrivacyLedger(ledger.path).unrecorded == (first, third)


def test_a_pickle_does_not_grow_with_the_charges(ledger):
    before = len(pickle.dumps(ledger))
    for _ in range(20):
        ledger.record(ledger.charge(SMALL, **NOTION), "0" * 64)
    assert len(pickle.dumps(ledger)) < before + 10


@pytest.fixture
def parsed(monkeypatch):
    """The rows that were parsed."""
    rows = []
    parse = chain.row_from_dict
    monkeypatch.setattr(chain, "row_from_dict", lambda row: rows.append(row["row"]) or parse(row))
    return rows


def test_a_charge_parses_no_row_again(ledger, parsed):
    ledger.charge(SMALL, **NOTION)
    ledger.record(ledger.charge(SMALL, **NOTION), "0" * 64)
    assert parsed == []
    PrivacyLedger(ledger.path).charge(SMALL, **NOTION)
    assert parsed == [1, 2, 3, 4, 5, 6]
    assert ledger.charge(SMALL, **NOTION).row == 8
    assert parsed[6:] == [7]


@pytest.mark.parametrize("event", [SMALL, PureEvent(1e-6), SelectionEvent(1e-6, 2.0)])
def test_a_charge_copies_no_row(ledger, event):
    def memory():
        rows, total = ledger._verified.rows, ledger._verified.total.everyone
        return rows._items, total.steps._items, total.selections._items

    before = memory()
    for _ in range(3):
        ledger.charge(event, **NOTION)
    assert all(new is old for new, old in zip(memory(), before, strict=True))


def test_a_notebook_can_be_run_again(tmp_path):
    for _ in range(2):
        ledger = PrivacyLedger.create(tmp_path / "l", 1.0, 1e-6, unit="patient", exist_ok=True)
        ledger.charge_external("counts", mu=0.05)
    assert len(ledger.receipts) == 2


@pytest.mark.parametrize(
    "other",
    [{"epsilon": 2.0}, {"delta": 1e-7}, {"adjacency": "replace-one"}, {"unit": "ward"}],
    ids=str,
)
def test_a_ledger_of_other_terms_is_not_opened_in_its_place(tmp_path, other):
    terms = {"epsilon": 1.0, "delta": 1e-6, "adjacency": "add-remove", "unit": "patient"}
    PrivacyLedger.create(tmp_path / "l", **terms)
    with pytest.raises(LedgerError, match="already exists, with epsilon 1, delta 1e-06"):
        PrivacyLedger.create(tmp_path / "l", **terms | other, exist_ok=True)


def test_what_is_no_ledger_is_not_opened_in_its_place(tmp_path):
    (tmp_path / "l").write_text("notes")
    with pytest.raises(LedgerError):
        PrivacyLedger.create(tmp_path / "l", 1.0, 1e-6, exist_ok=True)
    assert (tmp_path / "l").read_text() == "notes"


@pytest.mark.parametrize(("terms", "named"), [((1.0, 1e-6), {}), ((), {"epsilon": 1.0})])
def test_a_budget_for_a_ledger_that_is_opened_is_told_what_to_call(tmp_path, terms, named):
    with pytest.raises(TypeError, match=r"PrivacyLedger\.create\(path, epsilon=\.\.\., delta"):
        PrivacyLedger(tmp_path / "l", *terms, **named)
    assert not (tmp_path / "l").exists()


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_an_external_charge_is_for_the_ledgers_neighbours(tmp_path, adjacency):
    ledger = PrivacyLedger.create(tmp_path / "l", 1.0, 1e-6, adjacency=adjacency)
    ledger.charge_external("counts", mu=0.05)
    other = {"add-remove": "replace-one", "replace-one": "add-remove"}[adjacency]
    with pytest.raises(ValueError, match=adjacency):
        ledger.charge_external("counts", mu=0.05, adjacency=other)
