"""Bad data are an error that names the remedy, costs nothing and tells nothing of them."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from skdppca import DPGauss, PrivacyAccountant, PrivacyLedger

from ..estimators import on_all_estimators, on_all_estimators_slowly
from ..secret_rows import (
    N_ROWS,
    TEXT,
    VALUE,
    D,
    assert_fits_in_silence,
    assert_tells_nothing,
    labels,
    raising,
    refused,
    rows,
    with_property,
)
from .odd_data import BAD_LABELS, BAD_TABLES, GOOD_LABELS, with_entry

# What is refused, and what the error says.
BAD_X = {name: (lambda make=make: make(rows()), says) for name, (make, says) in BAD_TABLES.items()}
# With the unit, too.
BAD_GROUPS = {
    "no unit": ("row", labels, "unit='row', but groups were given: pass unit="),
    "no groups": ("patient", lambda: None, "unit='patient', but groups were not given: pass fit"),
    **{
        name: ("patient", lambda make=make: make(N_ROWS), says)
        for name, (make, says) in BAD_LABELS.items()
    },
}

on_bad_X = pytest.mark.parametrize(("make", "message"), BAD_X.values(), ids=BAD_X)
on_bad_groups = pytest.mark.parametrize(
    ("unit", "make", "message"), BAD_GROUPS.values(), ids=BAD_GROUPS
)


@on_all_estimators_slowly
@on_bad_X
@pytest.mark.parametrize("unit", ["row", "patient"])
def test_bad_data_are_a_clear_error_for_nothing_that_tells_nothing(factory, make, message, unit):
    groups = None if unit == "row" else labels(TEXT, VALUE)
    estimator = factory(unit=unit, accountant=PrivacyAccountant(10.0, 1e-5, unit=unit))
    assert_tells_nothing(refused(estimator, make(), message, groups))


@on_all_estimators_slowly
@on_bad_groups
def test_bad_groups_are_a_clear_error_for_nothing_that_tells_nothing(factory, unit, make, message):
    estimator = factory(unit=unit, accountant=PrivacyAccountant(10.0, 1e-5, unit=unit))
    assert_tells_nothing(refused(estimator, rows(), message, make()))


@on_all_estimators
def test_a_ledger_is_charged_nothing_for_bad_data(factory, tmp_path):
    ledger = PrivacyLedger.create(tmp_path / "ledger", 10.0, 1e-5)
    refused(factory(accountant=ledger), with_entry(np.nan)(rows()), "contains NaN")
    assert PrivacyLedger(ledger.path).receipts == ()


# The threads of a pass look through long arrays; with n_jobs=2 through all that are floats.
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("entry", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", [0, N_ROWS - 1])
def test_threads_refuse_what_scikit_learn_refuses(dtype, entry, row):
    X = rows().astype(dtype)
    X[row, 1] = entry
    accountant = PrivacyAccountant(10.0, 1e-5)
    errors = [str(refused(DPGauss(accountant=accountant, n_jobs=n), X, "")) for n in (1, 2)]
    assert errors[0] == errors[1] and "contains" in errors[0]


def test_threads_take_finite_rows_whose_sum_is_infinite():
    X = np.full((N_ROWS, 2), np.finfo(np.float32).max, dtype=np.float32)
    public = {"mean": np.zeros(2), "norm_bound": 1.0}
    assert_fits_in_silence(DPGauss(1, random_state=0, n_jobs=2, **public), X)


@pytest.mark.parametrize("entry", [np.inf, -np.inf])
def test_threads_let_declared_gaps_pass_and_no_infinity(entry):
    X = rows()
    X[0, 0] = np.nan
    options = {"missing": "mean", "random_state": 0, "n_jobs": 2}
    assert_fits_in_silence(DPGauss(1, **options), X)
    X[-1, 0] = entry
    refused(DPGauss(1, **options), X, "contains infinity")


ERRORS = [
    *(RuntimeError, KeyError, AttributeError, ValueError, TypeError, OverflowError),
    *(UserWarning, UnicodeDecodeError),
]


def error_of(kind):
    """A function of a text that makes such an error."""
    if kind is UnicodeDecodeError:
        return lambda text: UnicodeDecodeError("utf-8", text.encode(), 0, 1, text)
    return kind


def among_labels(hostile):
    many = labels()
    many[5] = hostile
    return many


def with_answer(method, answer):
    return type("Hostile", (), {method: lambda *_: answer})()


def among_rows(hostile):
    X = rows().astype(object)
    X[7, 2] = hostile
    return X


# What raises such an error, in place of X or of labels.
HOSTILE_X = {
    "__array__": lambda e: raising("__array__", e),
    "__len__": lambda e: raising("__len__", e),
    "shape": lambda e: with_property("shape", e),
    "ndim": lambda e: with_property("ndim", e),
    "columns": lambda e: with_property("columns", e),
    "dtype": lambda e: with_property("dtype", e),
    "list of __float__": lambda e: [[1.0, raising("__float__", e)]] * N_ROWS,
    "__float__": lambda e: among_rows(raising("__float__", e)),
    "entry's __len__": lambda e: among_rows(raising("__len__", e)),
    "entry's __array__": lambda e: among_rows(raising("__array__", e)),
}
HOSTILE_LABELS = {
    "__array__": lambda e: raising("__array__", e),
    "__len__": lambda e: raising("__len__", e),
    "__array__ itself": lambda e: with_property("__array__", e),
    "__eq__": lambda e: among_labels(raising("__eq__", e)),
    "__ne__": lambda e: among_labels(raising("__ne__", e)),
    "__hash__": lambda e: among_labels(raising("__hash__", e)),
    "__bool__": lambda e: among_labels(with_answer("__ne__", raising("__bool__", e))),
    "list of __hash__": lambda e: [raising("__hash__", e)] * N_ROWS,
    "tuples": lambda e: [(raising("__hash__", e),)] * N_ROWS,
    "list of __array__": lambda e: [raising("__array__", e)] * N_ROWS,
}


def hostile(makers):
    """All makers with all errors; quickly each maker with one, and each error from one."""
    return pytest.mark.parametrize(
        ("make", "kind"),
        [
            pytest.param(
                *(make, kind),
                id=f"{name}-{kind.__name__}",
                marks=() if name == "__array__" or kind is RuntimeError else pytest.mark.slow,
            )
            for name, make in makers.items()
            for kind in ERRORS
        ],
    )


@hostile(HOSTILE_X)
def test_what_an_input_raises_itself_is_not_passed_on(make, kind):
    estimator = DPGauss(accountant=PrivacyAccountant(10.0, 1e-5))
    assert_tells_nothing(refused(estimator, make(error_of(kind)), ""))


@hostile(HOSTILE_LABELS)
def test_what_a_label_raises_itself_is_not_passed_on(make, kind):
    estimator = DPGauss(unit="patient", accountant=PrivacyAccountant(10.0, 1e-5, unit="patient"))
    groups = make(error_of(kind))
    assert_tells_nothing(refused(estimator, rows(), "groups", groups, kinds=ValueError))


@pytest.mark.parametrize(
    "column",
    [["a", "b"], pd.Categorical(["a", "b"]), pd.to_datetime(["2020-01-01", "2021-01-01"])],
    ids=["text", "category", "time"],
)
def test_columns_without_numbers_are_named(column):
    frame = pd.DataFrame({"age": [1.0, 2.0], "region": column})
    refused(DPGauss(), frame, "these columns hold no numbers: 'region'. Leave them out")


class BadText(Exception):
    def __str__(self):
        raise RuntimeError(TEXT)


def test_an_error_without_a_text_is_replaced_all_the_same():
    X = raising("__array__", lambda _: BadText())
    assert_tells_nothing(refused(DPGauss(), X, "X cannot be read as a table"))


@pytest.mark.parametrize("kind", [MemoryError, ImportError, ModuleNotFoundError])
@pytest.mark.parametrize("where", ["X", "groups"])
def test_too_little_memory_and_missing_packages_keep_their_kind_and_no_text(kind, where):
    # the text of a MemoryError of NumPy holds a shape
    hostile = raising("__array__", kind)
    X, groups, unit = (hostile, None, "row") if where == "X" else (rows(), hostile, "patient")
    kept = MemoryError if kind is MemoryError else ImportError
    estimator = DPGauss(unit=unit, accountant=PrivacyAccountant(10.0, 1e-5, unit=unit))
    assert_tells_nothing(refused(estimator, X, where, groups, kinds=kept))


def test_an_interruption_is_passed_on():
    with pytest.raises(KeyboardInterrupt):
        DPGauss().fit(raising("__array__", KeyboardInterrupt))


@on_all_estimators_slowly
def test_groups_that_a_pipeline_drops_are_an_error_for_nothing(factory):
    accountant = PrivacyAccountant(10.0, 1e-5, unit="patient")
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


on_rows_and_groups = pytest.mark.parametrize("unit", ["row", "patient"])
on_dense_and_sparse = pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])


@on_all_estimators_slowly
@on_dense_and_sparse
@on_rows_and_groups
@pytest.mark.parametrize("size", [1e61, 1e160, 1e300])
def test_what_overflows_without_clipping_is_an_error(factory, container, unit, size):
    groups = None if unit == "row" else labels()
    estimator = factory(epsilon=math.inf, unit=unit)
    X = container(with_entry(size)(rows()))
    assert_tells_nothing(refused(estimator, X, "too large to be squared", groups))


@on_all_estimators_slowly
@on_dense_and_sparse
@on_rows_and_groups
@pytest.mark.parametrize("scale", [None, "private", [1e-3, 1.0, 1e3]])
@pytest.mark.parametrize(
    ("size", "dtype"), [(1e55, float), (3e37, np.float32), (1e-160, float), (5e-324, float)]
)
def test_what_does_not_overflow_is_finite_without_clipping(
    factory, container, unit, scale, size, dtype
):
    X = (size * np.random.default_rng(0).uniform(-3, 3, size=(60, 3))).astype(dtype)
    groups = None if unit == "row" else np.arange(60) // 2
    pca = factory(2, epsilon=math.inf, unit=unit, scale=scale, random_state=0)
    pca.fit(container(X), groups=groups)
    for name in ("components_", "mean_", "explained_variance_", "noise_variance_"):
        assert np.isfinite(getattr(pca, name)).all(), name


@on_all_estimators_slowly
@pytest.mark.parametrize("make", GOOD_LABELS.values(), ids=GOOD_LABELS)
def test_odd_but_good_groups_do(factory, make):
    assert_fits_in_silence(factory(2, unit="patient", random_state=0), rows()[:99], make(99))
