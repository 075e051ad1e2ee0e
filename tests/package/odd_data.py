"""Tables and labels that no fit takes, with what the error says, and odd labels that all take."""

import math
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse

from ..secret_rows import TEXT, VALUE, labels, raising


def within(A, most, dtype):
    return np.clip(A, -most, most).astype(dtype)


def with_entry(entry, dtype=None):
    def make(A):
        X = np.array(A, dtype=dtype)
        X[-1, -1] = entry
        return X

    return make


def in_objects(entry):
    return with_entry(entry, object)


def beyond_float64(A):
    X = sparse.csr_array(np.where(A == 0, 1.0, A))
    X.data = X.data.astype(np.longdouble)
    X.data[-1] = np.longdouble("1e4000")
    return X


def malformed(form, part, change):
    def make(A):
        X = sparse.csr_array(np.where(A == 0, 1.0, A)).asformat(form)
        setattr(X, part, change(getattr(X, part).copy()))
        return X

    return make


def entry(place, value):
    def change(part):
        part[place] = value
        return part

    return change


def fewer(part):
    return part[:-1]


SPARSE_PARTS = [
    *(
        (form, part, name, change)
        for form in ("csr", "csc")
        for part, name, change in [
            ("indices", "too large", entry(0, 10**8)),
            ("indices", "negative", entry(-1, -1)),
            ("indices", "fewer", fewer),
            ("indices", "floats", lambda part: part.astype(float)),
            ("indptr", "too large", entry(-1, 10**8)),
            ("indptr", "negative", entry(-1, -1)),
            ("indptr", "from 1", entry(0, 1)),
            ("indptr", "fewer", fewer),
            ("data", "fewer", fewer),
        ]
    ),
    ("coo", "row", "too large", entry(0, 10**8)),
    ("coo", "col", "negative", entry(0, -1)),
    ("bsr", "indices", "too large", entry(0, 10**8)),
    ("dia", "offsets", "fewer", fewer),
    ("dia", "offsets", "too large", entry(0, 10**8)),
]

# What holds entries that are not there, for which missing="mean" has tests of its own.
HOLED = {
    "NaN": (with_entry(math.nan), "contains NaN"),
    "NaN, sparse": (lambda A: sparse.csc_array(with_entry(math.nan)(A)), "contains NaN"),
    "NaN, objects": (in_objects(math.nan), "contains NaN"),
    "None": (in_objects(None), "contains NaN"),
    "NA": (in_objects(pd.NA), "contains NaN"),
    "masked": (
        lambda A: np.ma.array(A, mask=A >= A.max()),
        "X contains masked entries. Fill in public constants",
    ),
    "pandas, NaN": (lambda A: pd.DataFrame(with_entry(math.nan)(A)), "NaN"),
    "pandas, missing": (
        lambda A: pd.DataFrame(A).astype("Float64").mask(pd.DataFrame(A) >= A.max()),
        "NaN",
    ),
    "polars, missing": (lambda A: pl.DataFrame({"a": [None] * len(A), "b": A[:, 0]}), "NaN"),
}

