"""Bad data are an error that names the remedy, costs nothing and tells nothing of them."""

import math
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from .estimators import on_all_estimators, on_all_estimators_slowly
from .refusals import (
    N_ROWS,
    TEXT,
    VALUE,
    D,
    assert_fits_in_silence,
    assert_tells_nothing,
    labels,
    on_both_accountants,
    refused,
    rows,
)


def with_entry(entry):
    X = rows()
    X[7, 2] = entry
    return X


def objects(entry):
    X = rows().astype(object)
    X[7, 2] = entry
    return X


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
    "dates beside numbers": (
        lambda: pd.DataFrame({"a": VALUE, "b": pd.to_datetime(["2012-03-04"] * 9)}),
        "give an array of them",
    ),
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
    "an int too large": (lambda: objects(10**400), "give an array of them"),
    "a dictionary": (lambda: {TEXT: VALUE}, "2D array|real number"),
    "None": (lambda: None, "2D array|real number|None"),
}

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
on_bad_groups = pytest.mark.parametrize(
    ("unit", "make", "message"), BAD_GROUPS.values(), ids=BAD_GROUPS
)


@on_all_estimators_slowly
@on_both_accountants
@on_bad_X
def test_bad_data_are_a_clear_error_for_nothing(factory, make, message, new_accountant, tmp_path):
    refused(factory(accountant=new_accountant(tmp_path)), make(), message)


@on_all_estimators_slowly
@on_bad_X
def test_errors_about_data_hold_no_private_value(factory, make, message):
    assert_tells_nothing(refused(factory(), make(), message))


@on_all_estimators_slowly
@on_bad_X
def test_errors_about_data_with_groups_hold_no_private_value(factory, make, message):
    groups = labels(TEXT, VALUE)
    assert_tells_nothing(refused(factory(unit="patient"), make(), message, groups))


@on_all_estimators_slowly
@on_both_accountants
@on_bad_groups
def test_bad_groups_are_a_clear_error_for_nothing(
    factory, unit, make, message, new_accountant, tmp_path
):
    estimator = factory(unit=unit, accountant=new_accountant(tmp_path, unit))
    assert_tells_nothing(refused(estimator, rows(), message, make()))


@on_all_estimators_slowly
@on_both_accountants
def test_groups_that_a_pipeline_drops_are_an_error_for_nothing(factory, new_accountant, tmp_path):
    accountant = new_accountant(tmp_path, "patient")
    pipeline = make_pipeline(Normalizer(), factory(unit="patient", accountant=accountant))
    with pytest.raises(ValueError, match=r"groups were not given.*enable_metadata_routing=True"):
        pipeline.fit(rows())
    assert accountant.receipts == ()


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


@on_all_estimators_slowly
@pytest.mark.parametrize("make", GOOD_X.values(), ids=GOOD_X)
def test_odd_but_good_data_do(factory, make):
    assert_fits_in_silence(factory(2, random_state=0), make())


@on_all_estimators_slowly
@pytest.mark.parametrize("make", GOOD_GROUPS.values(), ids=GOOD_GROUPS)
def test_odd_but_good_groups_do(factory, make):
    assert_fits_in_silence(factory(2, unit="patient", random_state=0), rows(), make())
