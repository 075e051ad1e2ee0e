"""Searches that charge every fit, and the price of a search beforehand."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.ensemble import BaggingRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    LeavePGroupsOut,
    LeavePOut,
    PredefinedSplit,
    RandomizedSearchCV,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
    check_cv,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer

from skdppca import DPGauss, PrivacyAccountant, PrivatePCA
from skdppca.exceptions import BudgetExceeded, MovingFoldsWarning
from skdppca.model_selection import PrivateSearchCV, RecordKFold, price
from skdppca.privacy import (
    GaussianEvent,
    NonPrivateEvent,
    PureEvent,
    compose,
    epsilon_of_event,
    is_affordable,
    mu_of,
)

X = np.random.default_rng(0).normal(size=(60, 4))
PAIRS = [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.arange(30))]
GRID = {"n_components": [1, 2, 3]}


def n_components_of(estimator, X, y=None):
    """A score for fits of so few rows that the noise hides their variances."""
    return estimator.get_feature_names_out().size


def test_a_search_over_budget_says_how_to_see_it():
    accountant = PrivacyAccountant(1.0, 1e-6)
    search = GridSearchCV(
        DPGauss(epsilon=0.9, accountant=accountant),
        GRID,
        cv=RecordKFold(4),
        error_score="raise",
        scoring=n_components_of,
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
    dearest = GaussianEvent(math.sqrt(math.fsum(m**2 for m in mus)))
    assert found.epsilon(1e-6) == pytest.approx(epsilon_of_event(dearest, 1e-6), rel=1e-12)


class Costly(DPGauss):
    """Costs what it is told, at every epsilon."""

    def __init__(self, n_components=None, *, event=None, delta=1e-6):
        super().__init__(n_components, delta=delta)
        self.event = event

    def _event(self, public):
        return self.event


PURE, GAUSSIAN, MAY_FAIL = PureEvent(1.0), GaussianEvent(0.5), GaussianEvent(0.1, failure=1e-5)


@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-4, 0.1])
@pytest.mark.parametrize("last", [1e-9, 0.9])  # the delta of the last candidate decided before
def test_no_winner_is_dearer_than_the_price(last, delta):
    events = [PURE, GAUSSIAN, MAY_FAIL]
    grid = [{"event": events}, {"event": [GaussianEvent(0.01)], "delta": [last]}]
    folds = [event for event in [*events, GaussianEvent(0.01)] for _ in range(2)]
    found = price(GridSearchCV(Costly(2), grid, cv=RecordKFold(2)), 4)
    charged = [epsilon_of_event(compose([*folds, winner]), delta) for winner in events]
    assert found.epsilon(delta) == max(charged)
    assert found.n_fits == 9


def test_which_winner_is_the_dearest_depends_on_delta():
    totals = price(
        GridSearchCV(Costly(2), {"event": [PURE, GAUSSIAN]}, cv=RecordKFold(2)), 4
    ).totals
    assert len(totals) == 2
    tight, loose = ([epsilon_of_event(total, delta) for total in totals] for delta in (1e-12, 1e-4))
    assert tight[0] < tight[1] and loose[0] > loose[1]


CHOICES = {"a callable": lambda results: 1, "another": lambda results: 0, "a metric": "one"}


@pytest.mark.parametrize("refit", [*CHOICES.values(), True, False], ids=[*CHOICES, "best", "none"])
def test_every_way_to_refit_is_priced(refit):
    accountant = PrivacyAccountant(100.0, 1e-4)
    search = GridSearchCV(
        DPGauss(2, accountant=accountant),
        {"epsilon": [0.3, 1.0], "delta": [1e-9, 1e-6]},
        cv=RecordKFold(2),
        # `score` needs variances, which the noise may hide
        scoring=(lambda pca, X, y=None: 1.0) if refit != "one" else {"one": lambda *_: 1.0},
        refit=refit,
        error_score="raise",
    )
    found = price(search, 4)
    search.fit(X)
    assert len(accountant.receipts) == found.n_fits == 8 + bool(refit)
    for delta in (1e-12, 1e-4):
        paid = epsilon_of_event(compose(r.event for r in accountant.receipts), delta)
        assert paid <= found.epsilon(delta)


def test_a_candidate_without_noise_has_no_price():
    found = price(GridSearchCV(DPGauss(), {"epsilon": [1.0, math.inf]}, cv=RecordKFold(2)), 4)
    assert found.totals == (NonPrivateEvent(),)
    assert found.epsilon(1e-6) == math.inf


def test_fits_that_fail_are_at_most_the_price():
    accountant = PrivacyAccountant(100.0, 1e-6)
    search = GridSearchCV(
        DPGauss(accountant=accountant), {"n_components": [1, 9]}, cv=RecordKFold(2)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X)
    assert len(accountant.receipts) == 3 < price(search, 4).n_fits
    assert accountant.spent.epsilon < price(search, 4).epsilon(1e-6)


def test_price_refuses_what_it_cannot_count():
    with pytest.raises(TypeError, match="RandomizedSearchCV"):
        price(RandomizedSearchCV(DPGauss(), GRID), 4)
    with pytest.raises(TypeError, match="BaggingRegressor"):
        price(GridSearchCV(BaggingRegressor(DPGauss()), {}, cv=RecordKFold(2)), 4)
    with pytest.raises(TypeError, match="iterator"):
        price(GridSearchCV(DPGauss(), GRID, cv=iter(PAIRS)), 4)


@pytest.mark.parametrize(
    "cv", [LeaveOneOut(), LeavePOut(2), LeaveOneGroupOut(), LeavePGroupsOut(2)], ids=str
)
def test_a_number_of_folds_that_only_the_data_tell_is_refused(cv):
    with pytest.raises(TypeError, match=rf"cv is a {type(cv).__name__}, whose number of folds"):
        price(GridSearchCV(DPGauss(adjacency="replace-one"), GRID, cv=cv), 4)


def test_price_leaves_the_grid_as_it_is():
    pca = DPGauss(2)
    grid = {"pca": [pca], "pca__n_components": [1, 3]}
    price(GridSearchCV(Pipeline([("pca", DPGauss())]), grid, cv=RecordKFold(2)), 4)
    assert pca.n_components == 2


def test_price_of_other_steps_is_nothing():
    search = GridSearchCV(make_pipeline(Normalizer(), DPGauss(), KMeans()), {}, cv=RecordKFold(2))
    assert price(search, 4).n_fits == 3


def test_price_of_a_private_search_is_its_budget_and_tells_no_number_of_fits():
    found = price(PrivateSearchCV(DPGauss(), GRID, epsilon=0.7), 4)
    assert found.n_fits is None and repr(found) == "<Price: secret number of fits>"
    (total,) = found.totals
    assert is_affordable(total, 0.7, 1e-6)
    assert found.epsilon(1e-6) == pytest.approx(0.7, rel=1e-6)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_price_is_of_the_method_that_sparse_rows_get(is_sparse):
    # with a declared gap another method, which may fail: at a smaller delta it has no price
    rows = sparse.random_array((60, 2100), density=0.01, rng=0, format="csr")
    accountant = PrivacyAccountant(100.0, 1e-4)
    pca = PrivatePCA(2, gap="large", epsilon=0.5, accountant=accountant)
    search = GridSearchCV(pca, {"whiten": [False]}, cv=RecordKFold(2)).fit(rows if is_sparse else X)
    paid = compose(receipt.event for receipt in accountant.receipts)
    found = price(search, (rows if is_sparse else X).shape[1], is_sparse=is_sparse)
    assert found.totals == (paid,)
    assert math.isfinite(price(search, 4).epsilon(1e-9)) and (paid.failure > 0) == is_sparse


class Unknown(KFold):
    """A subclass may split as it likes."""


def kind(cv):
    return type(cv).__name__


def warned(search):
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        price(search, 4)
    assert {one.category for one in shown} <= {MovingFoldsWarning}
    assert len(shown) <= 1
    return bool(shown)


BY_POSITION = [
    None,
    3,
    KFold(4),
    KFold(4, shuffle=True),
    KFold(4, shuffle=True, random_state=0),
    RepeatedKFold(n_splits=2, n_repeats=2, random_state=0),
    ShuffleSplit(2, random_state=0),
    TimeSeriesSplit(3),
    PredefinedSplit(np.arange(60) % 3),
    PAIRS,
]
BY_VALUE = [
    StratifiedKFold(3),
    StratifiedKFold(3, shuffle=True, random_state=0),
    RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0),
    StratifiedShuffleSplit(2, random_state=0),
    GroupKFold(3),
    GroupShuffleSplit(2, random_state=0),
    StratifiedGroupKFold(3),
    Unknown(3),
    RecordKFold(3, random_state=0),
]


@pytest.mark.parametrize("unit", ["row", "user"])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("cv", [*BY_POSITION, *BY_VALUE, RecordKFold(3)], ids=kind)
def test_folds_that_one_record_moves_are_warned_of(cv, adjacency, unit):
    holds = type(cv) is RecordKFold and cv.random_state is None
    if (adjacency, unit) == ("replace-one", "row"):
        holds = holds or any(cv is one for one in BY_POSITION)
    assert warned(GridSearchCV(DPGauss(adjacency=adjacency, unit=unit), GRID, cv=cv)) != holds


@pytest.mark.parametrize("cv", [None, 3, KFold(3), RecordKFold(3)], ids=str)
def test_an_integer_is_stratified_for_a_classifier(cv):
    pipeline = make_pipeline(DPGauss(adjacency="replace-one"), LogisticRegression())
    search = GridSearchCV(pipeline, {"dpgauss__n_components": [1, 2]}, cv=cv)
    assert warned(search) == (cv in (None, 3))


def test_one_step_or_candidate_that_is_not_covered_is_enough():
    pair = make_pipeline(DPGauss(adjacency="replace-one"), DPGauss(unit="user"))
    assert warned(GridSearchCV(pair, {}, cv=KFold(2)))
    grid = {"adjacency": ["replace-one", "add-remove"]}
    assert warned(GridSearchCV(DPGauss(), grid, cv=KFold(2)))


def neighbours():
    """Labels and groups of 60 rows, and the same with others for row 5."""
    rng = np.random.default_rng(0)
    labels, groups = rng.integers(0, 2, 60), rng.integers(0, 20, 60)
    exchanged = labels.copy(), groups.copy()
    exchanged[0][5], exchanged[1][5] = 1 - labels[5], -1
    return (labels, groups), exchanged


def others_in_training(cv, labels, groups):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what a splitter ignores
        folds = check_cv(cv).split(X, labels, groups)
        return [[int(i) for i in train if i != 5] for train, _ in folds]


@pytest.mark.parametrize("cv", BY_POSITION[:3] + BY_POSITION[4:], ids=kind)
def test_folds_without_a_warning_stay_when_a_record_is_exchanged(cv):
    assert len({str(others_in_training(cv, *data)) for data in neighbours()}) == 1


@pytest.mark.parametrize("cv", [cv for cv in BY_VALUE if type(cv) is not Unknown], ids=kind)
def test_folds_with_a_warning_do_not(cv):
    assert len({str(others_in_training(cv, *data)) for data in neighbours()}) == 2
