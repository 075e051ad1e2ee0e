"""Records as blocks: rows, sparse rows or groups of rows, and the sums over them."""

from ._records import MAX_ROWS, Records

__all__ = ["MAX_ROWS", "Records"]
