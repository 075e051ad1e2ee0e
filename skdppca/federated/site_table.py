"""A site's table: read into memory, checked, and never spoken of."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from copy import deepcopy
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ..decomposition import DPGauss
from ..decomposition.validation import check_groups, check_rows
from ..records import Records
from .study import Study

# Reads a table: its path, the names of its columns (or how many there are), and the column or file
# that says to whom each row belongs, to the rows and their labels.
Reader = Callable[[str, "tuple[str, ...] | int", "str | None"], tuple[Any, Any]]


def read_arrays(
    path: str, columns: tuple[str, ...] | int, groups: str | None
) -> tuple[Any, np.ndarray | None]:
    """Read rows from a .npy file, or sparse ones from a .npz file; labels from a .npy file.

    Their columns have no names: they are in the study's order.
    """
    if not path.endswith((".npz", ".npy")):
        raise ValueError(f"{path}: give a .npy or .npz file, or pass a reader for other files")
    if path.endswith(".npz"):
        rows: Any = sparse.csr_array(sparse.load_npz(path))
    else:
        rows = np.load(path, allow_pickle=False)
    return rows, None if groups is None else np.load(groups, allow_pickle=False)


class SiteTable:
    """Rows of a site, valid for its study.

    Parameters
    ----------
    study : Study
    rows : array-like or sparse matrix
    labels : array-like or None
        Labels of the groups.

    Raises
    ------
    ValueError, TypeError
        If the rows are not valid; for the site's own people.
    """

    def __init__(self, study: Study, rows: Any, labels: Any) -> None:
        like = DPGauss(missing=study.missing, unit=study.unit)
        # in memory of its own: a mapped file could change between two questions, and put a record
        # into two parts that are disjoint for the price
        rows, labels = deepcopy(rows), deepcopy(labels)
        # a site without rows answers as all others: a refusal would tell of it
        X = check_rows(like, rows, may_be_empty=True)
        numbers = check_groups(labels, X.shape[0], study.unit)
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

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of all of it: to see whether it has changed. It stays at the site."""
        found = hashlib.sha256()
        X, numbers = self._X, self._numbers
        parts = [X.data, X.indices, X.indptr] if sparse.issparse(X) else [X]
        for part in parts if numbers is None else [*parts, numbers]:
            found.update(f"{part.shape} {part.dtype.str}\n".encode())
            found.update(np.ascontiguousarray(part).data)
        return found.hexdigest()
