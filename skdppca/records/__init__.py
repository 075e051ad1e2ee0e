"""Records as blocks: rows, sparse rows or groups of rows, and the sums over them."""

from ._block import Block, ColumnFunction, Residual
from ._entries import Interactions, LargestEntries, SquaredDeviations
from ._numbers import CANCELLATION
from ._products import add_products
from ._records import MAX_ROWS, Records

__all__ = [
    "CANCELLATION",
    "MAX_ROWS",
    "Block",
    "ColumnFunction",
    "Interactions",
    "LargestEntries",
    "Records",
    "Residual",
    "SquaredDeviations",
    "add_products",
]
