"""Budgets that hardly protect anyone say so, before anything is charged or read."""

import math
import warnings

import numpy as np
import pytest

from skdppca import DPGauss, PrivacyAccountant, PrivacyLedger
from skdppca.exceptions import WeakPrivacyWarning
from skdppca.maps import projection_map
from skdppca.model_selection import PrivateSearchCV
from skdppca.privacy.charging import needs_no_accountant

from ..estimators import on_all_estimators

X = np.random.default_rng(0).normal(size=(100, 4)) * [4, 2, 1, 1]
BOUNDS = {"epsilon": 20.0, "delta": 0.01}
WEAK = [{"epsilon": 20.001}, {"delta": 0.0101}]
on_weak_budgets = pytest.mark.parametrize("weak", WEAK, ids=lambda weak: next(iter(weak)))


@pytest.fixture
def shown():
    """Every warning of that kind that a test causes."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", WeakPrivacyWarning)
        yield found


def fit(**budget):
    DPGauss(2, **budget).fit(X)


def search(**budget):
    PrivateSearchCV(DPGauss(2), {"clip": ["auto", "spherical"]}, **budget).fit(X)


def draw_map(**budget):
    pca = DPGauss(2, epsilon=math.inf).fit(X)
    projection_map(pca, X, extent=[(-9, 9)] * 2, **{"epsilon": 1.0, "delta": 1e-6} | budget)


def account(**budget):
    PrivacyAccountant(**{"epsilon": 1.0, "delta": 1e-6} | budget)


on_all_doors = pytest.mark.parametrize("door", [fit, search, draw_map, account])


@on_all_doors
@on_weak_budgets
def test_every_door_warns_once_in_plain_words(shown, door, weak):
    door(**weak)
    ((name, value),) = weak.items()
    (warning,) = shown
    assert f"{name}={value:g} hardly protects anyone" in str(warning.message)
    assert "Choose" in str(warning.message)


@on_all_doors
def test_at_the_bounds_nothing_warns(shown, door):
    door(**BOUNDS)
    assert not shown


@on_weak_budgets
def test_a_new_ledger_warns_and_one_that_is_opened_does_not(shown, tmp_path, weak):
    PrivacyLedger.create(tmp_path / "a", **{"epsilon": 1.0, "delta": 1e-6} | weak)
    assert len(shown) == 1
    PrivacyLedger(tmp_path / "a")
    assert len(shown) == 1


@on_all_estimators
@pytest.mark.filterwarnings("error:epsilon=25:skdppca.exceptions.WeakPrivacyWarning")
def test_the_warning_as_an_error_comes_before_the_charge(factory):
    accountant = PrivacyAccountant(30.0, 1e-6)
    with pytest.raises(WeakPrivacyWarning):
        factory(2, epsilon=25.0, accountant=accountant).fit(X)
    assert not accountant.receipts


@pytest.mark.filterwarnings("error::skdppca.exceptions.WeakPrivacyWarning")
def test_a_ledger_that_is_refused_by_the_warning_is_not_made(tmp_path):
    with pytest.raises(WeakPrivacyWarning):
        PrivacyLedger.create(tmp_path / "a", 30.0, 1e-6)
    assert not list(tmp_path.iterdir())


@on_all_doors
def test_the_warning_names_the_line_of_the_user(shown, door):
    door(epsilon=25.0)
    assert shown[0].filename == __file__


def test_the_warning_is_the_same_for_all_data(shown):
    for rows in (X, 1e6 * X[:7]):
        DPGauss(2, epsilon=25.0).fit(rows)
    assert len({str(warning.message) for warning in shown}) == 1


@pytest.mark.parametrize("parameters", [{"epsilon": math.inf}, {"epsilon": 25, "random_state": 0}])
def test_what_is_not_private_at_all_has_words_of_its_own(shown, parameters):
    pca = DPGauss(2, **parameters).fit(X)
    assert not shown
    assert "NOT PRIVATE" in pca.privacy_.guarantee()


def test_what_is_charged_elsewhere_does_not_warn(shown):
    with needs_no_accountant():
        fit(epsilon=25.0)
    assert not shown
