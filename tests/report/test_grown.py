"""What a page and `verify` say of a release that grew, or that several accounts paid for."""

import json

import numpy as np
import pytest

from skdppca import DPGauss, PrivacyLedger
from skdppca._text.digits import up
from skdppca.report import Context, ReleaseReport, verify

from .conftest import text_of

ROWS = np.random.default_rng(0).normal(size=(400, 4))


@pytest.fixture
def ledgers(tmp_path):
    return [PrivacyLedger.create(tmp_path / name, 9.0, 1e-6) for name in ("q1", "q2")]


def written(pca, path, **given):
    ReleaseReport(pca, **given).write(path)
    return json.loads((path / "report.json").read_text()), (path / "report.html").read_text()


def wrong(found):
    return [(one.question, one.what, one.says) for one in found.findings]


def test_the_page_says_what_each_fit_charged_and_that_it_is_declared(ledgers, tmp_path):
    pca = DPGauss(2, epsilon=1.0)
    for ledger in ledgers:
        pca.partial_fit(ROWS, accountant=ledger)
    document, page = written(pca, tmp_path / "out", ledger=ledgers[1])
    assert document["ledger"]["accountant"] == ledgers[1].id
    assert [one["this_release"] for one in document["ledger"]["charges"]] == [True]
    for ledger in ledgers:
        assert f"row 1 of {ledger.id[:8]}" in page
        assert verify(tmp_path / "out", ledger=ledger).status == "unchecked"
    assert verify(tmp_path / "out", ledger=ledgers).agrees
    in_both = up(pca.privacy_.in_all()["epsilon"], 4)
    said = (
        "It is declared that different accounts are of different people, and skdppca cannot check "
        f"it. If that is wrong: epsilon {in_both} at delta 1e-06 for somebody with records in all "
        "fits."
    )
    assert page.count(said) == 1  # in the box
    assert said in str(verify(tmp_path / "out"))


def test_a_joint_fit_is_verified_with_all_of_its_ledgers(ledgers, tmp_path):
    _, page = written(DPGauss(2, epsilon=1.0, accountant=ledgers).fit(ROWS), tmp_path / "out")
    assert verify(tmp_path / "out", ledger=ledgers).agrees
    for ledger, other in (ledgers, ledgers[::-1]):
        (found,) = wrong(verify(tmp_path / "out", ledger=ledger))
        assert found[1] == "not given" and f"the ledger {other.id[:16]}" in found[2]
        assert f"In ledger {ledger.id[:8]}" in page


def test_a_release_of_which_one_charge_was_removed_is_found(ledgers, tmp_path):
    empty = (tmp_path / "q1").read_bytes()
    written(DPGauss(2, epsilon=1.0, accountant=ledgers).fit(ROWS), tmp_path / "out")
    (tmp_path / "q1").write_bytes(empty)
    says = wrong(verify(tmp_path / "out", ledger=tmp_path / "q1"))
    assert any("row 1 of the receipt is missing" in one[2] for one in says)


def test_a_fit_without_a_charge_is_found_by_the_ledger_of_another(ledgers, tmp_path):
    pca = DPGauss(2, epsilon=1.0).partial_fit(ROWS)
    pca.partial_fit(ROWS, accountant=ledgers[0])
    _, page = written(pca, tmp_path / "out", ledger=ledgers[0], pictures=False)
    lacks = "fit 1: no ledger was charged for this release"
    assert wrong(verify(tmp_path / "out")) == []
    assert wrong(verify(tmp_path / "out", ledger=ledgers[0])) == [("ledger", "uncharged", lacks)]
    assert "One fit charged no account, so everybody is counted as one of its people." in page


def test_a_drift_stands_in_the_box_and_first_in_the_shell():
    rows = np.random.default_rng(1).normal(size=(3000, 4))
    pca = DPGauss(2, epsilon=8.0)
    for part in (rows * [5, 2, 1, 1], rows * [1, 1, 2, 5]):
        pca.partial_fit(part)
    report = ReleaseReport(pca, pictures=False)
    said = "the people of fit 2 differ from those before by"
    assert str(report).lower().startswith(said) and str(report).lower().count(said) == 1
    assert said in text_of(report).lower().partition("largest loadings")[0]


def test_charges_of_the_ledger_stand_beside_a_denial_of_other_releases(ledgers):
    ledger = ledgers[0]
    ledger.charge_external("counts", mu=0.1)
    ledger.charge_external("sums", mu=0.05)
    pca = DPGauss(2, epsilon=1.0, accountant=ledger).fit(ROWS)
    page = text_of(ReleaseReport(pca, context=Context(other_releases="no"), pictures=False))
    assert page.count("The ledger lists 2 earlier charges.") == 2  # in sections 6 and 10
    alone = text_of(ReleaseReport(DPGauss(2, epsilon=1.0).fit(ROWS), pictures=False))
    assert "earlier charge" not in alone
