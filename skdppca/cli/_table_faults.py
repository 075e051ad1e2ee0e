"""List the faults of the columns of a table in files. No cell is quoted, and no row counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from .._text import MAX_LISTED, names_a_label
from ._column_names import Wanted, check_alone, columns_to_look_at, features_of, label_faults
from ._csv_files import (
    INFINITE,
    MISSING,
    PLACEHOLDERS,
    REMEDIES,
    TEXT,
    TRUTH,
    WITH_COMMAS,
    CsvFiles,
    CsvFormat,
    check_header,
    faults_of,
    kinds_of,
)
from ._terminal import Unusable, replacing_errors
from ._typed_files import TypedFiles

if TYPE_CHECKING:
    import pyarrow as pa


def open_table(
    files: list[Path], form: CsvFormat, want: Wanted, every: bool
) -> tuple[CsvFiles | TypedFiles, pa.Schema, list[str]]:
    """Open files of one table, and list what a fit would refuse of their columns.

    Parameters
    ----------
    files : list of Path
    form : CsvFormat
    want : Wanted
    every : bool
        Also read the cells of files that state their types, and the labels of groups: a fit does
        that later.

    Returns
    -------
    found : CsvFiles or TypedFiles
    schema : pyarrow.Schema
        The features, then the groups; empty where something is wrong.
    faults : list of str
        Without the names of columns, where they may be a record.

    Raises
    ------
    Unusable
        If the cells cannot be looked at.
    """
    import pyarrow as pa

    first, is_csv = files[0], files[0].suffix.lower() == ".csv"
    found = CsvFiles.open(files, form) if is_csv else TypedFiles.open(files)
    places, faults = list(found.types), list[str]()
    others = {} if isinstance(found, CsvFiles) else found.labels
    types = {**found.types, **others}
    names = list(found.names) if isinstance(found, CsvFiles) else places

    def attempt(check: Callable[[], object], into: list[str] = faults) -> bool:
        try:
            check()
        except Unusable as error:
            into.append(str(error))
            return False
        return True

    features = columns_to_look_at(places, want, [*others])
    look = partial(_kinds_of_columns, found, features, want.may_be_empty, every)
    kinds, wrong = replacing_errors(first, found.fault, look)
    # a first line that may be a record is not quoted; one that lacks a name may be
    named, unnamed = True, [name for name in names if name.strip().lower() in PLACEHOLDERS]
    if features and not any(wrong[name] <= {MISSING, INFINITE} for name in features):
        faults.append(f"no column is numeric; {WITH_COMMAS}" if is_csv else "no column is numeric")
        given = {want.groups, *want.drop, *(want.columns or ())} & ({*names} - {*unnamed})
        named = bool(not is_csv or given or form.header)
    if is_csv and named and not attempt(lambda: check_header(first, names, form, want)):
        without = replace(want, columns=None, drop=[*want.drop, *unnamed])
        named = attempt(lambda: check_header(first, names, form, without), [])
    labels: set[str] = set()  # listed once: not as columns to be made numeric as well
    if named and attempt(lambda: features_of(first, names, want, [*others])):
        features = features_of(first, names, want, [*others])
        faults += label_faults(features)
        labels = set(filter(names_a_label, features))
        if want.groups is None and not (labels or want.alone):
            attempt(lambda: check_alone(first, [*names, *others], features))

    def called(chosen: Iterable[str]) -> str:
        names = [*chosen]
        if len(names) == len(features) > MAX_LISTED:
            return f"all {len(names)} features"
        quoted = [repr(name) if named else f"column {places.index(name) + 1}" for name in names]
        if len(names) > MAX_LISTED and not want.details:
            more = f"{len(names) - MAX_LISTED} more columns (--details names them)"
            quoted = [*quoted[:MAX_LISTED], more]
        return ", ".join(quoted)

    for kind in dict.fromkeys(kind for name in features for kind in sorted(wrong[name])):
        which = [name for name in features if kind in wrong[name] and name not in labels]
        if which and not (kind == MISSING and want.may_miss):
            what = kind if kind in (MISSING, INFINITE) else f"not numeric, {kind}"
            remedy = REMEDIES.get(kind, "give numbers")
            faults.append(f"{what}: {called(which)}; {remedy}, or pass --drop")
    if want.groups is not None and want.groups in types:
        kind = types[want.groups]
        look_at_groups = partial(_group_faults, found, want.groups, kind, every)
        faults += replacing_errors(first, found.fault, look_at_groups)
    if faults:
        return found, pa.schema([]), faults
    if is_csv:
        types = types | {
            name: pa.bool_() if TRUTH in kinds[name] else pa.float64() for name in features
        }
    chosen = [*features, *([] if want.groups is None else [want.groups])]
    return found, pa.schema([(name, types[name]) for name in chosen]), []


def _kinds_of_columns(
    found: CsvFiles | TypedFiles, features: Sequence[str], may_be_empty: bool, every: bool
) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Find the kinds of the cells of every feature, and those that are no finite numbers."""
    from ..out_of_core.column_types import is_number

    wrong, texts = {name: _type_faults(found.types[name]) for name in features}, set()
    decimal = found.form.decimal if isinstance(found, CsvFiles) else None
    if decimal is None:
        texts = {n for n in features if not wrong[n] and not is_number(found.types[n])}
    if decimal is None and not every:
        return {}, wrong | {name: {TEXT} for name in texts}
    looked_at = [name for name in features if not wrong[name]]
    kinds = kinds_of(found, looked_at, decimal, may_be_empty)
    return kinds, wrong | {name: faults_of(has, name in texts) for name, has in kinds.items()}


def _type_faults(kind: pa.DataType) -> set[str]:
    """Name the fault of a column's type, if it holds neither numbers nor text."""
    import pyarrow as pa

    from ..out_of_core.column_types import is_label, is_number

    if is_number(kind) or is_label(kind):
        return set()
    if pa.types.is_null(kind):
        return {"of types that do not go together"}
    return {"dates or times" if pa.types.is_temporal(kind) else f"of the type {kind}"}


def _group_faults(
    found: CsvFiles | TypedFiles, groups: str, kind: pa.DataType, every: bool
) -> list[str]:
    """List the faults of the type of the labels of groups, and of every label."""
    import pyarrow as pa

    from ..out_of_core.column_types import is_label
    from ..out_of_core.file_table import SORTED
    from ..out_of_core.files import wrong_labels

    if not is_label(kind):
        return [
            f"--groups {groups}: the column has the type {kind}; write it as whole numbers or as "
            "text, in all files alike: only such labels are equal to the bit"
        ]
    if not every:
        return []
    missing, unsorted = wrong_labels(found.dataset(pa.schema([(groups, kind)])), groups)
    return [
        *[f"missing labels: {groups!r}; give every row its group"] * missing,
        *[f"not sorted by {groups!r}; sort the table first: {SORTED.format(groups=groups)}"]
        * unsorted,
    ]
