"""A table in files as the command line speaks of it: what is wrong with it, and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from .._text import listed
from ..decomposition import DPGauss
from ..decomposition.file_table import FileTable
from ._unusable import SORTED, by_options

if TYPE_CHECKING:
    from ..decomposition import BasePrivatePCA
    from ._read_rows import TableRows


class TableOfFiles(FileTable):
    """The table of a run.

    Parameters
    ----------
    estimator : estimator
    rows : TableRows
    tell : callable or None
        Called with its number, from 0, as a pass over the files begins.
    """

    REFUSALS: ClassVar[dict[str, str]] = {
        **FileTable.REFUSALS,
        "unreadable": "{fault}",
        "unsorted": "{name} is not sorted by {groups!r}, and a group in two places would count as "
        "two; " + SORTED,
        "disordered": "the files are not sorted by {groups!r} in the order {order}, and a group in "
        "two places would count as two; give them in the order of their groups, or " + SORTED,
    }

    def __init__(
        self,
        estimator: BasePrivatePCA,
        rows: TableRows,
        tell: Callable[[int], None] | None = None,
    ) -> None:
        super().__init__(estimator, rows.dataset, rows.groups, tell)
        files = rows.files.files
        self._words["name"] = files[0].name if len(files) == 1 else "the table"
        self._rows = rows

    def _refuse(self, wrong: str, which: Iterable[bool] = ()) -> NoReturn:
        found = self._rows.files
        if wrong == "unreadable":  # only now: it looks at the files again
            self._words["fault"] = found.fault()
        if wrong == "unsorted" and len(found.files) > 1:
            wrong = "disordered"
            self._words["order"] = listed(file.name for file in found.files)
        super()._refuse(wrong, which)

    def _text(self, wrong: str, columns: str) -> str:
        return by_options(super()._text(wrong, columns))


def loaded(rows: TableRows, may_miss: bool) -> tuple[Any, Any]:
    """All rows of a table, and the number of every row's group if there are groups."""
    unit = "row" if rows.groups is None else rows.groups
    reader = DPGauss(unit=unit, missing="mean" if may_miss else "error")
    return TableOfFiles(reader, rows).in_memory()
