"""What a page and `verify` say of cohorts."""

import json
import math
import re

import numpy as np
import pytest

from skdppca import DPGauss, PrivacyLedger
from skdppca._text.digits import up
from skdppca.privacy import GaussianEvent, PrivacyReport, epsilon_of_event, verify_report
from skdppca.report import Context, ReleaseReport, verify
from skdppca.report._contents import as_json

from .conftest import text_of

ROWS = np.random.default_rng(0).normal(size=(400, 4))


@pytest.fixture
def ledger(tmp_path):
    ledger = PrivacyLedger.create(tmp_path / "l", 3.0, 1e-6)
    ledger.charge_external("counts", mu=0.1, adjacency="add-remove", cohort="2026-Q1")
    ledger.charge_external("sums", mu=0.05, adjacency="add-remove")
    return ledger


def fitted(ledger, cohorts):
    return DPGauss(2, epsilon=1.0, accountant=ledger).fit(ROWS, cohorts=cohorts)


def written(pca, path):
    ReleaseReport(pca).write(path)
    return json.loads((path / "report.json").read_text()), (path / "report.html").read_text()


def test_the_page_says_what_each_cohort_paid_and_that_it_is_declared(ledger, tmp_path):
    pca = fitted(ledger, "2026-Q2")
    document, page = written(pca, tmp_path / "out")
    account = document["ledger"]
    assert [one["name"] for one in account["cohorts"]] == ["2026-Q1", "2026-Q2"]
    assert [one["this_release"] for one in account["cohorts"]] == [False, True]
    for one in account["cohorts"]:
        assert one["spent"] == ledger.spent_by(one["name"]).epsilon
        assert one["remaining"] == ledger.remaining_for(one["name"]).epsilon
    assert account["cohorts"][0]["mu"] == pytest.approx(0.0125**0.5)
    assert account["shares"]["this_release"] < account["shares"]["all"]
    assert "of the budget of each person in cohort 2026-Q2" in page
    assert "The charge fell on people in it alone." in page
    assert "skdppca cannot check whether somebody is in more than one cohort." in page
    assert "The curator declares that nobody is in" not in page  # nobody was asked
    paid = [ledger.statement().mu_of(name) for name in ledger.cohorts]
    in_both = float(re.search("in all 2, with epsilon ([0-9.]+) at delta 1e-06 or less", page)[1])
    assert in_both >= epsilon_of_event(GaussianEvent(math.hypot(*paid)), 1e-6)
    assert f"about {pca.n_samples_:.0f}" in page
    assert "counts (on 2026-Q1)" in page
    assert verify(tmp_path / "out", ledger=ledger).passed


def test_a_release_of_all_on_a_ledger_with_cohorts_says_what_is_left_of_each(ledger, tmp_path):
    document, page = written(fitted(ledger, None), tmp_path / "out")
    assert "cohorts" not in document["fits"][0]["core"]
    assert document["ledger"]["spent_after"] == ledger.spent.epsilon
    assert "This release used" in page and "2026-Q1" in page
    assert verify(tmp_path / "out", ledger=ledger).passed


def test_without_a_ledger_the_report_still_names_the_cohorts(tmp_path):
    pca = DPGauss(2, epsilon=1.0).fit(ROWS, cohorts=["a", "b"])
    document, page = written(pca, tmp_path / "out")
    assert document["fits"][0]["core"]["cohorts"] == ["a", "b"]
    assert "cohorts a, b, as declared." in page and "The charge fell on" not in page
    assert "of the cohorts 'a', 'b' alone; who is in which cohort is declared" in str(pca.privacy_)
    assert verify(tmp_path / "out").passed


@pytest.mark.parametrize("cohorts", [["2026-Q3"], ["2026-Q2", "2026-Q3"], None])
def test_verify_finds_other_cohorts_than_those_that_were_charged(ledger, cohorts):
    record = fitted(ledger, "2026-Q2").privacy_.to_dict()
    if cohorts is None:
        del record["core"]["cohorts"]
    else:
        record["core"]["cohorts"] = cohorts
    wrong = {finding.what for finding in verify_report(record, ledger=ledger) if not finding.passed}
    assert wrong >= {"release id", "receipt"}


@pytest.mark.parametrize("cohorts", [[], "a", None, [1], ["a", "a"], [""]])
def test_a_report_with_cohorts_that_are_none_cannot_be_read(ledger, cohorts):
    record = fitted(ledger, "2026-Q2").privacy_.to_dict()
    record["core"]["cohorts"] = cohorts
    with pytest.raises((ValueError, TypeError)):
        PrivacyReport.from_dict(record)


