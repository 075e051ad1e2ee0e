"""Whatever comes in: a finite release that is charged once, or an error for nothing.

Hypothesis draws tables, containers, labels and parameters, good and bad ones: the same in every run
of the same tests, since which modules are loaded moves its draws. No error tells anything of the
data.
"""

import math
import tempfile
import traceback
import warnings
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from skdppca import DPGauss, PrivacyAccountant
from skdppca._sklearn import Interval, StrOptions
from skdppca.maps import projection_map

from ..estimators import ESTIMATORS
from ..secret_rows import TEXT, VALUE
from .odd_data import BAD_LABELS, BAD_TABLES, GOOD_LABELS, HOLED, in_objects, within

pytestmark = [
    pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Constructing a DIA matrix"),
]

BAD = {name: make for name, (make, _) in BAD_TABLES.items()}
WRONG_LABELS = {name: make for name, (make, _) in BAD_LABELS.items()}

# No error and no warning may show any of these: a value, a text, the number of rows.
MANY = 1009
SECRETS = ["23456", TEXT, str(MANY - 1), str(MANY), str(MANY + 1)]


def fuzzed(examples):
    """A fixed number of examples, the same in every run."""
    return settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


class NoParameter:
    """A value that no parameter takes, shown by the same text in every run."""

    def __repr__(self):
        return "NoParameter()"


# What tables hold.
TABLES = {
    "normal": lambda rng, shape: rng.normal(size=shape) * np.arange(1, shape[1] + 1),
    "few values": lambda rng, shape: rng.integers(-2, 3, size=shape).astype(float),
    "zeros": lambda rng, shape: np.zeros(shape),
    "alike": lambda rng, shape: np.full(shape, 7.5),
    "mostly zeros": lambda rng, shape: rng.normal(size=shape) * (rng.random(shape) < 0.2),
    "far away": lambda rng, shape: 1e9 + rng.normal(size=shape),
    "huge": lambda rng, shape: 1e300 * rng.normal(size=shape),
    "tiny": lambda rng, shape: 1e-170 * rng.normal(size=shape),
    "of all sizes": lambda rng, shape: 10.0 ** rng.uniform(-300, 300, size=shape),
}


def memmap(A):
    path = Path(tempfile.mkdtemp()) / "X.npy"
    np.save(path, A)
    return np.load(path, mmap_mode="r")


def read_only(A):
    X = A.copy()
    X.flags.writeable = False
    return X


def in_parts(A):
    X = sparse.coo_array(A)
    parts = np.repeat(X.data / 2, 2), (np.repeat(X.row, 2), np.repeat(X.col, 2))
    return sparse.coo_array(parts, shape=X.shape)


def duplicates(A):
    X = in_parts(A)
    order = np.lexsort((-X.col, X.row))
    starts = np.searchsorted(X.row[order], np.arange(X.shape[0] + 1))
    return sparse.csr_array((X.data[order], X.col[order], starts), shape=X.shape)


