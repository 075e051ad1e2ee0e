"""A table in files as the command line speaks of it: what is wrong with it, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..decomposition import DPGauss
from ..decomposition.file_table import FileTable
from ..records import Records
from ..records.files import FileRecords

if TYPE_CHECKING:
    from ..decomposition import BasePrivatePCA
    from ._read import TableRows

__all__ = ["TableOfFiles", "loaded"]


class TableOfFiles(FileTable):
    """The table of a run.

    Parameters
    ----------
    estimator : estimator
    rows : TableRows
    tell : callable or None
        Called with its number, from 0, as a pass over the files begins.
    whole : bool
        Load all rows, for a method that does more than sum over records.
    """

    REFUSALS: ClassVar[dict[str, str]] = {
        "unreadable": "{name} is not {what}; save it anew",
        "memory": "{name} does not fit into memory (all rows of a group must); choose another "
        "--method, or fewer columns",
        "empty": "{name} is empty; give at least one row and one feature",
        "missing": "{name}: missing values in {columns}; pass --missing mean to fill them with the "
        "private mean, or leave such columns out with --drop, or drop such rows, or fill in public "
        "constants (a mean of the same data would void the guarantee)",
        "infinite": "{name} has infinite values, which --missing mean does not fill; drop such "
        "rows, or fill in public constants",
        "unlabelled": "{name}: missing values in {groups!r}, which says whose row it is; give "
        "every row its group",
        "unsorted": "{name} is not sorted by {groups!r}, and a group in two places would count as "
        "two; sort the table first, for example with DuckDB: COPY (FROM '{name}' ORDER BY "
        "{groups}) TO 'sorted.parquet'",
    }

    def __init__(
        self,
        estimator: BasePrivatePCA,
        rows: TableRows,
        tell: Callable[[int], None] | None = None,
        whole: bool = False,
    ) -> None:
        from ._read import WHAT

        super().__init__(estimator, rows.dataset, rows.groups, tell)
        self._words["name"] = rows.files[0].name if len(rows.files) == 1 else "the table"
        self._words["what"] = WHAT[rows.files[0].suffix.lower()]
        self._whole = whole

    def source(self, scale: np.ndarray | None, n_jobs: int | None) -> FileRecords | Records:
        """The records, after one pass over the files that found them valid."""
        if not self._whole:
            return super().source(scale, n_jobs)
        X, groups = self.in_memory()
        return Records(X, groups, scale, n_jobs, may_miss=self._may_miss)


def loaded(rows: TableRows, may_miss: bool) -> tuple[Any, Any]:
    """All rows of a table, and the number of every row's group if there are groups."""
    unit = "row" if rows.groups is None else rows.groups
    reader = DPGauss(unit=unit, missing="mean" if may_miss else "error")
    return TableOfFiles(reader, rows).in_memory()
