import json
import shutil

import pytest

from .conftest import is_one_line_error


@pytest.fixture
def charged(run, table, budget, ledger, tmp_path):
    """A ledger with one charge, and the report of it."""
    out = tmp_path / "out"
    assert run("fit", table, *budget, "--ledger", ledger, "--out", out).status == 0
    return ledger, out / "report.json"


def test_a_new_ledger_says_what_it_is_for(run, tmp_path):
    result = run(
        *("ledger", "create", tmp_path / "l", "--epsilon", 1, "--delta", 1e-6),
        *("--unit", "patient", "--adjacency", "replace-one"),
    )
    assert result.status == 0
    assert "epsilon 1, delta 1e-06 for all rows of every patient, under replace-one" in result.out


def test_a_ledger_is_never_made_over_a_file(run, ledger):
    before = ledger.read_bytes()
    assert is_one_line_error(run("ledger", "create", ledger, "--epsilon", 9, "--delta", 1e-6))
    assert ledger.read_bytes() == before


def test_show_lists_charges_and_what_is_left(run, charged):
    result = run("ledger", "show", charged[0])
    assert result.status == 0
    assert "PrivatePCA" in result.out
    assert "spent: epsilon 1 at delta 1e-06" in result.out
    assert "remaining: epsilon 1.6" in result.out


def test_an_empty_ledger_shows_its_whole_budget(run, ledger):
    assert "remaining: epsilon 2 at delta 1e-06" in run("ledger", "show", ledger).out


def test_verify_finds_the_receipt_of_a_report(run, charged):
    ledger, report = charged
    result = run("ledger", "verify", ledger, "--report", report)
    assert result.status == 0
    assert "all given reports are in it: 1" in result.out


def test_verify_takes_the_directory_of_a_fit(run, charged):
    ledger, report = charged
    result = run("ledger", "verify", ledger, "--report", report.parent)
    assert "all given reports are in it: 1" in result.out


def test_verify_finds_that_an_older_copy_was_restored(run, ledger, table, budget, tmp_path):
    old = shutil.copy(ledger, tmp_path / "old.ledger")
    out = tmp_path / "out"
    assert run("fit", table, *budget, "--ledger", ledger, "--out", out).status == 0
    shutil.copy(old, ledger)
    assert run("ledger", "verify", ledger).status == 0
    assert is_one_line_error(run("ledger", "verify", ledger, "--report", out / "report.json"))


def test_verify_refuses_a_changed_receipt(run, charged):
    ledger, report = charged
    content = json.loads(report.read_text())
    content["receipt"]["label"] = "free of charge"
    report.write_text(json.dumps(content))
    assert is_one_line_error(run("ledger", "verify", ledger, "--report", report))


def test_verify_refuses_a_report_without_a_charge(run, table, budget, ledger, tmp_path):
    run("fit", table, *budget, "--out", tmp_path / "free")
    result = run("ledger", "verify", ledger, "--report", tmp_path / "free" / "report.json")
    assert is_one_line_error(result)
    assert "no ledger" in result.err


@pytest.mark.parametrize("action", ["show", "verify"])
def test_a_file_that_is_no_ledger_is_one_line(run, table, action):
    assert is_one_line_error(run("ledger", action, table))


def test_a_report_reads_as_the_fit_printed_it(run, charged):
    result = run("report", charged[1].parent)
    assert result.status == 0
    assert "(1, 1e-06)-differentially private" in result.out
    assert "Gram matrix" in result.out
    assert "charged as row 1" in result.out


def test_a_report_that_is_not_private_says_so_first(run, table, tmp_path):
    run("fit", table, "--epsilon", "inf", "--delta", 1e-6, "--out", tmp_path / "out")
    result = run("report", tmp_path / "out")
    assert result.out.startswith("PrivatePCA: NOT PRIVATE")
    assert "private as stated" not in result.out


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content.pop("event"),
        lambda content: content.update(private=False),
        lambda content: content.update(spendings=[{"name": "x"}]),
        lambda content: content["event"].update(type="free"),
    ],
)
def test_a_changed_report_is_refused(run, charged, damage):
    content = json.loads(charged[1].read_text())
    damage(content)
    charged[1].write_text(json.dumps(content))
    assert is_one_line_error(run("report", charged[1].parent))


def test_a_missing_report_is_one_line(run, tmp_path):
    assert is_one_line_error(run("report", tmp_path))
