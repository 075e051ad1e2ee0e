"""Folds that no record can move, searches that charge every fit, and their price beforehand."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy.stats import chisquare
from sklearn.cluster import KMeans
from sklearn.ensemble import BaggingRegressor
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from skdppca import DPGauss, PrivacyAccountant, PrivacyLedger
from skdppca.exceptions import BudgetExceeded, SeededNoiseWarning
from skdppca.model_selection import RecordKFold, price
from skdppca.privacy import GaussianEvent, mu_of

X = np.random.default_rng(0).normal(size=(60, 4))
GRID = {"n_components": [1, 2, 3]}


def labels(folds, n):
    out = np.empty(n, int)
    for fold, (train, test) in enumerate(folds):
        assert np.array_equal(np.sort(np.r_[train, test]), np.arange(n))
        out[test] = fold
    return out


def test_labels_are_uniform():
    # error 1e-6, fixed seed
    with pytest.warns(SeededNoiseWarning):
        found = labels(RecordKFold(5, random_state=0).split(np.zeros((20_000, 1))), 20_000)
    assert chisquare(np.bincount(found)).pvalue > 1e-6


def test_one_more_record_moves_no_other():
    with pytest.warns(SeededNoiseWarning):
        few, more = (
            labels(RecordKFold(4, random_state=1).split(np.zeros((n, 1))), n) for n in (100, 101)
        )
    assert np.array_equal(few, more[:100])


def test_a_group_falls_into_one_fold():
    groups = np.repeat(np.arange(50), 3)
    found = labels(RecordKFold(3).split(np.zeros((150, 1)), groups=groups), 150)
    assert all(len(set(found[groups == g])) == 1 for g in range(50))


def test_labels_are_drawn_anew():
    folds = RecordKFold(3)
    rows = np.zeros((200, 1))
    assert not np.array_equal(labels(folds.split(rows), 200), labels(folds.split(rows), 200))


def test_one_fold_is_refused():
    with pytest.raises(ValueError, match="n_splits=1"):
        RecordKFold(1)


@pytest.mark.parametrize("n_jobs", [1, 2])
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
    search = GridSearchCV(make_pipeline(Normalizer(), DPGauss(), KMeans()), {}, cv=2)
    assert price(search, 4).n_fits == 3
