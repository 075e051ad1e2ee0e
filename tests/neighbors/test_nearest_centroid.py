"""The private nearest centroid: scikit-learn's without noise, charged, of public classes."""

from __future__ import annotations

import math
import pickle
import re
import traceback
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import check_estimator

from skdppca import DPGauss, PrivacyAccountant, PrivacyLedger
from skdppca.exceptions import BudgetExceeded
from skdppca.neighbors import PrivateNearestCentroid, nearest_class
from skdppca.neighbors._nearest_centroid import LabelledRows
from skdppca.privacy import verify_report
from skdppca.statistics import ClippedSum

RNG = np.random.default_rng(0)
Y = RNG.integers(3, size=400)
X = RNG.normal(size=(400, 4)) + 4 * np.eye(4)[Y]
CLASSES = [0, 1, 2]


def nearest(**parameters):
    return PrivateNearestCentroid(CLASSES, **parameters)


@pytest.mark.parametrize("center", [True, False])
def test_without_noise_it_is_scikit_learns(center):
    rows, labels = load_wine(return_X_y=True)
    rows = scale(rows)
    ours = nearest(epsilon=math.inf, center=center).fit(rows, labels)
    theirs = NearestCentroid().fit(rows, labels)
    np.testing.assert_allclose(ours.centroids_, theirs.centroids_, atol=1e-12)
    np.testing.assert_allclose(ours.class_counts_, np.bincount(labels))
    np.testing.assert_array_equal(ours.predict(rows), theirs.predict(rows))


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_digits_are_told_apart_wherever_they_lie(adjacency, offset):
    # without noise .905; seeds are fixed
    rows, labels = load_digits(return_X_y=True)
    model = PrivateNearestCentroid(range(10), adjacency=adjacency, random_state=0)
    assert model.fit(rows + offset, labels).score(rows + offset, labels) > 0.85


def test_groups_weigh_in_a_class_by_their_share_of_rows():
    groups = np.repeat(np.arange(200), 2)
    labels = np.repeat([0, 1], 200)
    labels[1] = 2  # of group 0, the other row is of class 0
    model = nearest(epsilon=math.inf, unit="person").fit(X, labels, groups=groups)
    np.testing.assert_allclose(model.class_counts_, [99.5, 100, 0.5])
    np.testing.assert_allclose(model.centroids_[2], X[1])


def test_a_row_of_another_label_belongs_to_no_class():
    labels = np.where(np.arange(400) < 10, 7, Y)
    with_others = nearest(epsilon=math.inf, center=False).fit(X, labels)
    without = nearest(epsilon=math.inf, center=False).fit(X[10:], Y[10:])
    np.testing.assert_allclose(with_others.centroids_, without.centroids_)


@pytest.mark.parametrize(
    "classes", [["b", "a"], [True, False], [3, "a", None, (1, 2)], np.array([2, 5])], ids=str
)
def test_labels_come_back_as_they_are_and_in_the_order_given(classes):
    names = list(classes)
    labels = np.empty(400, dtype=object)
    labels[:] = [names[i % len(names)] for i in Y]
    model = PrivateNearestCentroid(classes, random_state=0).fit(X, labels)
    assert model.classes_.tolist() == names
    assert set(model.predict(X).tolist()) <= set(names)


def test_a_fit_is_charged_once_and_its_report_verifies(tmp_path):
    ledger = PrivacyLedger.create(tmp_path / "ledger", 1.0, 1e-6)
    model = nearest(accountant=ledger).fit(X, Y)
    (receipt,) = ledger.receipts
    assert (receipt,) == model.privacy_.receipts
    assert receipt.label == "PrivateNearestCentroid"
    assert model.privacy_.private
    verify_report(model.privacy_)
    assert {released.name for released in model.privacy_.released} == {"centroids", "class_counts"}
    with pytest.raises(BudgetExceeded):
        nearest(accountant=ledger).fit(X, Y)


