"""``skdppca merge`` writes a release as `fit` does, and charges nothing."""

import json
import shutil

import pytest

from skdppca import MergedPCA, PrivacyLedger, merge
from skdppca.report import load, verify

from .conftest import assert_refused, charges, csv_of, people


@pytest.fixture
def parts(fit, ledger, tmp_path):
    """Releases of two cohorts, each charged to a ledger of its own."""
    folders = []
    for name in ("north", "south"):
        table = csv_of(tmp_path / f"{name}.csv", people(1200, seed=len(folders)))
        own = ledger if name == "north" else tmp_path / "south.ledger"
        PrivacyLedger.create(own, 2.0, 1e-6, exist_ok=True)
        options = ("-k", 2, "--method", "gauss", "--ledger", own, "--out", tmp_path / name)
        assert fit(*options, data=table).status == 0
        folders.append(tmp_path / name)
    return folders


def test_it_writes_what_merge_returns(run, parts, ledger, tmp_path):
    before = ledger.read_bytes()
    out = tmp_path / "both"
    done = run("merge", *parts, "--out", out, "--disjoint", "--title", "Both", "--no-pictures")
    assert done.status == 0, done.err
    assert ledger.read_bytes() == before and charges(ledger) == 1
    pca, again = merge(parts, disjoint=True), load(out)
    assert type(again) is MergedPCA
    assert again.components_.tobytes() == pca.components_.tobytes()
    assert again.privacy_.release_id == pca.privacy_.release_id
    assert json.loads((out / "report.json").read_text())["title"] == "Both"
    assert "skdppca declare" not in done.out
    assert "Merged from 2 releases" in done.out and "Nothing was charged" in done.out
    assert "8 and 9 are open, and the figures rest on the answers." in done.out
    assert "and if nobody has records in two of the merged releases." in done.out
    assert verify(out, ledger=ledger).status == "unchecked"
    both = ("--ledger", ledger, "--ledger", ledger.with_name("south.ledger"))
    assert run("verify", out, *both, "--allow", "open").status == 0
    told = run("report", out)
    assert told.status == 0 and "skdppca verify" in told.out
    sampled = run("sample", out, "-n", 5, "-o", tmp_path / "rows.csv")
    assert sampled.status == 0 and "Drawing rows is not charged" in sampled.out


def test_without_the_declaration_all_parts_add_up(run, parts, tmp_path):
    done = run("merge", *parts, "-k", 3, "--out", tmp_path / "both", "--no-pictures")
    pca = load(tmp_path / "both")
    report = pca.privacy_
    assert done.status == 0 and pca.n_components_ == 3
    assert f"skdppca declare {tmp_path / 'both'} --title TEXT --context FILE" in done.out
    assert report.epsilon > 1.4 and report.parameters["disjoint"] is False


def test_what_cannot_be_merged_is_one_line(run, parts, tmp_path):
    out = ("--out", tmp_path / "both", "--no-pictures")
    damaged = shutil.copytree(parts[1], tmp_path / "damaged")
    (damaged / "components.csv").write_text("mine")
    for given, said in (
        ([parts[0], damaged], "damaged do not agree"),
        (parts[:1], "give at least two"),
        ([parts[0], parts[0]], "have the same release"),
        ([parts[0], tmp_path / "nowhere"], "nowhere is not a directory"),
        ([*parts, "-k", 9], "-k 9 is more than the 4 features"),
    ):
        assert_refused(run("merge", *given, *out), said)
    assert not (tmp_path / "both").exists()


@pytest.mark.parametrize("inner", ["", "inside"])
def test_a_part_is_never_written_to(run, parts, inner):
    before = {path.name: path.read_bytes() for path in parts[0].iterdir()}
    refused = run("merge", *parts, "--out", parts[0] / inner, "--force", "--no-pictures")
    assert_refused(refused, "is read and stays as it is")
    assert {path.name: path.read_bytes() for path in parts[0].iterdir()} == before
