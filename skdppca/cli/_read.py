"""Read tables from files. Errors name columns, and never quote a cell or count rows."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read"]

# Most columns that an error lists.
MAX_LISTED = 8

# Names of columns that identify rows or people: id, patient_id, patientID.
LABEL = re.compile(r"(^|[\W_])id$", re.IGNORECASE)
CAPITAL_LABEL = re.compile(r"[a-z]I[dD]$")

# Texts that pandas reads as a boolean.
BOOLEANS = ("true", "false")


def read(path: Path, groups: str | None = None, header: bool | None = None) -> tuple[Any, Any]:
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

    Returns
    -------
    X : DataFrame, ndarray, memmap or sparse matrix
    groups : ndarray or None

    Raises
    ------
    ValueError, OSError
        If the file cannot be used; the message says what to do.
    """
    kind = path.suffix.lower()
    X: Any
    labels = None
    if kind in (".csv", ".parquet"):
        X, labels = _split(path, _frame(path, groups, header), groups)
    elif kind not in (".npy", ".npz"):
        raise ValueError(f"{path} is of no known kind; give a .csv, .parquet, .npy or .npz file")
    elif groups is not None:
        raise ValueError(
            f"--groups {groups} needs a table with named columns, and {path.name} has none; "
            "give a .csv or .parquet file"
        )
    else:
        X = _array(path) if kind == ".npy" else _archive(path)
    _check_finite(path, X)
    return X, labels


def _frame(path: Path, groups: str | None, header: bool | None) -> pd.DataFrame:
    pandas = _pandas(path)
    if path.suffix.lower() == ".parquet":
        with _reading(path, "a table that Parquet can read"):
            frame = pandas.read_parquet(path)
        frame.columns = [str(name) for name in frame.columns]
        _check_numeric(path, frame)
        _check_names(path, list(frame.columns))
        return frame
    table = "a table in UTF-8 with a comma between cells and as many cells in every line"
    with _reading(path, table), warnings.catch_warnings():
        # pandas would cut a line that is longer than the first, and only warn of it.
        warnings.simplefilter("error", pandas.errors.ParserWarning)
        first = pandas.read_csv(path, header=None, nrows=1, dtype=str).iloc[0]
        headless = header is False
        names = [f"x{i}" for i in range(len(first))] if headless else list(first)
        # Groups are read as text. If they were read as numbers where possible, one record could
        # decide which groups of other records are equal ("1" and "01").
        texts = [names.index(groups) if headless else groups] if groups in names else []
        frame = pandas.read_csv(
            path,
            header=None if headless else 0,
            index_col=False,
            low_memory=False,
            dtype=dict.fromkeys(texts, str),
        )
    _check_numeric(path, frame)
    if headless:
        frame.columns = names
    else:
        _check_header(path, first, header)
    return frame


def _check_header(path: Path, first: pd.Series, header: bool | None) -> None:
    """Refuse a first line that may be a record, without quoting it."""
    if header is None and not all(_is_name(text) for text in first.dropna()):
        raise ValueError(
            f"{path.name} has numbers, or what is no name, in its first line, which may be a "
            "record and not the columns' names; pass --header if they are names, or --no-header"
        )
    unnamed = np.flatnonzero(first.isna())
    if len(unnamed):
        raise ValueError(
            f"{path.name} has no name for column {unnamed[0] + 1}; name it, or leave it out if it "
            "is only an index (pandas: to_csv(index=False))"
        )
    _check_names(path, list(first))


def _check_numeric(path: Path, frame: pd.DataFrame) -> None:
    """Refuse a table of text before any name is quoted: its first line may be a record."""
    _check_size(path, frame)
    if not any(map(_is_numeric, frame.dtypes)):
        raise ValueError(
            f"{path.name} has no numeric column; give numbers, with a comma between cells and a "
            "point before decimals"
        )


def _is_numeric(dtype: Any) -> bool:
    return getattr(dtype, "kind", "O") in "biuf"


