"""Checks of the data before anything is charged. They say "valid" and nothing more.

An error message, or a warning, that quotes a value, a shape or a row would release it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from scipy import sparse
from sklearn import config_context
from sklearn.utils import check_array

from .._sklearn import check_feature_names, check_n_features
from .._text import comes_back, listed, may_name_people, names_a_label, printable
from ..exceptions import LabelColumnWarning
from ..privacy.user_warnings import level_of_user
from ..records import MAX_ROWS, Records, Source, collection_of
from ..records.machine import PassThreads
from ..statistics import CountBeyond, Spreads
from .containers import (
    MALFORMED,
    as_compressed,
    as_declared,
    declared,
    index_names,
    is_missing,
)

if TYPE_CHECKING:
    from .base import BasePrivatePCA

T = TypeVar("T")

CONSTANTS = (
    "Fill in public constants, or drop the column for all; an imputer that is fitted on the same "
    "data voids the guarantee."
)
ABSENT = " If NaN stands for an entry that is not there, set missing='mean'."
MASKED = " If the mask hides entries that are not there, set missing='mean'."

TEXTUAL = "X holds text or strings; encode them as numbers."
UNREADABLE = "X cannot be read as a table of real numbers; give an array of them."

# scikit-learn's messages, each with what may be said instead: all of it, or our words for it.
SAFE_MESSAGES = {
    r".*contains NaN": "Input X contains NaN. " + CONSTANTS + ABSENT,
    r".*contains infinity": "Input X contains infinity or a value too large. " + CONSTANTS,
    r".*masked entries": "Input X contains masked entries. " + CONSTANTS + MASKED,
    re.escape(MALFORMED): None,
    r"Found array with dim \d+[\s\S]*": None,
    r"\w+\(\) argument must be [\w ]*string[\w ]*number.*": None,
    r"Feature names are only supported[\s\S]*": None,
    r"Complex data not supported": None,
    r"Expected unique column names": "X has two columns of one name; give each its own name.",
    r"X is a lazy frame": "X is a lazy frame, which holds no rows yet; give X.collect()",
    r"X has \d+ features, but \w+ is expecting \d+ features as input": None,
    r"The feature names should match": "The columns of X are not those that pca was fitted on.",
    r".*0 sample\(s\)": "Found array with 0 sample(s) while a minimum of 1 is required.",
    r".*0 feature\(s\)": "X has 0 feature(s) (shape=(, 0)) while a minimum of 1 is required.",
    r"Expected 2D array, got 1D array": "Expected 2D array, got 1D array. Reshape your data.",
    r"Expected 2D array, got scalar": "Expected 2D array, got scalar array. Reshape your data.",
    r"Expected a 2-dimensional": "Expected a 2-dimensional container. Reshape your data.",
    r".*(string|bytes)": TEXTUAL,
    r"setting an array element|.*inhomogeneous": "X has rows that are not of the same length.",
}

# The fourth power of a public number beyond this would overflow.
LARGEST = 1e60


@dataclass(frozen=True, kw_only=True)
class Table:
    """X and the groups of its rows, wherever they are.

    Whoever makes one raises where X can be seen to be unusable without a look at its rows, and sets
    the estimator's number of features and their names.

    Parameters
    ----------
    n_features : int
    read : callable
        Reads all rows if need be, says nothing but "valid", and returns the source. It takes the
        public scale by which every feature is divided, or None, and the threads that share blocks.
    is_sparse : bool
    is_single : bool
        All numbers are declared to be of single precision, and so is what is released.
    gathering : str
        How the caller could bring all rows into one place; empty where nobody can.
    index : tuple of str
        Names of an index, which is no feature, where it is not the column of the groups.
    """

    n_features: int
    read: Callable[[np.ndarray | None, int | None], Source]
    is_sparse: bool = False
    is_single: bool = False
    gathering: str = "give X as an array, or "
    index: tuple[str, ...] = ()


def in_memory(estimator: BasePrivatePCA, X: Any, groups: Any) -> Table:
    """The table of rows in memory, or mapped into it; they are read and checked here.

    Parameters
    ----------
    estimator : estimator
    X : array-like or sparse matrix
    groups : array-like or None
    """
    if estimator._joining is not None:  # as scikit-learn: names before values
        estimator._joining.check_names(declared(X).names)
    rows = check_rows(estimator, X, may_be_empty=estimator._may_be_empty)
    labels = check_groups(groups, rows.shape[0], estimator.unit)
    may_miss = estimator._may_miss
    return Table(
        n_features=rows.shape[1],
        read=lambda scale, n_jobs: Records.of(rows, labels, scale, n_jobs, may_miss=may_miss),
        is_sparse=bool(sparse.issparse(rows)),
        is_single=rows.dtype == np.float32,
        index=index_names(X),
    )


def check_rows(
    estimator: Any,
    X: Any,
    reset: bool = True,
    *,
    may_be_empty: bool = False,
    is_finite: bool = False,
) -> np.ndarray | sparse.csr_array:
    """Two-dimensional finite real rows, without a copy where none is needed.

    Parameters
    ----------
    estimator : estimator
    X : array-like or sparse matrix
    reset : bool
        Set the estimator's number of features, and their names, or check that they are the same.
    may_be_empty : bool
        Whether no rows are valid, too.
    is_finite : bool
        The same rows were found to be finite before.

    Raises
    ------
    ValueError, TypeError
        With scikit-learn's text where that quotes nothing of the data.
    """
    collection = collection_of(X)
    if collection is not None:
        collection.check_readable()
    least, ours = 0 if may_be_empty else 1, partial(_about_rows, X)

    def read() -> np.ndarray | sparse.csr_array:
        return read_rows(estimator, X, reset, least=least, is_finite=is_finite)

    rows = quoting_nothing("X", read, ours)
    if rows.dtype.kind not in "fiub":
        found = f"X has dtype {rows.dtype.type.__name__}; give real numbers."
        raise ValueError(found + _no_numbers(X))
    check_row_count(rows.shape[0], may_be_empty)
    return rows


def check_row_count(n_rows: int, may_be_empty: bool) -> None:
    """Refuse more rows than the guarantee is proven for, and none if that is not valid."""
    if not (n_rows or may_be_empty):
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
    if n_rows > MAX_ROWS:
        raise ValueError(f"X has more than {MAX_ROWS} rows; the guarantee is proven up to there")


def read_rows(
    estimator: Any,
    X: Any,
    reset: bool,
    dtype: Any = "numeric",
    least: int = 1,
    is_finite: bool | None = False,
) -> np.ndarray | sparse.csr_array:
    """Rows of a dtype that follows from what X declares. Errors are as they come, and quote.

    Parameters
    ----------
    estimator : estimator
    X : array-like or sparse matrix
    reset : bool
    dtype : str or list of dtype
        Type that scikit-learn's `check_array` takes.
    least : int
        How many rows there are at least.
    is_finite : bool or None
        Whether the same rows were found to be finite before. None: as ``assume_finite`` of
        scikit-learn says, which nothing that is charged may follow.
    """
    facts, may_miss = declared(X), getattr(estimator, "missing", "error") == "mean"
    if facts.names is not None and any(dtype is None for dtype in facts.numbers):
        raise ValueError(UNREADABLE)
    if _is_masked(X) and not may_miss:
        raise ValueError("Input X contains masked entries")
    check_feature_names(estimator, X, reset=reset)
    with np.errstate(over="ignore", invalid="ignore"):
        X = as_declared(X, facts)
        known = reset and _is_seen_to_be_finite(X, getattr(estimator, "n_jobs", None))
        with config_context(assume_finite=is_finite):
            rows = check_array(
                as_compressed(X) if sparse.issparse(X) else X,
                estimator=estimator,
                input_name="X",
                accept_sparse="csr",
                dtype=dtype,
                copy=False,
                ensure_min_samples=least,
                ensure_all_finite=not known and ("allow-nan" if may_miss else True),
            )
        check_n_features(estimator, rows, reset=reset)
        if rows.dtype.kind != "f" or rows.dtype.itemsize <= 8:
            return rows
        rows = rows.astype(np.float64)
    is_sparse = bool(sparse.issparse(rows))
    entries = rows.data if is_sparse else rows
    if not (np.isfinite(entries) | (may_miss & np.isnan(entries))).all():
        raise ValueError("Input X contains infinity")
    return rows


def _is_seen_to_be_finite(X: Any, n_jobs: int | None) -> bool:
    """Return whether X is a long array of floats whose sums, by the threads of a pass, are finite.

    scikit-learn looks at all other arrays, by one thread, and says what is wrong with them. It
    looks after a cast, which may overflow: so this holds only where X keeps its dtype, as in `fit`.
    """
    is_plain = type(X) in (np.ndarray, np.memmap) and X.dtype in (np.float32, np.float64)
    if not is_plain or X.ndim != 2 or X.size == 0:
        return False
    n_rows, n_features = X.shape
    threads = PassThreads.of(n_jobs, n_rows, n_features, False).in_pass(n_rows, n_features)
    if threads == 1:
        return False

    def is_finite(part: np.ndarray) -> bool:
        with np.errstate(all="ignore"):  # every thread has a state of its own
            return bool(np.isfinite(part.sum()))

    with ThreadPoolExecutor(threads) as pool:
        return all(pool.map(is_finite, np.array_split(X, threads)))


def check_names(names: Iterable[object]) -> None:
    """Refuse names of columns that the files of a release cannot hold.

    Raises
    ------
    ValueError
    """
    wrong = [str(name) for name in names if not comes_back(str(name))]
    if wrong:
        raise ValueError(
            f"the column '{printable(wrong[0])}' has half a letter (a surrogate) or a NUL in its "
            "name, which no file gives back; rename it: X.rename(columns={...})"
        )


def warn_of_labels(names: Iterable[object], index: Iterable[str], grouped: bool) -> None:
    """Warn of columns that are by their names labels; without groups a row is protected alone."""
    labels = [str(name) for name in names if names_a_label(str(name))]
    text = "by their names these columns are labels and no features: {}. Leave them out."
    if not labels and not grouped:
        labels = list(filter(may_name_people, index))
        text = "by its name the index of X may say to whom each row belongs: {}."
    if labels:
        warnings.warn(
            f"{text.format(listed(labels))} If one says to whom each row belongs, set unit= to "
            "what it names, and pass it to fit as groups=: otherwise each row is protected alone",
            LabelColumnWarning,
            stacklevel=level_of_user(),
        )


def check_domain(estimator: Any, n_records: int) -> None:
    """Refuse more records than the estimator's declared domain has: no private output."""
    most = estimator._max_records
    if n_records > most:
        raise ValueError(
            f"X has more than {most} {'rows' if estimator.unit == 'row' else 'groups'}; the "
            f"guarantee is proven up to there; {estimator._more_records}"
        )


