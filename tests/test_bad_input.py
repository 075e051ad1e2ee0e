"""Bad input is an error that names the remedy, costs nothing and tells nothing of the data."""

import math
import traceback
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from skdppca import PrivacyAccountant, PrivacyLedger
from skdppca.exceptions import SeededNoiseWarning

from .estimators import on_all_estimators

# No error may show any of these: a value (nor as 1.23456789e+05), a text, the number of rows.
VALUE = 123456.789
TEXT = "swordfish"
N_ROWS = 31337
SECRETS = [TEXT, "23456", str(N_ROWS), str(N_ROWS - 1), str(N_ROWS + 1)]

D = 3


def rows():
    X = np.ones((N_ROWS, D))
    X[[0, 5, -1], 1] = VALUE  # numpy's text of a long array shows its ends
    return X


def with_entry(entry):
    X = rows()
    X[7, 2] = entry
    return X


def objects(entry):
    X = rows().astype(object)
    X[7, 2] = entry
    return X


def labels(*last, dtype=object):
    """As many labels as rows, the last ones given."""
    many = np.arange(N_ROWS).astype(dtype)
    many[len(many) - len(last) :] = last
    return many


def ragged():
    return [[VALUE, 1.0]] * (N_ROWS - 1) + [[1.0]]


# X, and what the error says.
BAD_X = {
    "NaN": (lambda: with_entry(np.nan), "contains NaN"),
    "infinity": (lambda: with_entry(np.inf), "contains infinity"),
    "float32 infinity": (lambda: with_entry(-np.inf).astype(np.float32), "contains infinity"),
    "NaN among objects": (lambda: objects(np.nan), "contains NaN"),
    "sparse NaN": (lambda: sparse.csr_array(with_entry(np.nan)), "contains NaN"),
    "sparse infinity": (lambda: sparse.csc_array(with_entry(np.inf)), "contains infinity"),
    "NaN in pandas": (lambda: pd.DataFrame(with_entry(np.nan), columns=list("abc")), "NaN"),
    "missing in pandas": (lambda: pd.DataFrame(rows()).convert_dtypes().mask(rows() > 1), "NaN"),
    "missing in polars": (lambda: pl.DataFrame({"a": [VALUE, None] * 9}), "NaN"),
    "text": (lambda: objects(TEXT), "X holds text"),
    "only text": (lambda: np.full((N_ROWS, D), TEXT), "strings"),
    "bytes": (lambda: np.full((N_ROWS, D), TEXT.encode()), "strings"),
    "text in a list": (lambda: [[TEXT, VALUE]] * N_ROWS, "strings|text"),
    "text in pandas": (lambda: pd.DataFrame({"a": [TEXT] * N_ROWS}), "text"),
    "text in polars": (lambda: pl.DataFrame({"a": [TEXT] * N_ROWS}), "real numbers"),
    "categories": (lambda: pd.DataFrame({"a": pd.Categorical([TEXT] * 9)}), "real numbers"),
    "dictionaries": (lambda: objects({TEXT: VALUE}), "must be a string or a real number"),
    "dates": (lambda: np.full((N_ROWS, D), np.datetime64("2012-03-04")), "real numbers|dtype"),
    "complex": (lambda: rows() + 1j, "[Cc]omplex"),
    "complex objects": (lambda: objects(1j * VALUE), "[Cc]omplex|real number"),
    "complex sparse": (lambda: sparse.csr_array(rows() + 1j), "[Cc]omplex"),
    "no rows": (lambda: np.empty((0, D)), r"0 sample"),
    "no rows in a list": (lambda: [], "1D array|0 sample"),
    "no columns": (lambda: np.empty((N_ROWS, 0)), r"0 feature"),
    "no columns in pandas": (lambda: pd.DataFrame(index=np.arange(N_ROWS)), r"0 feature"),
    "a scalar": (lambda: VALUE, "Expected 2D array, got scalar"),
    "one dimension": (lambda: rows()[:, 1], "Expected 2D array, got 1D"),
    "a list": (lambda: [VALUE] * N_ROWS, "Expected 2D array, got 1D"),
    "a series": (lambda: pd.Series([VALUE] * N_ROWS), "Expected a 2-dimensional|2D array"),
    "three dimensions": (lambda: rows()[:, :, None], "dim 3"),
    "ragged": (ragged, "inhomogeneous|same length"),
    "an int too large": (lambda: objects(10**400), "too large"),
    "a dictionary": (lambda: {TEXT: VALUE}, "2D array|real number"),
    "None": (lambda: None, "2D array|real number|None"),
}

