"""What ``--json`` prints is one document, as its struct describes it."""

import json

import msgspec
import pytest

from skdppca import PrivacyLedger
from skdppca.cli._json import (
    FitDocument,
    LedgerDocument,
    MergeDocument,
    PlanDocument,
    ReleaseDocument,
    VerifyDocument,
)
from skdppca.report._document import parsed

DOCUMENTS = (
    PlanDocument | FitDocument | MergeDocument | ReleaseDocument | VerifyDocument | LedgerDocument
)


def read(kind, result, status=0):
    """The document that was printed, if it is as its struct says."""
    assert (result.status, result.err) == (status, "")
    msgspec.json.decode(result.out, type=DOCUMENTS)
    content = json.loads(result.out)
    assert content["schema"] == f"skdppca-{kind}/1"
    return content


@pytest.mark.parametrize("more", [(), ("--over", "n"), ("--releases", 2)], ids=str)
def test_a_plan(run, quick_plans, more):
    options = ("--n", 3000, "--d", 8, "--k", 2, "--epsilon", 1, "--method", "gauss", "--json")
    content = read("plan", run("plan", *options, *more))
    assert content["plan"]["rows"][0]["method"] == "DPGauss"
    assert bool(content["along"]) == ("--over" in more)


def test_a_plan_of_nothing_has_its_number_of_records(run):
    options = ("--n", 100, "--d", 8, "--k", 2, "--epsilon", 0.05, "--method", "gauss", "--json")
    plan = read("plan", run("plan", *options))["plan"]
    assert plan["finds_nothing"] and plan["enough"] > 100


def test_a_fit(fit, ledger, tmp_path):
    content = read("fit", fit("--ledger", ledger, "--json"))
    assert parsed(json.dumps(content["report"])) == content["report"]
    assert content["report"] == json.loads((tmp_path / "out" / "report.json").read_text())
    assert {*content["files"]} == {path.name for path in (tmp_path / "out").iterdir()}


def test_a_fit_that_is_not_private(fit):
    report = read("fit", fit("-k", 2, "--epsilon", "inf", "--json"))["report"]
    assert report["fit"]["core"]["guarantee"]["epsilon"] == "inf"


def test_a_ledger(run, fit, ledger):
    assert fit("--ledger", ledger).status == 0
    PrivacyLedger(ledger).charge_external("counts", mu=0.1)
    content = read("ledger", run("ledger", "show", ledger, "--json"))
    assert [one["external"] for one in content["charges"]] == [False, True]
    assert content["remaining"] == PrivacyLedger(ledger).remaining.epsilon


@pytest.mark.parametrize(("command", "kind"), [("verify", "verify"), ("report", "release")])
def test_a_release_that_agrees_and_one_that_differs(run, fit, ledger, tmp_path, command, kind):
    assert fit("--ledger", ledger).status == 0
    status = int(command == "verify")
    content = read(kind, run(command, tmp_path / "out", "--json"), status)
    written = json.loads((tmp_path / "out" / "report.json").read_text())
    assert content["status"] == "open" and content.get("report", written) == written
    (tmp_path / "out" / "components.csv").write_text("changed")
    content = read(kind, run(command, tmp_path / "out", "--json"), status=1)
    assert content["status"] == "differs" and content.get("report") is None
    assert any("components.csv" in one["says"] for one in content["findings"])


def test_a_merged_release(run, fit, tmp_path):
    for name in ("north", "south"):
        assert fit("--out", tmp_path / name, "--method", "gauss").status == 0
    both = tmp_path / "both"
    parts = (tmp_path / "north", tmp_path / "south")
    content = read("merge", run("merge", *parts, "--disjoint", "--out", both, "--json"))
    assert parsed(json.dumps(content["report"])) == content["report"]
    assert content["report"] == json.loads((both / "report.json").read_text())
    assert {*content["files"]} == {path.name for path in both.iterdir()}
    again = run("merge", *parts, "--out", both, "--json", "--force")
    assert read("merge", again)["report"]["fit"]["core"]["parameters"]["disjoint"] is False
