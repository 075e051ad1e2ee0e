import json
import re
import shutil
import sys

import pytest

from skdppca import PrivacyLedger
from skdppca.privacy import ApproximateEvent, GaussianEvent, PureEvent
from skdppca.privacy.installing import how_to_install
from skdppca.report._contents import as_json

from .conftest import assert_refused, charges


@pytest.fixture
def charged(fit, ledger, tmp_path):
    """A ledger with one charge, and the report of it."""
    assert fit("--ledger", ledger).status == 0
    return ledger, tmp_path / "out" / "report.json"


def test_a_ledger_is_never_made_over_a_file(run, ledger):
    before = ledger.read_bytes()
    result = run("ledger", "create", ledger, "--epsilon", 9, "--delta", 1e-6)
    assert_refused(result)
    assert f"--ledger {ledger}" in result.err and "PrivacyLedger" not in result.err
    assert ledger.read_bytes() == before


def test_a_terminal_is_told_nothing_by_a_ledger(run, tmp_path, monkeypatch):
    # as older ledgers were made
    monkeypatch.setattr("skdppca.privacy.ledger.check_unit", lambda unit: None)
    unit = "\x1b[2J\nspent: epsilon 0"
    ledger = PrivacyLedger.create(tmp_path / "l", 1.0, 1e-6, unit=unit)
    ledger.charge(GaussianEvent(0.1), adjacency="add-remove", unit=unit, label="\x1b[1A\nlabel")
    result = run("ledger", "show", tmp_path / "l")
    assert result.status == 0
    assert "\x1b" not in result.out and "\nlabel" not in result.out
    assert result.out.count("\nspent:") == 1


COUNTS = ("--label", "OpenDP: counts", "--epsilon", 0.5, "--delta", 0)


@pytest.mark.parametrize(
    ("cost", "event"),
    [
        (("--epsilon", 0.5, "--delta", 0), PureEvent(0.5)),
        (("--epsilon", 0.5, "--delta", 1e-7), ApproximateEvent(0.5, 1e-7)),
        (("--mu", 0.1), GaussianEvent(0.1)),
    ],
)
def test_an_external_release_is_charged(run, ledger, cost, event):
    result = run("ledger", "charge", ledger, "--label", "OpenDP: counts", *cost)
    (receipt,) = PrivacyLedger(ledger).receipts
    assert (result.status, result.err, receipt.event) == (0, "", event)
    assert "charged: OpenDP: counts, epsilon " in result.out
    assert f"receipt: row 1, head {receipt.head}\n" in result.out
    remaining = PrivacyLedger(ledger).remaining.epsilon
    assert f"remaining: epsilon {remaining:.6g} at delta 1e-06\n" in result.out


def used_up(delta, epsilon=0.1):
    return ("--label", "x", "--epsilon", epsilon, "--delta", delta)


@pytest.mark.parametrize(("mu", "delta"), [(None, 1e-6), (0.2, 1e-6), (0.2, 1e-5)])
def test_a_charge_whose_delta_takes_all_that_is_left_is_refused(run, ledger, mu, delta):
    if mu is not None:
        run("ledger", "charge", ledger, "--label", "sums", "--mu", mu)
    result = run("ledger", "charge", ledger, *used_up(delta))
    assert_refused(result, f"--delta {delta:g} uses up the delta 1e-06 of {ledger}")
    assert "a smaller --delta, or by --mu" in result.err
    assert ("--force" in result.err) == (mu is None)
    assert charges(ledger) == (mu is not None)


@pytest.mark.parametrize("mu", [None, 0.2])
def test_force_charges_it_only_if_the_budget_covers_it(run, ledger, mu):
    if mu is not None:
        run("ledger", "charge", ledger, "--label", "sums", "--mu", mu)
    result = run("ledger", "charge", ledger, *used_up(1e-6), "--force")
    assert result.status == (0 if mu is None else 2)
    assert charges(ledger) == 1