def _check_names(path: Path, names: list[str]) -> None:
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise ValueError(f"{path.name} has two columns {twice[0]!r}; give every one its own name")


def _split(
    path: Path, frame: pd.DataFrame, groups: str | None
) -> tuple[pd.DataFrame, np.ndarray | None]:
    """Return the features as floating-point columns, and the column of the groups."""
    if groups is not None and groups not in frame.columns:
        raise ValueError(
            f"--groups {groups}: {path.name} has no such column; it has {_listed(frame.columns)}"
        )
    _check_labels(path, [name for name in frame.columns if name != groups])
    text = [
        name
        for name, dtype in zip(frame.columns, frame.dtypes, strict=True)
        if not _is_numeric(dtype) and name != groups
    ]
    if text:
        raise ValueError(
            f"{path.name}: not numeric: {_listed(text)}; drop such columns or encode them as "
            "numbers, by rules that do not look at the data; a column that says whose row it is "
            "belongs to --groups"
        )
    missing = [name for name in frame.columns if frame[name].isna().any()]
    if missing:
        raise ValueError(
            f"{path.name}: missing values in {_listed(missing)}; drop such columns or rows, or "
            "fill in public constants (a mean of the same data would void the guarantee)"
        )
    labels = None if groups is None else frame[groups].to_numpy()
    features = frame.drop(columns=[] if groups is None else [groups])
    single = all(str(dtype).lower() == "float32" for dtype in features.dtypes)
    return features.astype(np.float32 if single else np.float64), labels


def _check_labels(path: Path, names: list[str]) -> None:
    """Refuse an identifier among the features: it may be the column for `--groups`.

    Without groups, every row of a person would be protected alone.
    """
    labels = [name for name in names if LABEL.search(name) or CAPITAL_LABEL.search(name)]
    if labels:
        raise ValueError(
            f"{path.name}: by its name {labels[0]!r} is a label and no feature; if it says whose "
            f"row it is, pass --groups {labels[0]}; else leave it out, or give it another name"
        )


def _array(path: Path) -> np.ndarray:
    with _reading(path, "an array that numpy.save wrote"):
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    return _check_table(path, array)


def _archive(path: Path) -> Any:
    what = "an archive that numpy.savez or scipy.sparse.save_npz wrote"
    with _reading(path, what), np.load(path, allow_pickle=False) as archive:
        names = archive.files
        if "format" in names:
            array = sparse.load_npz(path)
        else:
            array = archive[names[0]] if len(names) == 1 else None
    if array is None:
        raise ValueError(f"{path.name} holds {_listed(names)}; save the one array to fit on alone")
    return _check_table(path, array)


def _check_table(path: Path, array: Any) -> Any:
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise ValueError(
            f"{path.name} is not a table of real numbers; it needs two axes (rows, features) and "
            f"a numeric dtype, and has {array.ndim} and {array.dtype.kind!r}"
        )
    return array


def _check_size(path: Path, X: Any) -> None:
    if 0 in X.shape:
        raise ValueError(f"{path.name} is empty; give at least one row and one feature")


def _check_finite(path: Path, X: Any) -> None:
    _check_size(path, X)
    try:
        with np.errstate(all="ignore"):  # a warning would reveal that there are large numbers
            assert_all_finite(X)
    except ValueError:
        raise ValueError(
            f"{path.name} has missing or infinite values; drop such rows, or fill in public "
            "constants (a mean of the same data would void the guarantee)"
        ) from None


@contextmanager
def _reading(path: Path, what: str) -> Iterator[None]:
    """Replace a reader's error, which may quote a cell or the number of a line."""
    try:
        yield
    except (ImportError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno:
            remedy = "check the path and its permissions"
            raise OSError(f"{path}: {error.strerror}; {remedy}") from None
        raise ValueError(f"{path} is not {what}; save it anew") from None


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