# Parameters, and what the error says.
BAD_PARAMETERS = [
    ({"epsilon": 0}, "epsilon"),
    ({"epsilon": -1.0}, "epsilon"),
    ({"epsilon": math.nan}, "epsilon"),
    ({"epsilon": "1"}, "epsilon"),
    ({"epsilon": None}, "epsilon"),
    ({"epsilon": math.inf}, "epsilon=inf .*finite epsilon"),
    ({"delta": 0}, "delta"),
    ({"delta": 1}, "delta"),
    ({"delta": -1e-6}, "delta"),
    ({"delta": 2}, "delta"),
    ({"delta": math.nan}, "delta"),
    ({"n_components": 4}, "n_components=4 exceeds n_features=3; choose at most 3"),
    ({"n_components": np.int64(4)}, "n_components=4 exceeds n_features=3; choose at most 3"),
    ({"n_components": 0}, "n_components"),
    ({"n_components": -1}, "n_components"),
    ({"n_components": 1.0}, "n_components"),
    ({"n_components": 1.5}, "n_components"),
    ({"n_components": math.nan}, "n_components"),
    ({"n_components": "all"}, "n_components"),
    ({"adjacency": "remove"}, "adjacency"),
    ({"unit": 3}, "unit"),
    ({"norm_bound": 0}, "norm_bound"),
    ({"norm_bound": -1.0}, "norm_bound"),
    ({"norm_bound": math.inf}, "norm_bound"),
    ({"norm_bound": math.nan}, "norm_bound"),
    ({"norm_bound": 1e-200}, "norm_bound"),
    ({"norm_bound": 1e200}, "norm_bound"),
    ({"clip": "none"}, "clip"),
    ({"mean": [1.0, 2.0]}, "mean must hold 3 finite numbers"),
    ({"mean": [[1.0, 2.0, 3.0]]}, "mean must hold 3 finite numbers"),
    ({"mean": [1.0, np.nan, 3.0]}, "mean must hold 3 finite numbers"),
    ({"mean": [1.0, np.inf, 3.0]}, "mean must hold 3 finite numbers"),
    ({"mean": ["a", "b", "c"]}, "mean"),
    ({"mean": np.full(3, 1j)}, "mean"),
    ({"mean": 0.0}, "mean"),
    ({"scale": [1.0, 2.0]}, "scale must hold 3 finite numbers"),
    ({"scale": [1.0, np.nan, 3.0]}, "scale must hold 3 finite numbers"),
    ({"scale": [1.0, 0.0, 3.0]}, "scale must be positive; set it to 1"),
    ({"scale": [1.0, -1.0, 3.0]}, "scale must be positive; set it to 1"),
    ({"scale": ["a", "b", "c"]}, "scale"),
    ({"mean": [1e300] * 3, "scale": [1e-300] * 3}, "mean|scale"),
    ({"random_state": -1}, "random_state"),
    ({"random_state": np.random.mtrand._rand}, "random_state is numpy's global random state"),
    ({"random_state": np.random.default_rng(0)}, "random_state"),
    ({"whiten": 1}, "whiten"),
    ({"center": "yes"}, "center"),
    ({"n_jobs": 1.5}, "n_jobs"),
]

