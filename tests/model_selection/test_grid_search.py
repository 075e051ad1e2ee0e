"""Searches over the iterative methods: every fit is charged, wherever it runs."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from skdppca import KDPPCA, KDPOjas, PrivacyAccountant, PrivacyLedger, ResidualGauss
from skdppca.exceptions import SealedAccountantError
from skdppca.model_selection import RecordKFold, price

from ..estimators import but_the_first_slow

X = np.random.default_rng(0).normal(size=(120, 4)) * [4, 2, 1, 1]
GRID = {"learning_rate": ["auto", 3.0], "n_iter": [2, 3]}
N_FITS = 2 * 4 + 1

FACTORIES = [KDPPCA, KDPOjas, ResidualGauss]


def search_with(accountant, factory, piped=False, **parameters):
    estimator, grid = factory(2, epsilon=8.0, accountant=accountant), GRID
    if piped:
        step = factory.__name__.lower()
        estimator = make_pipeline(Normalizer(), estimator)
        grid = {f"{step}__{name}": values for name, values in GRID.items()}
    return GridSearchCV(estimator, grid, cv=RecordKFold(2), **parameters)


@pytest.mark.parametrize("factory", but_the_first_slow(FACTORIES))
@pytest.mark.parametrize("n_jobs", but_the_first_slow([1, 2]))
@pytest.mark.parametrize("piped", but_the_first_slow([True, False]))
def test_a_ledger_is_charged_for_every_fit(factory, n_jobs, piped, tmp_path):
    ledger = PrivacyLedger.create(tmp_path / "ledger", 100.0, 1e-5)
    search = search_with(ledger, factory, piped, n_jobs=n_jobs, error_score="raise")
    expected = price(search, X.shape[1])
    search.fit(X)
    assert len(ledger.receipts) == expected.n_fits == N_FITS
    paid = math.fsum(receipt.event.mu**2 for receipt in ledger.receipts)
    assert [total.mu for total in expected.totals] == [pytest.approx(math.sqrt(paid), rel=1e-12)]
    assert {receipt.label for receipt in ledger.receipts} == {factory.__name__}


@pytest.mark.parametrize("factory", FACTORIES)
def test_the_winner_is_one_of_the_grid_and_fitted_on_all(factory):
    accountant = PrivacyAccountant(100.0, 1e-5)
    search = search_with(accountant, factory, error_score="raise").fit(X)
    assert len(accountant.receipts) == N_FITS
    winner = search.best_estimator_
    assert {name: winner.get_params()[name] for name in GRID} == search.best_params_
    assert winner.privacy_.receipts == accountant.receipts[-1:]
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize(
    ("factory", "piped", "error_score", "error", "message"),
    [
        (KDPPCA, False, "raise", SealedAccountantError, "use PrivacyLedger"),
        pytest.param(
            *(KDPOjas, True, "raise", SealedAccountantError, "use PrivacyLedger"),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *(ResidualGauss, True, math.nan, ValueError, f"All the {N_FITS - 1} fits failed"),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_an_accountant_in_memory_is_no_accountant_for_other_processes(
    factory, piped, error_score, error, message
):
    accountant = PrivacyAccountant(100.0, 1e-5)
    search = search_with(accountant, factory, piped, n_jobs=2, error_score=error_score)
    with warnings.catch_warnings(), pytest.raises(error, match=message):
        warnings.simplefilter("ignore")
        search.fit(X)
    assert accountant.receipts == ()
    assert not hasattr(search, "best_estimator_")