def check_unclipped(source: Source) -> None:
    """Refuse rows that would overflow where nothing is clipped: with ``epsilon=inf``.

    Parameters
    ----------
    source : Source
        With public scales, if there are any.
    """
    far = CountBeyond(Spreads(np.zeros(source.layout.n_features)), LARGEST)
    if source.total(far):
        raise ValueError(
            f"(scaled) rows of X have norms above {LARGEST}, too large to be squared where nothing "
            "is clipped, as with epsilon=inf. Choose units in which they are smaller, or a finite "
            "epsilon"
        )


def check_groups(groups: Any, n_rows: int, unit: str) -> np.ndarray | None:
    """Integers from 0 for the groups of the rows; None if the unit is a row.

    Raises
    ------
    ValueError
        If groups are given without a unit that names them, or the reverse; if there is not one
        label a row; if a label is missing.
    """
    check_unit(groups, unit)
    return None if groups is None else number_groups(groups, n_rows)


def check_unit(groups: Any, unit: str) -> None:
    """Refuse groups without a unit that names them, and the reverse."""
    if (groups is None) != (unit == "row"):
        given = "were not given" if groups is None else "were given"
        raise ValueError(
            f"unit={unit!r}, but groups {given}: pass "
            + (
                "fit(X, groups=labels) with a label for every row, in a Pipeline "
                "fit(X, <step>__groups=labels); a GridSearchCV needs "
                "set_config(enable_metadata_routing=True). If every record is one row, leave out "
                "unit."
                if groups is None
                else "unit='patient' as well, or whatever one group stands for. If every record "
                "is one row, leave out groups."
            )
        )


