"""Cells of a table, each looked at by itself: numbers, truths, and what others look like."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ._unusable import Unusable

if TYPE_CHECKING:
    import pyarrow as pa

    from ._csv_files import CsvFiles
    from ._typed_files import TypedFiles

# Texts that are read as truths.
TRUE, FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")

WITH_COMMAS = "pass --decimal ',' if decimals follow a comma"

# Kinds of cells that are no numbers, in the order in which a cell is tried: a pattern, and what to
# do. What is of none of these kinds is text.
PATTERNS = {
    "marks of missing values": (
        r"[.?*-]|\.[a-z_]|none|null|nil|n\.?a\.?|nd|missing",
        "leave such cells empty",
    ),
    "dates or times": (
        r"\d{4}([-/.])\d{1,2}[-/.]\d{1,2}([T ].*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}( .*)?"
        r"|\d{1,2}:\d{2}(:\d{2})?",
        "write days or hours since a public date",
    ),
    "detection limits": (
        r"[<>≤≥]=?\s*[\d.,]+\s*\S*",
        "write a number by a public rule, such as half of the limit (an empty cell would not do: "
        "it is not missing at random)",
    ),
    "decimals after a comma": (r"[+-]?\d+,\d+", WITH_COMMAS),
    "numbers with a unit": (
        r"[+-]?\d+([.,]\d+)?\s*\pL\S*|[+-]?\d+([.,]\d+)?\s*%",
        "write the unit into the column's name",
    ),
}
NUMBER, TRUTH = "numbers", "truths"
MISSING, INFINITE = "missing values", "infinite values"
TEXT, AS_TEXT = "text", "numbers stored as text"
REMEDIES = {kind: remedy for kind, (_, remedy) in PATTERNS.items()} | {
    TEXT: "encode categories as numbers by a public rule (where a value is missing, leave the cell "
    "empty)",
    AS_TEXT: "store them as numbers",
    MISSING: "pass --missing mean, or fill in public constants",
    INFINITE: "drop such rows, or fill in public constants",
}
NUMERAL = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf|infinity)"


def kinds_of(
    found: CsvFiles | TypedFiles,
    names: Sequence[str],
    decimal: str | None,
    may_be_empty: bool = False,
) -> dict[str, set[str]]:
    """Find the kinds of the cells of some columns.

    Parameters
    ----------
    found : CsvFiles or TypedFiles
    names : sequence of str
        Columns of numbers or of text.
    decimal : {".", ","} or None
        What stands before decimals in text that may be numbers; None where text is text.
    may_be_empty : bool
        Accept a table without rows.

    Raises
    ------
    Unusable
        If it has none.
    """
    import pyarrow as pa

    from ..records.batches import batches

    schema = pa.schema([(name, found.types[name]) for name in names])
    kinds: dict[str, set[str]] = {name: set() for name in names}
    is_empty = True
    for batch in batches(found.dataset(schema), schema.names) if names else ():
        is_empty = is_empty and not len(batch)
        for name in names:
            kinds[name] |= _kinds(batch.column(name), decimal)
    if names and is_empty and not may_be_empty:
        raise Unusable(f"{found.files[0].name} is empty; give at least one row and one feature")
    return kinds


def faults_of(kinds: set[str], is_stored_as_text: bool = False) -> set[str]:
    """Return the kinds of a column's cells that are no finite numbers, or not of one kind."""
    faults = kinds - {NUMBER, TRUTH}
    if TRUTH in kinds and kinds - {TRUTH, MISSING}:
        faults.add(TEXT)
    if is_stored_as_text and not faults - {MISSING}:
        faults.add(AS_TEXT)
    return faults


def numbers_in(cells: pa.Array, decimal: str) -> pa.Array | None:
    """Read cells of text as numbers; None if one is no number. Nothing is quoted."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if decimal != ".":
        if pc.any(pc.match_substring(cells, ".")).as_py():
            return None
        cells = pc.replace_substring(cells, decimal, ".")
    try:
        return pc.utf8_trim(cells, " \t").cast(pa.float64())
    except pa.ArrowInvalid:
        return None


def _kinds(cells: pa.Array, decimal: str | None) -> set[str]:
    import pyarrow as pa
    import pyarrow.compute as pc

    from ..records.files import is_number, numbers_of

    if pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    kinds = {MISSING} if cells.null_count else set()
    cells = cells.drop_null()
    if not len(cells):
        return kinds
    read = cells if is_number(cells.type) else numbers_in(cells, decimal) if decimal else None
    if read is not None:
        numbers = numbers_of(read)
        kinds |= {MISSING} if np.isnan(numbers).any() else set()
        kinds |= {INFINITE} if np.isinf(numbers).any() else set()
        return kinds | {NUMBER} if decimal else kinds
    if decimal is not None:
        truths = pc.is_in(cells, pa.array([*TRUE, *FALSE]))
        kinds |= {TRUTH} if pc.any(truths).as_py() else set()
        cells = cells.filter(pc.invert(truths))
    cells = pc.utf8_trim(cells, " \t")
    patterns = {kind: pattern for kind, (pattern, _) in PATTERNS.items()}
    if decimal is None:
        del patterns["decimals after a comma"]
    numeral = NUMERAL if decimal is None else NUMERAL.replace(r"\.", re.escape(decimal))
    for kind, pattern in ({NUMBER: numeral} | patterns).items():
        matches = pc.match_substring_regex(cells, f"(?i)^({pattern})$")
        kinds |= {kind} if pc.any(matches).as_py() else set()
        cells = cells.filter(pc.invert(matches))
    # what the reader takes for no number is a fault, whatever it looks like here
    unread = decimal is not None and kinds <= {NUMBER, MISSING}
    return kinds | ({TEXT} if len(cells) or unread else set())
