"""``skdppca fit --update``: a release grows by a cohort, and is whole whatever happens."""

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from skdppca import DPGauss, PrivacyLedger
from skdppca.cli._update import Earlier
from skdppca.privacy.grown import new_part
from skdppca.report import ReleaseReport, load, verify

from .conftest import NAMES, charges, is_one_line_error

KILLED = """
import os, signal, sys
from skdppca.cli import main
home, name, number = {home}, {name!r}, {number}
original, calls = getattr(home, name), []
def step(*given, **options):
    calls.append(given)
    if len(calls) > number:
        os.kill(os.getpid(), signal.SIGKILL)
    return original(*given, **options)
setattr(home, name, step)
main(sys.argv[1:])
"""


@pytest.fixture
def tables(tmp_path):
    """The rows of four quarters."""
    paths = []
    for quarter in range(1, 5):
        rng = np.random.default_rng(quarter)
        rows = rng.standard_normal((1500, len(NAMES))) * [4, 3, 2, 1] + 10
        path = tmp_path / f"q{quarter}.csv"
        np.savetxt(path, rows, delimiter=",", header=",".join(NAMES), comments="", fmt="%.17g")
        paths.append(path)
    return paths


@pytest.fixture
def options(tables, ledger, tmp_path):
    """The command line that joins a quarter."""

    def command(quarter, *more):
        return (
            *("fit", tables[quarter - 1], "--update", tmp_path / "registry"),
            *("--cohort", f"2026-Q{quarter}", "--epsilon", 1, "--delta", 1e-6),
            *("--ledger", ledger, "--no-pictures", *more),
        )

    return command


@pytest.fixture
def update(run, options):
    return lambda quarter, *more: run(*options(quarter, *more))


@pytest.fixture
def grown(update):
    """A release of one quarter."""
    assert update(1, "-k", 2, "--title", "Registry").status == 0


def cohorts_in(folder):
    """The cohorts of a release whose files agree; none if it is no whole release."""
    if not (folder / "SHA256SUMS").is_file() or not verify(folder).passed:
        return []
    details = load(folder).privacy_.details
    return [name for part in details["cohorts"] for name in part["cohorts"]]


def test_a_release_grows_by_a_cohort(update, grown, ledger, tmp_path):
    before = (tmp_path / "registry" / "SHA256SUMS").read_bytes()
    done = update(2)
    assert done.status == 0, done.err
    registry, previous = tmp_path / "registry", tmp_path / "registry.previous"
    assert cohorts_in(registry) == ["2026-Q1", "2026-Q2"]
    assert cohorts_in(previous) == ["2026-Q1"]
    assert (previous / "SHA256SUMS").read_bytes() == before
    assert f"The release before, {load(previous).privacy_.release_id[:16]}, is in" in done.out
    assert "registry.previous/" in done.out and "--scale private" not in done.out
    assert verify(registry, ledger=ledger).passed
    assert charges(ledger) == 2
    assert PrivacyLedger(ledger).spent.epsilon == pytest.approx(1.0)  # each person pays once


@pytest.mark.parametrize("end", ["\n", ""])
def test_a_quarter_that_nobody_came_in_is_answered(update, grown, tables, ledger, tmp_path, end):
    tables[1].write_text(",".join(NAMES) + end)
    done = update(2)
    assert done.status == 0, done.err
    assert cohorts_in(tmp_path / "registry") == ["2026-Q1", "2026-Q2"]
    assert charges(ledger) == 2


def test_a_matrix_that_no_release_holds_is_refused_before_the_charge(
    update, grown, ledger, monkeypatch
):
    def archived(released, names):
        assert ("matrix", (len(names), len(names))) in {(one.name, one.shape) for one in released}
        raise ValueError("too large")

    monkeypatch.setattr("skdppca.cli._rehearsal.LARGEST_KEPT", 2)  # fewer than there are
    monkeypatch.setattr("skdppca.cli._rehearsal.archived", archived)
    refused = update(2)
    assert is_one_line_error(refused)
    assert "too large. Nothing was charged" in refused.err
    assert charges(ledger) == 1


def test_what_the_release_states_stays(update, grown, tmp_path):
    assert update(2).status == 0
    document = json.loads((tmp_path / "registry" / "report.json").read_text())
    assert document["title"] == "Registry"
    assert load(tmp_path / "registry").n_components_ == 2