@pytest.mark.parametrize("change", [{"spent": 0.01}, {"remaining": 3.0}, {"mu": 0.0}])
def test_verify_computes_the_table_of_cohorts_again(ledger, tmp_path, change):
    out = tmp_path / "out"
    document, _ = written(fitted(ledger, "2026-Q2"), out)
    document["ledger"]["cohorts"][0] |= change
    (out / "report.json").write_text(as_json(document))
    (name,) = change
    wrong = [one.says for one in verify(out, ledger=ledger).findings if one.what == "totals"]
    assert len(wrong) == 1 and wrong[0].startswith(f"ledger/cohorts/0/{name} is {change[name]}")


def test_a_report_without_cohorts_has_the_core_that_it_had(ledger):
    core = fitted(ledger, None).privacy_.core()
    assert "cohorts" not in core and "cohorts" not in core["receipt"]


# What a ledger lacked when the report was written.


@pytest.fixture
def lacking(tmp_path, monkeypatch):
    """The files of a release whose first cohort the ledger does not have, and the ledger."""
    monkeypatch.setattr("skdppca.decomposition.joining._check_one_account", lambda *_: None)
    ledger = PrivacyLedger.create(tmp_path / "ledger", 1.0, 1e-6)
    pca = DPGauss(2, epsilon=1.0).partial_fit(ROWS, cohort="2026-Q1")
    pca.set_params(accountant=ledger).partial_fit(ROWS, cohort="2026-Q2")
    ReleaseReport(pca, pictures=False).write(tmp_path / "out")
    return tmp_path / "out", ledger


def wrong(found):
    return [(one.level, one.what, one.says) for one in found.findings if not one.passed]


def test_files_that_say_what_their_ledger_lacked_agree_with_themselves(lacking):
    out, ledger = lacking
    found = verify(out)
    assert wrong(found) == []
    lacks = "cohort 2026-Q1: no ledger was charged for it"
    page = (out / "report.html").read_text()
    assert "CHECKS FAILED" in page and f"ledger: {lacks}" in page
    assert wrong(verify(out, ledger=ledger)) == [(3, "ledger", lacks)]


def test_a_first_fit_without_a_cohort_is_said_to_cost_everybody(tmp_path):
    ledger = PrivacyLedger.create(tmp_path / "l", 9.0, 1e-6)
    pca = DPGauss(2, epsilon=1.0, accountant=ledger).fit(ROWS)
    for name in ("Q2", "Q3"):
        pca.partial_fit(ROWS, cohort=name)
    document, page = written(pca, tmp_path / "out")
    said = (
        "The first fit named no cohort. So the ledger charges its cost to everybody, also to those "
        "who come later."
    )
    assert page.count(said) == 4  # in the box, and in sections 4, 6 and 8
    assert said in str(verify(tmp_path / "out")) and said[1:-1] in str(pca.privacy_)
    assert "pays for that alone" not in page and "A cohort without a name costs everybody" in page
    assert "joins 3 groups of people: an unnamed one (" in str(pca.privacy_)
    more = up(pca.privacy_.in_more_cohorts()[2], 4)
    assert f"If somebody is: epsilon {more} at delta 1e-06 for somebody in 2 cohorts." in page
    assert document["ledger"]["max_cohorts_per_person"] == 1


def test_a_declaration_of_the_ledger_is_told_as_one(tmp_path):
    limits = {"unit": "patient", "max_cohorts_per_person": 2}
    ledger = PrivacyLedger.create(tmp_path / "l", 3.0, 1e-6, **limits)
    pca = DPGauss(2, epsilon=1.0, accountant=ledger, unit="patient")
    pca.fit(ROWS, groups=np.arange(len(ROWS)), cohorts="Q1")
    _, page = written(pca, tmp_path / "out")
    assert "It was declared that nobody is in more than 2 cohorts." in page
    assert "skdppca cannot check whether somebody is." in page


def test_a_drift_stands_in_the_box_and_first_in_the_shell():
    rows = np.random.default_rng(1).normal(size=(3000, 4))
    pca = DPGauss(2, epsilon=8.0)
    for name, part in (("Q1", rows * [5, 2, 1, 1]), ("Q2", rows * [1, 1, 2, 5])):
        pca.partial_fit(part, cohort=name)
    report = ReleaseReport(pca, pictures=False)
    said = "Q2 differs from the cohorts before by"
    assert str(report).startswith(said) and str(report).count(said) == 1
    assert f"Drift {said}" in text_of(report)


def test_charges_of_the_ledger_stand_beside_a_denial_of_other_releases(ledger):
    pca = fitted(ledger, "2026-Q2")
    page = text_of(ReleaseReport(pca, context=Context(other_releases="None."), pictures=False))
    assert page.count("The ledger lists 2 earlier charges.") == 2  # in sections 6 and 10
    alone = text_of(ReleaseReport(DPGauss(2, epsilon=1.0).fit(ROWS), pictures=False))
    assert "earlier charge" not in alone
