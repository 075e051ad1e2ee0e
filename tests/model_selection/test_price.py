"""Searches that charge every fit, and the price of a search beforehand."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.ensemble import BaggingRegressor
from sklearn.model_selection import GridSearchCV, KFold, RandomizedSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from skdppca import DPGauss, PrivacyAccountant, PrivacyLedger, PrivatePCA
from skdppca.exceptions import BudgetExceeded, MovingFoldsWarning
from skdppca.model_selection import PrivateSearchCV, RecordKFold, price
from skdppca.privacy import GaussianEvent, compose, is_affordable, mu_of

X = np.random.default_rng(0).normal(size=(60, 4))
GRID = {"n_components": [1, 2, 3]}


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_search_with_a_ledger_charges_thirteen_fits(tmp_path, n_jobs):
    ledger = PrivacyLedger.create(tmp_path / "ledger.db", epsilon=100.0, delta=1e-6)
    search = GridSearchCV(
        make_pipeline(Normalizer(), DPGauss(epsilon=0.1, accountant=ledger)),
        {"dpgauss__n_components": [1, 2, 3]},
        cv=RecordKFold(4),
        n_jobs=n_jobs,
        error_score="raise",
    )
    search.fit(X)
    assert len(ledger.receipts) == 13
    paid = math.fsum(receipt.event.mu**2 for receipt in ledger.receipts)
    assert price(search, 4).event.mu == pytest.approx(math.sqrt(paid), rel=1e-12)


def test_no_worker_releases_anything_with_an_accountant_in_memory():
    accountant = PrivacyAccountant(100.0, 1e-6)
    search = GridSearchCV(
        DPGauss(epsilon=0.1, accountant=accountant), GRID, cv=RecordKFold(4), n_jobs=2
    )
    with warnings.catch_warnings(), pytest.raises(ValueError, match="All the 12 fits failed"):
        warnings.simplefilter("ignore")
        search.fit(X)
    assert accountant.receipts == ()


def test_a_serial_search_charges_the_accountant_in_memory():
    accountant = PrivacyAccountant(100.0, 1e-6)
    GridSearchCV(DPGauss(epsilon=0.1, accountant=accountant), GRID, cv=RecordKFold(4)).fit(X)
    assert len(accountant.receipts) == 13


def test_a_search_over_budget_says_how_to_see_it():
    accountant = PrivacyAccountant(1.0, 1e-6)
    search = GridSearchCV(
        DPGauss(epsilon=0.9, accountant=accountant), GRID, cv=RecordKFold(4), error_score="raise"
    )
    with pytest.raises(BudgetExceeded) as caught:
        search.fit(X)
    assert "error_score='raise'" in str(caught.value).splitlines()[0].replace('"', "'")
    assert len(accountant.receipts) == 1


def test_price_takes_the_dearest_candidate_for_the_refit():
    search = GridSearchCV(DPGauss(), {"epsilon": [0.1, 1.0]}, cv=RecordKFold(2))
    mus = [mu_of(0.1, 1e-6)] * 2 + [mu_of(1.0, 1e-6)] * 3
    found = price(search, 4)
    assert found.n_fits == 5
    assert isinstance(found.event, GaussianEvent)
    assert found.event.mu == pytest.approx(math.sqrt(math.fsum(m**2 for m in mus)), rel=1e-12)
    assert found.epsilon(1e-6) > 1.0


def test_price_refuses_what_it_cannot_count():
    with pytest.raises(TypeError, match="RandomizedSearchCV"):
        price(RandomizedSearchCV(DPGauss(), GRID), 4)
    with pytest.raises(TypeError, match="BaggingRegressor"):
        price(GridSearchCV(BaggingRegressor(DPGauss()), {}), 4)


def test_price_of_other_steps_is_nothing():
    search = GridSearchCV(make_pipeline(Normalizer(), DPGauss(), KMeans()), {}, cv=RecordKFold(2))
    assert price(search, 4).n_fits == 3


def test_price_of_a_private_search_is_its_budget_and_tells_no_number_of_fits():
    found = price(PrivateSearchCV(DPGauss(), GRID, epsilon=0.7), 4)
    assert found.n_fits is None
    assert is_affordable(found.event, 0.7, 1e-6)
    assert found.epsilon(1e-6) == pytest.approx(0.7, rel=1e-6)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_price_is_of_the_method_that_sparse_rows_get(is_sparse):
    # with a declared gap another method, which may fail: at a smaller delta it has no price
    rows = sparse.random_array((60, 2100), density=0.01, rng=0, format="csr")
    accountant = PrivacyAccountant(100.0, 1e-4)
    pca = PrivatePCA(2, gap="large", epsilon=0.5, accountant=accountant)
    search = GridSearchCV(pca, {"whiten": [False]}, cv=RecordKFold(2)).fit(rows if is_sparse else X)
    paid = compose(receipt.event for receipt in accountant.receipts)
    assert price(search, (rows if is_sparse else X).shape[1], is_sparse=is_sparse).event == paid
    assert math.isfinite(price(search, 4).epsilon(1e-9)) and (paid.failure > 0) == is_sparse


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("cv", [None, 3, KFold(4, shuffle=True), RecordKFold(3)])
def test_folds_that_one_record_moves_are_warned_of(cv, adjacency):
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        price(GridSearchCV(DPGauss(adjacency=adjacency), GRID, cv=cv), 4)
    warned = [one.category for one in shown] == [MovingFoldsWarning]
    assert warned == (adjacency == "add-remove" and not isinstance(cv, RecordKFold))
