"""Numbers and tables as text."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["aligned", "percent"]

# A smaller missing share is shown as 100%.
LEAST_MISSED = 1e-6


def percent(share: float) -> str:
    """Format a share with enough digits to show how much of 1 is missing."""
    missed = 1.0 - share
    if missed < LEAST_MISSED:
        return "100%"
    return f"{share:.{max(1, math.ceil(-math.log10(missed)) - 1)}%}"


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Format the rows of a table as lines with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
