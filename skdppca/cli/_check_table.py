"""``skdppca fit --check``: all that is wrong with a table, by column and kind.

No cell is quoted, and no row or count is told. Nothing is fitted or charged.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING

from .._text import MAX_LISTED, names_a_label
from ..report._context import check_words
from ._column_names import check_alone, features_of, label_faults
from ._context_file import context_of
from ._csv_files import PLACEHOLDERS, WITH_COMMAS, CsvFiles, CsvFormat, are_truths, check_header
from ._parameter_options import parameters
from ._read_rows import answers_no_rows, check_installed, files_of, opened
from ._table_of_files import SORTED
from ._typed_files import KINDS, TypedFiles
from ._unusable import Unusable, replacing_errors

if TYPE_CHECKING:
    import pyarrow as pa

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
TEXT, AS_TEXT = "text", "numbers stored as text"
REMEDIES = {kind: remedy for kind, (_, remedy) in PATTERNS.items()} | {
    TEXT: "encode categories as numbers by a public rule (where a value is missing, leave the cell "
    "empty)",
    AS_TEXT: "store them as numbers",
}
CHARGED = " Nothing was charged."
NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf|infinity)"
MISSING = "pass --missing mean, or fill in public constants"
INFINITE = "drop such rows, or fill in public constants"

# Said of every table, whatever is in it: which units it has is not looked at.
UNITS = (
    "Columns keep their units, so those with the largest numbers make the first components. If the "
    "units differ, fit with --scale private."
)


def check_table(options: argparse.Namespace) -> int:
    """Print all that a fit would refuse of a table; return 1 if there is something, else 0."""
    files = files_of(options.data)
    name = files[0].name if len(files) == 1 else "the table"
    try:
        faults, n_features = _faults(files, options)
    except Unusable as error:
        faults, n_features = [str(error)], 0
    stated = _wrong_words(options)
    if not faults:
        print(f"{name}: no fault was found in its {n_features} features.{CHARGED * (not stated)}")
    else:
        print("\n".join([f"{name}: a fit would refuse it.", *(f"- {fault}" for fault in faults)]))
    print("".join(f"A fit would refuse this, too: {fault}.\n" for fault in stated), end="")
    if faults or stated:
        print(CHARGED.strip())
    elif options.scale is None and n_features > 1:
        print(UNITS)
    return 1 if faults or stated else 0


def _wrong_words(options: argparse.Namespace) -> list[str]:
    """What is wrong with the title and the file of answers."""
    try:
        check_words(options.title, context_of(options.context))
    except (ValueError, TypeError, OSError, ImportError) as error:
        return [str(error)]
    return []


def _faults(files: list[Path], options: argparse.Namespace) -> tuple[list[str], int]:
    """What is wrong, a line each; and how many features there are."""
    groups, columns, drop = options.groups, options.columns, options.drop
    form = CsvFormat(**parameters(options, signature(CsvFormat)))
    alone, may_miss = options.unit is not None, options.missing == "mean"
    is_csv = files[0].suffix.lower() == ".csv"
    if len({file.suffix.lower() for file in files}) > 1 or not (
        is_csv or files[0].suffix.lower() in KINDS
    ):
        empty = answers_no_rows(options)
        rows = opened(options.data, groups, form, may_miss, columns, drop, alone, empty)
        return [], rows.n_features
    check_installed(files[0])
    if is_csv:
        found: CsvFiles | TypedFiles
        found, names = CsvFiles.texts(files, form)
    else:
        found = TypedFiles.open(files)
        names = list(found.types)
    faults: list[str] = []

    def attempt(check: Callable[[], object]) -> bool:
        try:
            check()
        except Unusable as error:
            faults.append(str(error))
            return False
        return True

    # a first line that may be a record is not quoted; one that lacks a name may be
    unnamed = [name for name in names if name.strip().lower() in PLACEHOLDERS]
    if is_csv and not attempt(lambda: check_header(files[0], names, form, columns, drop)):
        named = _is_sound(lambda: check_header(files[0], names, form, columns, [*drop, *unnamed]))
    else:
        named = True
    places = list(found.types)
    features = [name for name in places if name not in (groups, *drop)]
    labels: set[str] = set()  # listed once: not as columns to be made numeric as well
    if named and attempt(lambda: features_of(files[0], names, groups, columns, drop)):
        features = features_of(files[0], names, groups, columns, drop)
        faults += label_faults(features)
        labels = set(filter(names_a_label, features))
        if groups is None and columns and not alone:
            attempt(lambda: check_alone(files[0], names, features))
    kinds = replacing_errors(
        files[0], found.fault, lambda: _kinds(found, features, answers_no_rows(options))
    )
    numeric = [name for name in features if not kinds[name] - {"missing", "infinite"}]
    if not numeric:
        faults.append("no column is numeric")
        # a first line without a column that the options name may be a record, too
        given = {groups, *drop, *(columns or ())} & ({*names} - {*unnamed})
        named = named and bool(not is_csv or given or form.header)

    def called(chosen: Iterable[str]) -> str:
        names = [*chosen]
        if len(names) == len(features) > MAX_LISTED:
            return f"all {len(names)} features"
        quoted = [repr(name) if named else f"column {places.index(name) + 1}" for name in names]
        if len(names) > MAX_LISTED and not options.details:
            more = f"{len(names) - MAX_LISTED} more columns (--details names them)"
            quoted = [*quoted[:MAX_LISTED], more]
        return ", ".join(quoted)

    for kind in dict.fromkeys(kind for name in features for kind in sorted(kinds[name])):
        which = [name for name in features if kind in kinds[name] and name not in labels]
        if not which:
            continue
        if kind not in ("missing", "infinite"):
            remedy = REMEDIES.get(kind, "give numbers")
            faults.append(f"not numeric, {kind}: {called(which)}; {remedy}, or pass --drop")
        elif kind == "infinite":
            faults.append(f"infinite values: {called(which)}; {INFINITE}")
        elif not may_miss:
            faults.append(f"missing values: {called(which)}; {MISSING}, or pass --drop")
    if groups in places:
        faults += replacing_errors(files[0], found.fault, partial(_group_faults, found, groups))
    return faults, len(features)


def _is_sound(check: Callable[[], object]) -> bool:
    """Whether a check refuses nothing."""
    try:
        check()
    except Unusable:
        return False
    return True


def _kinds(
    found: CsvFiles | TypedFiles, features: Sequence[str], may_be_empty: bool
) -> dict[str, set[str]]:
    """What of every feature is no finite number."""
    import pyarrow as pa

    from ..records.batches import batches
    from ..records.files import is_label, is_number

    kinds: dict[str, set[str]] = {name: set() for name in features}
    truths = dict.fromkeys(features, isinstance(found, CsvFiles))
    unlike: set[str] = set()
    for name in features:
        kind = found.types[name]
        if kind is None or pa.types.is_null(kind) or not (is_number(kind) or is_label(kind)):
            is_time = kind is not None and pa.types.is_temporal(kind)
            kinds[name] = {"dates or times" if is_time else f"of the type {kind}"}
            unlike.add(name)
    looked_at = [name for name in features if name not in unlike]
    if not looked_at:
        return kinds
    schema = pa.schema([(name, found.types[name]) for name in looked_at])
    empty = True
    for batch in batches(found.dataset(schema), looked_at):
        empty = empty and not len(batch)
        for name in looked_at:
            cells = batch.column(name)
            if is_number(cells.type):
                kinds[name] |= _of_numbers(cells)
                truths[name] = False
                continue
            if pa.types.is_dictionary(cells.type):
                cells = cells.dictionary_decode()
            truths[name] = truths[name] and are_truths(cells)
            kinds[name] |= _of_texts(cells, found)
    if empty and not may_be_empty:
        raise Unusable(f"{found.files[0].name} is empty; give at least one row and one feature")
    for name in looked_at:
        if truths[name]:
            kinds[name] -= {TEXT}
        elif not is_number(found.types[name]) and isinstance(found, TypedFiles):
            kinds[name] |= set() if kinds[name] - {"missing"} else {AS_TEXT}
    return kinds


def _of_numbers(cells: pa.Array) -> set[str]:
    import numpy as np

    from ..records.files import numbers_of

    numbers = numbers_of(cells)
    found = {"missing"} if cells.null_count or np.isnan(numbers).any() else set()
    return found | ({"infinite"} if np.isinf(numbers).any() else set())


def _of_texts(cells: pa.Array, found: CsvFiles | TypedFiles) -> set[str]:
    """The kinds of these cells; none for numbers, if text may be numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kinds: set[str] = set()
    missing = {"missing"} if cells.null_count else set()
    cells = pc.utf8_trim(cells.drop_null(), " \t")
    unreadable = isinstance(found, CsvFiles) and len(cells) > 0
    if isinstance(found, CsvFiles):
        if found.are_numbers(cells):
            point = found.form.decimal
            numbers = cells if point == "." else pc.replace_substring(cells, point, ".")
            return missing | _of_numbers(numbers.cast(pa.float64()))
    cells = _without(cells, _number(found))
    for kind, (pattern, _) in PATTERNS.items():
        if kind == "decimals after a comma" and not isinstance(found, CsvFiles):
            continue
        left = _without(cells, pattern)
        kinds |= {kind} if len(left) < len(cells) else set()
        cells = left
    # what the reader takes for no number is a fault, whatever it looks like here
    return missing | kinds | ({TEXT} if len(cells) or (unreadable and not kinds) else set())


def _number(found: CsvFiles | TypedFiles) -> str:
    decimal = found.form.decimal if isinstance(found, CsvFiles) else "."
    return NUMBER.replace(r"\.", re.escape(decimal))


def _without(cells: pa.Array, pattern: str) -> pa.Array:
    """The cells that a pattern does not match as a whole."""
    import pyarrow.compute as pc

    return cells.filter(pc.invert(pc.match_substring_regex(cells, f"(?i)^({pattern})$")))


def _group_faults(found: CsvFiles | TypedFiles, groups: str) -> list[str]:
    """What is wrong with the labels of groups."""
    import pyarrow as pa

    from ..records.files import is_label, wrong_labels

    kind = found.types[groups]
    if kind is None or not is_label(kind):
        return [f"--groups {groups}: the column has the type {kind}; give whole numbers or text"]
    missing, unsorted = wrong_labels(found.dataset(pa.schema([(groups, kind)])), groups)
    return [
        *[f"missing labels: {groups!r}; give every row its group"] * missing,
        *[f"not sorted by {groups!r}; " + SORTED.format(groups=groups)] * unsorted,
    ]
