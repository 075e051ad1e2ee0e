"""Nothing that a fit shows follows one entry of X but through its answers, whatever X is in.

Every container is given with one entry changed, or with the same entries held otherwise. What it
declares is the same. Then so is all that a fit on the same answers shows: attributes, their order,
dtypes and shapes, the report, warnings, the type and the text of an error, the dtype of scores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skdppca import DPGauss, PrivatePCA, SmoothSensitivityPCA
from skdppca.decomposition import METHODS
from skdppca.decomposition.containers import Declared, declared
from skdppca.decomposition.smooth_sensitivity import eigensolver
from skdppca.maps import projection_map
from skdppca.model_selection import PrivateSearchCV
from skdppca.neighbors import PrivateNearestCentroid

from .replay import audit

N, D = 12, 3
ROWS = np.random.default_rng(0).integers(0, 3, (N, D)).astype(float)
ROWS[[2, 5, 7], 1] = 0.0
NAMES = ["a", "b", "c"]
ALL = {**{name: method.estimator for name, method in METHODS.items()}, "PrivatePCA": PrivatePCA}


@dataclass(frozen=True)
class Given:
    """X as it is, for `audit`."""

    X: Any
    groups: Any = None
    records: range = range(N)
    odd: None = None
    odd_first: bool = False

    def given(self) -> tuple[Any, Any]:
        """X, and the groups of its rows."""
        return self.X, self.groups


def with_entry(entry: float, row: int = 5) -> np.ndarray:
    """The rows with another entry in place of a 0."""
    rows = ROWS.copy()
    rows[row, 1] = entry
    return rows


def has_null(rows: np.ndarray) -> bool:
    return bool(np.isnan(rows).any())


NULL, NONZERO, FRACTION = map(with_entry, (np.nan, 1.0, 0.5))
LARGE, HUGE = map(with_entry, (2.0**32, 2.0**63))
HOLED = with_entry(np.nan, row=2)


def objects(rows: np.ndarray, null: Any = None, kind: Callable[[float], Any] = int) -> np.ndarray:
    """Python's own numbers, with something else for NaN."""
    entries = [[null if x != x else kind(x) if x == int(x) else float(x) for x in r] for r in rows]
    return np.array(entries, dtype=object)


def listed(rows: np.ndarray) -> list[list[Any]]:
    return objects(rows).tolist()


def as_dtype(dtype: Any) -> Callable[[np.ndarray], np.ndarray]:
    return lambda rows: rows.astype(dtype)


def masked(rows: np.ndarray, dtype: Any = float) -> Any:
    return np.ma.array(np.nan_to_num(rows).astype(dtype), mask=np.isnan(rows))


def held(form: str, dtype: Any = float) -> Callable[[np.ndarray], Any]:
    return lambda rows: sparse.coo_array(rows.astype(dtype)).asformat(form)


def in_parts(rows: np.ndarray) -> Any:
    """Every entry in two halves, in no order, with wide indices."""
    whole = sparse.csr_array(rows)
    starts = 2 * whole.indptr.astype(np.int64)
    parts = sparse.csr_array(whole.shape)
    backwards = [
        np.r_[b - 1 : a - 1 : -1] if a else np.arange(b)[::-1] for a, b in pairwise(whole.indptr)
    ]
    order = np.concatenate([np.r_[o, o] for o in backwards]).astype(np.int64)
    parts.data, parts.indices, parts.indptr = (
        whole.data[order] / 2,
        whole.indices[order].astype(np.int64),
        starts,
    )
    return parts


def nullable(*kinds: str) -> Callable[[np.ndarray], pd.DataFrame]:
    def make(rows: np.ndarray) -> pd.DataFrame:
        both = zip(NAMES, objects(rows).T, kinds * D, strict=False)
        return pd.DataFrame({name: pd.array(as_entries(c, k), k) for name, c, k in both})

    return make


def as_entries(column: np.ndarray, kind: Any) -> list[Any]:
    to = bool if "ool" in str(kind) else Decimal if "ecimal" in str(kind) else None
    if to is None:
        to = float if "loat" in str(kind) else int
    return [None if x is None else to(x) for x in column]


def arrow(*kinds: pa.DataType) -> Callable[[np.ndarray], pa.Table]:
    def make(rows: np.ndarray) -> pa.Table:
        both = zip(NAMES, objects(rows).T, kinds * D, strict=False)
        return pa.table({name: pa.array(as_entries(c, kind), kind) for name, c, kind in both})

    return make


