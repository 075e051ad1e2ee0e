"""``skdppca fit --check``: all that is wrong with a table, by column and kind.

No cell is quoted, and no row or count is told. Nothing is fitted or charged.
"""

from __future__ import annotations

from ..report._context import check_words
from ._column_names import Wanted
from ._context_file import context_of
from ._csv_files import CsvFormat
from ._parameter_options import Command, in_options
from ._read_rows import files_of, looked_at
from ._unusable import Unusable

CHARGED = " Nothing was charged."

# Said of every table, whatever is in it: which units it has is not looked at.
UNITS = (
    "Columns keep their units, so those with the largest numbers make the first components. If the "
    "units differ, fit with --scale private."
)


def check_table(options: Command, want: Wanted, form: CsvFormat) -> int:
    """Print all that a fit would refuse of a table; return 1 if there is something, else 0."""
    files, n_features = files_of(options.data), 0
    name = files[0].name if len(files) == 1 else "the table"
    try:
        rows, faults = looked_at(files, want, form, every=True)
        n_features = 0 if faults else rows.n_features
    except Unusable as error:
        faults = [in_options(str(error), type(options))]
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


def _wrong_words(options: Command) -> list[str]:
    """What is wrong with the title and the file of answers."""
    try:
        check_words(options.title, context_of(options.context))
    except (ValueError, TypeError, OSError, ImportError) as error:
        return [str(error)]
    return []
