import hashlib
import json
import math
import os
import pickle
from pathlib import Path

import pytest

from skdppca.exceptions import BudgetExceeded, LedgerError
from skdppca.privacy import GaussianEvent, PrivacyLedger, PureEvent, SelectionEvent, mu_of
from skdppca.privacy import ledger as ledger_module
from skdppca.privacy.chain import Chain

NOTION = {"adjacency": "add-remove", "unit": "row"}
SMALL = GaussianEvent(1e-4)


def test_a_ledger_is_a_text_file_that_the_standard_library_checks(ledger):
    ledger.record(ledger.receipts[0], "0" * 64)
    assert ledger.path.endswith("study.ledger") and os.path.isabs(ledger.path)
    head, rows = "", []
    for line in Path(ledger.path).read_text("ascii").splitlines():
        body, written = line.split("\t")
        head = hashlib.sha256(f"{head}\n{body}".encode()).hexdigest()
        assert written == head
        rows.append(json.loads(body))
    assert rows[0] == {
        "schema": "skdppca-ledger-file/1",
        "accountant": ledger.id,
        "epsilon": 1.0,
        "delta": 1e-6,
        "adjacency": "add-remove",
        "unit": "row",
    }
    assert [(row["row"], row["kind"]) for row in rows[1:]] == [
        (1, "charge"),
        (2, "charge"),
        (3, "charge"),
        (4, "release"),
    ]


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
        with pytest.raises(LedgerError, match="choose a folder on a local disk"):
            PrivacyLedger.create(path, 1.0, 1e-6)


def test_a_charge_is_one_write_that_is_on_the_disk_before_it_is_granted(ledger, monkeypatch):
    told = []
    write, sync = ledger_module._write_at, os.fsync
    monkeypatch.setattr(
        ledger_module, "_write_at", lambda *given: told.append(given[1]) or write(*given)
    )
    monkeypatch.setattr(os, "fsync", lambda file: told.append("on the disk") or sync(file))
    receipt = ledger.charge(SMALL, **NOTION)
    assert told == [f"{receipt.body}\t{receipt.head}\n".encode(), "on the disk"]


@pytest.mark.parametrize("name", [os.link, os.symlink, os.rename])
def test_another_name_is_the_same_ledger(ledger, folder, name):
    name(ledger.path, f"{folder}/other")
    other = PrivacyLedger(f"{folder}/other")
    assert other.charge(SMALL, **NOTION).row == 4
    if name is not os.rename:
        assert ledger.charge(SMALL, **NOTION).row == 5
        other.verify(*ledger.receipts)


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
    followed = Chain.followed

    def following(chain, text, head):
        rows.append(json.loads(text)["row"])
        return followed(chain, text, head)

    monkeypatch.setattr(Chain, "followed", following)
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
        chain, _ = ledger._known
        rows, total = chain.rows, chain.total
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
    assert ledger.charge_external("counts", mu=0.05).adjacency == adjacency
