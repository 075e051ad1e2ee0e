"""Records as blocks: rows, sparse rows or groups of rows, and the sums over them."""

from ._block import Block, ColumnFunction, Residual, RowBlock
from ._compensated import CompensatedSum
from ._entries import Interactions, LargestEntries, SquaredDeviations
from ._numbers import CANCELLATION
from ._records import Layout, Measurable, Records
from ._single_rows import MeanRows
from .pieces import Part, Pieces, Question
from .rounding import MAX_ROWS, UNIT_ROUNDOFF, summation_error

__all__ = [
    "CANCELLATION",
    "MAX_ROWS",
    "UNIT_ROUNDOFF",
    "Block",
    "ColumnFunction",
    "CompensatedSum",
    "Interactions",
    "LargestEntries",
    "Layout",
    "MeanRows",
    "Measurable",
    "Part",
    "Pieces",
    "Question",
    "Records",
    "Residual",
    "RowBlock",
    "SquaredDeviations",
    "summation_error",
]
