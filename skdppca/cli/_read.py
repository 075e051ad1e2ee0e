"""Open tables that are in files. Errors name columns, and never quote a cell or count rows."""

from __future__ import annotations

import csv
import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite

from .._text import listed
from ..decomposition import BasePrivatePCA
from ..privacy.charging import check_accounted
from ._text import has_controls

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as ds

__all__ = ["ArrayRows", "TableRows", "check_regular", "files_of", "opened", "read"]

T = TypeVar("T")

# Names of columns that identify rows or people: id, patient_id, patientID.
LABEL = re.compile(r"(^|[\W_])id$", re.IGNORECASE)
CAPITAL_LABEL = re.compile(r"[a-z]I[dD]$")

# Texts of a .csv that are read as truths, and that are no names of columns.
TRUE, FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")
PLACEHOLDERS = {"", "na", "n/a", "#n/a", "nan", "-nan", "null", "none", "<na>"}

# Kinds of tables, as pyarrow calls them, and what a file of each kind is.
TABLES = {".csv": "csv", ".parquet": "parquet", ".feather": "ipc", ".arrow": "ipc"}
WHAT = {
    ".csv": "a table in UTF-8 with a comma between cells and as many cells in every line",
    ".parquet": "a table that Parquet can read",
    ".feather": "a table that Arrow can read",
    ".arrow": "a table that Arrow can read",
}

# Bytes of a .csv that are read at a time; a line of so many bytes a cell fits in.
BLOCK_BYTES, CELL_BYTES = 2**20, 2**8


class Unusable(ValueError):
    """The file cannot be used. The message quotes nothing of it but names of columns."""


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
        return _numbered(self.n_features)

    @property
    def is_sparse(self) -> bool:
        """Whether entries that are 0 are not held."""
        return bool(sparse.issparse(self.X))

    def fit(self, pca: BasePrivatePCA, tell: Callable[[int], None], whole: bool) -> None:
        """Fit; nothing is told of passes over rows that are in memory."""
        pca.fit(self.X)


@dataclass(frozen=True)
class TableRows:
    """Named columns of files, which are read batch by batch.

    Parameters
    ----------
    files : list of Path
        Of one kind.
    dataset : pyarrow.dataset.Dataset
        The features, and the groups.
    groups : str or None
        The column that holds each row's group.
    """

    files: list[Path]
    dataset: ds.Dataset
    groups: str | None

    is_sparse: ClassVar[bool] = False

    @property
    def n_features(self) -> int:
        """How many columns are features."""
        return len(self.names)

    @property
    def names(self) -> list[str]:
        """Of the features."""
        return [name for name in self.dataset.schema.names if name != self.groups]

    def fit(self, pca: BasePrivatePCA, tell: Callable[[int], None], whole: bool) -> None:
        """Fit in passes over the files, or on rows that are loaded as a whole."""
        from ._files import TableOfFiles

        check_accounted(pca.accountant, pca.epsilon, pca.delta, pca.random_state)
        pca._fit(lambda seen: TableOfFiles(seen, self, tell, whole))


