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
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from ..records import collection_of
from .missing_input import nan_for_missing

if TYPE_CHECKING:
    import narwhals as nw

SINGLE, DOUBLE, OBJECT = map(np.dtype, (np.float32, np.float64, object))


@dataclass(frozen=True)
class Declared:
    """The public facts of X.

    Parameters
    ----------
    layout : str
        "dense", "masked", or the format of a sparse matrix.
    names : tuple or None
        Of the columns, in their order; None if X is no table.
    types : tuple of str
        Of the columns of a table, or the one of an array; empty where X states none.
    numbers : tuple of (dtype or None)
        What the entries of each type are; None where they are no real numbers.
    """

    layout: str
    names: tuple[Hashable, ...] | None
    types: tuple[str, ...]
    numbers: tuple[np.dtype | None, ...]

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


def declared(X: Any) -> Declared:
    """The declared facts of X; its entries are not read.

    Parameters
    ----------
    X : array-like, sparse matrix or table
    """
    frame, layout = frame_of(X), "dense"
    names: tuple[Hashable, ...] | None = None
    types: tuple[str, ...] = ()
    numbers: tuple[np.dtype | None, ...] = ()
    if frame is not None:
        # without the rows: narwhals would look into a column of objects to name its type
        names, columns = tuple(frame.columns), list(frame.head(0).iter_columns())
        types, numbers = tuple(map(_type, columns)), tuple(map(_numbers, columns))
        # SciPy's formats know no other entry than 0 that is not stored
        if columns and all(getattr(_own_type(c), "fill_value", None) == 0 for c in columns):
            layout = "coo"
    elif inspect.getattr_static(X, "shape", None) is not None and hasattr(X, "dtype"):
        # In a list every row has a type of its own, as private as the row.
        types, numbers = (str(X.dtype),), (_of_array(X.dtype),)
        if bool(sparse.issparse(X)):
            layout = X.format
        elif isinstance(X, np.ma.MaskedArray):
            layout = "masked"
    return Declared(layout, names, types, numbers)


def frame_of(X: Any) -> nw.DataFrame[Any] | None:
    """X as a data frame of narwhals if it is a table in memory.

    Raises
    ------
    TypeError
        If it is a frame that is not computed yet.
    """
    if isinstance(X, np.ndarray | list | tuple) or sparse.issparse(X):
        return None
    if collection_of(X) is not None:
        return None
    import narwhals as nw

    arrow: Any = nw.dependencies.get_pyarrow()
    if arrow is not None and isinstance(X, arrow.RecordBatch):
        X = arrow.Table.from_batches([X])
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        raise TypeError("X is a lazy frame, which holds no rows yet; give X.collect()")
    return frame if isinstance(frame, nw.DataFrame) else None


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
    frame = frame_of(X)
    if frame is not None:
        if facts.layout == "coo":
            return X.sparse.to_coo()
        if facts.is_plain and len(set(facts.types)) == 1:
            return X.to_numpy()
        rows = np.empty(frame.shape, facts.dtype, order="F")
        for j, column in enumerate(frame.iter_columns()):
            # no other column, and no null, decides how it is read
            rows[:, j] = _entries(column, facts.numbers[j])
        return rows
    if sparse.issparse(X):
        return X
    if isinstance(X, np.ma.MaskedArray) and X.dtype.kind in "fiub":
        return np.ma.filled(X.astype(X.dtype if X.dtype.kind == "f" else DOUBLE), np.nan)
    if isinstance(X, np.ndarray) and X.dtype != OBJECT:
        return X
    array = np.asarray(X)
    if array.dtype == OBJECT:
        return nan_for_missing(array)
    return array.astype(facts.dtype, copy=False) if array.dtype.kind in "fiub" else array


def _own_type(column: nw.Series[Any]) -> Any:
    """The type of a column as its own library has it."""
    own = column.to_native()
    return own.dtype if hasattr(own, "dtype") else own.type


def _type(column: nw.Series[Any]) -> str:
    """The name of a column's type, without the categories or the fields that it may have."""
    own = _own_type(column)
    return str(own) if isinstance(own, np.dtype) else type(column.dtype).__name__


def _numbers(column: nw.Series[Any]) -> np.dtype | None:
    """The dtype of a column's entries; None where they are no real numbers, by its type alone."""
    import narwhals as nw

    column = _decoded(column)
    own = _own_type(column)
    if isinstance(own, np.dtype) or hasattr(own, "fill_value"):  # of a sparse column
        return _of_array(getattr(own, "subtype", own))
    if hasattr(own, "ordered"):  # categories of pandas
        kinds = nw.from_native(own.categories[:0].to_series(), series_only=True)
        return None if _numbers(kinds) is None else OBJECT
    kind = column.dtype
    if kind in (nw.Object, nw.Float32):
        return OBJECT if kind == nw.Object else SINGLE
    is_null = str(own).partition("[")[0].lower() == "null"
    return DOUBLE if kind.is_numeric() or kind == nw.Boolean or is_null else None


def _entries(column: nw.Series[Any], dtype: np.dtype | None) -> np.ndarray:
    """The numbers of a column, NaN where there is none."""
    import narwhals as nw

    if dtype == OBJECT:
        return nan_for_missing(np.fromiter(column.to_list(), object, len(column)))
    own = _own_type(column)
    if isinstance(own, np.dtype) or hasattr(own, "fill_value"):
        return np.asarray(column.to_native())
    column = _decoded(column)
    if column.dtype in (nw.Int64, nw.UInt64):  # arrow casts none that a float64 would round
        return column.to_numpy()
    return column.cast(nw.Float64).to_numpy()


def _decoded(column: nw.Series[Any]) -> nw.Series[Any]:
    """The entries themselves of a column of arrow that holds their places in a dictionary."""
    import narwhals as nw

    kind = _own_type(column)
    if not hasattr(kind, "value_type") or not hasattr(kind, "index_type"):
        return column
    return nw.from_native(column.to_native().cast(kind.value_type), series_only=True)


def _of_array(kind: Any) -> np.dtype | None:
    """The dtype, if it is NumPy's; of others only the name is known."""
    if isinstance(kind, np.dtype):
        return kind if kind.kind in "fiubO" else None
    return SINGLE if str(kind).rpartition(".")[2] == "float32" else DOUBLE
