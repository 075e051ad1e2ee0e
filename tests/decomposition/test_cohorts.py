"""A fit charges the cohorts that it names, and reports them."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from skdppca import DPGauss, PrivacyAccountant
from skdppca.exceptions import BudgetExceeded
from skdppca.maps import projection_map
from skdppca.model_selection import PrivateSearchCV
from skdppca.neighbors import PrivateNearestCentroid

from ..estimators import on_all_estimators

ROWS = np.random.default_rng(0).normal(size=(300, 4))
LABELS = np.arange(300) % 2
COST = {"epsilon": 0.5, "delta": 1e-7}


def searched(accountant, cohorts):
    step = DPGauss(2, epsilon=1.0, delta=1e-7)
    search = PrivateSearchCV(step, {"n_components": [1, 2]}, **COST, accountant=accountant)
    return search.fit(ROWS, cohorts=cohorts).privacy_


def classified(accountant, cohorts):
    own = PrivateNearestCentroid(classes=[0, 1], **COST, accountant=accountant)
    return own.fit(ROWS, LABELS, cohorts=cohorts).privacy_


def mapped(accountant, cohorts):
    pca = DPGauss(2, epsilon=1.0).fit(ROWS)
    return projection_map(pca, ROWS, **COST, cohorts=cohorts, accountant=accountant).privacy_


def piped(accountant, cohorts):
    pipeline = make_pipeline(DPGauss(2, **COST, accountant=accountant))
    return pipeline.fit(ROWS, dpgauss__cohorts=cohorts)[-1].privacy_


RELEASES = [searched, classified, mapped, piped]


@on_all_estimators
def test_every_method_charges_the_cohorts_that_it_names(factory):
    accountant = PrivacyAccountant(3.0, 1e-6)
    pca = factory(2, **COST, accountant=accountant)
    for cohorts, named in (("a", ("a",)), (["a", "b"], ("a", "b")), (None, ())):
        report = pca.fit(ROWS, cohorts=cohorts).privacy_
        assert report.cohorts == report.receipt.cohorts == named
    assert accountant.cohorts == ("a", "b")
    assert accountant.spent_by("a") > accountant.spent_by("b") > accountant.spent_by("c")


@pytest.mark.parametrize("released", RELEASES)
def test_every_other_release_does_so(released):
    accountant = PrivacyAccountant(3.0, 1e-6)
    assert released(accountant, ["a", "b"]).cohorts == ("a", "b")
    assert [receipt.cohorts for receipt in accountant.receipts] == [("a", "b")]


@pytest.mark.parametrize("released", RELEASES)
@pytest.mark.parametrize("bad", [[], "", ["a", "a"], 3, {"a"}])
def test_what_is_no_name_is_refused_before_the_charge(released, bad):
    accountant = PrivacyAccountant(3.0, 1e-6)
    with pytest.raises((ValueError, TypeError), match="cohorts"):
        released(accountant, bad)
    assert accountant.receipts == ()


def test_a_cohort_that_is_used_up_leaves_the_fit_before_as_it_was():
    accountant = PrivacyAccountant(0.5, 1e-7)
    pca = DPGauss(2, **COST, accountant=accountant).fit(ROWS, cohorts="a")
    before = pca.components_
    with pytest.raises(BudgetExceeded, match="by cohort 'a'"):
        pca.fit(ROWS, cohorts=["a", "b"])
    assert pca.components_ is before and pca.privacy_.cohorts == ("a",)
    assert pca.fit(ROWS, cohorts="b").privacy_.cohorts == ("b",)
