"""One private winner, one charge, and nothing else."""

from __future__ import annotations

import math
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import binom
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import (
    check_estimator,
    check_set_output_transform_pandas,
    check_transformer_get_feature_names_out,
)

from skdppca import GDPPCA, DPGauss, PrivacyAccountant, PrivacyLedger
from skdppca.decomposition import gdppca
from skdppca.exceptions import BudgetExceeded, SeededNoiseWarning
from skdppca.model_selection import PrivateSearchCV, _private_search, price
from skdppca.privacy import ComposedEvent, GaussianEvent, SelectionEvent

from ..private_data_of import on_both_adjacencies

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 5)) * [5.0, 4.0, 1.0, 1.0, 1.0]
GRID = {"clip": ["auto", "spherical"]}
# A norm bound far below the noise of what it clips, and one far above all rows.
EASY = {"norm_bound": [20.0, 1e5]}


def search_over(estimator=None, grid=None, **parameters):
    return PrivateSearchCV(
        DPGauss(2) if estimator is None else estimator, grid or GRID, **parameters
    )


@on_both_adjacencies
@pytest.mark.parametrize("mean", [1, 10, pytest.param(200.0, marks=pytest.mark.slow)])
def test_the_total_is_charged_once_and_uses_the_budget_up(adjacency, mean):
    accountant = PrivacyAccountant(1.0, 1e-6, adjacency=adjacency)
    search = search_over(
        DPGauss(2, adjacency=adjacency), accountant=accountant, mean_candidates=mean
    ).fit(X)
    (receipt,) = accountant.receipts
    assert (receipt,) == search.privacy_.receipts
    assert receipt.event == search.privacy_.event
    assert price(search, 5).totals == (receipt.event,)
    assert search.privacy_.private
    gaussian, selection = receipt.event.events
    assert (type(gaussian), type(selection)) == (GaussianEvent, SelectionEvent)
    assert 0.999999 < accountant.spent.epsilon <= 1.0


def test_a_budget_that_is_too_small_releases_nothing():
    accountant = PrivacyAccountant(0.9, 1e-6)
    search = search_over(accountant=accountant, epsilon=1.0)
    with pytest.raises(BudgetExceeded):
        search.fit(X)
    assert accountant.receipts == ()
    assert not hasattr(search, "best_estimator_")


def test_more_records_than_a_candidate_takes_are_refused_and_do_not_decide_the_winner(monkeypatch):
    # Such a candidate would fail in every run, and win in some with one record less.
    monkeypatch.setattr(gdppca, "MAX_COMPLETE", 20)
    accountant = PrivacyAccountant(1.0, 1e-6)
    grid = {"pairs": ["complete", "incomplete"]}
    with pytest.raises(ValueError, match=r"more than 20 rows; .* set pairs='incomplete'"):
        search_over(GDPPCA(2), grid, accountant=accountant).fit(X[:21])
    assert accountant.receipts == ()
    search_over(GDPPCA(2), grid, accountant=accountant).fit(X[:20])


def test_the_charge_comes_before_anything_is_computed(monkeypatch):
    def stop(*args, **more):
        raise KeyError("computed")

    monkeypatch.setattr(_private_search, "prepare_scorer", stop)
    accountant = PrivacyAccountant(1.0, 1e-6)
    with pytest.raises(KeyError, match="computed"):
        search_over(accountant=accountant).fit(X)
    assert len(accountant.receipts) == 1


def test_a_search_in_two_processes_charges_a_ledger_once(tmp_path):
    ledger = PrivacyLedger.create(tmp_path / "ledger", epsilon=1.0, delta=1e-6)
    search = search_over(accountant=ledger, n_jobs=2).fit(X)
    ledger.verify(*search.privacy_.receipts)
    assert len(PrivacyLedger(tmp_path / "ledger").receipts) == 1


def test_what_is_public_is_not_paid_for():
    estimator = DPGauss(2, adjacency="replace-one", center=False, norm_bound=30.0)
    event = search_over(estimator).fit(X).privacy_.event
    assert type(event) is SelectionEvent
    private = search_over(DPGauss(2)).fit(X).privacy_.event
    assert type(private) is ComposedEvent
    assert event.mu > private.events[1].mu


def test_the_winner_carries_the_price_of_the_search_and_not_of_its_fit():
    accountant = PrivacyAccountant(2.0, 1e-6)
    search = search_over(accountant=accountant, epsilon=2.0).fit(X)
    winner = search.best_estimator_
    assert winner.privacy_ is search.privacy_
    assert search.privacy_.epsilon == winner.epsilon == 2.0
    assert winner.accountant is accountant  # what is fitted again is charged again
    assert "PrivateSearchCV(DPGauss)" in str(search.privacy_)
    assert search.privacy_.to_json()


