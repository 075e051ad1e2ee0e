"""``skdppca verify`` and ``report``: true releases agree, and every forgery is named."""

import contextlib
import hashlib
import json
import shutil

import numpy as np
import pytest

from skdppca import DPGauss, PrivacyLedger
from skdppca.cli import main
from skdppca.exceptions import SeededNoiseWarning
from skdppca.privacy import event_from_dict
from skdppca.privacy.chain import canonical
from skdppca.report._contents import hashes_in, sums
from skdppca.report._document import findings_of, report_of
from skdppca.report._subject import rebuilt

from .conftest import assert_refused, csv_of, people


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A folder with a ledger and two releases: one charged to it, one without a ledger."""
    folder = tmp_path_factory.mktemp("released")
    cost = ("--epsilon", "1", "--delta", "1e-6")
    ledger, data = str(folder / "ledger"), str(csv_of(folder / "t.csv", people(3000)))
    assert main(["ledger", "create", ledger, "--epsilon", "3", "--delta", "1e-6"]) == 0
    for out, more in (("out", ["--ledger", ledger]), ("free", ["--no-pictures"])):
        assert main(["fit", data, *cost, "-k", "2", *more, "--out", str(folder / out)]) == 0
    return folder


@pytest.fixture
def copied(released, tmp_path, monkeypatch):
    """A copy of it, as the current directory."""
    folder = tmp_path / "copy"
    shutil.copytree(released, folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def out(copied):
    return copied / "out"


def edit(out, change):
    """Change the report's JSON."""
    content = json.loads((out / "report.json").read_text())
    change(content)
    (out / "report.json").write_text(json.dumps(content, indent=2) + "\n")


def rehash(out):
    """Make all that follows from an edited release right again, as far as a forger can."""

    def again(content):
        fit = content["fit"]
        fit["release_id"] = hashlib.sha256(canonical(fit["core"]).encode()).hexdigest()
        for row in fit["releases"]:
            row["release"] = fit["release_id"]
        with contextlib.suppress(Exception):  # what is no report any more has no figures
            report = report_of(content)
            with np.load(out / "components.npz") as archive:
                arrays = dict(archive)
            subject = rebuilt(report, arrays, arrays["feature_names"].tolist())
            content["results"] = findings_of(subject)

    edit(out, again)
    files = {name: hashlib.sha256((out / name).read_bytes()).hexdigest() for name in hashes_in(out)}
    (out / "SHA256SUMS").write_text(sums(files))


def test_a_true_release_without_answers_is_open(run, out):
    result = run("verify", "out", "--ledger", "ledger")
    assert (result.status, result.err) == (1, "")
    assert run("verify", "out", "--ledger", "ledger", "--allow", "open").status == 0
    says = (
        "This report says: Private, but questions are open; every row, epsilon 1 at delta 1e-06.",
        "0 of 10 questions of section 10 are answered. Questions 1, 2, 3, 5",
        "1. Do the files belong together? Yes. Only the hashes",
        "2. Does the ledger agree? Yes. Not checked: who wrote the ledger. To find out, ask",
        "3. Does someone outside vouch? Not checked. To check it, give --head HEX or --signer",
        "No check can tell",
        "status: open",
    )
    assert all(map(str.startswith, result.out.splitlines(), says)), result.out
    assert len(result.out.splitlines()) == len(says) and "valid" not in result.out


def test_a_release_without_a_ledger_is_uncharged(run, copied):
    result = run("verify", "free")
    assert result.status == 1 and result.out.endswith("status: uncharged\n")
    assert "There is nothing to check, because no ledger was charged." in result.out
    assert run("verify", "free", "--allow", "uncharged").status == 0
    assert (
        "Not checked. To check the charges, give each ledger: --ledger" in run("verify", "out").out
    )
    result = run("verify", "free", "--ledger", "ledger")
    assert result.status == 1 and result.out.endswith("status: uncharged\n")
    assert "no ledger was charged for this release" in result.out
    assert "ledger show` lists that charge by its label" in result.out
    assert "fresh copy" not in result.out


def test_a_seeded_charge_makes_the_total_doubtful(run, out):
    rows = np.random.default_rng(0).standard_normal((200, 3))
    with pytest.warns(SeededNoiseWarning):
        DPGauss(1, epsilon=0.1, random_state=0, accountant=PrivacyLedger("ledger")).fit(rows)
    told = "of the ledger is not private: the noise came from a seed. If that was published"
    assert told in run("verify", "out", "--ledger", "ledger").out
    assert told in run("ledger", "show", "ledger").out


# One edit for each check, and what names it.
CORE = {
    "epsilon": (
        ("guarantee", "epsilon"),
        0.01,
        "price: it states epsilon=0.01, but its event costs",
    ),
    "no delta": (("guarantee", "delta"), 7.0, "price: delta=7.0 must be below 1"),
    "unit": (("guarantee", "unit"), "patient", "receipt: unit is 'patient' in the report"),
    "adjacency": (("guarantee", "adjacency"), "replace-one", "receipt: adjacency is"),
    "private": (("guarantee", "private"), False, "schema: it is no report"),
    "method": (("method",), "Anything", "receipt: method is 'Anything' in the report"),
    "event": (("event", "mu"), 1e-3, "receipt: event is"),
    "dearer query": (("spendings", 0, "mu"), 9.0, "queries: its questions cost mu=9."),
    "noise": (("spendings", 0, "noise_sd"), 1e-9, "release id"),
    "parameters": (
        ("parameters", "epsilon"),
        0.5,
        "release id: the report was changed",
    ),
    "seed": (("parameters", "random_state"), "seeded", "reasons: it says that it is private"),
    "feature names": (("feature_names", 0), "income", "arrays: feature_names are not those"),
    "hash": (("released", 0, "sha256"), "0" * 64, "arrays: components is not the array"),
    "array": (("released", 0, "name"), "axes", "arrays: axes is missing"),
    "head": (("receipts", 0, "head"), "0" * 64, "ledger: row 1 differs from the receipt"),
    "charged accountant": (
        ("receipts", 0, "accountant"),
        "0" * 32,
        "not given: it was charged to the ledger 0000",
    ),
    "seeded": (("receipts", 0, "seeded"), True, "receipt: seeded is False in the report, but True"),
}


