"""A site's table: read into memory, checked, and never spoken of."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from ..decomposition import DPGauss
from ..decomposition.validation import check_groups, check_rows
from ..records import Layout, Records
from .study import Study

# Reads a table: its path, the names of its columns (or how many there are), and the column or file
# that says to whom each row belongs, to the rows and their labels.
Reader = Callable[[str, "tuple[str, ...] | int", "str | None"], tuple[Any, Any]]

CHUNK = 2**16

T = TypeVar("T")


def read_arrays(
    path: str, columns: tuple[str, ...] | int, groups: str | None
) -> tuple[Any, np.ndarray | None]:
    """Read rows from a .npy file, or sparse ones from a .npz file; labels from a .npy file.

    Their columns have no names: they are in the study's order.
    """
    if not path.endswith((".npz", ".npy")):
        raise ValueError(f"{path}: give a .npy or .npz file, or pass a reader for other files")
    for name, file in (("table", path), ("groups", groups)):
        if file is not None and not os.path.exists(file):
            raise FileNotFoundError(f"{name} {file}: there is no such file; correct the path")
    if path.endswith(".npz"):
        rows: Any = sparse.csr_array(sparse.load_npz(path))
    else:
        rows = np.load(path, allow_pickle=False)  # never mapped: see `in_memory`
    return rows, None if groups is None else np.load(groups, allow_pickle=False)


def look(paths: Iterable[Path]) -> str:
    """Files' sizes, numbers and times, as a digest: another one if a file was written to.

    Parameters
    ----------
    paths : iterable of Path
        Of files, or of folders of them. What is not there is no file.
    """
    found = []
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                at = file.stat()
                found.append([str(file), at.st_size, at.st_mtime_ns, at.st_ctime_ns, at.st_ino])
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()


def in_memory(rows: T) -> T:
    """The same numbers, in memory that is this process's own: no file is mapped there.

    Whoever writes to a mapped file changes the records between two questions. A record can then be
    in two parts that are disjoint for the price. A file that becomes shorter kills the process.
    """
    parts = vars(rows).values() if sparse.issparse(rows) else [rows]
    return rows if all(map(_is_own, parts)) else deepcopy(rows)


def _is_own(array: Any) -> bool:
    """Whether the memory was allocated for this array, or for one that it is a view of."""
    while isinstance(array, np.ndarray) and isinstance(array.base, np.ndarray):
        array = array.base
    return not isinstance(array, np.ndarray) or bool(array.flags.owndata)


class SiteTable:
    """Rows of a site, valid for its study.

    Parameters
    ----------
    study : Study
    rows : array-like or sparse matrix
    labels : array-like or None
        Of the groups.

    Raises
    ------
    ValueError, TypeError
        If the rows are not valid; for the site's own people.
    """

    def __init__(self, study: Study, rows: Any, labels: Any) -> None:
        like = DPGauss(missing=study.missing, unit=study.unit)
        rows = in_memory(rows)
        X = _no_rows(like, rows) if _is_empty(rows) else check_rows(like, rows)
        X = in_memory(X)  # a reader's table may be converted without a copy
        numbers = check_groups(in_memory(labels), X.shape[0], study.unit)
        names = getattr(like, "feature_names_in_", None)
        other = X.shape[1] != study.n_features
        if isinstance(study.columns, tuple) and names is not None:
            other = tuple(names) != study.columns
        if other:
            raise ValueError("the table's columns are not those of the study")
        if sparse.issparse(X) is not study.sparse:
            raise ValueError(f"the study says sparse={study.sparse}, and the table is otherwise")
        self._X, self._numbers = X, numbers
        self.records = Records.of(X, numbers, may_miss=study.missing == "mean")
        if X.shape[0] > study.max_rows:
            raise ValueError(
                f"the table has more than max_rows={study.max_rows} rows; raise max_rows in the "
                "study of all sites"
            )

    @property
    def layout(self) -> Layout:
        """Public."""
        return self.records.layout

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of all of it: to see whether it has changed. It stays at the site."""
        found = hashlib.sha256()
        parts: Sequence[Any] = (self._X,)
        if sparse.issparse(self._X):
            parts = (self._X.data, self._X.indices, self._X.indptr)
        for part in (*parts, *(() if self._numbers is None else (self._numbers,))):
            found.update(f"{part.shape} {part.dtype.str}\n".encode())
            for start in range(0, len(part), CHUNK):
                found.update(np.ascontiguousarray(part[start : start + CHUNK]).data)
        return found.hexdigest()


def _is_empty(rows: Any) -> bool:
    """Whether there is no row. Such a site answers as all others: a refusal would tell of it."""
    shape: tuple[int, ...] = getattr(rows, "shape", ())
    return len(shape) == 2 and shape[0] == 0


def _no_rows(like: DPGauss, rows: Any) -> np.ndarray | sparse.csr_array:
    """What `check_rows` would make of these columns."""
    validate_data(like, rows, skip_check_array=True)
    shape = (0, rows.shape[1])
    return sparse.csr_array(shape) if sparse.issparse(rows) else np.zeros(shape)
