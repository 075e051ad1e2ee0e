"""`scale="private"`: what it costs, and what is refused for nothing."""

import math

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from skdppca import DPGauss, DPPowerMethod, PrivacyAccountant
from skdppca.model_selection import RecordKFold, price
from skdppca.privacy import ApproximateEvent, GaussianEvent, PureEvent

from ..estimators import on_all_estimators
from ..secret_rows import refused
from .test_standardise import IRIS, ROWS


@on_all_estimators
def test_too_small_a_budget_is_refused_for_nothing(factory):
    accountant = PrivacyAccountant(10.0, 1e-5)
    tiny = factory(2, scale="private", epsilon=1e-12, delta=1e-16, accountant=accountant)
    refused(tiny, IRIS, "ask for more noise than the grid|too small for n_components")


def test_the_cost_is_known_before_any_fit():
    search = GridSearchCV(
        DPGauss(scale="private"), {"n_components": [1, 2]}, cv=RecordKFold(2), refit=False
    )
    assert price(search, 4) == price(search.set_params(estimator__scale=None), 4)


class Costly(DPGauss):
    event = PureEvent(0.5)

    def _event(self, public):
        return self.event


class Approximate(Costly):
    event = ApproximateEvent(0.5, 1e-7)


class Failing(Costly):
    event = GaussianEvent(1.0, failure=1e-7)


@pytest.mark.parametrize("factory", [Costly, Approximate])
def test_a_cost_that_is_not_gaussian_is_refused_for_nothing(factory):
    accountant = PrivacyAccountant(1.0, 1e-6)
    with pytest.raises(ValueError, match=r"scale='private' needs .*Gaussian noise.*public scales"):
        factory(2, scale="private", accountant=accountant).fit(IRIS)
    assert accountant.receipts == ()


def test_a_probability_of_failure_stays_part_of_the_cost():
    pca = Failing(2, epsilon=6.0, scale="private").fit(ROWS)
    assert pca.privacy_.event == Failing.event
    assert math.fsum(s.mu**2 for s in pca.privacy_.spendings) <= 1.0


def test_an_event_that_costs_more_than_is_stated_is_refused_before_the_charge():
    accountant = PrivacyAccountant(9.0, 1e-5)
    with pytest.raises(ValueError, match="are less than"):
        Failing(2, epsilon=1.0, accountant=accountant).fit(ROWS)
    assert accountant.receipts == ()


def test_interactions_have_no_scales():
    accountant = PrivacyAccountant(1.0, 1e-6, unit="interaction")
    pca = DPPowerMethod(
        2, protect="interaction", center=False, scale="private", accountant=accountant
    )
    with pytest.raises(ValueError, match="set scale=None"):
        pca.fit(np.eye(5))
    assert accountant.receipts == ()