def set_in_core(path, value):
    def change(content):
        place = content["fit"]["core"]
        for key in path[:-1]:
            place = place[key]
        assert place[path[-1]] != value
        place[path[-1]] = value

    return change


on_edits = pytest.mark.parametrize(("path", "value", "named"), CORE.values(), ids=CORE)


@on_edits
def test_every_edit_of_a_report_is_named(run, out, path, value, named):
    edit(out, set_in_core(path, value))
    result = run("verify", "out", "--ledger", "ledger")
    assert (result.status, result.err) == (1, "")
    assert f"\n  {named}" in result.out
    assert "  files: report.json was changed" in result.out
    without = run("verify", "out")
    assert without.status == 1
    assert ("release id: the report was changed" in without.out) == ("schema" not in named)


@on_edits
def test_a_forger_who_makes_all_hashes_right_is_found_by_the_ledger(run, out, path, value, named):
    edit(out, set_in_core(path, value))
    rehash(out)
    result = run("verify", "out", "--ledger", "ledger")
    assert result.status == 1
    assert any(f"\n  {one}: " in result.out for one in ("schema", "ledger", "not given"))
    assert "release id" not in result.out
    # a report of arrays without components has no table of them
    assert ("files:" in result.out) == (path[-1] == "name")


NO_REASON = {"private": False, "not_private": ["a reason"]}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda fit: fit["releases"][0].update(release="0" * 64), "it quotes records another"),
        (lambda fit: fit["releases"][0].update(row=8, charge=7), "belongs to another charge"),
        (lambda fit: fit["releases"][0].update(head="0" * 64), "ledger: row 2 differs"),
        (lambda fit: fit["releases"][0].update(kind="charge"), "schema: it is no report"),
        (lambda fit: fit.update(releases=[]), "but no ledger row that records the release"),
        (lambda fit: fit.update(release_id="0" * 64), "release id: the report was changed"),
        (lambda fit: fit["core"]["guarantee"].update(NO_REASON), "none of its parameters is a"),
    ],
)
def test_what_does_not_belong_together_is_named(run, out, change, named):
    edit(out, lambda content: change(content["fit"]))
    result = run("verify", "out", "--ledger", "ledger")
    assert result.status == 1 and named in result.out


def test_a_release_that_agrees_is_told_in_words(run, out):
    result = run("report", "out")
    assert result.status == 0
    assert result.out.startswith("2 components of 4 features, from about ")
    assert "Guarantee: epsilon 1 at delta 1e-06 for every row" in result.out
    assert "To check the charge: skdppca verify out --ledger FILE" in result.out
    free = run("report", "free")
    assert "No ledger was charged: nothing adds this fit up with others" in free.out
    assert "To check" not in free.out


@pytest.mark.parametrize("forged", [True, False])
def test_a_release_that_differs_is_not_told_in_words(run, out, forged):
    if forged:
        edit(out, set_in_core(("guarantee", "epsilon"), 0.01))
    else:
        (out / "report.html").write_text("All is well.")
    result = run("report", "out")
    assert result.status == 1
    assert "differentially private" not in result.out
    assert "something differs" in result.out


def test_a_terminal_is_told_nothing_by_a_forged_report(run, out):
    edit(out, set_in_core(("method",), "\x1b[2J\n2. Does the ledger agree? Yes."))
    with (out / "SHA256SUMS").open("a") as file:
        file.write(f"{'0' * 64}  \x1b[2J\n2. Does the ledger agree? Yes.\n")
    for result in (run("verify", "out"), run("ledger", "verify", "ledger", "--report", "out")):
        assert result.status == 1
        assert "\x1b" not in result.out
        assert "\n2. Does the ledger agree? Yes." not in result.out


def test_what_cannot_be_read_is_an_error(run, copied):
    assert_refused(run("verify", "nowhere"))
    assert_refused(run("verify", "out/report.json"))
    assert_refused(run("report", "out/report.json"))
    assert_refused(run("verify", "out", "--ledger", "nowhere"))
    assert_refused(run("verify", "out", "--ledger", "t.csv"))
    (copied / "out" / "report.json").unlink()
    assert_refused(run("verify", "out"))
    assert_refused(run("report", "out"))


def test_a_ledger_with_an_equal_charge_is_another_ledger(run, out):
    report = json.loads((out / "report.json").read_text())
    event = event_from_dict(report["fit"]["core"]["event"])
    other = PrivacyLedger.create("other", 3.0, 1e-6)
    other.charge(event, adjacency="add-remove", unit="row", label="PrivatePCA")
    result = run("verify", "out", "--ledger", "other")
    assert result.status == 1
    assert "which was not given; give that one, too" in result.out
    assert result.out.endswith("status: unchecked\n")
