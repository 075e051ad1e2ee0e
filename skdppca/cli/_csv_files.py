"""Tables of text: what their columns hold, and what is wrong with a file that cannot be read."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import numpy as np

from ._column_names import Wanted, check_names, check_same, is_name, numbered
from ._terminal import Unusable, replacing_errors, unlike

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.csv as pcsv
    import pyarrow.dataset as ds

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
    "thousands separators": (
        r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?",
        "write 1,234 as 1234; only if it is 1.234, pass --decimal ','",
    ),
    "decimals after a comma": (r"[+-]?\d+,\d+", WITH_COMMAS),
    "another notation": (
        r"\([\d.,]+\)|[\d.,]+-|[−–]\s*[\d.,]+|[+-]?[\d.,]+d[+-]?\d+|0x[0-9a-f]+",
        "write numbers as in -2.5 and 1.5e3",
    ),
    "amounts of money": (
        r"[+-]?\p{Sc}\s*[+-]?[\d.,]+|[+-]?[\d.,]+\s*\p{Sc}",
        "write the currency into the column's name",
    ),
    "numbers with a unit": (
        r"[+-]?\d+([.,]\d+)?\s*\pL\S*|[+-]?\d+([.,]\d+)?\s*%",
        "write the unit into the column's name",
    ),
}
NUMBER, TRUTH = "numbers", "truths"
THOUSANDS, COMMAS = "thousands separators", "decimals after a comma"
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

    from ..out_of_core.batches import batches

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
    if COMMAS in faults:  # what is three digits behind a comma may be decimals in other cells
        faults -= {THOUSANDS}
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

    from ..out_of_core.column_types import is_number, numbers_of

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
        del patterns[COMMAS], patterns[THOUSANDS]
    numeral = NUMERAL if decimal is None else NUMERAL.replace(r"\.", re.escape(decimal))
    for kind, pattern in ({NUMBER: numeral} | patterns).items():
        matches = pc.match_substring_regex(cells, f"(?i)^({pattern})$")
        kinds |= {kind} if pc.any(matches).as_py() else set()
        cells = cells.filter(pc.invert(matches))
    # what the reader takes for no number is a fault, whatever it looks like here
    unread = decimal is not None and kinds <= {NUMBER, MISSING}
    return kinds | ({TEXT} if len(cells) or unread else set())


# Texts that name no column.
PLACEHOLDERS = {"", "na", "n/a", "#n/a", "nan", "-nan", "null", "none", "<na>"}

# The least bytes that are read at a time.
BLOCK_BYTES = 2**20
# The bytes of every cell for which a line fits in.
CELL_BYTES = 2**8

# Marks between cells, and their form on a command line.
DELIMITERS = {",": "','", ";": "';'", "|": "'|'", "\t": "tab"}

# First bytes of files that are no text, or text in two bytes a letter; and a remedy.
PACKED = dict.fromkeys(
    (b"\xff\xfe", b"\xfe\xff", b"\0"),
    "is in UTF-16; convert it: iconv -f utf-16 -t utf-8, or save it as CSV UTF-8",
) | {
    b"\x1f\x8b": "is packed; unpack it, for example with gunzip, and name it .csv then",
    b"PK\x03\x04": "is a workbook or an archive; save its table as CSV UTF-8, or unpack it",
    b"\xd0\xcf\x11\xe0": "is a workbook of Excel; save its table as CSV UTF-8",
}

WHAT = "a table with as many cells in every line, none of them longer than a million bytes"


@dataclass(frozen=True)
class CsvFormat:
    r"""Format of a table that is written as text.

    Parameters
    ----------
    header : bool or None
        Whether the first line holds the columns' names. With None it does if every cell of it looks
        like a name, and otherwise the file is refused.
    delimiter : {",", ";", "|", "\t"}
        What stands between cells.
    decimal : {".", ","}
        What stands before decimals.
    """

    header: bool | None = None
    delimiter: str = ","
    decimal: str = "."

    @property
    def parse_options(self) -> pcsv.ParseOptions:
        """Return the options by which pyarrow cuts lines into cells."""
        import pyarrow.csv

        return pyarrow.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True)


# With names in the first line, a comma between cells, and a point before decimals.
USUAL = CsvFormat()


@dataclass(frozen=True)
class CsvFiles:
    """Files of text, whose cells are read one by one: none decides how another is read.

    Parameters
    ----------
    files : list of Path
    form : CsvFormat
    skipped : int
        Lines of each file before the first record.
    types : dict of str to pyarrow.DataType
        Types of the columns: text.
    names : tuple of str
        Names of the columns in the first line, where one may be there twice.
    """

    files: list[Path]
    form: CsvFormat
    skipped: int
    types: dict[str, pa.DataType]
    names: tuple[str, ...] = ()

    @classmethod
    def open(cls, files: list[Path], form: CsvFormat) -> CsvFiles:
        """The files with every column as text; none of the columns' names is checked.

        Groups stay text. If they were read as numbers where possible, one record could decide which
        groups of other records are equal ("1" and "01").

        Raises
        ------
        Unusable
            If the files are not of one form.
        """
        import pyarrow as pa

        heads = [
            replacing_errors(file, cls([file], form, 0, {}).fault, partial(_first_line, file, form))
            for file in files
        ]
        for file in files:
            _check_quotes(file, form)
        first, lines = heads[0]
        unnamed = form.header is False
        names = numbered(len(first)) if unnamed else first
        for file, (other, _) in zip(files, heads, strict=True):
            check_same(files[0], file, names, numbered(len(other)) if unnamed else other)
        # none is quoted before there is a column of numbers
        places = numbered(len(names)) if len({*names}) < len(names) else names
        skipped = 0 if unnamed else lines
        return cls(files, form, skipped, dict.fromkeys(places, pa.string()), tuple(names))

    def dataset(self, schema: pa.Schema) -> ds.Dataset:
        """Some columns of all files."""
        import pyarrow.csv
        import pyarrow.dataset as ds

        block = max(BLOCK_BYTES, CELL_BYTES * len(self.types))
        form = ds.CsvFileFormat(
            parse_options=self.form.parse_options,
            read_options=pyarrow.csv.ReadOptions(
                column_names=list(self.types), skip_rows=self.skipped, block_size=block
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                strings_can_be_null=True,
                true_values=list(TRUE),
                false_values=list(FALSE),
                decimal_point=self.form.decimal,
            ),
        )
        files = [str(file) for file in self.files if self._goes_on(file)]
        if not files:
            return ds.dataset(schema.empty_table())
        return ds.dataset(files, schema=schema, format=form)

    def fault(self) -> str:
        """Say what is wrong with the first file that cannot be read, and what to do.

        No cell is quoted, and no line is named.
        """
        mark = DELIMITERS[self.form.delimiter]
        for file in self.files:
            begins = b""
            with suppress(OSError), file.open("rb") as content:
                begins = content.read(4)
            for start, wrong in PACKED.items():
                if begins.startswith(start) or begins[1:2] == start:
                    return f"{file.name} {wrong}"
            try:
                with file.open(newline="", encoding="utf-8-sig") as text:
                    lines = csv.reader(text, delimiter=self.form.delimiter)
                    first = {len(cells) for cells in islice(filter(None, lines), 1)}
                    others = {len(cells) for cells in lines if cells}
            except UnicodeError:
                return (
                    f"{file.name} is not in UTF-8; convert it, from utf-16 or from latin1: iconv "
                    f"-f latin1 -t utf-8 {quote(str(file))} > utf8.csv (in Excel: save it as CSV "
                    "UTF-8)"
                )
            except (csv.Error, OSError):
                return unlike(file, WHAT)
            if others == {length + 1 for length in first}:
                return (
                    f"{file.name} has one name less in its first line than cells in the others, as "
                    "R writes row names; write it without: write.csv(x, row.names = FALSE)"
                )
            if len(first | others) > 1:
                return (
                    f"{file.name} has a line with more or fewer cells than its first line; "
                    f"complete such lines, and put a cell with {mark} in it in quotation marks"
                    + (f" (a number, too; then {WITH_COMMAS})" if mark == "','" else "")
                )
        return unlike(self.files[0], WHAT)

    def _goes_on(self, file: Path) -> bool:
        """Return whether anything follows the header; pyarrow opens no file that ends there."""
        with file.open(newline="", encoding="utf-8-sig", errors="replace") as lines:
            return next(islice(lines, self.skipped, None), None) is not None


def _first_line(path: Path, form: CsvFormat) -> tuple[list[str], int]:
    """The cells of the first line that is not empty, and the number of that line."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file, delimiter=form.delimiter)
        for cells in reader:
            if cells:
                _check_delimiter(path, cells, form)
                return cells, reader.line_num
    raise Unusable(f"{path.name} is empty; give at least one row and one feature")