# The unit, groups, and what the error says.
BAD_GROUPS = {
    "no unit": ("row", lambda: labels(), "unit='row', but groups were given: pass .*unit="),
    "no groups": ("patient", lambda: None, "unit='patient', but groups were not given: pass"),
    "too few": ("patient", lambda: labels()[:-1], "one label for every row"),
    "too many": ("patient", lambda: np.append(labels(), TEXT), "one label for every row"),
    "none": ("patient", lambda: [], "one label for every row"),
    "a scalar": ("patient", lambda: TEXT, "one-dimensional"),
    "two columns": ("patient", lambda: np.ones((N_ROWS, 2)), "one-dimensional"),
    "ragged": ("patient", lambda: [[TEXT]] * (N_ROWS - 1) + [[TEXT, TEXT]], "groups"),
    "NaN": ("patient", lambda: labels(np.nan, dtype=float), "groups has missing labels"),
    "None among text": ("patient", lambda: labels(TEXT, None), "groups has missing labels"),
    "NaN among text": ("patient", lambda: labels(TEXT, math.nan), "groups has missing labels"),
    "NaT": ("patient", lambda: labels("NaT", dtype="datetime64[D]"), "groups has missing labels"),
    "NA": ("patient", lambda: labels(TEXT, pd.NA), "groups has missing labels"),
    "pandas": (
        "patient",
        lambda: pd.Series([TEXT] * (N_ROWS - 1) + [None], dtype="string"),
        "groups has missing labels",
    ),
    "pandas integers": (
        "patient",
        lambda: pd.Series([7] * (N_ROWS - 1) + [None], dtype="Int64"),
        "groups has missing labels",
    ),
    "polars": (
        "patient",
        lambda: pl.Series([TEXT] * (N_ROWS - 1) + [None]),
        "groups has missing labels",
    ),
    "lists": ("patient", lambda: labels(TEXT, [TEXT]), "groups"),
}

on_bad_X = pytest.mark.parametrize(("make", "message"), BAD_X.values(), ids=BAD_X)
on_bad_parameters = pytest.mark.parametrize(
    ("parameters", "message"), BAD_PARAMETERS, ids=[", ".join(bad) for bad, _ in BAD_PARAMETERS]
)
on_bad_groups = pytest.mark.parametrize(
    ("unit", "make", "message"), BAD_GROUPS.values(), ids=BAD_GROUPS
)


@pytest.fixture(params=["memory", "ledger"])
def new_accountant(request, tmp_path):
    if request.param == "memory":
        return lambda unit="row": PrivacyAccountant(10.0, 1e-5, unit=unit)
    return lambda unit="row": PrivacyLedger.create(tmp_path / "ledger", 10.0, 1e-5, unit=unit)


def refused(estimator, X, message, groups=None):
    """Assert a clear error for nothing; return all that was shown."""
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        with pytest.raises((ValueError, TypeError, OverflowError), match=message) as caught:
            estimator.fit(X, groups=groups)
    assert estimator.accountant is None or estimator.accountant.receipts == ()
    assert not hasattr(estimator, "components_")
    error = "".join(traceback.format_exception(caught.value))
    return error + "".join(str(warning.message) for warning in shown)


def assert_tells_nothing(text):
    for secret in SECRETS:
        assert secret not in text


@on_all_estimators
@on_bad_X
def test_bad_data_are_a_clear_error_for_nothing(factory, make, message, new_accountant):
    refused(factory(accountant=new_accountant()), make(), message)


@on_all_estimators
@on_bad_X
def test_errors_about_data_hold_no_private_value(factory, make, message):
    assert_tells_nothing(refused(factory(), make(), message))


@on_all_estimators
@on_bad_X
def test_errors_about_data_with_groups_hold_no_private_value(factory, make, message):
    groups = labels(TEXT, VALUE)
    assert_tells_nothing(refused(factory(unit="patient"), make(), message, groups))


@on_all_estimators
@on_bad_parameters
def test_bad_parameters_are_a_clear_error_for_nothing(factory, parameters, message, new_accountant):
    text = refused(factory(**parameters, accountant=new_accountant()), rows(), message)
    assert_tells_nothing(text)


@on_all_estimators
@on_bad_groups
def test_bad_groups_are_a_clear_error_for_nothing(factory, unit, make, message, new_accountant):
    estimator = factory(unit=unit, accountant=new_accountant(unit))
    assert_tells_nothing(refused(estimator, rows(), message, make()))


@on_all_estimators
def test_groups_have_no_spherical_clipping(factory, new_accountant):
    estimator = factory(clip="spherical", unit="patient", accountant=new_accountant("patient"))
    refused(estimator, rows(), "clip='spherical' scales single rows.*clip='auto'", labels())


@on_all_estimators
def test_groups_that_a_pipeline_drops_are_an_error_for_nothing(factory, new_accountant):
    accountant = new_accountant("patient")
    pipeline = make_pipeline(Normalizer(), factory(unit="patient", accountant=accountant))
    with pytest.raises(ValueError, match=r"groups were not given.*enable_metadata_routing=True"):
        pipeline.fit(rows())
    assert accountant.receipts == ()


