"""Read tables from files. Errors name columns, and never quote a cell or count rows."""

from __future__ import annotations

import os
import re
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite

from ._text import has_controls

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["check_regular", "read"]

T = TypeVar("T")

# Most columns that an error lists.
MAX_LISTED = 8

# Names of columns that identify rows or people: id, patient_id, patientID.
LABEL = re.compile(r"(^|[\W_])id$", re.IGNORECASE)
CAPITAL_LABEL = re.compile(r"[a-z]I[dD]$")

# Texts that pandas reads as a boolean.
BOOLEANS = ("true", "false")


class Unusable(ValueError):
    """The file cannot be used. The message quotes nothing of it but names of columns."""


def read(
    path: Path,
    groups: str | None = None,
    header: bool | None = None,
    may_miss: bool = False,
) -> tuple[Any, Any]:
    """Read the rows to fit on, and the group of every row.

    Parameters
    ----------
    path : Path
        A ``.csv`` or ``.parquet`` table, a ``.npy`` array (mapped, not loaded), or a ``.npz`` with
        one array or one sparse matrix.
    groups : str, optional
        The column that holds each row's group; it is not a feature.
    header : bool, optional
        Whether the first line of a ``.csv`` holds the columns' names. With None it does if every
        cell of it looks like a name, and otherwise the file is refused.
    may_miss : bool
        Whether features may have empty cells, which are NaN then.

    Returns
    -------
    X : DataFrame, ndarray, memmap or sparse matrix
    groups : ndarray or None

    Raises
    ------
    Unusable, ImportError
        If the file cannot be used; the message says what to do.
    """
    check_regular(path)
    return _replacing_errors(path, "a table", lambda: _table(path, groups, header, may_miss))


def check_regular(path: Path) -> None:
    """Refuse what is not a file on a disk: reading a pipe or a device may never end."""
    if os.path.isdir(path):
        raise Unusable(f"{path} is a directory; give a file")
    if os.path.exists(path) and not os.path.isfile(path):
        raise Unusable(f"{path} is a pipe or a device; save what it gives to a file, and give that")


def _table(path: Path, groups: str | None, header: bool | None, may_miss: bool) -> tuple[Any, Any]:
    kind = path.suffix.lower()
    X: Any
    labels = None
    if kind in (".csv", ".parquet"):
        X, labels = _split(path, _frame(path, groups, header), groups, may_miss)
    elif kind not in (".npy", ".npz"):
        raise Unusable(f"{path} is of no known kind; give a .csv, .parquet, .npy or .npz file")
    elif groups is not None:
        raise Unusable(
            f"--groups {groups} needs a table with named columns, and {path.name} has none; "
            "give a .csv or .parquet file"
        )
    else:
        X = _array(path) if kind == ".npy" else _archive(path)
    _check_finite(path, X, may_miss)
    return X, labels


def _frame(path: Path, groups: str | None, header: bool | None) -> pd.DataFrame:
    pandas = _pandas(path)
    if path.suffix.lower() == ".parquet":
        what = "a table that Parquet can read"
        frame = _replacing_errors(path, what, lambda: pandas.read_parquet(path))
        frame.columns = [str(name) for name in frame.columns]
        _check_numeric(path, frame)
        _check_names(path, list(frame.columns))
        return frame
    what = "a table in UTF-8 with a comma between cells and as many cells in every line"
    first, frame = _replacing_errors(path, what, lambda: _parse(pandas, path, groups, header))
    _check_numeric(path, frame)
    if header is False:
        frame.columns = _numbered(len(first))
    else:
        _check_header(path, first, header)
    return frame


def _parse(
    pandas: ModuleType, path: Path, groups: str | None, header: bool | None
) -> tuple[pd.Series, pd.DataFrame]:
    """Return the first line of a .csv as text, and its table."""
    # pandas would cut a line that is longer than the first, and only warn of it.
    warnings.simplefilter("error", pandas.errors.ParserWarning)
    first = pandas.read_csv(path, header=None, nrows=1, dtype=str).iloc[0]
    headless = header is False
    names = _numbered(len(first)) if headless else list(first)
    # Groups are read as text. If they were read as numbers where possible, one record could
    # decide which groups of other records are equal ("1" and "01").
    texts = (
        [names.index(groups) if headless else groups]
        if groups is not None and groups in names
        else []
    )
    frame = pandas.read_csv(
        path,
        header=None if headless else 0,
        index_col=False,
        low_memory=False,
        dtype=dict.fromkeys(texts, str),
    )
    return first, frame


def _numbered(count: int) -> list[str]:
    return [f"x{i}" for i in range(count)]