def test_nothing_but_the_winner_survives():
    frame = pd.DataFrame(X, columns=list("abcde"))
    search = search_over(random_state=0).fit(frame)
    assert set(vars(search)) - set(search.get_params(deep=False)) == {
        "best_estimator_",
        "best_index_",
        "best_params_",
        "best_score_",
        "feature_names_in_",
        "n_features_in_",
        "privacy_",
    }
    winner = search.best_estimator_
    assert set(vars(winner)) == set(vars(DPGauss(2).fit(frame)))
    assert set(search.privacy_.details["search"]) == {
        "mean_candidates",
        "mu_preliminary",
        "mu_fit",
        "mu_score",
        "noise_sds",
        "score_norm_bound",
        "score_noise_sd",
    }
    sizes = {len(pickle.dumps(search_over(random_state=s).fit(frame))) for s in range(6)}
    assert max(sizes) - min(sizes) < 500  # K differs; one more fit would add about 2000


def test_the_winner_is_better_than_a_candidate_at_random():
    """Without selection 60 searches find the good half so often with probability 1e-5."""
    found = [
        search_over(grid=EASY, epsilon=4.0, mean_candidates=20, random_state=seed).fit(X)
        for seed in range(60)
    ]
    good = sum(search.best_params_["norm_bound"] == 20.0 for search in found)
    assert binom.sf(good - 1, 60, 0.5) < 1e-5
    assert all(EASY["norm_bound"][s.best_index_] == s.best_params_["norm_bound"] for s in found)


def test_the_score_is_the_captured_square_per_record():
    estimator = DPGauss(2, center=False, norm_bound=30.0)
    search = search_over(estimator, epsilon=1e3, mean_candidates=1).fit(X)
    captured = np.mean(np.sum((X @ search.best_estimator_.components_.T) ** 2, axis=1))
    sd = search.privacy_.details["search"]["score_noise_sd"]
    assert abs(search.best_score_ - captured) < 6 * sd + 0.1 * captured
    assert sd < captured


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, np.float32])
@on_both_adjacencies
def test_dense_sparse_and_single_precision(container, adjacency):
    search = search_over(DPGauss(2, adjacency=adjacency)).fit(container(X))
    assert search.transform(container(X)).shape == (600, 2)
    assert search.best_estimator_.adjacency == adjacency


def test_a_search_that_is_refused_leaves_the_one_before_as_it_was():
    accountant = PrivacyAccountant(1.0, 1e-6)
    search = search_over(accountant=accountant).fit(pd.DataFrame(X, columns=list("abcde")))
    before = dict(vars(search))
    with pytest.raises(BudgetExceeded):
        search.fit(X[:, :3])
    assert vars(search) == before
    search.set_params(accountant=None).fit(X)
    assert not hasattr(search, "feature_names_in_")


