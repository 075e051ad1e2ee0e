"""Records as blocks: rows, sparse rows or groups of rows, and the sums over them."""

from ._block import Block, Residual
from ._numbers import CANCELLATION
from ._records import MAX_ROWS, Records

__all__ = ["CANCELLATION", "MAX_ROWS", "Block", "Records", "Residual"]
