"""Records as blocks: rows, sparse rows or groups of rows, and the sums over them."""

from ._records import Block, Gathered, Records, RowBlock
from ._residuals import ColumnFunction, Cross, Residual
from ._rows import KeepLargest, Members, OnesByDegree
from ._sums import CANCELLATION, CompensatedSum
from .sources import (
    KINDS,
    MAX_ROWS,
    OPENERS,
    UNIT_ROUNDOFF,
    Collection,
    Kind,
    Layout,
    Measure,
    MeasureCache,
    Source,
    Step,
    View,
    collection_of,
    precision_of,
    summation_error,
)

__all__ = [
    "CANCELLATION",
    "KINDS",
    "MAX_ROWS",
    "OPENERS",
    "UNIT_ROUNDOFF",
    "Block",
    "Collection",
    "ColumnFunction",
    "CompensatedSum",
    "Cross",
    "Gathered",
    "KeepLargest",
    "Kind",
    "Layout",
    "Measure",
    "MeasureCache",
    "Members",
    "OnesByDegree",
    "Records",
    "Residual",
    "RowBlock",
    "Source",
    "Step",
    "View",
    "collection_of",
    "precision_of",
    "summation_error",
]