def test_all_of_the_budget_is_used_and_no_more():
    spent = math.fsum(spending.mu**2 for spending in nearest().fit(X, Y).privacy_.spendings)
    mu = nearest()._event().mu
    assert 0.999 < spent / mu**2 <= 1 + 1e-12


def test_a_public_bound_and_a_public_mean_are_not_paid_for():
    model = nearest(adjacency="replace-one", norm_bound=9.0, mean=np.ones(4)).fit(X, Y)
    assert [spending.name for spending in model.privacy_.spendings] == ["class sums"]


@pytest.mark.parametrize(("adjacency", "factor"), [("add-remove", 1.0), ("replace-one", 2.0)])
@pytest.mark.parametrize("grouped", [False, True])
def test_one_record_moves_the_class_sums_no_further_than_is_paid_for(adjacency, factor, grouped):
    rng, most = np.random.default_rng(1), 0.0
    bound = ClippedSum(np.zeros(15), 2.0)
    assert bound.sensitivity(adjacency) == 2.0 * factor
    for _ in range(200):
        size = 3 if grouped else 1
        odd = [rng.normal(size=(size, 4)) * 10.0 ** rng.integers(-3, 160) for _ in range(2)]
        labels = [rng.integers(-1, 3, size=size) for _ in range(2)]
        totals = [np.zeros(15)]
        for rows, classes in zip(odd, labels, strict=True):
            groups = np.zeros(size, int) if grouped else None
            labelled = LabelledRows(rows, groups, classes, 3)
            totals.append(labelled.by_class(np.ones(4), 1.0).total(bound))
        apart = (1, 0) if adjacency == "add-remove" else (1, 2)
        most = max(most, float(np.linalg.norm(totals[apart[0]] - totals[apart[1]])))
    assert 1.9 < most <= bound.sensitivity(adjacency) * (1 + 1e-9)


def test_a_prediction_is_a_bitwise_function_of_its_row():
    means = RNG.normal(size=(5, 64))
    rows = RNG.normal(size=(301, 64))
    rows[::3] = (means[0] + means[1]) / 2  # as near to both, up to the last bit
    together = nearest_class(rows, means)
    alone = [nearest_class(rows[[i]], means)[0] for i in range(301)]
    np.testing.assert_array_equal(together, alone)


def test_rows_that_overflow_are_no_error():
    rows = X.copy()
    rows[0], rows[1] = 1.7e308, -1.7e308
    model = nearest(mean=np.full(4, 9.0), random_state=0).fit(rows, Y)
    assert np.isfinite(model.centroids_).all()
    assert model.predict(rows).shape == (400,)


def test_in_a_pipeline_both_steps_charge_one_ledger():
    accountant = PrivacyAccountant(2.0, 1e-5)
    both = {"epsilon": 0.9, "accountant": accountant, "random_state": 0}
    pca, last = DPGauss(3, **both), nearest(center=False, **both)
    model = make_pipeline(pca, last).fit(X, Y)
    assert [receipt.label for receipt in accountant.receipts] == [
        "DPGauss",
        "PrivateNearestCentroid",
    ]
    assert model.score(X, Y) > 0.8


def test_names_of_columns_and_copies():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = nearest().fit(frame, Y)
    assert model.feature_names_in_.tolist() == list("abcd")
    twin = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(twin.predict(frame), model.predict(frame))
    assert clone(model).get_params() == model.get_params()


# What is refused, for nothing

TEXT, VALUE = "swordfish", 123456.789


def rows_with(entry):
    rows = X.copy()
    rows[7, 2] = entry
    return rows


def labels_with(entry):
    labels = Y.astype(object)
    labels[7] = entry
    return labels