def polars(*kinds: Any) -> Callable[[np.ndarray], pl.DataFrame]:
    def make(rows: np.ndarray) -> pl.DataFrame:
        both = zip(NAMES, objects(rows).T, kinds * D, strict=False)
        return pl.DataFrame([pl.Series(name, as_entries(c, k), k) for name, c, k in both])

    return make


def arrow_backed(*kinds: pa.DataType) -> Callable[[np.ndarray], pd.DataFrame]:
    return lambda rows: arrow(*kinds)(rows).to_pandas(types_mapper=pd.ArrowDtype)


def dictionary(rows: np.ndarray, unused: float = 0.0) -> pa.Table:
    """A column whose entries are numbers of a dictionary, which holds more than those."""
    table = arrow(pa.float64())(rows)
    column = pa.concat_arrays([pa.array([unused]), table.column("b").combine_chunks()])
    return table.set_column(1, "b", column.dictionary_encode().slice(1))


def frame(rows: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=NAMES)


def dask_array(rows: Any, chunks: tuple[int, ...] = (7, 5)) -> Any:
    import dask.array as da

    return da.from_array(rows, chunks=(chunks, D), name=False)


def dask_frame(frame: pd.DataFrame, parts: int = 2) -> Any:
    import dask.dataframe as dd

    return dd.from_pandas(frame, npartitions=parts, sort=False)


@dataclass(frozen=True)
class Swept:
    """A container.

    Parameters
    ----------
    make : callable
        Of rows.
    changed : tuple of ndarray
        Rows with one entry changed, all of them of the declared types.
    otherwise : tuple of callable
        Make the same entries, held otherwise.
    """

    make: Callable[[np.ndarray], Any]
    changed: tuple[np.ndarray, ...] = (NULL, NONZERO)
    otherwise: tuple[Callable[[np.ndarray], Any], ...] = ()

    def with_rows(self) -> list[tuple[Any, np.ndarray]]:
        """X that differ from `make(ROWS)` in one entry, or in how they are held; and their rows."""
        held = [(make(ROWS), ROWS) for make in self.otherwise]
        return [*((self.make(rows), rows) for rows in self.changed), *held]

    def neighbours(self) -> list[Any]:
        """The same without the rows."""
        return [X for X, _ in self.with_rows()]

    def refused(self) -> list[Any]:
        """X that all have a null in one column."""
        others = [np.where(np.isnan(HOLED), np.nan, rows) for rows in (NULL, NONZERO)]
        return [*map(self.make, (HOLED, *others)), *(make(HOLED) for make in self.otherwise)]


def chunked_too(make: Callable[[np.ndarray], Any], cut: Callable[[Any], Any]) -> Swept:
    return Swept(make, otherwise=(lambda rows: cut(make(rows)),))


def cut_table(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table.slice(0, 5), table.slice(5, 1), table.slice(6)])


