"""The first score of a process says that a choice made by it is not private."""

import math
import warnings

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from skdppca import DPGauss, PrivacyAccountant
from skdppca.decomposition import fitted
from skdppca.exceptions import UnaccountedScoreWarning
from skdppca.privacy.charging import needs_no_accountant

X = np.random.default_rng(0).normal(size=(300, 4)) * [4, 2, 1, 1]


@pytest.fixture(autouse=True)
def shown(monkeypatch):
    """Every such warning, in a process that has not warned yet."""
    monkeypatch.setattr(fitted, "_warned", False)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UnaccountedScoreWarning)
        yield found


def test_the_first_score_warns_and_names_the_users_line(shown):
    pca = DPGauss(2).fit(X)
    assert pca.score(X) == pca.score(X)
    (warning,) = shown
    assert warning.filename == __file__ and "PrivateSearchCV" in str(warning.message)


def test_a_search_of_scikit_learn_warns_although_its_fits_are_charged(shown):
    accountant = PrivacyAccountant(50.0, 1e-5)
    GridSearchCV(DPGauss(2, accountant=accountant), {"n_components": [1, 2]}, cv=2).fit(X)
    assert len(shown) == 1


def test_what_is_not_private_or_accounted_elsewhere_does_not_warn(shown):
    DPGauss(2, epsilon=math.inf).fit(X).score(X)
    pca = DPGauss(2).fit(X)
    with needs_no_accountant():
        pca.score(X)
    assert not shown


def test_as_an_error_it_comes_again():
    pca = DPGauss(2).fit(X)
    warnings.simplefilter("error", UnaccountedScoreWarning)
    for _ in range(2):
        with pytest.raises(UnaccountedScoreWarning):
            pca.score(X)
