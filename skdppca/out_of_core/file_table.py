"""A pyarrow dataset as a table: its columns checked by their types, its rows before the charge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar

import numpy as np
import pyarrow.dataset as ds

from .._text import listed
from ..decomposition.validation import ABSENT, CONSTANTS, Table, check_row_count, check_unit
from ..records import Collection, Records, Source
from .column_types import is_label, is_number
from .files import FileRecords, Files, Valid

if TYPE_CHECKING:
    from ..decomposition import BasePrivatePCA

T = TypeVar("T")

SORTED = "COPY (FROM 'table.parquet' ORDER BY \"{groups}\") TO 'sorted.parquet'"


def open_dataset(
    X: ds.Dataset,
    tell: Callable[[int], None] | None = None,
    name: str = "X",
    whole: bool = False,
) -> Collection:
    """Return the rows of files for `fit`; `FileTable` has the parameters."""
    return Collection(
        lambda estimator, groups: FileTable(estimator, X, groups, tell, name).opened(whole),
        "X is a pyarrow Dataset, which only fit reads; give its rows batch by batch, for example: "
        "for batch in X.to_batches(columns=[*pca.feature_names_in_]): "
        "pca.transform(batch.to_pandas())",
    )


def refuse_reader(X: Any) -> NoReturn:
    """Refuse what a dataset is read with, which ends after one pass."""
    raise TypeError(
        f"X is a pyarrow {type(X).__name__}, which can be read once, and fit reads X several "
        "times; give the pyarrow.dataset.Dataset itself"
    )


class FileTable:
    """Rows in files, all columns of a dataset but that of the groups, and what is wrong with them.

    Parameters
    ----------
    estimator : estimator
        Its number of features and their names are set.
    dataset : pyarrow.dataset.Dataset
    groups : str or None
        The column that says to whom each row belongs.
    tell : callable, optional
        Called with its number, from 0, as a pass over the files begins.
    name : str
        Name of the table, for errors.
    """

    # Faults of rows, and a remedy for each.
    REFUSALS: ClassVar[dict[str, str]] = {
        "unreadable": "{name} cannot be read: a file is missing or damaged, or a .csv is not in "
        "UTF-8, or a cell does not fit the type of its column. Read it with the types that it has, "
        "for example "
        "ds.dataset(path, format='csv', schema=pa.schema([('age', pa.float64())]))",
        "memory": "{name} does not fit into memory piece by piece: all rows of a group must. Give "
        "fewer columns, or a machine with more memory",
        "twice": "{name} names a file twice, and its rows would count twice. Give each file once",
        "misquoted": "{name} has a quotation mark within a cell of a .csv, or one that ends no "
        "cell: it would swallow other rows. Put the cell in quotation marks and write the mark "
        "twice in it; for line breaks in cells pass newlines_in_values=True to "
        "pyarrow.csv.ParseOptions, and leave escape_char and double_quote there as they are",
        "empty": "{name} has no rows; give at least one",
        "missing": "{name} has missing entries (null or NaN) in {columns}. " + CONSTANTS + ABSENT,
        "infinite": "{name} has infinite entries in {columns}. " + CONSTANTS,
        "unlabelled": "{name} has missing labels in {groups!r}; give every row the label of its "
        "record",
        "unsorted": "{name} is not sorted by {groups!r}. A group in two places would count as two "
        "records. Sort the table first: in memory with X.sort_by({groups!r}), or in files with "
        "DuckDB: " + SORTED,
    }

    def __init__(
        self,
        estimator: BasePrivatePCA,
        dataset: ds.Dataset,
        groups: str | None = None,
        tell: Callable[[int], None] | None = None,
        name: str = "X",
    ) -> None:
        check_unit(groups, estimator.unit)
        features = feature_columns(dataset.schema, groups)
        self._files = Files(dataset, features, groups, tell)
        self._names = features
        self._index = () if groups is not None else tuple(index_columns(dataset.schema))
        self._words = {"name": name, "groups": groups}
        self._may_miss, self._may_be_empty = estimator._may_miss, estimator._may_be_empty
        estimator.n_features_in_ = self._files.n_features
        estimator.feature_names_in_ = np.asarray(features, dtype=object)

    def opened(self, whole: bool = False) -> Table:
        """The table, its rows unread.

        Parameters
        ----------
        whole : bool
            Load all rows, for a method that does more than sum over records.
        """

        def read(scale: np.ndarray | None, n_jobs: int | None) -> Source:
            if whole:
                X, groups = self.in_memory()
                return Records.of(X, groups, scale, n_jobs, may_miss=self._may_miss)
            return FileRecords.of(self._files, self._check(), scale, n_jobs, self._may_miss)

        return Table(
            n_features=self._files.n_features,
            read=read,
            is_single=self._files.dtype == np.float32,
            index=self._index,
        )

    def in_memory(self) -> tuple[np.ndarray, np.ndarray | None]:
        """All rows, valid, and the number of every row's group; for what is no sum over records."""
        valid = self._check()
        return self._attempt(lambda: self._files.load(valid))

    def _check(self) -> Valid:
        if self._attempt(self._files.names_twice):
            self._refuse("twice")
        if self._attempt(self._files.misquoted):
            self._refuse("misquoted")
        valid = self._attempt(self._files.check)
        if not (valid.n_rows or self._may_be_empty):
            self._refuse("empty")
        check_row_count(valid.n_rows, self._may_be_empty)
        if valid.missing.any() and not self._may_miss:
            self._refuse("missing", valid.missing)
        if valid.infinite.any():
            self._refuse("infinite", valid.infinite)
        for wrong in ("unlabelled", "unsorted"):
            if getattr(valid, wrong):
                self._refuse(wrong)
        return valid

    def _attempt(self, read: Callable[[], T]) -> T:
        """Return the result of `read`; a failure quotes nothing, also in its error's context."""
        try:
            return read()
        except Exception as error:  # of a library, which may quote what it read
            is_full = isinstance(error, MemoryError) or getattr(error, "memory", False)
        self._refuse("memory" if is_full else "unreadable")

    def _refuse(self, wrong: str, which: Iterable[bool] = ()) -> NoReturn:
        columns = listed([name for name, has in zip(self._names, which, strict=False) if has])
        text = self.REFUSALS[wrong].format(columns=columns, **self._words)
        raise MemoryError(text) if wrong == "memory" else ValueError(text)


