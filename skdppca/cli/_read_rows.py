"""Open tables that are in files. Errors name columns, and never quote a cell or count rows."""

from __future__ import annotations

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
from ._column_names import Wanted, numbered
from ._csv_files import USUAL, CsvFormat
from ._table_faults import open_table
from ._terminal import Unusable, replacing_errors, unlike
from ._typed_files import KINDS

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
        """Number of columns."""
        return int(self.X.shape[1])

    @property
    def names(self) -> list[str]:
        """x0, x1, ..."""
        return numbered(self.n_features)

    @property
    def is_sparse(self) -> bool:
        """Entries that are 0 are not held."""
        return bool(sparse.issparse(self.X))

    def fit(self, pca: Any, tell: Callable[[int], None], whole: bool, joins: bool) -> None:
        """Fit, or join the rows to what the PCA is fitted to; they are read in one pass."""
        (pca.partial_fit if joins else pca.fit)(self.X)


@dataclass(frozen=True)
class TableRows:
    """Named columns of files, which are read batch by batch.

    Parameters
    ----------
    name : str
        For errors.
    dataset : pyarrow.dataset.Dataset
        The features, and the groups.
    groups : str or None
        The column that holds each row's group.
    """

    name: str
    dataset: ds.Dataset
    groups: str | None

    is_sparse: ClassVar[bool] = False

    @property
    def n_features(self) -> int:
        """Number of columns that are features."""
        return len(self.names)

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        return [name for name in self.dataset.schema.names if name != self.groups]

    def fit(self, pca: Any, tell: Callable[[int], None], whole: bool, joins: bool) -> None:
        """Fit in passes over the files, or on rows that are loaded as a whole; or join them."""
        from ..out_of_core.file_table import open_dataset

        rows = open_dataset(self.dataset, tell, self.name, whole)
        (pca.partial_fit if joins else pca.fit)(rows, groups=self.groups)

    def in_memory(self, pca: BasePrivatePCA) -> tuple[np.ndarray, np.ndarray | None]:
        """Return all rows as an estimator reads them, and the number of every row's group."""
        from ..out_of_core.file_table import FileTable

        return FileTable(pca, self.dataset, self.groups, name=self.name).in_memory()


def opened(paths: Sequence[Path], want: Wanted, form: CsvFormat = USUAL) -> ArrayRows | TableRows:
    """Open the rows to fit on. Those of tables are not read yet, but for the cells of a ``.csv``.

    Parameters
    ----------
    paths : sequence of Path
        Files of one table, or folders of them: ``.csv``, ``.parquet``, ``.feather`` or ``.arrow``.
        Or a single ``.npy`` array (mapped, not loaded), or ``.npz`` with one array or one sparse
        matrix.
    want : Wanted
    form : CsvFormat
        How a ``.csv`` is written.

    Raises
    ------
    Unusable, ImportError
        If the files cannot be used; the message says what to do.
    """
    rows, faults = looked_at(paths, want, form)
    if faults:
        raise Unusable(f"{faults[0]}; skdppca fit --check lists all that is wrong with a table")
    return rows


def looked_at(
    paths: Sequence[Path], want: Wanted, form: CsvFormat, every: bool = False
) -> tuple[ArrayRows | TableRows, list[str]]:
    """Open the rows, and list what a fit would refuse of a table's columns: see `open_table`."""
    files = files_of(paths)
    kinds = sorted({file.suffix.lower() for file in files})
    if len(kinds) > 1:
        raise Unusable(f"the files are of several kinds ({', '.join(kinds)}); give files of one")
    path, kind = files[0], kinds[0]
    if kind in (".csv", *KINDS):
        if find_spec("pyarrow") is None:
            install = how_to_install("cli")
            raise ImportError(f"{kind} files need pyarrow, which is not installed; {install}")
        found, schema, faults = replacing_errors(
            path,
            partial(unlike, path, "a table that can be read"),
            lambda: open_table(files, form, want, every),
        )
        name = path.name if len(files) == 1 else "the table"
        return TableRows(name, found.dataset(schema), want.groups), faults
    if kind not in ARRAYS:
        remedy = ELSEWHERE.get(kind, "")
        raise Unusable(
            f"{path} is of no known kind{remedy}; give .csv (with any --delimiter), .parquet, "
            ".feather, .arrow, .npy or .npz files"
        )
    if len(files) > 1:
        raise Unusable(f"{kind} files are read one at a time; give one, or .parquet files")
    if want.groups is not None or want.columns or want.drop or want.scaled:
        raise Unusable(
            f"--groups, --columns, --drop and --scale private:A,B need a table with named columns, "
            f"and {path.name} has none; give a .csv or .parquet file"
        )
    read = partial(_array_rows, path, want)
    return replacing_errors(path, partial(unlike, path, "a table"), read), []


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
        if os.path.exists(file) and not os.path.isfile(file):  # reading it may never end
            raise Unusable(f"{file} is a pipe or a device; save what it gives, and give that file")
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


def _array_rows(path: Path, want: Wanted) -> ArrayRows:
    load, what = ARRAYS[path.suffix.lower()]
    X = replacing_errors(path, partial(unlike, path, what), partial(load, path))
    try:
        reader = DPGauss(missing="mean" if want.may_miss else "error")
        check_rows(reader, X, may_be_empty=want.may_be_empty)
        return ArrayRows(X)
    except (TypeError, ValueError) as error:
        wrong = str(error)
    raise Unusable(f"{path.name}: {wrong}")


def _archived(path: Path) -> Any:
    """The one array of an archive, or its sparse matrix."""
    with np.load(path, allow_pickle=False) as archive:
        names = archive.files
        if "format" in names:
            return sparse.load_npz(path)
        if len(names) == 1:
            return archive[names[0]]
    raise Unusable(
        f"{path.name} holds {listed(names) or 'nothing'}; save the one array to fit on alone"
    )


# Kinds of files that other programs write, and how to get a table from them.
ELSEWHERE = {
    **dict.fromkeys((".xlsx", ".xls", ".ods"), " (a workbook: save its table as CSV UTF-8)"),
    **dict.fromkeys((".gz", ".zip", ".bz2", ".xz"), " (packed: unpack it)"),
    ".sav": " (of SPSS: pandas.read_spss(path).to_parquet('table.parquet'))",
    ".dta": " (of Stata: pandas.read_stata(path).to_parquet('table.parquet'))",
    ".sas7bdat": " (of SAS: pandas.read_sas(path).to_parquet('table.parquet'))",
    ".tsv": " (give it the ending .csv, and pass --delimiter tab)",
}

# Files of one array: what reads them, and what they are.
ARRAYS: dict[str, tuple[Callable[[Path], Any], str]] = {
    ".npy": (partial(np.load, mmap_mode="r", allow_pickle=False), "an array that numpy.save wrote"),
    ".npz": (_archived, "an archive that numpy.savez or scipy.sparse.save_npz wrote"),
}