def read_labels(values: Any, n_rows: int, name: str) -> np.ndarray:
    """Labels as they are, one a row: none decides how another one is read."""

    def read() -> tuple[np.ndarray, bool]:
        dtype = None if hasattr(values, "__array__") else object
        return np.asarray(values, dtype=dtype), _is_masked(values)

    labels, masked = quoting_nothing(name, read)
    if labels.ndim != 1 or len(labels) != n_rows:
        raise ValueError(f"{name} must be one-dimensional, with one label for every row of X")
    if masked:
        raise ValueError(f"{name} has missing labels: some are masked; give every row its label")
    return labels


def number_groups(groups: Any, n_rows: int) -> np.ndarray:
    """Integers from 0 for the labels, one a row. Labels that differ stay apart: 1 is not "1"."""
    labels = read_labels(groups, n_rows, "groups")
    numbers = quoting_nothing("groups", lambda: _numbered(labels))
    if numbers is None:
        raise ValueError("groups has missing labels; give every row the label of its record")
    return numbers


def public_classes(classes: Any) -> tuple[Hashable, ...]:
    """Return the public labels, all different."""
    try:
        names = tuple(classes.tolist() if isinstance(classes, np.ndarray) else classes)
        valid = 0 < len(set(names)) == len(names)
    except TypeError:
        valid = False
    if not valid:
        raise ValueError(f"classes={classes!r} are not one or more different labels; list them")
    return names


