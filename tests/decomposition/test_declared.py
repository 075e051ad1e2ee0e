"""The dtype of a release, and whether there is one, follow from what X declares."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skdppca import DPGauss
from skdppca.decomposition.containers import as_declared, declared
from skdppca.decomposition.validation import check_rows
from skdppca.maps import projection_map
from skdppca.model_selection import PrivateSearchCV

NUMBERS = np.random.default_rng(0).integers(0, 8, (24, 2))
HOLE = 5

# Types of both columns, or the one of either.
KINDS = [
    *(f"{sign}int{width}" for sign in ("", "u") for width in (8, 16, 32, 64)),
    "float32",
    "float64",
    "bool",
    "decimal",
    *(f"float32+{kind}" for kind in ("int8", "int16", "uint16", "int32", "bool", "decimal")),
    "int16+bool",
    "float64+float32",
]
ENTRY = {"bool": lambda x: bool(x > 3), "decimal": lambda x: Decimal(int(x)) / 2}
ARROW = {"bool": pa.bool_(), "decimal": pa.decimal128(9, 1)}
POLARS = {"bool": pl.Boolean, "decimal": pl.Decimal(9, 1)}


def capital(kind):
    """As polars and pandas name it: UInt8."""
    return f"UInt{kind[4:]}" if kind[0] == "u" else kind.capitalize()


@pytest.mark.parametrize("fill", [0.0, 3.0, np.nan])
def test_a_sparse_column_of_a_frame_is_read_with_what_fills_it(fill):
    X = pd.DataFrame(NUMBERS.astype(float), columns=["a", "b"])
    X.loc[HOLE, "b"] = np.nan
    pca = DPGauss(1, missing="mean")
    filled = X.astype(pd.SparseDtype(float, fill))
    mixed = X.astype({"b": pd.SparseDtype(float, fill)})
    for seen in (filled, mixed):
        rows = check_rows(pca, seen)
        np.testing.assert_array_equal(rows.toarray() if fill == 0 and seen is filled else rows, X)


def columns(kind, null):
    """Names, types and entries of both columns; the second one with a null, or without."""
    first, _, second = kind.partition("+")
    for name, own, numbers in zip("ab", (first, second or first), NUMBERS.T, strict=True):
        entries = [ENTRY.get(own, float if "float" in own else int)(x) for x in numbers]
        if null and name == "b":
            entries[HOLE] = None
        yield name, own, entries


def of_arrow(kind):
    return ARROW.get(kind) or getattr(pa, kind)()


def arrow(kind, null):
    return pa.table({n: pa.array(c, of_arrow(k)) for n, k, c in columns(kind, null)})


def polars(kind, null):
    types = {k: POLARS.get(k) or getattr(pl, capital(k)) for k in kind.split("+")}
    return pl.DataFrame([pl.Series(n, c, types[k]) for n, k, c in columns(kind, null)])


def nullable(kind, null):
    types = {k: "boolean" if k == "bool" else capital(k) for k in kind.split("+")}
    return pd.DataFrame({n: pd.array(c, types[k]) for n, k, c in columns(kind, null)})


def arrow_backed(kind, null):
    own = {n: pd.array(c, pd.ArrowDtype(of_arrow(k))) for n, k, c in columns(kind, null)}
    return pd.DataFrame(own)


def inferred(kind, null):
    """By pandas; only the floats are declared."""
    types = {"decimal": object, "float32": "float32", "float64": "float64"}
    return pd.DataFrame(
        {n: pd.Series(c, dtype=types.get(k)) for n, k, c in columns(kind, null)},
    )


TABLES = {
    "pyarrow": arrow,
    "record batch": lambda kind, null: arrow(kind, null).to_batches()[0],
    "polars": polars,
    "nullable": nullable,
    "arrow-backed": arrow_backed,
    "inferred": inferred,
}
CASES = [
    pytest.param(make, kind, id=f"{name}-{kind}")
    for name, make in TABLES.items()
    for kind in KINDS
    if not (name == "nullable" and "decimal" in kind)  # there are none
]
on_all_tables = pytest.mark.parametrize(("make", "kind"), CASES)

# Those that one null gave away, each in its own way.
on_some_tables = pytest.mark.parametrize(
    ("make", "kind"),
    [
        pytest.param(polars, "uint8", id="polars-uint8"),
        pytest.param(polars, "int16+bool", id="polars-int16+bool"),
        pytest.param(polars, "bool", id="polars-bool"),
        pytest.param(arrow, "float32+int8", id="pyarrow-float32+int8"),
        pytest.param(arrow, "float32+bool", id="pyarrow-float32+bool"),
        pytest.param(arrow, "decimal", id="pyarrow-decimal"),
    ],
)


def expected(kind):
    return np.dtype(np.float32 if kind == "float32" else np.float64)


def with_and_without(make, kind):
    return [make(kind, null) for null in (False, True)]


def shown(fitted):
    """What is seen of the attributes besides numbers, in their order."""
    return [
        (name, type(value), getattr(value, "dtype", None), np.shape(value))
        for name, value in vars(fitted).items()
    ]


@on_all_tables
def test_a_null_changes_nothing_of_a_release_but_numbers(make, kind):
    fit = DPGauss(1, missing="mean", random_state=0).fit
    one, other = (shown(fit(X)) for X in with_and_without(make, kind))
    assert one == other
    assert ("components_", np.ndarray, expected(kind), (1, 2)) in one


@on_all_tables
def test_both_settings_read_the_same_numbers(make, kind):
    X = make(kind, null=False)
    means = [DPGauss(1, missing=m, epsilon=np.inf).fit(X).mean_ for m in ("error", "mean")]
    entries = np.array([c for _, _, c in columns(kind, null=False)], dtype=float)
    np.testing.assert_allclose(means, [entries.mean(axis=1)] * 2, rtol=1e-6)


@on_some_tables
def test_no_row_is_read_otherwise_beside_a_null(make, kind):
    rows = [as_declared(X, declared(X)) for X in with_and_without(make, kind)]
    assert rows[0].dtype == rows[1].dtype == np.float64
    assert np.isnan(rows[1][HOLE, 1])
    rows[1][HOLE, 1] = rows[0][HOLE, 1]
    np.testing.assert_array_equal(*rows)


@pytest.mark.parametrize(
    ("one", "other"),
    [([1, 2], [1, 2.5]), ([1, 2], [1, 2**63]), ([True, False], [True, 2]), ([1.5, 2], [1.5, None])],
    ids=["a fraction", "a large number", "a truth", "none"],
)
def test_an_entry_of_a_list_decides_no_dtype(one, other):
    rows = [check_rows(DPGauss(missing="mean"), [X]) for X in (one, other)]
    assert [found.dtype for found in rows] == [np.float64] * 2


def seen_by_a_step(X):
    """The dtype of what a search hands to the steps before the private one."""
    seen = []

    def look(Z):
        seen.append(np.asarray(Z).dtype)
        return np.asarray(Z, dtype=float)

    pipeline = make_pipeline(FunctionTransformer(look), DPGauss(1))
    PrivateSearchCV(pipeline, {}, mean_candidates=1, random_state=0).fit(X)
    return set(seen)


def test_an_entry_of_a_list_changes_nothing_that_a_step_sees():
    whole = NUMBERS.tolist()
    assert seen_by_a_step(whole) == seen_by_a_step([[0.5, 1], *whole[1:]]) == {np.dtype(float)}


@pytest.mark.parametrize("missing", ["error", "mean"])
@pytest.mark.parametrize("entry", ["3", b"3"])
def test_text_among_objects_is_refused_whatever_it_says(entry, missing):
    X = NUMBERS.astype(object)
    X[HOLE, 1] = entry
    with pytest.raises(ValueError, match="text or strings"):
        DPGauss(1, missing=missing).fit(X)


@pytest.mark.parametrize(
    "X",
    [
        pl.DataFrame({"a": [1.0, 2.0], "when": [None, None]}, schema_overrides={"when": pl.Date}),
        pa.table({"a": [1.0, 2.0], "when": pa.array([None, None], pa.string())}),
        pd.DataFrame({"a": [1.0, 2.0], "when": pd.array([None, None], "string")}),
    ],
    ids=["polars", "pyarrow", "pandas"],
)
def test_columns_of_no_numbers_are_refused_by_name_without_a_look(X):
    with pytest.raises(ValueError, match="these columns hold no numbers: 'when'"):
        DPGauss(1, missing="mean").fit(X)


def test_a_map_of_a_null_is_one_of_the_mean():
    tables = with_and_without(polars, "bool")
    pca = DPGauss(2, epsilon=20.0, missing="mean", random_state=0).fit(tables[0])
    filled = tables[0].to_numpy().astype(float)
    filled[HOLE, 1] = pca.mean_[1]
    counts = [
        projection_map(pca, X, epsilon=1.0, delta=1e-6, bins=2, random_state=0).counts
        for X in (tables[1], pl.DataFrame(filled, schema=["a", "b"]))
    ]
    np.testing.assert_array_equal(*counts)
