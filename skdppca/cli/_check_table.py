"""``skdppca fit --check``: all that is wrong with a table, by column and kind.

No cell is quoted, and no row or count is told. Nothing is fitted or charged.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING

from .._text import MAX_LISTED, names_a_label
from ..report._context import check_words
from ._cells import INFINITE, MISSING, REMEDIES, faults_of, kinds_of
from ._column_names import check_alone, columns_to_look_at, features_of, label_faults
from ._context_file import context_of
from ._csv_files import PLACEHOLDERS, CsvFiles, CsvFormat, check_header
from ._parameter_options import parameters
from ._read_rows import answers_no_rows, check_installed, files_of, opened
from ._typed_files import KINDS, TypedFiles
from ._unusable import SORTED, Unusable, replacing_errors

if TYPE_CHECKING:
    import pyarrow as pa

CHARGED = " Nothing was charged."
FILLED = "pass --missing mean, or fill in public constants"
DROPPED = "drop such rows, or fill in public constants"

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
    features = columns_to_look_at(places, groups, columns, drop)
    looked_at = partial(_column_faults, found, features, answers_no_rows(options))
    kinds = replacing_errors(files[0], found.fault, looked_at)
    if not any(kinds[name] <= {MISSING, INFINITE} for name in features):
        faults.append("no column is numeric")
        # a first line without a column that the options name may be a record, too
        given = {groups, *drop, *(columns or ())} & ({*names} - {*unnamed})
        named = named and bool(not is_csv or given or form.header)
    labels: set[str] = set()  # listed once: not as columns to be made numeric as well
    if named and attempt(lambda: features_of(files[0], names, groups, columns, drop)):
        faults += label_faults(features)
        labels = set(filter(names_a_label, features))
        if groups is None and columns and not alone:
            attempt(lambda: check_alone(files[0], names, features))

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
        if kind == INFINITE:
            faults.append(f"infinite values: {called(which)}; {DROPPED}")
        elif kind != MISSING:
            remedy = REMEDIES.get(kind, "give numbers")
            faults.append(f"not numeric, {kind}: {called(which)}; {remedy}, or pass --drop")
        elif not may_miss:
            faults.append(f"missing values: {called(which)}; {FILLED}, or pass --drop")
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


def _column_faults(
    found: CsvFiles | TypedFiles, features: Sequence[str], may_be_empty: bool
) -> dict[str, set[str]]:
    """What of every feature is no finite number."""
    faults, texts = {name: _type_faults(found.types[name]) for name in features}, set()
    decimal = found.form.decimal if isinstance(found, CsvFiles) else None
    if decimal is None:
        texts = {name for name in features if not found.is_number(name)}
    looked_at = [name for name in features if not faults[name]]
    kinds = kinds_of(found, looked_at, decimal, may_be_empty)
    return faults | {name: faults_of(has, name in texts) for name, has in kinds.items()}


def _type_faults(kind: pa.DataType | None) -> set[str]:
    """Name the fault of a column's type, if it holds neither numbers nor text."""
    import pyarrow as pa

    from ..records.files import is_label, is_number

    if kind is not None and not pa.types.is_null(kind) and (is_number(kind) or is_label(kind)):
        return set()
    is_time = kind is not None and pa.types.is_temporal(kind)
    return {"dates or times" if is_time else f"of the type {kind}"}


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
