"""What the report of a grown release states of everybody, and what its ledgers say to that."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs

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
    return {finding.what for finding in verify_report(report, **given)}


# Earlier fits, and their ledgers.


def grown(first, second, **told):
    pca = DPGauss(2, **{"epsilon": 1.0} | told)
    return pca.partial_fit(FIRST, accountant=first).partial_fit(SECOND, accountant=second)


def test_all_ledgers_together_vouch_for_the_fits():
    own, other = account(), account()
    report = grown(own, other).privacy_
    assert not failed(report, ledger=[own, other])
    for given in ([own], [other], [account()]):
        assert failed(report, ledger=given) == {"not given"}


def test_an_earlier_fit_without_a_receipt_is_found_by_the_ledger():
    accountant = account()
    report = grown(accountant, account()).privacy_
    first, last = report.details["joined"]
    details = report.details | {"joined": [first | {"receipts": []}, last]}
    forged = replace(report, details=details, read=True)
    says = [one.says for one in verify_report(forged, ledger=accountant)]
    assert "fit 1: no ledger was charged for this release" in says


def test_a_fit_that_paid_more_than_is_stated_is_found_by_the_ledger():
    accountant = account()
    pca = DPGauss(2, epsilon=3.0).partial_fit(FIRST, accountant=accountant)
    report, cheap = pca.privacy_, GaussianEvent(0.01)
    details = copy.deepcopy(report.details)
    details["joined"][0] |= {"epsilon": 0.05, "mu": cheap.mu}
    false = structs.replace(report.receipts[0], event=cheap)
    pca.privacy_ = replace(report, epsilon=0.05, event=cheap, details=details, receipts=(false,))
    pca.set_params(epsilon=0.5).partial_fit(SECOND, accountant=account())
    assert pca.privacy_.epsilon == 0.5 < accountant.spent.epsilon
    assert "ledger" in failed(pca.privacy_, ledger=accountant)


def test_a_fit_whose_charge_has_another_release_is_found_by_the_ledger():
    accountant = account()
    pca = DPGauss(2, epsilon=1.0).partial_fit(FIRST, accountant=accountant)
    pca.privacy_ = replace(pca.privacy_, software={})
    pca.partial_fit(SECOND, accountant=account())
    assert "ledger" in failed(pca.privacy_, ledger=accountant)


# What a report says of itself.


def test_a_release_with_one_seeded_fit_verifies_as_not_private():
    pca = DPGauss(2, random_state=0).partial_fit(FIRST, accountant=account())
    pca.set_params(random_state=None).partial_fit(SECOND, accountant=account())
    report = pca.privacy_
    assert not report.private
    assert not failed(report)
    again = pca.set_params(random_state=3).partial_fit(THIRD, accountant=account())
    assert len(again.privacy_.not_private) == 1


def test_a_release_that_hides_its_seeded_fit_is_found():
    pca = DPGauss(2, random_state=0).partial_fit(FIRST, accountant=account())
    pca.set_params(random_state=None).partial_fit(SECOND, accountant=account())
    report = pca.privacy_
    assert "joined fits" in failed(replace(report, not_private=(), releases=()))


@pytest.mark.parametrize(
    ("change", "found"),
    [
        *((less, ("joined fits",)) for less in ({"epsilon": 0.01}, {"delta": 0.0}, {"delta": 1.0})),
        ({"mu": 5.0}, ("joined fits", "price")),
    ],
    ids=str,
)
def test_an_earlier_fit_that_states_another_cost_is_found(change, found):
    report = grown(account(), account()).privacy_
    first, last = report.details["joined"]
    forged = replace(report, details=report.details | {"joined": [first | change, last]}, read=True)
    assert not failed(report)
    assert {*found} <= failed(forged)


@pytest.mark.parametrize(
    "change",
    [
        lambda joined: joined[0].update(receipts=[{}]),
        lambda joined: joined[0].update(receipts="none"),
        lambda joined: joined[0].update(receipts=None),
        lambda joined: joined[0].pop("receipts"),
        lambda joined: joined[0].update(a="b"),
        lambda joined: joined[0].update(release_id=1),
        lambda joined: joined[0].update(mu="many"),
        lambda joined: joined.clear(),
    ],
)
def test_what_no_fit_can_say_is_a_finding_and_no_error(change):
    content = json.loads(grown(account(), account()).privacy_.to_json())
    change(content["core"]["details"]["joined"])
    assert failed(content) == {"schema"}


# What cannot be gone on from.


def test_the_winner_of_a_search_is_refused_before_the_charge():
    accountant = account()
    search = PrivateSearchCV(
        DPGauss(2), {"n_components": [1, 2]}, epsilon=3.0, mean_candidates=2
    ).fit(FIRST)
    pca = search.best_estimator_.set_params(accountant=accountant)
    with pytest.raises(ValueError, match="part of a release by PrivateSearchCV"):
        pca.partial_fit(SECOND)
    assert not accountant.receipts


def test_a_release_over_sites_is_refused_before_the_charge():
    accountant = account()
    pca = DPGauss(2, epsilon=1.0).fit(FIRST)
    over_sites = {"sites": ["east", "north"], "max_sites_per_person": 2}
    pca.privacy_ = replace(pca.privacy_, details=pca.privacy_.details | over_sites)
    with pytest.raises(ValueError, match="the fit before was over sites"):
        pca.set_params(accountant=accountant).partial_fit(SECOND)
    assert not accountant.receipts