def class_numbers(y: Any, names: tuple[Hashable, ...], n_rows: int) -> np.ndarray:
    """Return the position of every row's label among the public labels, or -1.

    Raises
    ------
    ValueError
        If `y` does not hold one label for every row. The message quotes no label.
    """
    labels = read_labels(y, n_rows, "y")
    numbers = {name: number for number, name in enumerate(names)}
    return quoting_nothing(
        "y", lambda: np.array([numbers.get(label, -1) for label in labels.tolist()], dtype=np.intp)
    )


def _numbered(labels: np.ndarray) -> np.ndarray | None:
    """Integers for the labels; None if one is missing."""
    if labels.dtype != object:
        if np.any(labels != labels):
            return None
        return np.unique(labels, return_inverse=True)[1].reshape(-1)
    if any(map(is_missing, labels)):
        return None
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels], np.intp)


def check_reach(
    mean: np.ndarray | None, scale: np.ndarray | None, norm_bound: float | None
) -> None:
    """Refuse public numbers that are so large, or so small, that they would overflow."""
    if norm_bound is not None and not 1 / LARGEST <= norm_bound <= LARGEST:
        raise ValueError(
            f"norm_bound={norm_bound} is out of range; choose units in which it lies between "
            f"{1 / LARGEST} and {LARGEST}"
        )
    with np.errstate(over="ignore"):
        reach = 0.0 if mean is None else np.abs(mean / (1.0 if scale is None else scale)).max()
    if reach > LARGEST:
        raise ValueError(f"mean / scale exceeds {LARGEST}; choose units in which it does not")


def _is_masked(values: Any) -> bool:
    """Return whether NumPy would silently read entries that a mask hides."""
    return isinstance(values, np.ma.MaskedArray) and bool(np.ma.getmaskarray(values).any())


def quoting_nothing(
    name: str, read: Callable[[], T], ours: Callable[[Exception], Exception] | None = None
) -> T:
    """Return the result of `read` on private data; its exceptions, which may quote it, become ours.

    Parameters
    ----------
    name : str
        Name of the data that are read.
    read : callable
    ours : callable, optional
        Another exception for one of `read`, which quotes nothing; by default that for labels.

    Raises
    ------
    MemoryError, ImportError
        These stay what they are, but for their text: that tells how large the data are.
    """
    try:
        return read()
    except Exception as error:
        theirs = error
    if isinstance(theirs, MemoryError):
        refused: Exception = MemoryError(f"{name} does not fit into memory as an array")
    elif isinstance(theirs, ImportError):
        refused = ImportError(
            f"{name} cannot be read without a package that is missing; numpy.asarray({name}) tells "
            "which one"
        )
    elif ours is None:
        refused = ValueError(f"{name} must hold numbers or strings, one a row")
    else:
        refused = ours(theirs)
    raise refused  # out here, where it has no context: that would quote data


def _about_rows(X: Any, theirs: Exception) -> Exception:
    """scikit-learn's error if it is harmless, and ours if not."""
    kind = TypeError if isinstance(theirs, TypeError) else ValueError
    try:
        message = _without_data(str(theirs))
        return kind(message + _no_numbers(X) if message in (TEXTUAL, UNREADABLE) else message)
    except Exception:
        return kind(UNREADABLE)


def _no_numbers(X: Any) -> str:
    """Return a text on the columns of a table without numbers, by their public names and types."""
    names = declared(X).without_numbers
    if not names:
        return ""
    return (
        f" By their dtype these columns hold no numbers: {listed(names)}. Leave them out, or "
        "encode them by rules that do not look at the data."
    )


def _without_data(message: str) -> str:
    for pattern, ours in SAFE_MESSAGES.items():
        found = re.match(pattern, message)
        if found:
            return ours or found.group()
    return UNREADABLE