def opened(
    paths: Sequence[Path],
    groups: str | None = None,
    header: bool | None = None,
    may_miss: bool = False,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
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
    header : bool, optional
        Whether the first line of a ``.csv`` holds the columns' names. With None it does if every
        cell of it looks like a name, and otherwise the file is refused.
    may_miss : bool
        Whether features may have empty cells, which are NaN then.
    columns : sequence of str, optional
        The features, in this order. By default all columns but `drop`.
    drop : sequence of str
        Columns that are no features.

    Raises
    ------
    Unusable, ImportError
        If the files cannot be used; the message says what to do.
    """
    files = files_of(paths)
    kinds = sorted({file.suffix.lower() for file in files})
    if len(kinds) > 1:
        raise Unusable(f"the files are of several kinds ({', '.join(kinds)}); give files of one")
    if kinds[0] in TABLES:
        return _replacing_errors(
            files[0], WHAT[kinds[0]], lambda: _table(files, groups, header, columns, drop)
        )
    path = files[0]
    if kinds[0] not in (".npy", ".npz"):
        raise Unusable(
            f"{path} is of no known kind; give .csv, .parquet, .feather, .arrow, .npy or .npz files"
        )
    if len(files) > 1:
        raise Unusable(f"{kinds[0]} files are read one at a time; give one, or .parquet files")
    for option, value in (("--groups", groups), ("--columns", columns), ("--drop", drop or None)):
        if value is not None:
            raise Unusable(
                f"{option} needs a table with named columns, and {path.name} has none; give a .csv "
                "or .parquet file"
            )
    return _replacing_errors(path, "a table", lambda: ArrayRows(_finite(path, may_miss)))


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
    rows = opened([path], groups, None, may_miss, columns)
    if isinstance(rows, ArrayRows):
        return rows.X, None
    from ._files import loaded

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
    for file in files:
        check_regular(file)
        _replacing_errors(file, "a file", partial(_touch, file))
    return files


def _touch(file: Path) -> None:
    """Raise what reading would."""
    file.open("rb").close()


def _inside(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        parts = path.relative_to(folder).parts
        if not path.is_dir() and not any(part.startswith((".", "_")) for part in parts):
            yield path


def _table(
    files: list[Path],
    groups: str | None,
    header: bool | None,
    columns: Sequence[str] | None,
    drop: Sequence[str],
) -> TableRows:
    _check_installed(files[0])
    import pyarrow as pa

    is_csv = files[0].suffix.lower() == ".csv"
    found = _Csv.open(files, header, groups) if is_csv else _Typed.open(files)
    features = _features(files[0], list(found.types), groups, columns, drop)
    _check_labels(files[0], features)
    wrong = [name for name in features if not found.is_number(name)]
    if wrong:
        raise Unusable(
            f"{files[0].name}: not numeric: {listed(wrong)}; leave such columns out with --drop, "
            "or encode them as numbers, by rules that do not look at the data. Where a value is "
            "missing, leave the cell empty: a point alone is text. A column that says whose row it "
            "is belongs to --groups"
        )
    chosen = [*features, *([] if groups is None else [groups])]
    schema = pa.schema([(name, found.types[name]) for name in chosen])
    return TableRows(files, found.dataset(schema), groups)


def _features(
    path: Path,
    names: list[str],
    groups: str | None,
    columns: Sequence[str] | None,
    drop: Sequence[str],
) -> list[str]:
    """The names of the features, in their order."""
    given = {"--groups": [groups] if groups is not None else []}
    for option, asked in (given | {"--columns": columns or [], "--drop": drop}).items():
        for name in asked:
            if name not in names:
                raise Unusable(
                    f"{option} {name}: {path.name} has no such column; it has {listed(names)}"
                )
    features = [
        name for name in (columns or names) if name != groups and (columns or name not in drop)
    ]
    if len({*features}) < len(features):
        raise Unusable("--columns has a name twice; give each once")
    if not features:
        raise Unusable(f"{path.name}: no column is left as a feature; give at least one")
    return features


@dataclass(frozen=True)
class _Typed:
    """Files that state the types of their columns."""

    files: list[Path]
    kind: str
    types: dict[str, pa.DataType]

    @classmethod
    def open(cls, files: list[Path]) -> _Typed:
        import pyarrow.dataset as ds

        from ..decomposition.file_table import index_columns

        kind = TABLES[files[0].suffix.lower()]
        types: dict[str, Any] = {}
        for file in files:
            table = partial(ds.dataset, [str(file)], format=kind)
            schema = _replacing_errors(file, WHAT[file.suffix.lower()], table).schema
            index = index_columns(schema)
            names = [name for name in schema.names if name not in index]
            _check_names(file, names)
            _check_same(files[0], file, sorted(types), sorted(names))
            for name in names:
                types[name] = _common(types.get(name), schema.field(name).type)
        found = cls(files, kind, types)
        if not types:
            raise Unusable(f"{files[0].name} is empty; give at least one row and one feature")
        if not any(map(found.is_number, types)):
            raise _textual(files[0])
        return found

    def is_number(self, name: str) -> bool:
        """Whether a column holds real numbers, by its type."""
        from ..records.files import is_number

        return self.types[name] is not None and is_number(self.types[name])

    def dataset(self, schema: pa.Schema) -> ds.Dataset:
        """Some columns of all files."""
        import pyarrow.dataset as ds

        return ds.dataset([str(file) for file in self.files], schema=schema, format=self.kind)


@dataclass(frozen=True)
class _Csv:
    """Files of text, whose cells are read one by one: none decides how another is read."""

    files: list[Path]
    skipped: int
    types: dict[str, pa.DataType]

    @classmethod
    def open(cls, files: list[Path], header: bool | None, groups: str | None) -> _Csv:
        import pyarrow as pa

        heads = [
            _replacing_errors(file, WHAT[".csv"], partial(_first_line, file)) for file in files
        ]
        first, lines = heads[0]
        names = _numbered(len(first)) if header is False else first
        if len({*names}) < len(names):  # none is quoted before there is a column of numbers
            places = _numbered(len(names))
        else:
            places = names
        texts = cls(files, 0 if header is False else lines, dict.fromkeys(places, pa.string()))
        kinds = texts._kinds({groups})
        if kinds is None:
            raise Unusable(f"{files[0].name} is empty; give at least one row and one feature")
        if not any(kind is not None for kind in kinds.values()):
            raise _textual(files[0])
        if header is not False:
            _check_header(files[0], first, header)
        for file, (other, _) in zip(files, heads, strict=True):
            _check_same(files[0], file, first, other if header is not False else first)
        # Groups are text. If they were read as numbers where possible, one record could decide
        # which groups of other records are equal ("1" and "01").
        types = {name: pa.string() if name == groups else kinds[name] for name in names}
        return cls(files, texts.skipped, types)

    def is_number(self, name: str) -> bool:
        """Whether every cell of a column is a number, a truth or empty."""
        return self.types[name] is not None

    def dataset(self, schema: pa.Schema) -> ds.Dataset:
        """Some columns of all files."""
        import pyarrow.csv
        import pyarrow.dataset as ds

        block = max(BLOCK_BYTES, CELL_BYTES * len(self.types))
        form = ds.CsvFileFormat(
            parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
            read_options=pyarrow.csv.ReadOptions(
                column_names=list(self.types), skip_rows=self.skipped, block_size=block
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                strings_can_be_null=True, true_values=list(TRUE), false_values=list(FALSE)
            ),
        )
        return ds.dataset([str(file) for file in self.files], schema=schema, format=form)

    def _kinds(self, texts: set[str | None]) -> dict[str, pa.DataType | None] | None:
        """What the cells of every column are: numbers, truths, or neither; None without rows.

        Parameters
        ----------
        texts : set of str
            Columns that are text, and not looked at.
        """
        import pyarrow as pa

        schema = pa.schema(list(self.types.items()))
        names = [name for name in self.types if name not in texts]
        numbers, truths, n_rows = {*names}, {*names}, 0
        for fragment in self.dataset(schema).get_fragments():
            batches = fragment.scanner(
                schema=schema, columns=names, batch_readahead=2, fragment_readahead=1
            ).to_batches()
            for batch in batches:
                n_rows += len(batch)
                numbers = {name for name in numbers if _are_numbers(batch.column(name))}
                truths = {name for name in truths if _are_truths(batch.column(name))}
        if not n_rows:
            return None
        kinds = dict.fromkeys(self.types)
        kinds |= dict.fromkeys(truths, pa.bool_())
        return kinds | dict.fromkeys(numbers, pa.float64())


def _are_numbers(cells: pa.Array) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        pc.utf8_trim(cells, " \t").cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def _are_truths(cells: pa.Array) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    known = pc.is_in(cells.drop_null(), pa.array([*TRUE, *FALSE]))
    return bool(pc.all(known, min_count=0).as_py())


def _first_line(path: Path) -> tuple[list[str], int]:
    """The cells of the first line that is not empty, and the number of that line."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file)
        for cells in reader:
            if cells:
                return cells, reader.line_num
    raise Unusable(f"{path} is not {WHAT['.csv']}; save it anew")


def _numbered(count: int) -> list[str]:
    return [f"x{i}" for i in range(count)]


def _common(one: Any, other: Any) -> Any:
    """The type of a column of several files; None if one has text and another one numbers."""
    import pyarrow as pa

    from ..records.files import is_label, is_number

    if one is None or one == other:
        return other
    if pa.types.is_integer(one) and pa.types.is_integer(other):
        return pa.int64()
    if is_number(one) and is_number(other):
        return pa.float64()
    text = is_label(one) and is_label(other) and not (is_number(one) or is_number(other))
    return pa.string() if text else pa.null()


def _check_same(first: Path, file: Path, names: Sequence[str], others: Sequence[str]) -> None:
    if names and list(names) != list(others):
        raise Unusable(
            f"{file.name} has other columns than {first.name}; give files of one table, with the "
            "same columns"
        )


def _textual(path: Path) -> Unusable:
    """A table of text, no name of which may be quoted: its first line may be a record."""
    return Unusable(
        f"{path.name} has no numeric column; give numbers, with a comma between cells and a "
        "point before decimals"
    )


def _check_header(path: Path, first: list[str], header: bool | None) -> None:
    """Refuse a first line that may be a record, without quoting it."""
    unnamed = [i for i, text in enumerate(first) if text.strip().lower() in PLACEHOLDERS]
    if header is None and not all(
        _is_name(text) for i, text in enumerate(first) if i not in unnamed
    ):
        raise Unusable(
            f"{path.name} has numbers, or what is no name, in its first line, which may be a "
            "record and not the columns' names; pass --header if they are names, or --no-header"
        )
    if unnamed:
        raise Unusable(
            f"{path.name} has no name for column {unnamed[0] + 1}; name it, or leave it out if it "
            "is only an index (pandas: to_csv(index=False))"
        )
    _check_names(path, first)


def _check_names(path: Path, names: list[str]) -> None:
    unprintable = [i for i, name in enumerate(names) if has_controls(name)]
    if unprintable:
        raise Unusable(
            f"{path.name} has a line break or another control character in the name of column "
            f"{unprintable[0] + 1}; rename it"
        )
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise Unusable(f"{path.name} has two columns {twice[0]!r}; give every one its own name")


def _check_labels(path: Path, names: list[str]) -> None:
    """Refuse an identifier among the features: it may be the column for `--groups`.

    Without groups, every row of a person would be protected alone.
    """
    labels = [name for name in names if LABEL.search(name) or CAPITAL_LABEL.search(name)]
    if labels:
        raise Unusable(
            f"{path.name}: by its name {labels[0]!r} is a label and no feature; if it says whose "
            f"row it is, pass --groups {labels[0]}; else pass --drop {labels[0]}, or give it "
            "another name"
        )


def _finite(path: Path, may_miss: bool) -> Any:
    X = _array(path) if path.suffix.lower() == ".npy" else _archive(path)
    _check_finite(path, X, may_miss)
    return X


def _array(path: Path) -> np.ndarray:
    what = "an array that numpy.save wrote"
    return _check_table(
        path,
        _replacing_errors(path, what, lambda: np.load(path, mmap_mode="r", allow_pickle=False)),
    )


def _archive(path: Path) -> Any:
    what = "an archive that numpy.savez or scipy.sparse.save_npz wrote"
    names, array = _replacing_errors(path, what, lambda: _unpack(path))
    if array is None:
        held = listed(names) if names else "nothing"
        raise Unusable(f"{path.name} holds {held}; save the one array to fit on alone")
    return _check_table(path, array)


def _unpack(path: Path) -> tuple[list[str], Any]:
    """Return the names in an archive, and its array if there is one."""
    with np.load(path, allow_pickle=False) as archive:
        names = archive.files
        if "format" in names:
            array = sparse.load_npz(path)
            if hasattr(array, "check_format"):  # of a row or column that the matrix does not have
                array.check_format(full_check=True)
            return names, array
        return names, archive[names[0]] if len(names) == 1 else None


def _check_table(path: Path, array: Any) -> Any:
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise Unusable(
            f"{path.name} is not a table of real numbers; it needs two axes (rows, features) and "
            f"a numeric dtype, and has {array.ndim} and {array.dtype.kind!r}"
        )
    return array


def _check_finite(path: Path, X: Any, may_miss: bool) -> None:
    if 0 in X.shape:
        raise Unusable(f"{path.name} is empty; give at least one row and one feature")
    finite = True
    try:
        with np.errstate(all="ignore"):  # a warning would reveal that there are large numbers
            assert_all_finite(X, allow_nan=may_miss)
    except ValueError:
        finite = False
    if not finite and may_miss:
        raise Unusable(
            f"{path.name} has infinite values, which --missing mean does not fill; drop such rows, "
            "or fill in public constants"
        )
    if not finite:
        raise Unusable(
            f"{path.name} has missing or infinite values; pass --missing mean to fill missing ones "
            "with the private mean, or drop such rows, or fill in public constants (a mean of the "
            "same data would void the guarantee)"
        )


def _replacing_errors(path: Path, what: str, reader: Callable[[], T]) -> T:
    """Return what the reader returns, and replace its error by one that quotes nothing of the file.

    A reader's error may quote a cell or the number of a line, and one that it is raised from, too.
    Warnings may do the same.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return reader()
    except (Unusable, ImportError):
        raise
    except MemoryError:
        refused = (
            f"{path} does not fit into memory; give the data as .npy or .parquet, which are read "
            "piece by piece"
        )
    except Exception as error:
        refused = f"{path} is not {what}; save it anew"
        if isinstance(error, OSError) and error.errno:
            refused = f"{path}: {error.strerror}; check the path and its permissions"
    raise Unusable(refused)


def _check_installed(path: Path) -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        missing = True
    else:
        missing = False
    if missing:
        raise ImportError(
            f"{path.suffix} files need pyarrow, which is not installed; pip install 'skdppca[cli]'"
        )


def _is_name(text: str) -> bool:
    """Whether the text begins with a letter and is neither a number nor a boolean.

    A record of dates, booleans or placeholders must not pass as names, which are published.
    """
    text = text.strip()
    try:
        float(text)
    except ValueError:
        named = text[:1].isalpha() or text[:1] == "_"
        return named and text not in (*TRUE, *FALSE) and text.lower() not in ("true", "false")
    return False