def cut_frame(frame: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([frame[:5], frame[5:6], frame[6:]], rechunk=False)


F32 = pa.float32()
POLARS = {
    "UInt8": (pl.UInt8,),
    "Int64": (pl.Int64,),
    "Boolean": (pl.Boolean,),
    "Decimal": (pl.Decimal(9, 1),),
    "Float32": (pl.Float32,),
    "Object": (pl.Object,),
    "mixed": (pl.Float32, pl.UInt16, pl.Boolean),
}
ARROW = {
    "uint8": (pa.uint8(),),
    "int64": (pa.int64(),),
    "bool": (pa.bool_(),),
    "decimal": (pa.decimal128(9, 1),),
    "float32": (F32,),
    "float16": (pa.float16(),),
    "float32 and int8": (F32, pa.int8()),
    "float32 and bool": (F32, pa.bool_()),
}
SWEEP = {
    "float64": Swept(np.array, (NULL, NONZERO, FRACTION, LARGE)),
    "columns first": Swept(np.asfortranarray),
    "float32": Swept(as_dtype(np.float32), (NULL, NONZERO, FRACTION)),
    "float16": Swept(as_dtype(np.float16)),
    "longdouble": Swept(as_dtype(np.longdouble)),
    "int8": Swept(as_dtype(np.int8), (NONZERO,)),
    "bool": Swept(as_dtype(bool), (NONZERO,)),
    "objects": Swept(
        objects,
        (NULL, NONZERO, FRACTION, LARGE),
        (
            lambda rows: objects(rows, pd.NA),
            lambda rows: objects(rows, np.nan),
            lambda rows: objects(rows, kind=Decimal),
            lambda rows: objects(rows, kind=float),
        ),
    ),
    "masked": Swept(masked),
    "masked integers": Swept(lambda rows: masked(rows, np.int16)),
    "list": Swept(listed, (NULL, NONZERO, FRACTION, LARGE, HUGE)),
    "list of arrays": Swept(list),
    "csr": Swept(held("csr"), otherwise=(in_parts,)),
    "csr, float32": Swept(held("csr", np.float32)),
    "csr, int8": Swept(held("csr", np.int8), (NONZERO,)),
    **{form: Swept(held(form)) for form in ("csc", "coo", "bsr", "lil", "dok", "dia")},
    "pandas": Swept(
        frame,
        (NULL, NONZERO, FRACTION, LARGE),
        (lambda rows: pd.DataFrame(dict(zip(NAMES, rows.T, strict=True))),),
    ),
    "pandas, float32": Swept(lambda rows: frame(rows.astype("f4"))),
    "pandas, mixed": Swept(lambda rows: frame(rows).astype({"a": "i1", "b": "f4", "c": bool})),
    "pandas, objects": Swept(lambda rows: frame(objects(rows)), (NULL, NONZERO, FRACTION, LARGE)),
    "pandas, one of objects": Swept(lambda rows: frame(rows).astype({"b": object})),
    "pandas, sparse": Swept(lambda rows: frame(rows).astype(pd.SparseDtype(float, 0.0))),
    "pandas, sparse about NaN": Swept(lambda rows: frame(rows).astype(pd.SparseDtype(float))),
    "nullable integers": Swept(nullable("Int8", "UInt16", "Int64")),
    "nullable truths": Swept(nullable("boolean")),
    "nullable singles": Swept(nullable("Float32"), (NULL, NONZERO, FRACTION)),
    "nullable, mixed": Swept(nullable("Int16", "boolean", "Float32")),
    "arrow-backed": Swept(arrow_backed(pa.int8(), pa.bool_(), F32)),
    "arrow-backed decimals": Swept(arrow_backed(pa.decimal128(9, 1))),
    "arrow-backed singles": Swept(arrow_backed(F32)),
    **{f"polars, {name}": chunked_too(polars(*own), cut_frame) for name, own in POLARS.items()},
    **{f"pyarrow, {name}": chunked_too(arrow(*own), cut_table) for name, own in ARROW.items()},
    "pyarrow, dictionary": Swept(dictionary, otherwise=(lambda rows: dictionary(rows, 9.0),)),
    "record batch": Swept(lambda rows: arrow(F32, pa.int8())(rows).to_batches()[0]),
    "dataset": Swept(
        lambda rows: ds.dataset(arrow(F32, pa.int8())(rows)),
        otherwise=(lambda rows: ds.dataset(cut_table(arrow(F32, pa.int8())(rows))),),
    ),
}
if find_spec("dask") is not None:
    SWEEP |= {
        "dask array": Swept(dask_array),
        "dask frame": Swept(lambda rows: dask_frame(frame(rows))),
        "dask frame, nullable": Swept(
            lambda rows: dask_frame(nullable("Int16", "Float32", "boolean")(rows))
        ),
    }
IN_MEMORY = [name for name in SWEEP if not name.startswith("da")]
NULLABLE = [name for name, swept in SWEEP.items() if any(map(has_null, swept.changed))]
SUMS = ("DPGauss", "KDPPCA", "ResidualGauss", "DPPowerMethod")
QUICK = ("polars, mixed", "pyarrow, float32 and bool", "csr")


def facts(X: Any) -> Declared:
    """What a container declares; of a dask collection, what its partitions do."""
    if isinstance(X, ds.Dataset):
        return declared(X.schema.empty_table())
    return declared(getattr(X, "_meta", X))


@dataclass
class Seen:
    """All that is there to be seen of a fit."""

    fitted: Any
    names: list[str]
    scores: str | None
    privacy_: Any

    @classmethod
    def of(cls, fitted: Any, X: Any) -> Seen:
        scores = None if isinstance(X, ds.Dataset) else fitted.transform(X).dtype.str
        return cls(fitted, list(vars(fitted)), scores, fitted.privacy_)


def fitting(estimator: type, **more: Any) -> Callable[[Any, Any], Seen]:
    """A fit of neighbours that differ in a record."""
    told = {"missing": "mean", "adjacency": "replace-one", "epsilon": 20.0, "random_state": 0}
    return lambda X, groups: Seen.of(estimator(2, **(told | more)).fit(X, groups=groups), X)


def sweep(method: Callable[[Any, Any], Any], name: str) -> None:
    """Audit a method on all that a container may be."""
    run = audit(method, Given(SWEEP[name].make(ROWS)), map(Given, SWEEP[name].neighbours()))
    assert run.error is None and run.queries


@pytest.mark.parametrize("name", SWEEP)
def test_what_is_swept_is_declared_alike(name):
    expected = repr(facts(SWEEP[name].make(ROWS)))
    assert {repr(facts(X)) for X in SWEEP[name].neighbours()} == {expected}


@pytest.mark.parametrize(
    ("method", "name"),
    [
        pytest.param(
            method,
            name,
            marks=() if method == "DPGauss" or name in QUICK else pytest.mark.slow,
        )
        for method in ALL
        for name in SWEEP
        if method in SUMS or not name.startswith(("dask", "dataset"))
    ],
)
def test_one_entry_changes_nothing_that_is_seen_but_answers(method, name):
    sweep(fitting(ALL[method]), name)


@pytest.mark.parametrize("name", NULLABLE)
def test_one_entry_changes_nothing_of_a_refusal(name):
    X, *others = SWEEP[name].refused()
    run = audit(fitting(DPGauss, missing="error"), Given(X), map(Given, others))
    assert isinstance(run.error, ValueError) and not run.queries


@pytest.mark.parametrize("name", ["csr", "csc", "coo", "bsr"])
def test_one_entry_changes_nothing_of_an_iterative_solver(name, monkeypatch):
    constants = replace(eigensolver.EIGENSOLVER, dense_features=1, few=1)
    monkeypatch.setattr(eigensolver, "EIGENSOLVER", constants)
    sweep(fitting(SmoothSensitivityPCA), name)


@pytest.mark.parametrize("name", IN_MEMORY)
def test_one_entry_changes_nothing_that_is_seen_of_a_map(name):
    told = {"epsilon": 20.0, "random_state": 0, "adjacency": "replace-one"}
    # a map takes its extent from variances, which more noise hides of so few rows
    pca = DPGauss(2, missing="mean", **{**told, "epsilon": 1e3}).fit(ROWS)
    sweep(lambda X, groups: projection_map(pca, X, delta=1e-6, bins=2, **told), name)


@pytest.mark.parametrize("name", IN_MEMORY)
def test_one_entry_changes_nothing_that_is_seen_of_centroids(name):
    """Rows without nulls: there is no way to say what one is. Sparse rows are refused."""

    def method(X, groups):
        means = PrivateNearestCentroid([0, 1], adjacency="replace-one", epsilon=20.0)
        return means.set_params(random_state=0).fit(X, np.arange(N) % 2)

    others = [X for X, rows in SWEEP[name].with_rows() if not has_null(rows)]
    audit(method, Given(SWEEP[name].make(ROWS)), map(Given, others))


@pytest.mark.parametrize(
    ("name", "step"),
    [
        pytest.param(name, step, marks=() if name in QUICK else pytest.mark.slow)
        for name in IN_MEMORY
        for step in (None, "as it is", "an array")
        if step != "as it is" or name in QUICK
    ],
)
def test_one_entry_changes_nothing_that_is_seen_of_a_search(name, step):
    def as_array(X):
        return X if bool(sparse.issparse(X)) else np.asarray(X)

    before = FunctionTransformer({"as it is": None, "an array": as_array}[step]) if step else None
    pca = DPGauss(1, missing="mean", adjacency="replace-one")
    pipeline = make_pipeline(before or "passthrough", pca)

    def method(X, groups):
        search = PrivateSearchCV(pipeline, {}, epsilon=20.0, mean_candidates=1, random_state=0)
        return Seen.of(search.fit(X).best_estimator_[-1], ROWS)

    sweep(method, name)
