"""Open tables that are in files. Errors name columns, and never quote a cell or count rows."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse

from .._text import listed
from ..decomposition import BasePrivatePCA, DPGauss
from ..decomposition.validation import check_rows
from ..privacy.installing import how_to_install
from ._cells import WITH_COMMAS
from ._column_names import check_alone, check_labels, features_of, numbered
from ._csv_files import USUAL, CsvFiles, CsvFormat
from ._typed_files import KINDS, TypedFiles
from ._unusable import NotNumeric, Unusable, by_options, replacing_errors, unlike

if TYPE_CHECKING:
    import pyarrow.dataset as ds


@dataclass(frozen=True)
class ArrayRows:
    """Rows without names, in memory or mapped into it.

    Parameters
    ----------
    X : ndarray, memmap or sparse matrix
    """

    X: Any

    @property
    def n_features(self) -> int:
        """How many columns."""
        return int(self.X.shape[1])

    @property
    def names(self) -> list[str]:
        """x0, x1, ..."""
        return numbered(self.n_features)

    @property
    def is_sparse(self) -> bool:
        """Whether entries that are 0 are not held."""
        return bool(sparse.issparse(self.X))

    def fit(self, pca: BasePrivatePCA, tell: Callable[[int], None], whole: bool) -> None:
        """Fit; nothing is told of passes over rows that are in memory."""
        pca.fit(self.X)

    def join(self, pca: Any, tell: Callable[[int], None], whole: bool) -> None:
        """Join the rows to what the PCA is fitted to."""
        pca.partial_fit(self.X)


@dataclass(frozen=True)
class TableRows:
    """Named columns of files, which are read batch by batch.

    Parameters
    ----------
    files : CsvFiles or TypedFiles
    dataset : pyarrow.dataset.Dataset
        The features, and the groups.
    groups : str or None
        The column that holds each row's group.
    """

    files: CsvFiles | TypedFiles
    dataset: ds.Dataset
    groups: str | None

    is_sparse: ClassVar[bool] = False

    @property
    def n_features(self) -> int:
        """How many columns are features."""
        return len(self.names)

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        return [name for name in self.dataset.schema.names if name != self.groups]

    def fit(self, pca: BasePrivatePCA, tell: Callable[[int], None], whole: bool) -> None:
        """Fit in passes over the files, or on rows that are loaded as a whole."""
        from ._table_of_files import TableOfFiles

        pca._fit(lambda seen: TableOfFiles(seen, self, tell).opened(whole))

    def join(self, pca: Any, tell: Callable[[int], None], whole: bool) -> None:
        """Join the rows to what the PCA is fitted to."""
        from ._table_of_files import TableOfFiles

        pca._partial_fit(lambda seen: TableOfFiles(seen, self, tell).opened(whole), None)


def answers_no_rows(options: argparse.Namespace) -> bool:
    """Whether a fit answers no rows, too: of a cohort, whose number of records is private."""
    private = options.adjacency == "add-remove" and options.epsilon != math.inf
    return options.update is not None and private


def opened(
    paths: Sequence[Path],
    groups: str | None = None,
    form: CsvFormat = USUAL,
    may_miss: bool = False,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    alone: bool = False,
    may_be_empty: bool = False,
) -> ArrayRows | TableRows:
    """Open the rows to fit on. Those of tables are not read yet, but for types in a ``.csv``.

    Parameters
    ----------
    paths : sequence of Path
        Files of one table, or folders of them: ``.csv``, ``.parquet``, ``.feather`` or ``.arrow``.
        Or a single ``.npy`` array (mapped, not loaded), or ``.npz`` with one array or one sparse
        matrix.
    groups : str, optional
        The column that holds each row's group; it is not a feature.
    form : CsvFormat
        How a ``.csv`` is written.
    may_miss : bool
        Whether features may have empty cells, which are NaN then.
    columns : sequence of str, optional
        The features, in this order. By default all columns but `drop`.
    drop : sequence of str
        Columns that are no features.
    alone : bool
        Whether the user said that every row is a record of its own.
    may_be_empty : bool
        Whether no rows can be used, too, as those of a cohort that nobody came to.

    Raises
    ------
    Unusable, ImportError
        If the files cannot be used; the message says what to do.
    """
    files = files_of(paths)
    kinds = sorted({file.suffix.lower() for file in files})
    if len(kinds) > 1:
        raise Unusable(f"the files are of several kinds ({', '.join(kinds)}); give files of one")
    if kinds[0] in (".csv", *KINDS):
        return replacing_errors(
            files[0],
            partial(unlike, files[0], "a table that can be read"),
            lambda: _table(files, groups, form, columns, drop, alone, may_be_empty),
        )
    path = files[0]
    if kinds[0] not in (".npy", ".npz"):
        raise Unusable(
            f"{path} is of no known kind; give .csv (with any --delimiter), .parquet, .feather, "
            ".arrow, .npy or .npz files"
        )
    if len(files) > 1:
        raise Unusable(f"{kinds[0]} files are read one at a time; give one, or .parquet files")
    for option, value in (("--groups", groups), ("--columns", columns), ("--drop", drop or None)):
        if value is not None:
            raise Unusable(
                f"{option} needs a table with named columns, and {path.name} has none; give a .csv "
                "or .parquet file"
            )
    return replacing_errors(
        path,
        partial(unlike, path, "a table"),
        lambda: _array_rows(path, may_miss, may_be_empty),
    )


def read(
    path: Path,
    groups: str | None = None,
    may_miss: bool = False,
    columns: Sequence[str] | None = None,
) -> tuple[Any, Any]:
    """Read all rows into memory, and the group of every row as a number, or None.

    Raises
    ------
    Unusable, ImportError
        As `opened`.
    """
    rows = opened([path], groups, USUAL, may_miss, columns, alone=True)
    if isinstance(rows, ArrayRows):
        return rows.X, None
    from ._table_of_files import loaded

    return loaded(rows, may_miss)


def check_regular(path: Path) -> None:
    """Refuse what is not a file on a disk: reading a pipe or a device may never end."""
    if os.path.isdir(path):
        raise Unusable(f"{path} is a directory; give a file")
    if os.path.exists(path) and not os.path.isfile(path):
        raise Unusable(f"{path} is a pipe or a device; save what it gives to a file, and give that")


def files_of(paths: Sequence[Path]) -> list[Path]:
    """The files in their order; those of a folder, and of folders in it, by name.

    What is hidden in a folder, or begins with an underscore, is not one of its tables.
    """
    files: list[Path] = []
    for path in paths:
        inside = sorted(_inside(path)) if os.path.isdir(path) else [path]
        if not inside:
            raise Unusable(f"{path} is a directory without files; give one with files of a table")
        files += inside
    seen: set[tuple[int, int]] = set()
    for file in files:
        check_regular(file)
        place = replacing_errors(file, partial(unlike, file, "a file"), partial(_place, file))
        if place in seen:
            raise Unusable(
                f"{file} is given twice, and each of its rows would count twice; give it once"
            )
        seen.add(place)
    return files


def _place(file: Path) -> tuple[int, int]:
    """Where a file lies, whatever links lead there; raise what reading would."""
    with file.open("rb") as content:
        found = os.fstat(content.fileno())
    return found.st_dev, found.st_ino


def _inside(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        parts = path.relative_to(folder).parts
        if not path.is_dir() and not any(part.startswith((".", "_")) for part in parts):
            yield path


def _table(
    files: list[Path],
    groups: str | None,
    form: CsvFormat,
    columns: Sequence[str] | None,
    drop: Sequence[str],
    alone: bool,
    may_be_empty: bool,
) -> TableRows:
    check_installed(files[0])
    import pyarrow as pa

    from ..records.files import is_label

    is_csv = files[0].suffix.lower() == ".csv"
    if is_csv:
        found: CsvFiles | TypedFiles = CsvFiles.open(
            files, form, groups, columns, drop, may_be_empty
        )
    else:
        found = TypedFiles.open(files)
    names = list(found.types)
    features = features_of(files[0], names, groups, columns, drop)
    check_labels(files[0], features)
    if groups is None and columns and not alone:
        check_alone(files[0], names, features)
    wrong = [name for name in features if not found.is_number(name)]
    if wrong:
        raise NotNumeric(
            f"{files[0].name}: not numeric: {listed(wrong)}; leave such columns out with --drop, "
            "or encode them as numbers, by rules that do not look at the data. Where a value is "
            "missing, leave the cell empty: a point alone is text. A column that says to whom each "
            "row belongs is one for --groups" + (f"; {WITH_COMMAS}" if is_csv else "")
        )
    if groups is not None and not is_label(found.types[groups]):
        raise Unusable(
            f"--groups {groups}: the column has the type {found.types[groups]}; write it as whole "
            "numbers or as text, in all files alike: only such labels are equal to the bit"
        )
    chosen = [*features, *([] if groups is None else [groups])]
    schema = pa.schema([(name, found.types[name]) for name in chosen])
    return TableRows(found, found.dataset(schema), groups)


def _array_rows(path: Path, may_miss: bool, may_be_empty: bool) -> ArrayRows:
    X = _array(path) if path.suffix.lower() == ".npy" else _archive(path)
    try:
        reader = DPGauss(missing="mean" if may_miss else "error")
        check_rows(reader, X, may_be_empty=may_be_empty)
        return ArrayRows(X)
    except (TypeError, ValueError) as error:
        wrong = str(error)
    raise Unusable(f"{path.name}: {by_options(wrong)}")


def _array(path: Path) -> np.ndarray:
    wrong = partial(unlike, path, "an array that numpy.save wrote")
    return replacing_errors(path, wrong, lambda: np.load(path, mmap_mode="r", allow_pickle=False))


def _archive(path: Path) -> Any:
    wrong = partial(unlike, path, "an archive that numpy.savez or scipy.sparse.save_npz wrote")
    names, array = replacing_errors(path, wrong, lambda: _unpack(path))
    if array is None:
        held = listed(names) if names else "nothing"
        raise Unusable(f"{path.name} holds {held}; save the one array to fit on alone")
    return array


def _unpack(path: Path) -> tuple[list[str], Any]:
    """Return the names in an archive, and its array if there is one."""
    with np.load(path, allow_pickle=False) as archive:
        names = archive.files
        if "format" in names:
            return names, sparse.load_npz(path)
        return names, archive[names[0]] if len(names) == 1 else None


def check_installed(path: Path) -> None:
    """Refuse files that need pyarrow where it is not installed.

    Raises
    ------
    ImportError
    """
    if find_spec("pyarrow") is None:
        raise ImportError(
            f"{path.suffix} files need pyarrow, which is not installed; {how_to_install('cli')}"
        )
