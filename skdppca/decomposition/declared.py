"""What a container declares of X before an entry is looked at, and X read by that alone.

A conversion tells of the entries. One null turns integers into floats or a column into objects,
and the largest number of a list decides its type. So the dtype in which X is read here, and whether
it can be read at all, follow from declared facts and from the entries being valid, one by one.

Not declared, and never used: the number of rows or of stored entries, the width of indices, flags
of sorting, counts and bitmaps of nulls, chunks, partitions, dictionaries, and types that were
inferred from entries.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .dataset_input import is_dataset
from .missing_input import nan_for_missing

SINGLE, DOUBLE, OBJECT = map(np.dtype, (np.float32, np.float64, object))

# What of these packages is a table in memory.
TABLES = {"pandas": ("DataFrame",), "polars": ("DataFrame",), "pyarrow": ("Table", "RecordBatch")}


@dataclass(frozen=True)
class Declared:
    """The public facts of X and of the groups of its rows.

    Parameters
    ----------
    container : str
        The class.
    layout : str
        "dense", "masked", or the format of a sparse matrix.
    n_features : int or None
        None where X does not say.
    names : tuple or None
        Of the columns, in their order; None if X is no table.
    types : tuple of str
        Of the columns of a table, or the one of an array; empty where X states none.
    numbers : tuple of (dtype or None)
        What the entries of each type are; None where they are no real numbers.
    grouped : bool
    """

    container: str
    layout: str
    n_features: int | None
    names: tuple[Hashable, ...] | None
    types: tuple[str, ...]
    numbers: tuple[np.dtype | None, ...]
    grouped: bool

    @property
    def is_single(self) -> bool:
        """Whether every column is declared to be of single precision."""
        return bool(self.numbers) and all(dtype == SINGLE for dtype in self.numbers)

    @property
    def dtype(self) -> np.dtype:
        """What the numbers of a table are read as, and those of which no type is declared."""
        return SINGLE if self.is_single else DOUBLE

    @property
    def is_plain(self) -> bool:
        """Whether whoever converts X gets the same dtypes, whatever its entries are."""
        if self.layout == "masked" or not self.numbers or OBJECT in self.numbers:
            return False
        return self.layout != "dense" or self.types == tuple(map(str, self.numbers))

    @property
    def without_numbers(self) -> list[Hashable]:
        """The columns of a table that are no numbers by their types, or may be anything."""
        both = zip(self.names or (), self.numbers, strict=False)
        return [name for name, dtype in both if dtype is None or dtype == OBJECT]


def declared(X: Any, groups: Any = None) -> Declared:
    """The declared facts of X; its entries are not read.

    Parameters
    ----------
    X : array-like, sparse matrix, table or dataset
    groups : array-like or None
        Only whether they are given is a fact.
    """
    package = "pyarrow" if is_dataset(X) else _package(X)
    names: tuple[Hashable, ...] | None = None
    types: tuple[Any, ...] = ()
    layout = "dense"
    if package is not None:
        of_frame = X.schema if package == "pyarrow" else X
        names = tuple(of_frame.names if package == "pyarrow" else X.columns)
        types = tuple(of_frame.types if package == "pyarrow" else X.dtypes)
        # SciPy's formats know no other entry than 0 that is not stored
        if types and all(getattr(kind, "fill_value", None) == 0 for kind in types):
            layout = "coo"
    elif inspect.getattr_static(X, "shape", None) is not None and hasattr(X, "dtype"):
        # In a list every row has a type of its own, as private as the row.
        types = (X.dtype,)
        if bool(sparse.issparse(X)):
            layout = X.format
        elif isinstance(X, np.ma.MaskedArray):
            layout = "masked"
    return Declared(
        container=type(X).__qualname__,
        layout=layout,
        n_features=_width(X) if names is None else len(names),
        names=names,
        types=tuple(map(str, types)),
        numbers=tuple(READ[package](kind) for kind in types),
        grouped=groups is not None,
    )


def as_declared(X: Any, facts: Declared) -> Any:
    """X as an array, or a sparse matrix, whose dtype follows from its facts; NaN for no entry.

    Parameters
    ----------
    X : array-like, sparse matrix or table
    facts : Declared
        No column is without numbers by its type.

    Raises
    ------
    Exception
        If an entry is no number; the text may quote it.
    """
    package = _package(X)
    if sparse.issparse(X):
        return X
    if package == "pandas" and facts.layout == "coo":
        return X.sparse.to_coo()
    if package == "pandas" and facts.is_plain and len(set(facts.types)) == 1:
        return X.to_numpy()
    if package is not None:
        return _read_table(X, facts, package)
    if isinstance(X, np.ma.MaskedArray) and X.dtype.kind in "fiub":
        return np.ma.filled(X.astype(X.dtype if X.dtype.kind == "f" else DOUBLE), np.nan)
    if isinstance(X, np.ndarray) and X.dtype != OBJECT:
        return X
    array = np.asarray(X)
    if array.dtype == OBJECT:
        return nan_for_missing(array)
    return array.astype(facts.dtype, copy=False) if array.dtype.kind in "fiub" else array


def _package(X: Any) -> str | None:
    """The package whose table X is, or a subclass of it; None for all else."""
    for kind in type(X).__mro__:
        package = kind.__module__.partition(".")[0]
        if kind.__name__ in TABLES.get(package, ()):
            return package
    return None


def _width(X: Any) -> int | None:
    shape = X.shape if inspect.getattr_static(X, "shape", None) is not None else ()
    return int(shape[1]) if isinstance(shape, tuple) and len(shape) == 2 else None


def _read_table(X: Any, facts: Declared, package: str) -> np.ndarray:
    """The columns, each by its own type: no other column, and no null, decides how it is read."""
    rows = np.empty(X.shape, facts.dtype, order="F")
    for j, dtype in enumerate(facts.numbers):
        if package == "pyarrow":
            rows[:, j] = _from_arrow(X.column(j))
        elif package == "polars":
            column = X.to_series(j)
            if dtype == OBJECT:
                rows[:, j] = nan_for_missing(np.array(column.to_list(), dtype=object))
            else:
                rows[:, j] = column.cast(sys.modules["polars"].Float64).to_numpy()
        else:
            rows[:, j] = _from_pandas(X.iloc[:, j], dtype)
    return rows


def _from_pandas(column: Any, dtype: np.dtype | None) -> np.ndarray:
    if dtype == OBJECT:
        return nan_for_missing(np.asarray(column, dtype=object))
    if hasattr(column.dtype, "pyarrow_dtype"):
        return _from_arrow(column.array.__arrow_array__())
    if hasattr(column.dtype, "numpy_dtype"):  # its own nullable types
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(column)


def _from_arrow(column: Any) -> np.ndarray:
    from ..records.files import numbers_of

    chunks = getattr(column, "chunks", [column])
    decoded = [c.dictionary_decode() if hasattr(c, "dictionary") else c for c in chunks]
    return np.concatenate([np.empty(0), *map(numbers_of, decoded)])


def _of_array(kind: Any) -> np.dtype | None:
    """The dtype, if it is NumPy's; of others only the name is known."""
    if isinstance(kind, np.dtype):
        return kind if kind.kind in "fiubO" else None
    return SINGLE if str(kind).rpartition(".")[2] == "float32" else DOUBLE


def _of_pandas(kind: Any) -> np.dtype | None:
    if hasattr(kind, "pyarrow_dtype"):
        return _of_arrow(kind.pyarrow_dtype)
    if hasattr(kind, "categories"):
        return OBJECT if _of_pandas(kind.categories.dtype) is not None else None
    if hasattr(kind, "fill_value"):  # of a sparse column
        kind = kind.subtype
    kind = getattr(kind, "numpy_dtype", kind)
    return _of_array(kind) if isinstance(kind, np.dtype) else None


def _of_polars(kind: Any) -> np.dtype | None:
    polars = sys.modules["polars"]
    if kind == polars.Object:
        return OBJECT
    if kind == polars.Float32:
        return SINGLE
    return DOUBLE if kind.is_numeric() or kind in (polars.Boolean, polars.Null) else None


def _of_arrow(kind: Any) -> np.dtype | None:
    import pyarrow as pa

    from ..records.files import is_number

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_float32(kind):
        return SINGLE
    return DOUBLE if is_number(kind) or pa.types.is_null(kind) else None


# By the package of a table, what its types are; by None, those of arrays.
READ = {None: _of_array, "pandas": _of_pandas, "polars": _of_polars, "pyarrow": _of_arrow}