@on_all_estimators
@pytest.mark.parametrize("parameters", [{"adjacency": "replace-one"}, {"unit": "patient"}], ids=str)
def test_another_notion_than_the_accountants_is_an_error_for_nothing(
    factory, parameters, new_accountant
):
    estimator = factory(**parameters, accountant=new_accountant())
    groups = labels() if "unit" in parameters else None
    text = refused(estimator, rows(), "this accountant counts adjacency='add-remove'", groups)
    assert_tells_nothing(text)


@on_all_estimators
@pytest.mark.parametrize("method", ["transform", "score_samples"])
def test_another_number_of_columns_is_named(factory, method):
    pca = factory(2).fit(np.ones((20, D)))
    with pytest.raises(ValueError, match=r"X has 2 features, but .* expecting 3 features"):
        getattr(pca, method)(np.ones((20, 2)))


@on_all_estimators
def test_scores_of_another_width_are_named_with_the_remedy(factory):
    pca = factory(2).fit(np.ones((20, D)))
    with pytest.raises(ValueError, match="X has 3 columns, but there are 2 components; give"):
        pca.inverse_transform(np.ones((20, D)))


# Odd, but good: numbers in objects or text-free frames, labels of mixed kinds.
GOOD_X = {
    "lists": lambda: rows()[:50].tolist(),
    "objects": lambda: objects(VALUE),
    "decimals": lambda: objects(Decimal(3)),
    "booleans": lambda: rows() > 1,
    "pandas integers": lambda: pd.DataFrame(rows().astype(int)).convert_dtypes(),
    "COO": lambda: sparse.coo_array(rows()[:50]),
    "LIL": lambda: sparse.lil_array(rows()[:50]),
}
GOOD_GROUPS = {
    "numbers and text": lambda: labels(TEXT, VALUE),
    "text": lambda: labels().astype(str),
    "dates": lambda: labels(dtype="datetime64[D]"),
    "tuples": lambda: pd.MultiIndex.from_arrays([labels(), labels()]),
    "one group": lambda: np.zeros(N_ROWS),
    "pandas": lambda: pd.Series(labels()).astype("category"),
    "polars": lambda: pl.Series(np.arange(N_ROWS)),
    "list": lambda: labels().tolist(),
}


def assert_fits_in_silence(estimator, X, groups=None):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", SeededNoiseWarning)
        estimator.fit(X, groups=groups)


@on_all_estimators
@pytest.mark.parametrize("make", GOOD_X.values(), ids=GOOD_X)
def test_odd_but_good_data_do(factory, make):
    assert_fits_in_silence(factory(2, random_state=0), make())


@on_all_estimators
@pytest.mark.parametrize("make", GOOD_GROUPS.values(), ids=GOOD_GROUPS)
def test_odd_but_good_groups_do(factory, make):
    assert_fits_in_silence(factory(2, unit="patient", random_state=0), rows(), make())


@on_all_estimators
@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        ("epsilon", [5e-324, 1e-300, 1e-12, 1e6, 1e300]),
        ("delta", [5e-324, 1e-300, 0.5, 1 - 1e-16]),
        ("norm_bound", 10.0 ** np.arange(-308, 309, 22)),
        ("scale", [np.full(20, size) for size in 10.0 ** np.arange(-308, 309, 22)]),
        ("mean", [np.full(20, size) for size in 10.0 ** np.arange(0, 309, 22)]),
    ],
    ids=["epsilon", "delta", "norm_bound", "scale", "mean"],
)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_extreme_parameters_give_a_finite_release_or_cost_nothing(
    factory, container, parameter, values
):
    for value in values:
        accountant = PrivacyAccountant(1e301, 1 - 1e-16)
        pca = factory(2, random_state=0, accountant=accountant, **{parameter: value})
        try:
            assert_fits_in_silence(pca, container(np.eye(20)))
        except ValueError as error:
            assert parameter in str(error), (value, error)
            assert accountant.receipts == ()
            continue
        for name in ("components_", "explained_variance_", "mean_", "noise_variance_"):
            assert np.isfinite(getattr(pca, name)).all(), (value, name)
