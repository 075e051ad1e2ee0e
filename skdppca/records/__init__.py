"""Records as blocks: rows, sparse rows or groups of rows, and the sums over them."""

from ._block import ColumnFunction, Cross, Residual
from ._entries import KeepLargest, OnesByDegree
from ._numbers import CANCELLATION
from ._records import Block, Records, RowBlock
from ._sums import CompensatedSum
from .asked import KINDS, Kind, Measure, Step, View
from .layout import MAX_ROWS, UNIT_ROUNDOFF, Layout, summation_error
from .pieces import Part, Pieces, Question
from .source import Source, precision_of

__all__ = [
    "CANCELLATION",
    "KINDS",
    "MAX_ROWS",
    "UNIT_ROUNDOFF",
    "Block",
    "ColumnFunction",
    "CompensatedSum",
    "Cross",
    "KeepLargest",
    "Kind",
    "Layout",
    "Measure",
    "OnesByDegree",
    "Part",
    "Pieces",
    "Question",
    "Records",
    "Residual",
    "RowBlock",
    "Source",
    "Step",
    "View",
    "precision_of",
    "summation_error",
]