GOOD = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "backwards": lambda A: A[::-1, ::-1].copy()[::-1, ::-1],
    "every other": lambda A: np.repeat(A, 2, axis=1)[:, ::2],
    "read-only": read_only,
    "memmap": memmap,
    "other byte order": lambda A: A.astype(A.dtype.newbyteorder()),
    "float32": lambda A: within(A, 3e38, np.float32),
    "float16": lambda A: within(A, 6e4, np.float16),
    "longdouble": lambda A: A.astype(np.longdouble),
    "int64": lambda A: within(A, 1e18, np.int64),
    "int8": lambda A: within(A, 127, np.int8),
    "uint64": lambda A: np.abs(within(A, 1e18, np.int64)).astype(np.uint64),
    "bool": lambda A: A > 0,
    "objects": lambda A: A.astype(object),
    "decimals": lambda A: in_objects(Decimal(3))(A),
    "fractions": lambda A: in_objects(Fraction(1, 3))(A),
    "nothing masked": lambda A: np.ma.array(A),
    "lists": lambda A: A.tolist(),
    "tuples": lambda A: tuple(map(tuple, A.tolist())),
    "list of arrays": list,
    "pandas": lambda A: pd.DataFrame(A, columns=[f"c{i}" for i in range(A.shape[1])]),
    "pandas, nullable": lambda A: pd.DataFrame(A).astype("Float64"),
    "pandas, sparse": lambda A: pd.DataFrame(A).astype(pd.SparseDtype("float64", 0.0)),
    "polars": lambda A: pl.DataFrame({f"c{i}": column for i, column in enumerate(A.T)}),
    **{
        f"{form}, {kind.__name__}": lambda A, form=form, kind=kind: kind(A).asformat(form)
        for form in ("csr", "csc", "coo", "lil", "dok", "dia", "bsr")
        for kind in (sparse.csr_array, sparse.csr_matrix)
    },
    "csr, float32": lambda A: sparse.csr_array(within(A, 3e38, np.float32)),
    "csr, int8": lambda A: sparse.csr_array(within(A, 127, np.int8)),
    "csr, bool": lambda A: sparse.csr_array(A > 0),
    "csr, longdouble": lambda A: sparse.csr_array(A.astype(np.longdouble)),
    "csr, duplicates": duplicates,
    "coo, in parts": in_parts,
}


# Good and bad values of parameters, where their constraints do not tell.
def values_of(name, constraints, d):
    """Values of a parameter that may do, and such that must be refused."""
    special = {
        "n_components": ([None, 1, 2, d, np.uint8(1)], [0, -1, True, d + 1, "x", math.nan, 1.0]),
        "epsilon": ([0.5, 1.0, 8, np.float32(3), 1e-9], [0, -1.0, math.nan, True, 10**400, "1"]),
        "delta": ([1e-6, 1e-12, 0.1], [1, -1e-6, math.nan, True, np.longdouble("1e-4000")]),
        "unit": (["row"], [3, None, "interaction"]),
        "norm_bound": ([None, 1.0, 1e-3, 1e50, 2], [0, -1.0, math.inf, 1e200, 10**400]),
        "mean": ([None, np.zeros(d), [3.0] * d], [np.zeros(d + 1), [math.nan] * d, "x", 10**400]),
        "scale": ([None, "private", np.full(d, 2.0)], [np.zeros(d), np.ones(d + 1), "x", [TEXT]]),
        "accountant": ([], [0]),
        "random_state": ([0, None, np.random.RandomState(0)], [-1, True, "x"]),
        "n_jobs": ([None, 1, 2], [0, True, 1.5]),
        "verbose": ([0, 1, True, 3], [-1, None, "x"]),
        "n_iter": ([1, 2, 5], [0, True, 2.0, 10**400]),
        "oracle": ([None], [print, 3]),
        "method": (["auto"], ["x", None]),
        "method_params": ([None, {}], [{"nothing": 1}, {"epsilon": 1.0}, 3]),
    }
    if name in special:
        return special[name]
    good, bad = [], ["nonsense", NoParameter()]
    for constraint in constraints:
        if isinstance(constraint, StrOptions):
            good += sorted(constraint.options)
        elif isinstance(constraint, str):  # "boolean"
            good, bad = [True, False], [2, None, "nonsense"]
        elif isinstance(constraint, Interval):
            whole, right = constraint.type is Integral, constraint.right
            if right is None:
                good += [7, 10**400] if whole else [1e-300, 2.0, 1.7e308]
            else:
                middle = (constraint.left + right) / 2
                good.append(int(middle) if whole else middle)
            good += [constraint.left] if constraint.closed in ("left", "both") else []
            bad += [True, constraint.left - 1, math.nan]
    if None in constraints:
        good, bad = [*good, None], [value for value in bad if value is not None]
    return good, bad


