"""Records as blocks: rows, sparse rows or groups of rows, and the sums over them."""

from ._block import Residual
from ._numbers import CANCELLATION
from ._records import MAX_ROWS, Records

__all__ = ["CANCELLATION", "MAX_ROWS", "Records", "Residual"]
