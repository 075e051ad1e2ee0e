"""What the report of a grown release states of everybody, and what a ledger says to that."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import numpy as np
import pytest

from skdppca import DPGauss, PrivacyAccountant
from skdppca.model_selection import PrivateSearchCV
from skdppca.privacy import GaussianEvent, verify_report

X = np.random.default_rng(0).normal(size=(900, 4)) * [4.0, 2.0, 1.0, 1.0]
FIRST, SECOND, THIRD = np.split(X, 3)
PEOPLE = np.arange(300)

pytestmark = pytest.mark.filterwarnings(
    "ignore::skdppca.exceptions.SeededNoiseWarning",
    "ignore::skdppca.exceptions.UnaccountedFitsWarning",
)


def account(**more):
    return PrivacyAccountant(20.0, 1e-5, **more)


def failed(report, **given):
    return {finding.what for finding in verify_report(report, **given) if not finding.passed}


# How many cohorts a person may be in.


def test_a_ledger_that_allows_more_cohorts_a_person_is_no_witness():
    accountant = account(unit="person", max_cohorts_per_person=2)
    pca = DPGauss(2, epsilon=1.0, unit="person", accountant=accountant)
    pca.partial_fit(FIRST, groups=PEOPLE, cohort="a")
    pca.partial_fit(SECOND, groups=PEOPLE, cohort="b")
    forged = replace(pca.privacy_, details=pca.privacy_.details | {"most_cohorts": 1}, read=True)
    says = [finding.says for finding in verify_report(forged, ledger=accountant)]
    assert "somebody may be in 2 of its cohorts, and not in 1 only" in says


# Cohorts that were charged elsewhere.


def test_all_cohorts_are_charged_to_one_accountant():
    own, other = account(), account()
    for first, later, says in (
        (own, None, "was charged to the accountant"),
        (own, other, "was charged to the accountant"),
        (None, own, "was charged to no accountant"),
    ):
        for by_fit in (True, False):
            pca = DPGauss(2, epsilon=1.0, accountant=first)
            if by_fit:
                pca.fit(FIRST, cohorts="a" if first else None)
            else:
                pca.partial_fit(FIRST, cohort="a")
            before, charged = pca.privacy_, [len(one.receipts) for one in (own, other)]
            with pytest.raises(ValueError, match=says):
                pca.set_params(accountant=later).partial_fit(SECOND, cohort="b")
            assert pca.privacy_ is before
            assert [len(one.receipts) for one in (own, other)] == charged


def test_a_later_cohort_cannot_hide_that_an_earlier_one_was_charged_elsewhere():
    first, own = account(), account()
    pca = DPGauss(2, epsilon=1.0, accountant=first).partial_fit(FIRST, cohort="a")
    pca.partial_fit(SECOND, cohort="b")
    details = copy.deepcopy(pca.privacy_.details)
    details["cohorts"][0]["receipt"]["accountant"] = own.id
    pca.privacy_ = replace(pca.privacy_, details=details, read=True)
    with pytest.raises(ValueError, match="cohort 'a' was charged to the accountant"):
        pca.partial_fit(THIRD, cohort="c")
    assert len(first.receipts) == 2


# Earlier cohorts, and the ledger.


def grown(accountant, **told):
    pca = DPGauss(2, accountant=accountant, **{"epsilon": 1.0} | told)
    return pca.partial_fit(FIRST, cohort="a").partial_fit(SECOND, cohort="b")


def test_a_ledger_vouches_for_every_cohort():
    accountant = account()
    assert not failed(grown(accountant).privacy_, ledger=accountant)


def test_an_earlier_cohort_without_a_receipt_is_found_by_the_ledger():
    accountant = account()
    report = grown(accountant).privacy_
    first, last = report.details["cohorts"]
    details = report.details | {"cohorts": [first | {"receipt": None}, last]}
    says = [one.says for one in verify_report(replace(report, details=details), ledger=accountant)]
    assert "cohort a: no ledger was charged for it" in says


def test_a_cohort_that_paid_more_than_is_stated_is_found_by_the_ledger():
    accountant = account()
    pca = DPGauss(2, epsilon=3.0, accountant=accountant).partial_fit(FIRST, cohort="a")
    report, cheap = pca.privacy_, GaussianEvent(0.01)
    details = copy.deepcopy(report.details)
    details["cohorts"][0] |= {"epsilon": 0.05, "mu": cheap.mu}
    false = replace(report.receipt, event=cheap)
    pca.privacy_ = replace(report, epsilon=0.05, event=cheap, details=details, receipt=false)
    pca.set_params(epsilon=0.5).partial_fit(SECOND, cohort="b")
    assert pca.privacy_.epsilon == 0.5 < accountant.spent.epsilon
    assert failed(pca.privacy_, ledger=accountant) == {"ledger"}


def test_a_cohort_whose_charge_has_another_release_is_found_by_the_ledger():
    accountant = account()
    pca = DPGauss(2, epsilon=1.0, accountant=accountant).partial_fit(FIRST, cohort="a")
    pca.privacy_ = replace(pca.privacy_, software={})
    pca.partial_fit(SECOND, cohort="b")
    assert failed(pca.privacy_, ledger=accountant) == {"ledger"}


# What a report says of itself.


def test_a_release_with_one_seeded_cohort_verifies_as_not_private():
    pca = DPGauss(2, random_state=0, accountant=account()).partial_fit(FIRST, cohort="a")
    report = pca.set_params(random_state=None).partial_fit(SECOND, cohort="b").privacy_
    assert not report.private
    assert not failed(report)


def test_a_release_that_hides_its_seeded_cohort_is_found():
    pca = DPGauss(2, random_state=0, accountant=account()).partial_fit(FIRST, cohort="a")
    report = pca.set_params(random_state=None).partial_fit(SECOND, cohort="b").privacy_
    assert "cohorts" in failed(replace(report, not_private=(), release=None))


@pytest.mark.parametrize("change", [{"epsilon": 0.01}, {"delta": 0.0}, {"delta": 1.0}], ids=str)
def test_an_earlier_cohort_that_states_less_than_it_paid_is_found(change):
    report = grown(account()).privacy_
    first, last = report.details["cohorts"]
    forged = replace(
        report, details=report.details | {"cohorts": [first | change, last]}, read=True
    )
    assert not failed(report)
    assert "cohorts" in failed(forged)


@pytest.mark.parametrize(
    "change",
    [{"receipt": {}}, {"receipt": "none"}, {"cohorts": None}, {"cohorts": "a"}, {"release_id": 1}],
    ids=str,
)
def test_what_no_cohort_can_say_is_a_finding_and_no_error(change):
    content = json.loads(grown(account()).privacy_.to_json())
    content["core"]["details"]["cohorts"][0] |= change
    assert failed(content) == {"schema"}


# What cannot be gone on from.


def test_the_winner_of_a_search_is_refused_before_the_charge():
    accountant = account()
    search = PrivateSearchCV(
        DPGauss(2), {"n_components": [1, 2]}, epsilon=3.0, mean_candidates=2
    ).fit(FIRST)
    pca = search.best_estimator_.set_params(accountant=accountant)
    with pytest.raises(ValueError, match="part of a release by PrivateSearchCV"):
        pca.partial_fit(SECOND, cohort="b")
    assert not accountant.receipts


def test_a_release_over_sites_is_refused_before_the_charge():
    accountant = account()
    pca = DPGauss(2, epsilon=1.0).fit(FIRST)
    over_sites = {"sites": ["east", "north"], "max_sites_per_person": 2}
    pca.privacy_ = replace(pca.privacy_, details=pca.privacy_.details | over_sites)
    with pytest.raises(ValueError, match="the fit before was over sites"):
        pca.set_params(accountant=accountant).partial_fit(SECOND, cohort="b")
    assert not accountant.receipts
