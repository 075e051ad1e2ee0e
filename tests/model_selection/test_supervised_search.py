"""Searches with a classifier: it is private itself, is charged, and nothing else is accepted."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer

from skdppca import DPGauss, PrivacyAccountant
from skdppca.model_selection import PrivateSearchCV, RecordKFold, _private_search, price
from skdppca.model_selection._scorer import HitScorer, _scores
from skdppca.model_selection._search_plan import budget_of, plan_search
from skdppca.neighbors import PrivateNearestCentroid
from skdppca.privacy import SelectionEvent, mu_of

from ..private_data_of import on_both_adjacencies
from .neighbouring_tables import held

RNG = np.random.default_rng(0)
Y = RNG.integers(3, size=600)
X = RNG.normal(size=(600, 5)) + 4 * np.eye(5)[Y]
GRID = {"pca__n_components": [1, 2, 3]}


def pipeline(n_components=2, last=None, **parameters):
    if last is None:
        last = PrivateNearestCentroid([0, 1, 2], center=False, **parameters)
    return Pipeline([("pca", DPGauss(n_components, **parameters)), ("last", last)])


def search_over(estimator=None, grid=None, **parameters):
    estimator = pipeline() if estimator is None else estimator
    return PrivateSearchCV(estimator, GRID if grid is None else grid, **parameters)


@on_both_adjacencies
def test_one_charge_for_the_components_the_classifier_and_the_choice(adjacency):
    accountant = PrivacyAccountant(2.0, 1e-6, adjacency=adjacency)
    estimator = pipeline(adjacency=adjacency)
    search = search_over(estimator, accountant=accountant, epsilon=2.0).fit(X, Y)
    (receipt,) = accountant.receipts
    assert price(search, 5).totals == (receipt.event,)
    assert receipt.label == "PrivateSearchCV(DPGauss, PrivateNearestCentroid)"
    if adjacency == "replace-one":  # the number of records is public: nothing else is asked
        assert type(receipt.event) is SelectionEvent
    assert 1.999 < accountant.spent.epsilon <= 2.0
    released = {array.name for array in search.privacy_.released}
    assert released >= {"components", "centroids", "class_counts", "best_score"}


def test_a_run_costs_the_fit_the_classifier_and_the_score_together(monkeypatch):
    found, honest = [], _private_search.best_run

    def keep(candidates, fit, score, fit_all):
        found.extend(
            [mu_of(step.epsilon, step.delta) for step in candidate] for candidate in candidates
        )
        return honest(candidates, fit, score, fit_all)

    monkeypatch.setattr(_private_search, "best_run", keep)
    search = search_over().fit(X, Y)
    plan = search._plan(_private_search.Candidates.of(search.estimator, search.param_grid))
    for mus in found:
        assert len(mus) == 2
        squares = [Fraction(mu) ** 2 for mu in (*mus, plan.mu_score)]
        assert sum(squares) <= Fraction(plan.mu) ** 2


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("score_share", [0.01, 0.9])
def test_the_plan_adds_up(epsilon, score_share):
    plan = plan_search(epsilon, 1e-6, 10.0, score_share, 0.05)
    mus = [mu_of(*budget_of(mu, 1e-6)) for mu in (plan.mu_pca, plan.mu_classifier)]
    total = sum(Fraction(mu) ** 2 for mu in (*mus, plan.mu_score))
    assert Fraction(plan.mu) ** 2 * Fraction(0.999999) < total <= Fraction(plan.mu) ** 2


def test_the_winner_is_the_candidate_that_classifies_best():
    # one component tells two of three classes apart, two or more all; the seed is fixed
    found = [
        search_over(epsilon=3.0, mean_candidates=20, random_state=seed).fit(X, Y)
        for seed in range(3)
    ]
    for search in found:
        share = np.mean(search.predict(X) == Y)
        assert search.best_params_["pca__n_components"] > 1
        assert share == search.score(X, Y) > 0.9
        assert abs(search.best_score_ - share) < 0.1


def test_the_search_is_the_classifier_that_won():
    search = search_over().fit(X, Y)
    assert is_classifier(search)
    np.testing.assert_array_equal(search.classes_, [0, 1, 2])
    with pytest.raises(AttributeError):
        search.transform(X)
    first, last = (step for _, step in search.best_estimator_.steps)
    assert last.privacy_ is first.privacy_ is search.privacy_
    assert clone(search).get_params(deep=False).keys() == search.get_params(deep=False).keys()
    other = PrivateSearchCV(DPGauss(2), {})
    assert not is_classifier(other)
    assert not hasattr(other, "predict")


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, np.float32])
def test_containers_steps_before_and_parameters_of_the_classifier(container):
    steps = make_pipeline(Normalizer(), *dict(pipeline().steps).values())
    grid = {"privatenearestcentroid__norm_bound": [None, 1.0], "dpgauss__n_components": [2, 3]}
    search = search_over(steps, grid, mean_candidates=3).fit(container(X), Y)
    assert search.predict(container(X)).shape == (600,)
    assert set(search.best_params_) == set(grid)


def test_groups_are_the_records_of_both():
    search = search_over(pipeline(unit="user")).fit(X, Y, groups=np.arange(600) // 3)
    assert search.privacy_.unit == "user"


@on_both_adjacencies
@pytest.mark.parametrize("grouped", [False, True])
def test_one_record_moves_the_number_of_hits_by_at_most_one(adjacency, grouped):
    rng, moved = np.random.default_rng(1), []
    for _ in range(60):
        size = int(rng.integers(1, 9)) if grouped else 1
        others, odd = rng.integers(2, size=40), rng.integers(2, size=(2, size))
        pair = [odd[0], odd[1] if adjacency == "replace-one" else odd[0][:0]]
        totals = []
        for last in pair:
            groups = np.r_[np.arange(40), np.full(len(last), 40)] if grouped else None
            rows = np.zeros((40 + len(last), 5))
            data = held(rows, adjacency, groups, centre=np.zeros(5), n=1.0)
            scorer = HitScorer(data.ask_count(data.remaining), groups, 1e7)
            totals.append(scorer(np.r_[others, last] > 0) * scorer.data.n)
        moved.append(abs(totals[0] - totals[1]))
    assert scorer._right.sensitivity(adjacency) == 1.0
    assert 0.99 < max(moved) <= 1.0 + 1e-3


def test_a_score_of_rows_is_that_of_transform_but_bitwise_of_its_row_alone():
    rows = X.copy()
    rows[0] = 1.7e308
    pca = DPGauss(3, whiten=True, scale="private", random_state=0).fit(X)
    np.testing.assert_allclose(_scores(pca, X), pca.transform(X), rtol=1e-9, atol=1e-9)
    together = _scores(pca, rows)
    assert np.isfinite(together).all()
    alone = np.vstack([_scores(pca, rows[[i]]) for i in range(len(rows))])
    np.testing.assert_array_equal(together, alone)


# What is refused, for nothing


def refuses(match, estimator=None, grid=None, y=Y, **fit):
    accountant = PrivacyAccountant(1.0, 1e-6)
    with pytest.raises((ValueError, TypeError), match=match) as caught:
        search_over(estimator, grid, accountant=accountant).fit(X, y, **fit)
    assert accountant.receipts == ()
    return caught.value


@pytest.mark.parametrize(
    "last",
    [LogisticRegression(), LinearRegression(), NearestCentroid()],
    ids=lambda last: type(last).__name__,
)
def test_any_other_classifier_is_refused_in_words(last):
    name = type(last).__name__
    refuses(
        rf"step 'last', a {name}, would be fitted on the records without noise. One record "
        r"changes it.*End the Pipeline with skdppca.neighbors.PrivateNearestCentroid",
        pipeline(last=last),
    )
    refuses(f"puts a {name} in place of the classifier", grid={"last": [last]})


@pytest.mark.parametrize(
    ("estimator", "match"),
    [
        (pipeline(accountant=PrivacyAccountant(1.0, 1e-6)), "the private PCA has accountant"),
        (
            pipeline(last=PrivateNearestCentroid([0, 1], random_state=0)),
            "the classifier has random_state=0",
        ),
        (
            pipeline(last=PrivateNearestCentroid([0, 1], adjacency="replace-one")),
            "adjacency='replace-one' and the private PCA adjacency='add-remove'",
        ),
        (
            pipeline(last=PrivateNearestCentroid([0, 1], unit="user")),
            "unit='user' and the private PCA unit='row'",
        ),
        (pipeline(last=PrivateNearestCentroid()), "classes=None"),
        (pipeline(last=PrivateNearestCentroid([0, 0])), "different labels"),
        (pipeline(last=PrivateNearestCentroid([0], mean=[1.0])), "mean must hold 1|2|3 finite"),
        (
            make_pipeline(DPGauss(2), Normalizer(), PrivateNearestCentroid([0, 1])),
            "is not the last step right behind the private PCA",
        ),
        (
            make_pipeline(PrivateNearestCentroid([0, 1]), DPGauss(2)),
            "is not the last step right behind the private PCA",
        ),
        (PrivateNearestCentroid([0, 1]), "PrivateNearestCentroid, whose cost is not known"),
    ],
    ids=str,
)
def test_what_cannot_be_accounted_or_compared(estimator, match):
    grid = GRID if isinstance(estimator, Pipeline) and "pca" in estimator.named_steps else {}
    refuses(match, estimator, grid)


@pytest.mark.parametrize(
    ("name", "value"), [("epsilon", 1.0), ("unit", "row"), ("classes", [0, 1]), ("verbose", 1)]
)
def test_grids_over_what_must_be_the_same(name, value):
    if name == "verbose":
        search_over(grid={"last__verbose": [value]}, mean_candidates=1).fit(X, Y)
        return
    refuses(f"param_grid sets 'last__{name}'", grid={f"last__{name}": [value]})


def test_classifiers_of_other_classes_are_not_compared():
    candidates = [PrivateNearestCentroid([0, 1, 2]), PrivateNearestCentroid([0, 1])]
    refuses("differ in classes", grid={"last": candidates})
    again = {"last": [PrivateNearestCentroid(range(3)), PrivateNearestCentroid((0, 1, 2))]}
    search_over(grid=again, mean_candidates=1).fit(X, Y)


@pytest.mark.parametrize(
    ("y", "match"),
    [
        (None, "the target y is None; give the label of every row"),
        (Y[:-1], "one label for every row"),
        (np.column_stack([Y, Y]), "one-dimensional"),
    ],
)
def test_labels_that_are_missing_or_too_few(y, match):
    assert refuses(match, y=y).__context__ is None


def test_a_search_without_a_classifier_reads_no_labels():
    PrivateSearchCV(DPGauss(2), {}, mean_candidates=1).fit(X, "swordfish")


# Stock searches


def test_a_stock_search_is_priced_with_both_steps():
    accountant = PrivacyAccountant(100.0, 1e-5)
    estimator = pipeline(accountant=accountant, epsilon=0.5)
    search = GridSearchCV(estimator, GRID, cv=RecordKFold(2), error_score="raise")
    expected = price(search, 5)
    search.fit(X, Y)
    assert len(accountant.receipts) == expected.n_fits == 2 * (3 * 2 + 1)
    paid = np.sqrt(sum(receipt.event.mu**2 for receipt in accountant.receipts))
    (total,) = expected.totals
    assert total.mu == pytest.approx(paid, rel=1e-12)
