"""Records as blocks: rows, sparse rows or groups of rows, and the sums over them."""

from ._block import ColumnFunction, Cross, Residual
from ._entries import KeepLargest, OnesByDegree
from ._numbers import CANCELLATION
from ._records import Block, Gathered, MeasureCache, Records, RowBlock
from ._sums import CompensatedSum
from .asked import KINDS, Kind, Measure, Step, View
from .layout import MAX_ROWS, UNIT_ROUNDOFF, Layout, summation_error
from .sources import OPENERS, Collection, Source, collection_of, precision_of

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