def test_a_charge_of_all_epsilon_may_take_all_delta(run, ledger):
    assert run("ledger", "charge", ledger, *used_up(1e-6, epsilon=2)).status == 0


def test_the_mu_of_a_gaussian_ledger_moves_its_total_to_another(run, ledger, tmp_path):
    for mu in (0.1, 0.123456789123):
        run("ledger", "charge", ledger, "--label", "sums", "--mu", mu)
    said = run("ledger", "show", ledger).out
    (mu,) = [line.split()[-1].rstrip(")") for line in said.splitlines() if "together: mu" in line]
    run("ledger", "create", larger := tmp_path / "l", "--epsilon", 4, "--delta", 1e-6)
    run("ledger", "charge", larger, "--label", "all of study.ledger", "--mu", mu)
    old, new = (PrivacyLedger(path).statement().chain.total.square for path in (ledger, larger))
    assert old <= new <= old * (1 + 1e-7)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--label", "x", "--epsilon", 9, "--delta", 0), "let the other tool release less"),
        (("--label", "x", "--epsilon", 0.5), "--epsilon 0.5 was given; give epsilon and delta"),
        (("--label", "x", "--epsilon", 0.5, "--delta", 0, "--mu", 1), "or mu alone"),
        (("--label", "x", "--mu", 0), "--mu 0 costs nothing"),
        (("--label", "x", "--epsilon", "inf", "--delta", 0), "--epsilon inf is out of range"),
        (("--label", " ", "--mu", 0.1), "does not say what was released"),
        (("--label", "x", "--mu", 0.1, "--adjacency", "replace-one"), "replace-one"),
        (("--mu", 0.1), "required: --label"),
    ],
)
def test_a_refused_external_release_is_one_line_and_charges_nothing(run, ledger, options, reason):
    assert_refused(run("ledger", "charge", ledger, *options), reason, ledger=ledger)


@pytest.mark.parametrize(
    ("error", "status", "says"),
    [
        (ImportError("no dp-accounting"), 1, "it was charged (row 1 of "),
        (KeyboardInterrupt(15), 143, "interrupted; it was charged (row 1 of "),
    ],
)
def test_a_failure_after_an_external_charge_says_that_it_was_charged(
    run, ledger, monkeypatch, error, status, says
):
    statement = PrivacyLedger.statement

    def fail(account):
        if account.receipts:
            raise error
        return statement(account)

    monkeypatch.setattr(PrivacyLedger, "statement", fail)
    result = run("ledger", "charge", ledger, *COUNTS)
    assert result.status == status and says in result.err
    assert charges(ledger) == 1