@dataclass
class Case:
    """An estimator, what it is fitted on, and whether that must be refused."""

    estimator: Any
    X: Any
    groups: Any
    is_bad: bool


@st.composite
def tables(draw):
    n, d = draw(st.sampled_from([1, 2, 3, 40, MANY])), draw(st.integers(1, 6))
    A = TABLES[draw(st.sampled_from(list(TABLES)))](np.random.default_rng(n + d), (n, d))
    if draw(st.booleans()):
        A[draw(st.integers(0, n - 1)), draw(st.integers(0, d - 1))] = VALUE
    return A


def drawn(draw, good, bad, likely_good=4):
    """One of the good values, or more seldom one of the bad; and whether it is bad."""
    is_bad = bool(bad) and (not good or draw(st.integers(0, likely_good)) == 0)
    return draw(st.sampled_from(bad if is_bad else good)), is_bad


@st.composite
def cases(draw):
    A = draw(tables())
    form, is_bad = drawn(draw, list(GOOD), list(BAD), 2)
    X = (BAD if is_bad else GOOD)[form](A)
    factory = draw(st.sampled_from([factory for _, factory in ESTIMATORS]))
    constraints = factory._parameter_constraints
    parameters = {}
    for name in draw(st.lists(st.sampled_from(sorted(constraints)), max_size=4, unique=True)):
        good, bad = values_of(name, constraints[name], A.shape[1])
        if good or bad:
            parameters[name], refused = drawn(draw, good, bad)
            is_bad = is_bad or refused
    if form in HOLED and parameters.get("missing") == "mean":
        parameters["missing"] = "error"
    groups = None
    if "unit" not in parameters and draw(st.integers(0, 3)) == 0:
        name, refused = drawn(draw, list(GOOD_LABELS), list(WRONG_LABELS))
        groups, is_bad = (WRONG_LABELS if refused else GOOD_LABELS)[name](len(A)), is_bad or refused
        parameters["unit"] = "patient"
    if not {"accountant", "epsilon"} & set(parameters) and draw(st.integers(0, 4)) == 0:
        parameters["epsilon"] = math.inf
    elif "accountant" not in parameters:
        adjacency, unit = parameters.get("adjacency"), "row" if groups is None else "patient"
        parameters["accountant"] = PrivacyAccountant(
            100.0,
            0.5,
            adjacency="replace-one" if adjacency == "replace-one" else "add-remove",
            unit="interaction" if parameters.get("protect") == "interaction" else unit,
        )
    return Case(factory(**parameters), X, groups, is_bad)


def bits(X):
    """All that is in a container."""
    if sparse.issparse(X):
        parts = [getattr(X, name, None) for name in ("data", "indices", "indptr", "row", "col")]
        return repr([np.array(part).tolist() for part in parts if part is not None])
    if isinstance(X, np.ndarray):
        return X.dtype, X.shape, X.strides, repr(X.tolist()) if X.dtype == object else X.tobytes()
    if isinstance(X, pd.DataFrame | pl.DataFrame):
        return repr(X.to_numpy().tolist()), list(X.columns)
    return repr(X) if isinstance(X, list | tuple | set | str | float) else None


def tried(act):
    """What comes of an act, the error if one does, and all that was shown."""
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        result, error = None, None
        try:
            result = act()
        except Exception as caught:
            error = caught
    text = "".join(str(warning.message) for warning in shown)
    if error is not None:
        text += "".join(traceback.format_exception_only(error))
    return result, error, text


def assert_tells_nothing(error, text):
    assert isinstance(error, ValueError | TypeError), repr(error)
    assert error.__context__ is None
    assert " at 0x" not in text  # an address may hold any digits, those of a secret too
    assert not any(secret in text for secret in SECRETS), text


def assert_is_finite(pca):
    for name, value in vars(pca).items():
        if name.endswith("_") and isinstance(value, np.ndarray | float):
            # of a matrix, what there is none of is NaN or infinite; objects are names
            if name != "matrix_numbers_" and np.asarray(value).dtype != object:
                assert np.isfinite(value).all(), name