def index_columns(schema: Any) -> set[str]:
    """The columns that pandas wrote as its index: they are no features."""
    index = (schema.pandas_metadata or {}).get("index_columns", ())
    return {name for name in index if isinstance(name, str)}


def feature_columns(schema: Any, groups: str | None = None) -> list[str]:
    """The names of the features: all columns but the groups', and an index that pandas wrote.

    Parameters
    ----------
    schema : pyarrow.Schema
    groups : str, optional

    Raises
    ------
    ValueError, TypeError
        If it has no column of groups, or features that are no numbers. Only types are looked at.
    """
    index = index_columns(schema)
    if groups is not None and not isinstance(groups, str):
        raise TypeError(
            "X is in files, so groups must be the name of the column that says to whom each row "
            f"belongs, and not of type {type(groups).__name__}"
        )
    names = [name for name in schema.names if name != groups and name not in index]
    twice = [name for name, times in Counter(schema.names).items() if times > 1]
    if twice:
        raise ValueError(f"X has two columns {twice[0]!r}; give every one its own name")
    if groups is not None and groups not in schema.names:
        raise ValueError(f"groups={groups!r} is no column of X; it has {listed(schema.names)}")
    if groups is not None and not is_label(schema.field(groups).type):
        raise ValueError(
            f"groups={groups!r} has the type {schema.field(groups).type}; labels must be whole "
            "numbers or text, so that equal ones are equal to the bit. Write the table with such "
            "a column"
        )
    wrong = [name for name in names if not is_number(schema.field(name).type)]
    if wrong:
        raise ValueError(
            f"X has columns that are not numeric: {listed(wrong)}. Leave them out, as in "
            "X.replace_schema(pa.schema([X.schema.field(name) for name in columns])), or encode "
            "them as numbers, by rules that do not look at the data"
        )
    if not names:
        raise ValueError("X has 0 feature(s) (shape=(, 0)) while a minimum of 1 is required.")
    return names