def _check_quotes(file: Path, form: CsvFormat) -> None:
    """Refuse a mark that one record has left open: others would be read as a part of its cell."""
    from pyarrow.fs import LocalFileSystem

    from ..out_of_core.batches import is_well_quoted

    read = partial(is_well_quoted, LocalFileSystem(), str(file), form.parse_options)
    if not replacing_errors(file, partial(unlike, file, WHAT), read):
        raise Unusable(
            f"{file.name} has a quotation mark within a cell, or one that ends no cell; put the "
            'cell in quotation marks and write the mark twice in it ("5"" tube"), or remove it'
        )


def _check_delimiter(path: Path, first: list[str], form: CsvFormat) -> None:
    """Refuse a line of one cell that has another delimiter in it."""
    if first[0].lower().startswith("sep="):
        raise Unusable(f"{path.name} begins with sep=, a line for Excel; delete that line")
    others = [mark for mark in DELIMITERS if mark != form.delimiter and mark in first[0]]
    if len(first) == 1 and not others and len(first[0].split()) > 2:
        raise Unusable(
            f"{path.name} begins with a comment, or has blanks between cells; delete comments, and "
            "write a comma between cells"
        )
    if len(first) > 1 or not others:
        return
    here, wanted = (DELIMITERS[mark] for mark in (others[0], form.delimiter))
    hint = "" if form.decimal == "," or others[0] == "," else f", and {WITH_COMMAS}"
    raise Unusable(
        f"{path.name} has {here} between cells, and not {wanted}; pass --delimiter {here}{hint}"
    )


def check_header(path: Path, first: list[str], form: CsvFormat, want: Wanted) -> None:
    """Refuse a first line that may be a record, without quoting it."""
    if form.header is False:
        return
    unnamed = [i for i, text in enumerate(first) if text.strip().lower() in PLACEHOLDERS]
    if form.header is None and not all(
        is_name(text) for i, text in enumerate(first) if i not in unnamed
    ):
        raise Unusable(
            f"{path.name} has numbers, or what is no name, in its first line, which may be a "
            "record and not the columns' names; pass --header if they are names, or --no-header"
        )
    refused = [i for i in unnamed if want.as_feature(first[i]) or first[i] == want.groups]
    if refused:
        name = first[refused[0]]
        own = (
            "" if not name.strip() else f" If {name!r} is a name, as of sodium, rename the column."
        )
        raise Unusable(
            f"{path.name} has no name for column {refused[0] + 1}; leave it out: --drop "
            f"{quote(name)}. If it holds row numbers, you can also write the table without them: "
            f"in R write.csv(x, row.names = FALSE), in pandas to_csv(index=False).{own}"
        )
    check_names(path, first)