def test_an_interrupted_external_charge_says_that_it_may_have_been_made(run, ledger, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(PrivacyLedger, "charge_external", interrupted)
    result = run("ledger", "charge", ledger, *COUNTS)
    assert result.status == 130
    assert f"it may have been charged (skdppca ledger show {ledger} says it)" in result.err


def test_verify_finds_the_release_of_a_report(run, charged):
    ledger, report = charged
    result = run("ledger", "verify", ledger, "--report", report.parent)
    assert (result.status, result.err) == (0, "")
    assert "Does the ledger agree? Yes. Not checked: who wrote the ledger." in result.out


def test_verify_finds_that_an_older_copy_was_restored(run, ledger, fit, tmp_path):
    old = shutil.copy(ledger, tmp_path / "old.ledger")
    assert fit("--ledger", ledger).status == 0
    shutil.copy(old, ledger)
    assert run("ledger", "verify", ledger).status == 0
    result = run("ledger", "verify", ledger, "--report", tmp_path / "out")
    assert result.status == 1
    assert "missing: rows were removed, or this is an older copy" in result.out


def test_verify_names_the_report_that_differs(run, charged, fit, tmp_path):
    ledger, report = charged
    other = tmp_path / "other"
    assert fit("--epsilon", 0.5, "--ledger", ledger, "--out", other).status == 0
    content = json.loads(report.read_text())
    content["fit"]["core"]["receipts"][0]["label"] = "free of charge"
    report.write_text(as_json(content))
    result = run("ledger", "verify", ledger, "--report", report.parent, other)
    assert (result.status, result.err) == (1, "")
    first, second = result.out.split(f"{other}:")
    assert "row 1 differs from the receipt" in first
    assert "differs" not in second


def test_a_charge_that_could_not_be_added_up_is_refused_before_it_is_made(run, ledger, monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    result = run("ledger", "charge", ledger, "--epsilon", 0.37, "--delta", 0, "--label", "counts")
    assert_refused(result, how_to_install("selection"), ledger=ledger)


@pytest.mark.parametrize("unit", ["row", "patient"])
def test_a_new_ledger_says_what_it_is_for(run, tmp_path, unit):
    terms = ("--epsilon", 1, "--delta", 1e-6, "--unit", unit, "--adjacency", "replace-one")
    result = run("ledger", "create", tmp_path / "l", *terms)
    records = "every row" if unit == "row" else "all rows of every patient"
    assert result.status == 0
    assert f"epsilon 1, delta 1e-06 for {records}, under replace-one" in result.out
    assert ("The ledger protects every row alone" in result.out) == (unit == "row")
    assert "remaining: epsilon 1 at delta 1e-06" in run("ledger", "show", tmp_path / "l").out


def test_show_lists_charges_their_releases_and_what_is_left(run, charged):
    ledger, report = charged
    cost = {"adjacency": "add-remove", "unit": "row"}
    PrivacyLedger(ledger).charge(GaussianEvent(0.01), label="by hand", **cost)
    release = json.loads(report.read_text())["fit"]["release_id"]
    said = run("ledger", "show", ledger).out
    first, second = (line for line in said.splitlines() if re.match(r"\d+ +20\d\d-", line))
    assert "PrivatePCA" in first and first.endswith(f"{release[:16]} (row 2)")
    assert "by hand" in second and second.endswith("charged; no release recorded")
    assert "spent: epsilon 1.0" in said and "remaining: epsilon 1.6" in said
    chain = PrivacyLedger(ledger).statement().chain
    assert said.splitlines()[-1] == f"ledger {chain.terms.accountant[:16]}, head {chain.head()}"


def test_show_has_a_running_total_and_calls_an_external_charge_external(run, ledger):
    for _ in range(2):
        run("ledger", "charge", ledger, *COUNTS)
    heads, first, second, spent, *_ = run("ledger", "show", ledger).out.splitlines()[1:]
    assert "total" in heads
    assert first.split()[-2:] == ["0.5", "external"] and "no release recorded" not in first
    assert second.split()[-2] == spent.split()[2] != "0.5"
    verified = run("ledger", "verify", ledger).out
    assert "no row was changed or removed (charges: 2, releases: 0, external: 2, head " in verified
    assert "An older copy of the file would pass, too" in verified


@pytest.mark.parametrize(
    ("delta", "costs", "squares", "mu"),
    [
        (1e-6, (), False, False),
        (1e-6, (("--mu", 0.1),), True, True),
        (1e-6, (("--mu", 0.1), ("--epsilon", 0.5, "--delta", 0)), True, False),
        (0, (("--epsilon", 0.5, "--delta", 0),), False, False),
    ],
)
def test_show_says_how_costs_add_up(run, tmp_path, delta, costs, squares, mu):
    run("ledger", "create", tmp_path / "l", "--epsilon", 2, "--delta", delta)
    for cost in costs:
        assert run("ledger", "charge", tmp_path / "l", "--label", "sums", *cost).status == 0
    said = run("ledger", "show", tmp_path / "l").out
    assert ("add up in squares (mu^2)" in said) == squares
    assert ("together: mu" in said) == mu


@pytest.mark.parametrize("action", [("show",), ("verify",), ("charge", *COUNTS)])
def test_a_file_that_is_no_ledger_is_one_line(run, table, action):
    assert_refused(run("ledger", *action, table))