def test_it_is_what_partial_fit_gives(update, grown, tables, ledger, tmp_path):
    again = load(tmp_path / "registry")
    same = PrivacyLedger(shutil.copy(ledger, tmp_path / "same.ledger"))
    assert update(2).status == 0
    pca = load(tmp_path / "registry")
    assert pca.n_samples_seen_ > again.n_samples_seen_
    assert pca.matrix_scatter_.shape == (4, 4)
    rows = np.loadtxt(tables[1], delimiter=",", skiprows=1)
    with pytest.raises(ValueError, match="was charged to the accountant"):
        again.partial_fit(rows, cohort="2026-Q2")
    again.set_params(accountant=same).partial_fit(rows, cohort="2026-Q2")
    assert [part["cohorts"] for part in again.privacy_.details["cohorts"]] == [
        ["2026-Q1"],
        ["2026-Q2"],
    ]


REFUSED = {
    "the same cohort": (("--cohort", "2026-Q1"), "was joined already"),
    "no cohort": (("--cohorts", "a,b"), "--update joins one cohort"),
    "private scales": (("--scale", "private"), "--scale is 'private', and was not given"),
    "another centre": (("--no-center",), r"center (--no-center) is False, and was True"),
    "a bound": (("--norm-bound", "3"), "--norm-bound is 3.0, and was not given"),
    "neighbours": (("--adjacency", "replace-one"), "--adjacency is 'replace-one'"),
    "absent entries": (("--missing", "mean"), "--missing is 'mean', and was 'error'"),
    "groups": (("--groups", "pulse"), "protects every row"),
    "columns": (("--drop", "age"), "pass --columns age,height,weight,pulse"),
    "order": (("--columns", "height,age,weight,pulse"), "pass --columns age,height"),
    "a method": (("--method", "kdppca"), "has no noisy matrix"),
    "force": (("--force",), "leave one of them out"),
    "no budget": (("--epsilon", "9"), "does not cover this"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("more", "said"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_joined_is_refused_before_the_charge(
    update, grown, ledger, tmp_path, more, said
):
    before = {p.name: p.read_bytes() for p in (tmp_path / "registry").iterdir()}
    refused = update(2, *more)
    if refused.err.startswith("Nothing is charged yet."):  # what is kept is said before the charge
        refused.err = refused.err.partition("\n")[2]
    assert is_one_line_error(refused) and said in refused.err, refused.err
    assert charges(ledger) == 1
    assert {p.name: p.read_bytes() for p in (tmp_path / "registry").iterdir()} == before
    assert sorted(p.name for p in tmp_path.glob("registry*")) == ["registry"]


def test_the_ledger_must_be_that_of_the_cohorts_before(run, grown, options, tmp_path):
    other = tmp_path / "other.ledger"
    assert run("ledger", "create", other, "--epsilon", 2, "--delta", 1e-6).status == 0
    without = [one for one in options(2) if one not in ("--ledger", tmp_path / "study.ledger")]
    for refused in (run(*options(2, "--ledger", other)), run(*without)):
        assert is_one_line_error(refused) and "was charged to the ledger" in refused.err
    assert charges(other) == 0


def test_a_release_that_no_ledger_was_charged_for_gets_none(run, options, ledger, tmp_path):
    def without(quarter):
        return run(*(one for one in options(quarter) if one not in ("--ledger", ledger)))

    assert without(1).status == without(2).status == 0
    refused = run(*options(3))
    assert is_one_line_error(refused) and "were charged to no ledger" in refused.err
    assert "leave --ledger out" in refused.err and "--disjoint" in refused.err
    assert charges(ledger) == 0
    assert without(3).status == 0


def test_cohorts_of_two_ledgers_are_not_joined(run, grown, options, ledger, tmp_path):
    pca = load(tmp_path / "registry")
    elsewhere = replace(pca.privacy_.receipt, accountant="0" * 32)
    details = pca.privacy_.details
    part = new_part(["2026-Q0"], 1.0, 1e-6, pca.privacy_.event, 9.0)
    part |= {"release_id": "0" * 64, "receipt": elsewhere.to_dict()}
    report = replace(pca.privacy_, details=details | {"cohorts": [part, *details["cohorts"]]})
    earlier = Earlier(tmp_path / "registry", pca, report, NAMES, {})
    with pytest.raises(ValueError, match="not all charged to one ledger"):
        earlier.check_ledger(PrivacyLedger(ledger))


def test_a_release_without_a_matrix_is_refused(update, rows, ledger, tmp_path):
    pca = DPGauss(2, keep_matrix=False).fit(rows)
    ReleaseReport(pca, feature_names=NAMES, pictures=False).write(tmp_path / "registry")
    refused = update(1)
    assert is_one_line_error(refused) and "holds no noisy matrix" in refused.err
    assert charges(ledger) == 0


def test_a_release_that_was_changed_is_refused(update, grown, ledger, tmp_path):
    (tmp_path / "registry" / "notes.txt").write_text("mine")
    refused = update(2)
    assert is_one_line_error(refused) and "do not agree" in refused.err
    assert charges(ledger) == 1


def test_what_would_be_removed_is_no_release(update, grown, ledger, tmp_path):
    (tmp_path / "registry.previous").mkdir()
    (tmp_path / "registry.previous" / "thesis.txt").write_text("mine")
    refused = update(2)
    assert is_one_line_error(refused) and "move it away" in refused.err
    assert charges(ledger) == 1


STEPS = {
    "before a file is written": ("__import__('os')", "fsync", 0),
    "before this one becomes the one before": ("__import__('os')", "rename", 0),
    "between the two renames": ("__import__('os')", "rename", 1),
}


@pytest.mark.slow
@pytest.mark.parametrize(("home", "name", "number"), STEPS.values(), ids=STEPS)
def test_a_run_that_is_killed_leaves_a_whole_release(
    update, grown, options, ledger, tmp_path, home, name, number
):
    registry = tmp_path / "registry"
    assert update(2).status == 0
    script = KILLED.format(home=home, name=name, number=number)
    command = [sys.executable, "-c", script, *map(str, options(3))]
    ended = subprocess.run(command, check=False, capture_output=True, env=dict(os.environ))
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    whole = [cohorts_in(registry.with_name(f"registry{end}")) for end in ("", ".previous", ".next")]
    before, after = ["2026-Q1", "2026-Q2"], ["2026-Q1", "2026-Q2", "2026-Q3"]
    assert before in whole[:2]
    if name == "rename":  # all was written
        assert after in whole
        done = update(4)  # which finishes the run before
        assert done.status == 0, done.err
        assert cohorts_in(registry) == [*after, "2026-Q4"]
        assert cohorts_in(registry.with_name("registry.previous")) == after
        assert charges(ledger) == 4
    assert sorted(p.name for p in tmp_path.glob("registry*") if p.is_dir())[:1] == ["registry"]


def test_what_the_page_has_from_the_release_before_is_said(update, grown, tmp_path):
    answers = tmp_path / "answers.yaml"
    answers.write_text("subjects: Patients of two quarters\n")
    said = update(2).err
    assert said.startswith("Nothing is charged yet. The new page keeps the title 'Registry' of the")
    done = update(3, "--title", "Three quarters", "--context", answers)
    assert done.err == "" and "keeps" not in done.out
    assert "keeps the title 'Three quarters' and the answers subjects of" in update(4).err


def test_what_the_page_keeps_is_said_before_the_charge(update, grown, ledger):
    refused = update(2, "--epsilon", 9)
    assert "Nothing is charged yet. The new page keeps" in refused.err and refused.status == 2
    assert charges(ledger) == 1


def test_a_release_without_a_cohort_is_not_joined_by_mistake(
    run, options, tables, ledger, tmp_path
):
    first = ("--epsilon", 1, "--delta", 1e-6, "--ledger", ledger, "--no-pictures")
    folder = tmp_path / "registry"
    assert run("fit", tables[0], *first, "--method", "gauss", "--out", folder).status == 0
    refused = run(*options(2))
    assert is_one_line_error(refused) and "also the people of 2026-Q2" in refused.err
    assert "they would pay epsilon 1.455 at delta 1e-06, and not 1 alone" in refused.err
    assert charges(ledger) == 1
    done = run(*options(2, "--everybody-pays"))
    assert done.status == 0, done.err
    assert load(folder).privacy_.epsilon == pytest.approx(1.4547, abs=1e-3)
    refused = run(*options(3))  # the first of the release has no name still
    assert is_one_line_error(refused) and "also the people of 2026-Q3" in refused.err


def test_to_accept_a_cost_that_there_is_not_is_refused(run, tables, ledger, tmp_path):
    cost = ("--epsilon", 1, "--delta", 1e-6, "--ledger", ledger, "--out", tmp_path / "out")
    refused = run("fit", tables[0], *cost, "--everybody-pays")
    assert is_one_line_error(refused) and "goes with --update DIR" in refused.err
    assert charges(ledger) == 0


def test_many_columns_are_not_listed(tmp_path):
    """Of 30 the remedy names three, and what a table without names is to be."""
    names = [f"rs{number}" for number in range(30)]
    earlier = Earlier(tmp_path, None, None, tuple(names), {})
    with pytest.raises(ValueError, match=r"begin with rs0, rs1, rs2: a \.parquet or \.csv") as told:
        earlier.check_columns(["x0"])
    assert len(str(told.value)) < 300