def test_groups_are_the_records():
    grid = {"n_components": [2, 3]}
    search = search_over(DPGauss(2, unit="user"), grid).fit(X, groups=np.arange(600) // 3)
    assert search.privacy_.unit == "user"
    assert search.inverse_transform(search.transform(X)).shape == X.shape


def test_the_steps_around_are_those_of_the_pipeline_and_the_last_sees_no_data():
    seen = []

    def spy(Z):
        seen.append(Z.shape)
        return Z

    pipeline = make_pipeline(
        Normalizer(),
        "passthrough",
        DPGauss(2),
        FunctionTransformer(spy, feature_names_out="one-to-one"),
    )
    search = search_over(pipeline, {"dpgauss__clip": ["auto", "spherical"]}).fit(X)
    assert set(seen) == {(1, 2)}
    assert isinstance(search.best_estimator_, Pipeline)
    inner = search.best_estimator_.named_steps["dpgauss"]
    np.testing.assert_array_equal(search.transform(X), inner.transform(Normalizer().transform(X)))
    assert list(search.get_feature_names_out()) == ["dpgauss0", "dpgauss1"]
    assert not hasattr(search, "inverse_transform")
    assert pipeline[0].__dict__ == Normalizer().__dict__


def test_whole_methods_can_be_candidates():
    class Failing(DPGauss):
        def fit(self, X, y=None, *, groups=None):
            raise ValueError("secret 4711")

    pipeline = Pipeline([("scale", Normalizer()), ("pca", DPGauss(2))])
    grid = {"pca": [DPGauss(1), Failing(3)]}
    found = [search_over(pipeline, grid, random_state=seed) for seed in range(12)]
    for search in found:
        try:
            search.fit(X)
        except RuntimeError as error:
            assert "4711" not in str(error)
        else:
            assert search.best_params_["pca"].n_components == 1


def test_if_all_candidates_fail_the_search_is_charged_and_says_nothing():
    class Failing(DPGauss):
        def fit(self, X, y=None, *, groups=None):
            warnings.warn("secret 4711", stacklevel=2)
            raise ValueError("secret 4711")

    accountant = PrivacyAccountant(1.0, 1e-6)
    search = search_over(Failing(2), accountant=accountant)
    with (
        warnings.catch_warnings(),
        pytest.raises(RuntimeError, match="no candidate could be fitted") as caught,
    ):
        warnings.simplefilter("error")
        search.fit(X)
    assert "4711" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert len(accountant.receipts) == 1
    assert not hasattr(search, "privacy_")


def test_a_seed_repeats_the_search_and_voids_the_guarantee():
    with pytest.warns(SeededNoiseWarning) as caught:
        first = search_over(random_state=3).fit(X)
    assert len(caught) == 1  # not one for each of K candidates
    again = search_over(random_state=3).fit(X)
    assert first.best_score_ == again.best_score_
    np.testing.assert_array_equal(first.transform(X), again.transform(X))
    assert not first.privacy_.private


def test_the_estimators_own_epsilon_is_not_used():
    first, again = (
        search_over(DPGauss(2, epsilon=own), random_state=3).fit(X) for own in (0.01, math.inf)
    )
    assert first.best_score_ == again.best_score_
    np.testing.assert_array_equal(first.transform(X), again.transform(X))


def test_candidates_have_noise_of_their_own(monkeypatch):
    seeds = []

    def keep(candidates, *args):
        seeds.append([pca.random_state for (pca,) in candidates])
        return best_run(candidates, *args)

    best_run = _private_search.best_run
    monkeypatch.setattr(_private_search, "best_run", keep)
    search_over(random_state=2, mean_candidates=100).fit(X)
    search_over(mean_candidates=100).fit(X)
    seeded, secure = seeds
    assert None not in seeded
    assert len(set(seeded)) == len(seeded) > 5
    assert set(secure) == {None}


def test_clone_keeps_the_accountant():
    accountant = PrivacyAccountant(1.0, 1e-6)
    search = search_over(accountant=accountant)
    assert clone(search).accountant is accountant
    assert clone(search.fit(X)).get_params(deep=False).keys() == search.get_params(False).keys()


def test_a_pickled_search_transforms_the_same():
    search = search_over(accountant=PrivacyAccountant(1.0, 1e-6)).fit(X)
    twin = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(twin.transform(X), search.transform(X))
    assert twin.privacy_.to_dict() == search.privacy_.to_dict()


def test_scikit_learns_checks_pass():
    results = check_estimator(search_over(DPGauss(), mean_candidates=2), on_skip=None)
    others = {result["check_name"] for result in results if result["status"] != "passed"}
    assert others <= {"check_array_api_input"}  # skipped without SCIPY_ARRAY_API
    assert len(results) > 40


@pytest.mark.parametrize(
    "check", [check_set_output_transform_pandas, check_transformer_get_feature_names_out]
)
@pytest.mark.filterwarnings("ignore:X (has|does not have valid) feature names")
def test_more_of_scikit_learns_checks_pass(check):
    check("PrivateSearchCV", search_over(DPGauss(2), mean_candidates=2))


@pytest.mark.parametrize(
    "step",
    [
        ColumnTransformer(
            [("sex", OneHotEncoder(categories=[[0, 1]], handle_unknown="ignore"), [0])],
            remainder="passthrough",
            sparse_threshold=0,
        ),
        FrozenEstimator(StandardScaler().fit(np.arange(12.0).reshape(3, 4))),
    ],
    ids=["given categories", "fitted on public rows"],
)
def test_a_step_that_learns_nothing_of_the_rows_stands_before_the_private_one(step):
    rows = np.random.default_rng(0).normal(size=(300, 4))
    rows[:, 0] = rows[:, 0] > 0
    search = PrivateSearchCV(
        make_pipeline(step, DPGauss()), {"dpgauss__n_components": [1, 2]}, random_state=0
    ).fit(rows)
    expected = search.best_estimator_[-1].transform(clone(step).fit(rows, None).transform(rows))
    np.testing.assert_allclose(search.transform(rows), expected)
