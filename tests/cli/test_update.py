"""``skdppca fit --update``: a release grows by a cohort, and is whole whatever happens."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest

from skdppca import DPGauss, PrivacyLedger
from skdppca.report import ReleaseReport, load, verify

from .conftest import NAMES, assert_refused, charges, csv_of, people

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
    quarters = range(1, 5)
    return [csv_of(tmp_path / f"q{quarter}.csv", people(1500, quarter)) for quarter in quarters]


@pytest.fixture
def ledgers(tmp_path):
    """The ledgers of the people of four quarters."""
    paths = [tmp_path / f"q{quarter}.ledger" for quarter in range(1, 5)]
    for path in paths:
        PrivacyLedger.create(path, 3.0, 1e-6)
    return paths


@pytest.fixture
def options(tables, ledgers, tmp_path):
    """The command line that joins a quarter."""

    def command(quarter, *more):
        return (
            *("fit", tables[quarter - 1], "--update", tmp_path / "registry"),
            *("--epsilon", 1, "--delta", 1e-6, "--ledger", ledgers[quarter - 1]),
            *("--no-pictures", *more),
        )

    return command


@pytest.fixture
def update(run, options):
    return lambda quarter, *more: run(*options(quarter, *more))


@pytest.fixture
def grown(update):
    """A release of one quarter."""
    assert update(1, "-k", 2, "--title", "Registry").status == 0


def fits_in(folder):
    """How many fits a release joins whose files agree; none if it is no whole release."""
    if not (folder / "SHA256SUMS").is_file() or not verify(folder).agrees:
        return 0
    return len(load(folder).privacy_.details["joined"])


def test_a_release_grows_by_a_cohort(update, grown, ledgers, tmp_path):
    before = (tmp_path / "registry" / "SHA256SUMS").read_bytes()
    done = update(2)
    assert done.status == 0, done.err
    registry, previous = tmp_path / "registry", tmp_path / "registry.previous"
    assert (fits_in(registry), fits_in(previous)) == (2, 1)
    assert (previous / "SHA256SUMS").read_bytes() == before
    assert f"The release before, {load(previous).privacy_.release_id[:16]}, is in" in done.out
    assert "registry.previous/" in done.out and "--scale private" not in done.out
    assert verify(registry, ledger=ledgers[:2]).agrees
    assert [charges(ledger) for ledger in ledgers[:2]] == [1, 1]
    pca = load(registry)
    assert (pca.privacy_.epsilon, pca.n_components_) == (1.0, 2)  # each person pays once
    assert json.loads((registry / "report.json").read_text())["title"] == "Registry"


@pytest.mark.parametrize("end", ["\n", ""])
def test_a_quarter_that_nobody_came_in_is_answered(update, grown, tables, ledgers, tmp_path, end):
    tables[1].write_text(",".join(NAMES) + end)
    done = update(2)
    assert done.status == 0, done.err
    assert fits_in(tmp_path / "registry") == 2
    assert charges(ledgers[1]) == 1


def test_a_matrix_that_no_release_holds_is_refused_before_the_charge(
    update, grown, ledgers, monkeypatch
):
    def archived(released, names):
        assert ("matrix", (len(names), len(names))) in {(one.name, one.shape) for one in released}
        raise ValueError("too large")

    monkeypatch.setattr("skdppca.cli._rehearsal.LARGEST_KEPT", 2)  # fewer than there are
    monkeypatch.setattr("skdppca.cli._rehearsal.archived", archived)
    assert_refused(update(2), "too large", ledger=ledgers[1])


def test_it_is_what_partial_fit_gives(update, grown, tables, ledgers, tmp_path):
    again = load(tmp_path / "registry")
    same = PrivacyLedger(shutil.copy(ledgers[1], tmp_path / "same.ledger"))
    assert update(2).status == 0
    pca = load(tmp_path / "registry")
    assert pca.n_samples_seen_ > again.n_samples_seen_
    assert pca.matrix_scatter_.shape == (4, 4)
    rows = np.loadtxt(tables[1], delimiter=",", skiprows=1)
    again.partial_fit(rows, accountant=same)
    joined = [one.privacy_.details["joined"] for one in (again, pca)]
    assert [len(one) for one in joined] == [2, 2] and joined[0][0] == joined[1][0]


REFUSED = {
    "private scales": (("--scale", "private"), "--scale private, but the cohorts before"),
    "scales of a column": (("--scale", "private:age"), "but the cohorts before"),
    "another centre": (("--no-center",), "released with no --no-center"),
    "neighbours": (("--adjacency", "replace-one"), "is for --adjacency add-remove, and this fit"),
    "groups": (("--groups", "pulse"), "protects every row alone"),
    "columns": (("--drop", "age"), "pass --columns age,height,weight,pulse"),
    "order": (("--columns", "height,age,weight,pulse"), "pass --columns age,height"),
    "a method": (("--method", "kdppca"), "has no noisy matrix"),
    "force": (("--force",), "leave one of them out"),
    "no budget": (("--epsilon", "9"), "does not cover this"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("more", "said"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_joined_is_refused_before_the_charge(
    update, grown, ledgers, tmp_path, more, said
):
    before = {p.name: p.read_bytes() for p in (tmp_path / "registry").iterdir()}
    refused = update(2, *more)
    # what is kept is said before the charge
    assert more[0] != "--epsilon" or "Nothing is charged yet. The new page keeps" in refused.err
    refused.err = re.sub(r"^Nothing is charged yet\. The new page keeps .*\n", "", refused.err)
    assert_refused(refused, said, ledger=ledgers[1])
    assert {p.name: p.read_bytes() for p in (tmp_path / "registry").iterdir()} == before
    assert sorted(p.name for p in tmp_path.glob("registry*")) == ["registry"]


def test_an_older_copy_of_a_ledger_is_refused(run, update, options, ledgers, tmp_path):
    shutil.copy(ledgers[0], tmp_path / "copy.ledger")
    assert update(1).status == 0
    refused = run(*options(2, "--ledger", tmp_path / "copy.ledger"))
    assert refused.status == 2 and "row 1 of the receipt is missing" in refused.err
    assert charges(tmp_path / "copy.ledger") == 0


def test_people_who_come_back_pay_again(run, grown, options, ledgers, tmp_path):
    done = run(*options(2, "--ledger", ledgers[0]))
    assert done.status == 0, done.err
    assert load(tmp_path / "registry").privacy_.epsilon == pytest.approx(1.4547, abs=1e-3)
    assert charges(ledgers[0]) == 2


def test_people_without_a_ledger_are_refused(run, grown, options, tmp_path):
    given = options(2)
    place = given.index("--ledger")
    assert_refused(run(*given[:place], *given[place + 2 :]), "pass it: --ledger FILE")
    assert fits_in(tmp_path / "registry") == 1


@pytest.mark.parametrize(
    ("folder", "said"),
    [("registry", "holds no earlier release"), ("registry.previous", "move it away")],
)
def test_a_file_that_is_no_part_of_a_release_stops_an_update(
    update, grown, ledgers, tmp_path, folder, said
):
    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / folder / "thesis.txt").write_text("mine")
    assert_refused(update(2), said, ledger=ledgers[1])


def test_a_release_without_a_matrix_is_refused(update, rows, ledgers, tmp_path):
    pca = DPGauss(2, keep_matrix=False).fit(rows)
    ReleaseReport(pca, feature_names=NAMES, pictures=False).write(tmp_path / "registry")
    assert_refused(update(1), "holds no noisy matrix", ledger=ledgers[0])


STEPS = {
    "before a file is written": ("__import__('os')", "fsync", 0),
    "before this one becomes the one before": ("__import__('os')", "rename", 0),
    "between the two renames": ("__import__('os')", "rename", 1),
}


@pytest.mark.slow
@pytest.mark.parametrize(("home", "name", "number"), STEPS.values(), ids=STEPS)
def test_a_run_that_is_killed_leaves_a_whole_release(
    update, grown, options, ledgers, tmp_path, home, name, number
):
    registry = tmp_path / "registry"
    assert update(2).status == 0
    script = KILLED.format(home=home, name=name, number=number)
    command = [sys.executable, "-c", script, *map(str, options(3))]
    ended = subprocess.run(command, check=False, capture_output=True, env=dict(os.environ))
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    whole = [fits_in(registry.with_name(f"registry{end}")) for end in ("", ".previous", ".next")]
    assert 2 in whole[:2]
    if name == "rename":  # all was written
        assert 3 in whole
        assert_refused(update(4), "was cut short, which was paid for")
        if registry.exists():
            shutil.rmtree(registry)
        registry.with_name("registry.next").rename(registry)
        assert update(4).status == 0 and fits_in(registry) == 4
        assert [charges(one) for one in ledgers] == [1, 1, 1, 1]
    assert sorted(p.name for p in tmp_path.glob("registry*") if p.is_dir())[:1] == ["registry"]


def test_what_the_page_has_from_the_release_before_is_said(update, grown, tmp_path):
    answers = tmp_path / "answers.toml"
    answers.write_text('subjects = "Patients of two quarters"\n')
    said = update(2).err
    assert said.startswith("Nothing is charged yet. The new page keeps the title 'Registry' of the")
    done = update(3, "--title", "Three quarters", "--context", answers)
    assert done.err == "" and "keeps" not in done.out
    assert "keeps the title 'Three quarters' and the answers subjects of" in update(4).err