# Functions of a table of numbers, and what the error says.
BAD_TABLES = {
    **HOLED,
    "infinity": (with_entry(math.inf), "contains infinity"),
    "infinity, float32": (
        lambda A: with_entry(-math.inf)(within(A, 3e38, np.float32)),
        "contains infinity",
    ),
    "infinity, sparse": (
        lambda A: sparse.csr_array(with_entry(math.inf)(A)),
        "contains infinity",
    ),
    "beyond float64": (
        lambda A: np.full(A.shape, np.longdouble("1e4000")),
        "contains infinity",
    ),
    "beyond float64, sparse": (beyond_float64, "contains infinity"),
    "beyond float64, an int": (in_objects(123456 * 10**400), "give an array of them"),
    "text": (lambda A: np.full(A.shape, TEXT), "strings"),
    "text, an entry": (in_objects(TEXT), "X holds text"),
    "text, lists": (lambda A: [*A.tolist(), [TEXT] * A.shape[1]], "strings|text"),
    "text, structured": (lambda A: np.zeros(A.shape, [(TEXT, float)]), ""),
    "text, pandas": (lambda A: pd.DataFrame({"a": [TEXT] * len(A)}), "hold no numbers: 'a'"),
    "text, pandas, a column": (
        lambda A: pd.DataFrame(A).astype(object).assign(name=TEXT),
        "hold no numbers",
    ),
    "text, polars": (lambda A: pl.DataFrame({"a": [TEXT] * len(A)}), "real numbers"),
    "bytes": (lambda A: np.full(A.shape, TEXT.encode()), "strings"),
    "categories": (lambda A: pd.DataFrame({"a": pd.Categorical([TEXT] * 9)}), "real numbers"),
    "categories, polars": (
        lambda A: pl.DataFrame({"a": [TEXT]}).cast(pl.Categorical),
        "hold no numbers",
    ),
    "complex": (lambda A: A + 1j * VALUE, "[Cc]omplex"),
    "complex, objects": (in_objects(1j * VALUE), "[Cc]omplex|real number"),
    "complex, sparse": (lambda A: sparse.csr_array(A + 1j), "[Cc]omplex"),
    "dates": (lambda A: np.full(A.shape, np.datetime64("1983-04-05")), "real numbers|dtype"),
    "dates, an entry": (in_objects(date(1983, 4, 5)), "must be a string or a real number"),
    "dates, pandas": (
        lambda A: pd.DataFrame({"a": A[:, 0], "b": pd.Timestamp("2012-03-04")}),
        "give an array of them",
    ),
    "durations": (lambda A: np.full(A.shape, np.timedelta64(123456, "D")), "real numbers"),
    "lists": (in_objects([VALUE]), "same length"),
    "dictionaries": (in_objects({TEXT: VALUE}), "must be a string or a real number"),
    "matrix": (np.matrix, "cannot be read as a table"),
    "no rows": (lambda A: A[:0], "0 sample"),
    "no rows in a list": (lambda A: [], "1D array|0 sample"),
    "no columns": (lambda A: A[:, :0], "0 feature"),
    "no columns, pandas": (lambda A: pd.DataFrame(index=np.arange(len(A))), "0 feature"),
    "a name twice": (
        lambda A: pd.DataFrame(np.hstack([A, A]), columns=["a"] * 2 * A.shape[1]),
        "columns of one name",
    ),
    "one dimension": (lambda A: A[:, 0], "Expected 2D array, got 1D"),
    "one dimension, a list": (lambda A: A[:, 0].tolist(), "Expected 2D array, got 1D"),
    "one dimension, pandas": (lambda A: pd.Series(A[:, 0]), "Expected a 2-dimensional|2D array"),
    "one dimension, sparse": (lambda A: sparse.coo_array(A[:, 0]), "2-dimensional"),
    "three dimensions": (lambda A: A[:, :, None], "dim 3"),
    "three dimensions, sparse": (lambda A: sparse.coo_array(A[:, :, None]), "2-dimensional"),
    "ragged": (lambda A: [*A.tolist(), [VALUE] * (A.shape[1] + 1)], "inhomogeneous|same length"),
    "a number": (lambda A: VALUE, "Expected 2D array, got scalar"),
    "a text": (lambda A: TEXT, "Expected 2D array, got scalar"),
    "a dictionary": (lambda A: {TEXT: A}, "2D array|real number"),
    "a set": (lambda A: {VALUE, TEXT}, "2D array|real number"),
    "a generator": (lambda A: (row for row in A), "2D array|real number"),
    "nothing": (lambda A: None, "2D array|real number|None"),
    "a lazy frame": (
        lambda A: pl.LazyFrame({"a": A[:, 0]}).map_batches(lambda x: 1 / 0),
        r"give X\.collect\(\)",
    ),
    "hostile": (lambda A: raising("__array__", RuntimeError), "give an array of them"),
    "hostile, an entry": (
        lambda A: in_objects(raising("__float__", RuntimeError))(A),
        "give an array of them",
    ),
    "hostile, sized": (lambda A: raising("__len__", KeyError), "real number"),
    **{
        f"malformed {form}, {part} {name}": (malformed(form, part, change), "malformed sparse")
        for form, part, name, change in SPARSE_PARTS
    },
}

ABSENT, OF_EACH_ROW = "groups has missing labels", "one label for every row"

# Functions of the number of rows, and what the error says.
BAD_LABELS = {
    "too few": (lambda n: np.arange(n - 1), OF_EACH_ROW),
    "too many": (lambda n: np.append(labels(n=n), TEXT), OF_EACH_ROW),
    "none": (lambda n: [], OF_EACH_ROW),
    "a text": (lambda n: TEXT, "one-dimensional"),
    "two-dimensional": (lambda n: np.ones((n, 2)), "one-dimensional"),
    "ragged": (lambda n: [[TEXT]] * (n - 1) + [[TEXT, TEXT]], "groups"),
    "NaN": (lambda n: labels(np.nan, dtype=float, n=n), ABSENT),
    "NaN among text": (lambda n: labels(TEXT, math.nan, n=n), ABSENT),
    "None": (lambda n: [None] * n, ABSENT),
    "None among text": (lambda n: labels(TEXT, None, n=n), ABSENT),
    "NaT": (lambda n: labels("NaT", dtype="datetime64[D]", n=n), ABSENT),
    "NA": (lambda n: labels(TEXT, pd.NA, n=n), ABSENT),
    "pandas": (lambda n: pd.Series([TEXT] * (n - 1) + [None], dtype="string"), ABSENT),
    "pandas integers": (lambda n: pd.Series([7] * (n - 1) + [None], dtype="Int64"), ABSENT),
    "polars": (lambda n: pl.Series([TEXT] * (n - 1) + [None]), ABSENT),
    "masked": (
        lambda n: np.ma.array(np.arange(n), mask=np.arange(n) % 3 == 0),
        f"{ABSENT}: some are masked",
    ),
    "lists": (lambda n: np.array([*range(n), [TEXT]], dtype=object)[1:], "groups"),
    "hostile": (lambda n: [*range(n - 1), raising("__eq__", RuntimeError)], "groups"),
    "hostile hash": (lambda n: [raising("__hash__", ZeroDivisionError)] * n, "groups"),
    "hostile, sized": (lambda n: raising("__len__", RuntimeError), "groups"),
}

# Odd, but good: labels of mixed kinds.
GOOD_LABELS = {
    "pairs": lambda n: np.arange(n) // 2,
    "text": lambda n: np.array([f"{TEXT}{i // 3}" for i in range(n)]),
    "numbers and text": lambda n: labels(TEXT, VALUE, n=n),
    "dates": lambda n: labels(dtype="datetime64[D]", n=n),
    "tuples": lambda n: pd.MultiIndex.from_arrays([labels(n=n), labels(n=n)]),
    "one group": lambda n: np.zeros(n, bool),
    "list": lambda n: [VALUE + i % 5 for i in range(n)],
    "pandas": lambda n: pd.Series([TEXT] * n, dtype="category"),
    "polars": lambda n: pl.Series(np.arange(n)),
}
