import json
import shutil

import pytest

from skdppca import PrivacyLedger
from skdppca.privacy import GaussianEvent

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


def test_show_names_the_release_of_a_charge_or_says_that_there_is_none(run, charged):
    ledger, report = charged
    cost = {"adjacency": "add-remove", "unit": "row"}
    PrivacyLedger(ledger).charge(GaussianEvent(0.1), label="by hand", **cost)
    release = json.loads(report.read_text())["release_id"]
    first, second = (
        line for line in run("ledger", "show", ledger).out.splitlines() if "20" in line[:10]
    )
    assert first.endswith(release[:16])
    assert "by hand" in second and second.endswith("charged; no release recorded")


def test_a_terminal_is_told_nothing_by_a_ledger(run, tmp_path):
    unit = "\x1b[2J\nspent: epsilon 0"
    ledger = PrivacyLedger.create(tmp_path / "l", 1.0, 1e-6, unit=unit)
    ledger.charge(GaussianEvent(0.1), adjacency="add-remove", unit=unit, label="\x1b[1A\nlabel")
    result = run("ledger", "show", tmp_path / "l")
    assert result.status == 0
    assert "\x1b" not in result.out and "\nlabel" not in result.out
    assert result.out.count("\nspent:") == 1


def test_an_empty_ledger_shows_its_whole_budget(run, ledger):
    assert "remaining: epsilon 2 at delta 1e-06" in run("ledger", "show", ledger).out


def test_verify_says_what_an_older_copy_would_pass(run, ledger, charged):
    result = run("ledger", "verify", ledger)
    assert result.status == 0
    assert "no row was changed or removed (charges: 1, releases: 1, head " in result.out
    assert "An older copy of the file would pass, too" in result.out


@pytest.mark.parametrize("files", [True, False])
def test_verify_finds_the_release_of_a_report(run, charged, files):
    ledger, report = charged
    result = run("ledger", "verify", ledger, "--report", report.parent if files else report)
    assert (result.status, result.err) == (0, "")
    assert ("Level 2 of 4: not checked" in result.out) == (not files)
    assert "this ledger agree. Not checked: who wrote the ledger." in result.out


def test_verify_finds_that_an_older_copy_was_restored(run, ledger, table, budget, tmp_path):
    old = shutil.copy(ledger, tmp_path / "old.ledger")
    out = tmp_path / "out"
    assert run("fit", table, *budget, "--ledger", ledger, "--out", out).status == 0
    shutil.copy(old, ledger)
    assert run("ledger", "verify", ledger).status == 0
    result = run("ledger", "verify", ledger, "--report", out / "report.json")
    assert result.status == 1
    assert "row 1 of the receipt is missing: rows were removed" in result.out


def test_verify_names_the_report_that_differs(run, charged, table, budget, tmp_path):
    ledger, report = charged
    other = tmp_path / "other"
    more = ("--epsilon", 0.5, *budget[2:], "--ledger", ledger, "--out", other)
    assert run("fit", table, *more).status == 0
    content = json.loads(report.read_text())
    content["core"]["receipt"]["label"] = "free of charge"
    report.write_text(json.dumps(content))
    result = run("ledger", "verify", ledger, "--report", report, other)
    assert (result.status, result.err) == (1, "")
    first, second = result.out.split(f"{other}:")
    assert "row 1 differs from the receipt" in first
    assert "differs" not in second


def test_verify_refuses_a_report_without_a_charge(run, table, budget, ledger, tmp_path):
    run("fit", table, *budget, "--out", tmp_path / "free")
    result = run("ledger", "verify", ledger, "--report", tmp_path / "free" / "report.json")
    assert result.status == 1
    assert "no ledger was charged for this release" in result.out


@pytest.mark.parametrize("action", ["show", "verify"])
def test_a_file_that_is_no_ledger_is_one_line(run, table, action):
    assert is_one_line_error(run("ledger", action, table))


def test_a_report_that_is_not_private_says_so_first(run, table, tmp_path):
    run("fit", table, "--epsilon", "inf", "--delta", 1e-6, "--out", tmp_path / "out")
    result = run("report", tmp_path / "out")
    assert result.out.startswith("PrivatePCA: NOT PRIVATE")
    assert "private as stated" not in result.out


def test_a_missing_report_is_one_line(run, tmp_path):
    assert is_one_line_error(run("report", tmp_path))
