"""Declared facts of X's container before an entry is looked at, and X read by these alone.

A conversion tells of the entries. One null turns integers into floats or a column into objects,
and the largest number of a list decides its type. So the dtype in which X is read here, and whether
it can be read at all, follow from declared facts and from the entries being valid, one by one.

Not declared, and never used: the number of rows or of stored entries, the width of indices, flags
of sorting, counts and bitmaps of nulls, chunks, partitions, dictionaries, and types that were
inferred from entries.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from ..records import collection_of

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
        Names of the columns, in their order; None if X is no table.
    types : tuple of str
        Types of the columns of a table, or the one of an array; empty where X states none.
    numbers : tuple of (dtype or None)
        What the entries of each type are; None where they are no real numbers.
    """

    layout: str
    names: tuple[Hashable, ...] | None
    types: tuple[str, ...]
    numbers: tuple[np.dtype | None, ...]

    @property
    def is_single(self) -> bool:
        """True if every column is declared to be of single precision."""
        return bool(self.numbers) and all(dtype == SINGLE for dtype in self.numbers)

    @property
    def dtype(self) -> np.dtype:
        """Type in which numbers are read, also those of columns without a declared type."""
        return SINGLE if self.is_single else DOUBLE

    @property
    def is_plain(self) -> bool:
        """True if every conversion of X gives the same dtypes, whatever its entries are."""
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


def index_names(X: Any) -> tuple[str, ...]:
    """Return the names of the index of a pandas table, as far as they are text."""
    names = getattr(getattr(X, "index", None), "names", None) or ()
    return tuple(name for name in names if isinstance(name, str))


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


def nan_for_missing(objects: np.ndarray) -> np.ndarray:
    """Python's objects with NaN in place of None, ``pandas.NA`` and NaT.

    Raises
    ------
    ValueError
        If text is among them.
    """
    entries = objects.ravel().tolist()
    if any(isinstance(entry, str | bytes) for entry in entries):
        raise ValueError("X holds strings")
    numbers = np.empty(objects.size, dtype=object)
    numbers[:] = [np.nan if is_missing(entry) else entry for entry in entries]
    return numbers.reshape(objects.shape)


def is_missing(entry: Any) -> bool:
    """None, NaN, NaT, or an entry that does not know whether it equals itself."""
    try:
        return entry is None or bool(entry != entry)
    except (TypeError, ValueError):
        return not isinstance(entry, list | dict | set | np.ndarray)


MALFORMED = (
    "X is a malformed sparse matrix: its indices do not fit each other or its shape. Build it "
    "anew, for example as scipy.sparse.csr_array((data, (row, column)), shape=shape)"
)


def as_compressed(X: Any) -> Any:
    """A CSR or CSC matrix as it is, and one of another format as CSR.

    It is checked before anything reads it. scipy's compiled code believes what a matrix says of
    itself: an index out of range makes it read, or write, memory that is not the matrix's. scipy's
    own `check_format` knows two formats only, and it changes the matrix.

    Raises
    ------
    ValueError
        If the matrix is malformed, or not of two dimensions. Other exceptions may pass where its
        parts are of wrong types.
    """
    if X.ndim != 2:
        raise ValueError("Expected a 2-dimensional container")
    if not FORMATS[X.format](X):
        raise ValueError(MALFORMED)
    if X.format in ("csr", "csc"):
        return X
    X = X.tocoo(copy=False)
    if not _is_coo(X):
        raise ValueError(MALFORMED)
    return _by_rows(X)


def _is_csr(X: Any) -> bool:
    return _are_pointers(X, *X.shape)


def _is_csc(X: Any) -> bool:
    return _are_pointers(X, *X.shape[::-1])


def _is_bsr(X: Any) -> bool:
    height, width = X.data.shape[1:]
    n_major, n_minor = X.shape[0] // height, X.shape[1] // width
    return (n_major * height, n_minor * width) == X.shape and _are_pointers(X, n_major, n_minor)


def _is_lil(X: Any) -> bool:
    if not len(X.rows) == len(X.data) == X.shape[0]:
        return False
    both = zip(X.rows, X.data, strict=True)
    return all(type(r) is type(x) is list and len(r) == len(x) for r, x in both)


def _is_dia(X: Any) -> bool:
    offsets, n_rows = X.offsets, X.shape[0]
    if not _is_flat(offsets) or X.data.ndim != 2 or len(X.data) != len(offsets):
        return False
    inside = _are_between(offsets, 1 - n_rows, X.shape[1])
    return inside and len(np.unique(offsets)) == len(offsets)


def _is_coo(X: Any) -> bool:
    if not all(_is_flat(part) and part.shape == X.data.shape for part in (X.row, X.col)):
        return False
    return _are_between(X.row, 0, X.shape[0]) and _are_between(X.col, 0, X.shape[1])


# By format, whether the parts of a matrix fit each other and its shape.
FORMATS: dict[str, Callable[[Any], bool]] = {
    "csr": _is_csr,
    "csc": _is_csc,
    "bsr": _is_bsr,
    "coo": _is_coo,
    "dia": _is_dia,
    "dok": lambda X: True,  # Python's own dict: its keys are checked as coordinates
    "lil": _is_lil,
}


def _are_pointers(X: Any, n_major: int, n_minor: int) -> bool:
    """Return whether pointers begin at 0, never fall, end within the entries, one index each."""
    if not (_is_flat(X.indptr) and _is_flat(X.indices)):
        return False
    if len(X.indices) != len(X.data) or len(X.indptr) != n_major + 1:
        return False
    pointers, n_entries = X.indptr, int(X.indptr[-1])
    if pointers[0] != 0 or n_entries > len(X.indices) or np.any(pointers[1:] < pointers[:-1]):
        return False
    return _are_between(X.indices[:n_entries], 0, n_minor)


def _is_flat(part: Any) -> bool:
    return isinstance(part, np.ndarray) and part.ndim == 1 and part.dtype.kind == "i"


def _are_between(numbers: np.ndarray, first: int, stop: int) -> bool:
    return not len(numbers) or bool(numbers.min() >= first and numbers.max() < stop)


def _by_rows(X: Any) -> sparse.csr_array:
    """CSR with the entries of a row in an order that depends on that row alone.

    scipy's conversion adds entries that are stored in parts, and sorts them only if some row needs
    it: so that one row decided in which order another's are added.
    """
    order = np.lexsort((X.col, X.row))  # stable
    starts = np.searchsorted(X.row[order], np.arange(X.shape[0] + 1))
    return sparse.csr_array((X.data[order], X.col[order], starts), shape=X.shape)