def refused(match, rows=X, labels=Y, groups=None, **parameters):
    accountant = PrivacyAccountant(10.0, 1e-5, unit=parameters.get("unit", "row"))
    parameters = {"classes": CLASSES, "accountant": accountant} | parameters
    model = PrivateNearestCentroid(**parameters)
    with warnings.catch_warnings(), pytest.raises((ValueError, TypeError), match=match) as caught:
        warnings.simplefilter("error")
        model.fit(rows, labels, groups=groups)
    assert accountant.receipts == ()
    assert not hasattr(model, "centroids_")
    text = "".join(traceback.format_exception(caught.value))
    return caught.value, re.sub(r'File ".*?"|line \d+', "", text)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"rows": rows_with(np.nan)}, "contains NaN"),
        ({"rows": rows_with(np.inf)}, "contains infinity"),
        ({"rows": rows_with(0.0).astype(str)}, "strings"),
        ({"rows": sparse.csr_array(rows_with(VALUE))}, "X is sparse; give an array"),
        ({"rows": X[:0], "labels": Y[:0]}, "0 sample"),
        ({"labels": None}, "the target y is None"),
        ({"labels": Y[:-1]}, "one label for every row"),
        ({"labels": labels_with([VALUE])}, "y must hold numbers or strings"),
        ({"labels": np.column_stack([Y, Y])}, "y must be one-dimensional"),
        ({"labels": np.ma.array(Y, mask=Y == 1)}, "missing labels"),
        ({"labels": TEXT}, "y must be one-dimensional"),
        ({"groups": Y}, "groups were given"),
        ({"unit": "person"}, "groups were not given"),
        ({"unit": "person", "groups": labels_with(None)}, "groups has missing labels"),
    ],
    ids=lambda part: part if isinstance(part, str) else next(iter(part)),
)
def test_bad_data_are_an_error_for_nothing_that_tells_nothing(given, match):
    error, text = refused(match, **given)
    assert error.__context__ is None
    assert TEXT not in text
    assert "23456" not in text
    assert "400" not in text


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"classes": None}, "the labels that y happens to take are private"),
        ({"classes": []}, "not one or more different labels"),
        ({"classes": [1, 1]}, "not one or more different labels"),
        ({"classes": [[1], [2]]}, "not one or more different labels"),
        ({"classes": 3}, "'classes' parameter"),
        ({"epsilon": 0}, "'epsilon' parameter"),
        ({"epsilon": 1e-12, "delta": 1e-12}, "more noise than the grid"),
        ({"epsilon": math.inf}, "epsilon=inf has no cost"),
        ({"delta": 1}, "'delta' parameter"),
        ({"adjacency": "both"}, "'adjacency' parameter"),
        ({"unit": "interaction"}, "protects single entries"),
        ({"norm_bound": -1.0}, "'norm_bound' parameter"),
        ({"norm_bound": 1e80}, "norm_bound=1e\\+80 is out of range"),
        ({"mean": [1.0]}, "mean must hold 4 finite numbers"),
        ({"mean": [1e80] * 4}, "exceeds"),
        ({"random_state": np.random.mtrand._rand}, "numpy's global random state"),
        ({"accountant": "ledger"}, "'accountant' parameter"),
    ],
    ids=lambda part: part if isinstance(part, str) else ", ".join(part),
)
def test_bad_parameters_are_an_error_for_nothing(parameters, match):
    groups = Y if parameters.get("unit") else None
    refused(match, groups=groups, **parameters)


def test_a_fit_that_is_refused_leaves_the_one_before_as_it_was():
    model = nearest().fit(X, Y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="one label for every row"):
        model.fit(X[:, :2], Y[:-1])
    assert vars(model) == before


# scikit-learn reads the classes off y; here they are public, and y is private.
ITS_OWN_CLASSES = {
    "check_array_api_input",  # skipped without SCIPY_ARRAY_API
    "check_classifiers_classes",
    "check_classifiers_one_label",
    "check_classifiers_regression_target",
    "check_classifiers_train",
    "check_supervised_y_2d",
    "check_supervised_y_no_nan",
}


@pytest.mark.filterwarnings("ignore:random_state is set")
def test_scikit_learns_checks_pass():
    model = PrivateNearestCentroid(range(5), random_state=0)
    results = check_estimator(model, on_fail=None, on_skip=None)
    others = {result["check_name"] for result in results if result["status"] != "passed"}
    assert others <= ITS_OWN_CLASSES
    assert len(results) > 45