def check_fit(case):
    accountant, before = case.estimator.accountant, bits(case.X)
    pca, error, text = tried(lambda: case.estimator.fit(case.X, groups=case.groups))
    assert bits(case.X) == before
    receipts = getattr(accountant, "receipts", ())
    if error is None:
        assert not case.is_bad
        assert len(receipts) == (accountant is not None)
        assert_is_finite(pca)
        assert 1 <= pca.n_components_ <= pca.n_features_in_
    else:
        assert receipts == ()
        assert not hasattr(case.estimator, "components_")
        assert_tells_nothing(error, text)


@fuzzed(100)
@given(cases())
def test_a_fit_is_finite_and_charged_once_or_refused_for_nothing(case):
    check_fit(case)


@pytest.mark.slow
@fuzzed(8000)
@given(cases())
def test_many_fits_are_finite_and_charged_once_or_refused_for_nothing(case):
    """Takes a few minutes."""
    check_fit(case)


PCAS = {
    d: DPGauss(min(d, 2), random_state=0).fit(np.random.default_rng(d).normal(size=(60, d)))
    for d in range(2, 7)
}


@st.composite
def map_cases(draw):
    A = draw(tables())
    A = np.hstack([A, A])[:, : max(2, A.shape[1])]
    name, is_bad = drawn(draw, list(GOOD), list(BAD), 2)
    X = (BAD if is_bad else GOOD)[name](A)
    more = {}
    if draw(st.booleans()):
        name, refused = drawn(draw, list(GOOD_LABELS), list(WRONG_LABELS))
        more["groups"], more["unit"] = (WRONG_LABELS if refused else GOOD_LABELS)[name](len(A)), "p"
        is_bad = is_bad or refused
    if draw(st.booleans()):
        # what is missing is no error here, and hostile labels are equal to none of these
        name = draw(st.sampled_from([*GOOD_LABELS, "too many", "two-dimensional", "a text"]))
        is_bad = is_bad or name not in GOOD_LABELS
        more["y"] = {**GOOD_LABELS, **WRONG_LABELS}[name](len(A))
        more["classes"] = draw(st.sampled_from([[1], ["a", 2], [TEXT, None]]))
    if draw(st.integers(0, 3)) == 0:
        name, value = draw(
            st.sampled_from(
                [
                    ("epsilon", True),
                    ("epsilon", 10**400),
                    ("delta", 1.0),
                    ("bins", True),
                    ("bins", (2, 0)),
                    ("components", (0, True)),
                    ("extent", ((0, 1), (1, 0))),
                    ("extent", "x"),
                    ("random_state", -1),
                ]
            )
        )
        more[name], is_bad = value, True
    accountant = PrivacyAccountant(100.0, 0.5, unit=more.get("unit", "row"))
    return PCAS[A.shape[1]], X, {"accountant": accountant, **more}, is_bad


def check_map(case):
    pca, X, more, is_bad = case
    given = {"epsilon": 1.0, "delta": 1e-6, "extent": ((-2, 2), (-1, 1)), "bins": 3, **more}
    before = bits(X)
    found, error, text = tried(lambda: projection_map(pca, X, **given))
    assert bits(X) == before
    if error is None:
        assert not is_bad
        assert len(more["accountant"].receipts) == 1
        assert np.isfinite(found.counts).all()
        assert np.isfinite(found.outside).all()
    else:
        assert more["accountant"].receipts == ()
        assert_tells_nothing(error, text)


@fuzzed(50)
@given(map_cases())
def test_a_map_is_finite_and_charged_once_or_refused_for_nothing(case):
    check_map(case)


@pytest.mark.slow
@fuzzed(3000)
@given(map_cases())
def test_many_maps_are_finite_and_charged_once_or_refused_for_nothing(case):
    """Takes about a minute."""
    check_map(case)