def _check_header(path: Path, first: pd.Series, header: bool | None) -> None:
    """Refuse a first line that may be a record, without quoting it."""
    if header is None and not all(_is_name(text) for text in first.dropna()):
        raise Unusable(
            f"{path.name} has numbers, or what is no name, in its first line, which may be a "
            "record and not the columns' names; pass --header if they are names, or --no-header"
        )
    unnamed = np.flatnonzero(first.isna())
    if len(unnamed):
        raise Unusable(
            f"{path.name} has no name for column {unnamed[0] + 1}; name it, or leave it out if it "
            "is only an index (pandas: to_csv(index=False))"
        )
    _check_names(path, list(first))


def _check_numeric(path: Path, frame: pd.DataFrame) -> None:
    """Refuse a table of text before any name is quoted: its first line may be a record."""
    _check_size(path, frame)
    if not any(map(_is_numeric, frame.dtypes)):
        raise Unusable(
            f"{path.name} has no numeric column; give numbers, with a comma between cells and a "
            "point before decimals"
        )


def _is_numeric(dtype: Any) -> bool:
    return getattr(dtype, "kind", "O") in "biuf"


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


def _split(
    path: Path, frame: pd.DataFrame, groups: str | None, may_miss: bool
) -> tuple[pd.DataFrame, np.ndarray | None]:
    """Return the features as floating-point columns, and the column of the groups."""
    if groups is not None and groups not in frame.columns:
        raise Unusable(
            f"--groups {groups}: {path.name} has no such column; it has {_listed(frame.columns)}"
        )
    _check_labels(path, [name for name in frame.columns if name != groups])
    holed = [name for name in frame.columns if name != groups and _holds_booleans(frame[name])]
    frame = frame.astype(dict.fromkeys(holed, "boolean"))
    text = [
        name
        for name, dtype in zip(frame.columns, frame.dtypes, strict=True)
        if not _is_numeric(dtype) and name != groups
    ]
    if text:
        raise Unusable(
            f"{path.name}: not numeric: {_listed(text)}; drop such columns or encode them as "
            "numbers, by rules that do not look at the data; a column that says whose row it is "
            "belongs to --groups"
        )
    if groups is not None and frame[groups].isna().any():
        raise Unusable(
            f"{path.name}: missing values in {groups!r}, which says whose row it is; give every "
            "row its group"
        )
    labels = None if groups is None else frame[groups].to_numpy()
    features = frame.drop(columns=[] if groups is None else [groups])
    missing = [name for name in features.columns if features[name].isna().any()]
    if missing and not may_miss:
        raise Unusable(
            f"{path.name}: missing values in {_listed(missing)}; pass --missing mean to fill them "
            "with the private mean, or drop such columns or rows, or fill in public constants (a "
            "mean of the same data would void the guarantee)"
        )
    single = all(str(dtype).lower() == "float32" for dtype in features.dtypes)
    return features.astype(np.float32 if single else np.float64), labels


def _holds_booleans(column: pd.Series) -> bool:
    """Whether it has booleans and empty cells only, which pandas reads as objects."""
    if column.dtype != object:
        return False
    return all(isinstance(value, bool) for value in column.dropna())


def _check_labels(path: Path, names: list[str]) -> None:
    """Refuse an identifier among the features: it may be the column for `--groups`.

    Without groups, every row of a person would be protected alone.
    """
    labels = [name for name in names if LABEL.search(name) or CAPITAL_LABEL.search(name)]
    if labels:
        raise Unusable(
            f"{path.name}: by its name {labels[0]!r} is a label and no feature; if it says whose "
            f"row it is, pass --groups {labels[0]}; else leave it out, or give it another name"
        )


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
        held = _listed(names) if names else "nothing"
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


def _check_size(path: Path, X: Any) -> None:
    if 0 in X.shape:
        raise Unusable(f"{path.name} is empty; give at least one row and one feature")


def _check_finite(path: Path, X: Any, may_miss: bool) -> None:
    _check_size(path, X)
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
            f"{path} does not fit into memory; give the data as .npy, which is read piece by piece"
        )
    except Exception as error:
        refused = f"{path} is not {what}; save it anew"
        if isinstance(error, OSError) and error.errno:
            refused = f"{path}: {error.strerror}; check the path and its permissions"
    raise Unusable(refused)


def _pandas(path: Path) -> ModuleType:
    try:
        import pandas

        if path.suffix.lower() == ".parquet":
            import pyarrow  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"{path.suffix} files need pandas and pyarrow, which are not all installed; "
            "pip install 'skdppca[cli]'"
        ) from error
    return pandas


def _is_name(text: str) -> bool:
    """Whether the text begins with a letter and is neither a number nor a boolean.

    A record of dates, booleans or placeholders must not pass as names, which are published.
    """
    text = text.strip()
    try:
        float(text)
    except ValueError:
        return (text[:1].isalpha() or text[:1] == "_") and text.lower() not in BOOLEANS
    return False


def _listed(names: Any) -> str:
    shown = ", ".join(repr(str(name)) for name in list(names)[:MAX_LISTED])
    return shown + (f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else "")
