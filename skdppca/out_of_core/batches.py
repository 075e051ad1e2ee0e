"""Batches of rows from files, by readers that wait for whoever uses the rows.

A scanner of pyarrow does not wait: it goes on to the end of a file while a batch is used, and holds
all that it has read by then.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from .column_types import value_type

# Bytes that are read from a Parquet file at a time, of all columns; and of one at least.
BUFFER_BYTES = 2**24
LEAST_BUFFER = 2**14


def batches(
    dataset: ds.Dataset, columns: Sequence[str], size: int = 2**16
) -> Iterator[pa.RecordBatch]:
    """Some columns of a dataset in its order, of which little is in memory at a time.

    For a Parquet file that is a page of every column, for a ``.csv`` some tens of its blocks, and
    for an Arrow file one record batch. A ``.csv`` is read with the types of the dataset's schema:
    none is inferred from its first rows.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
    columns : sequence of str
        One or more.
    size : int, default=65536
        Rows of a batch at most, where the kind of file lets that be chosen: not of a ``.csv``.
    """
    try:
        fragments = list(dataset.get_fragments())
    except ValueError:  # of a dataset that was filtered
        yield from _filtered(dataset, columns, size)
        return
    for fragment in fragments:
        yield from _fragment(fragment, dataset.schema, columns, size)


def _filtered(dataset: ds.Dataset, columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
    """The rows that a filter keeps, which stands nowhere else than where pyarrow looks for it."""
    keep, schema = dataset._scan_options["filter"], dataset.schema
    for fragment in ds.UnionDataset(schema, [dataset]).get_fragments(filter=keep):
        if isinstance(fragment, ds.ParquetFileFragment):
            fragment = fragment.subset(keep, schema=schema)
        for batch in _fragment(fragment, schema, schema.names, size):
            rows = ds.dataset(pa.Table.from_batches([batch]).cast(schema))
            yield from rows.to_batches(columns=[*columns], filter=keep)


def _fragment(
    fragment: ds.Fragment, schema: pa.Schema, columns: Sequence[str], size: int
) -> Iterator[pa.RecordBatch]:
    """A part of a dataset. A column that is not in its file is in the names of folders, or null."""
    if isinstance(fragment, ds.ParquetFileFragment):
        read = _parquet
    elif isinstance(getattr(fragment, "format", None), ds.CsvFileFormat):
        read = _csv
    elif isinstance(getattr(fragment, "format", None), ds.IpcFileFormat):
        read = _arrow
    else:  # rows in memory, and kinds of files that nobody reads piece by piece
        ahead = {"batch_readahead": 2, "fragment_readahead": 1}
        scanner = fragment.scanner(schema=schema, columns=[*columns], batch_size=size, **ahead)
        yield from scanner.to_batches()
        return
    known = ds.get_partition_keys(fragment.partition_expression)
    here = {*fragment.physical_schema.names} - {*known}
    chosen = pa.schema([schema.field(name) for name in columns if name in here])
    for batch in read(fragment, chosen, size):
        yield pa.RecordBatch.from_arrays(
            [
                batch.column(name)
                if name in here
                else pa.repeat(pa.scalar(known.get(name), value_type(schema, name)), len(batch))
                for name in columns
            ],
            names=columns,
        )


def _parquet(fragment: Any, chosen: pa.Schema, size: int) -> Iterator[pa.RecordBatch]:
    """Batches by a reader that holds pages; a scanner holds row groups."""
    buffer = max(LEAST_BUFFER, BUFFER_BYTES // max(1, len(chosen)))
    with fragment.open() as source:
        file = pq.ParquetFile(source, pre_buffer=False, buffer_size=buffer)
        groups = [group.id for group in fragment.row_groups]
        yield from file.iter_batches(batch_size=size, row_groups=groups, columns=chosen.names)


def _csv(fragment: Any, chosen: pa.Schema, size: int) -> Iterator[pa.RecordBatch]:
    """One batch a block. At most 32 blocks wait to be parsed, and none to be used."""
    names, parse = fragment.physical_schema.names, fragment.format.parse_options
    options = fragment.format.default_fragment_scan_options
    read, convert = options.read_options, options.convert_options
    read.use_threads = False  # cores do not decide how many are at work
    if len(names) == 1:
        parse.ignore_empty_lines = False  # each is a row whose cell is empty
    types = dict.fromkeys(names, pa.binary())  # of what is not asked for
    convert.column_types = types | {field.name: field.type for field in chosen}
    convert.include_columns = chosen.names
    convert.include_missing_columns = False
    source = fragment.filesystem.open_input_stream(fragment.path)
    yield from pyarrow.csv.open_csv(source, read, parse, convert)


def _arrow(fragment: Any, chosen: pa.Schema, size: int) -> Iterator[pa.RecordBatch]:
    """The record batches that were written."""
    names = fragment.physical_schema.names
    options = pa.ipc.IpcReadOptions(included_fields=[names.index(name) for name in chosen.names])
    with fragment.open() as source:
        file = pa.ipc.open_file(source, options=options)
        for i in range(file.num_record_batches):
            yield file.get_batch(i)


# A reader takes what stands between two quotation marks for one cell, with all its line breaks. So
# a mark that one record has left open would swallow the records behind it.
MARK = '"'


def well_quoted(
    lines: Iterable[str], delimiter: str, line_breaks: bool = True, mark: str = MARK
) -> bool:
    r"""Return whether quotation marks enclose whole cells only, or are doubled within one.

    So says RFC 4180: then the cells are the same for every reader, and no record decides how
    another is read.

    Parameters
    ----------
    lines : iterable of str
        With their ends, as a file gives them that was opened with ``newline=""``.
    delimiter : str
        What stands between cells.
    line_breaks : bool, default=True
        Whether a cell may have some.
    mark : str, default='"'
        The quotation mark.

    Examples
    --------
    >>> well_quoted(['a,b\n', '1,"5"" tube"\n'], ",")
    True
    >>> well_quoted(['a,b\n', '1," open\n', '2,3\n'], ",")
    False
    """
    quoted: bool | None = False
    for line in lines:
        if quoted or mark in line:
            quoted = _end_of(line, delimiter, mark, bool(quoted))
            if quoted is None or (quoted and not line_breaks):
                return False
    return not quoted


def _end_of(line: str, delimiter: str, mark: str, quoted: bool) -> bool | None:
    """Return whether a quoted cell is open at the line's end; None if a mark is out of place."""
    at = 0
    while True:
        if quoted:
            place = line.find(mark, at)
            if place < 0:
                return True
            behind = line[place + 1 : place + 2]
            if behind == mark:
                at = place + 2
            elif behind == delimiter:
                at, quoted = place + 2, False
            else:
                return False if behind in ("", "\r", "\n") else None
        elif line.startswith(mark, at):
            at, quoted = at + 1, True
        else:
            end = line.find(delimiter, at)
            if mark in line[at : len(line) if end < 0 else end]:
                return None
            if end < 0:
                return False
            at = end + 1


def is_well_quoted(filesystem: Any, file: str, form: Any) -> bool:
    """Return whether the quotation marks of a .csv stand where `ParseOptions` allow them."""
    if form.escape_char is not False or not form.double_quote:
        return False  # another grammar, in which one record may swallow the next
    if form.quote_char is False:
        return True
    mark = form.quote_char.encode()
    with filesystem.open_input_stream(file) as content:
        if not any(mark in block for block in iter(lambda: content.read(2**20), b"")):
            return True
    with filesystem.open_input_stream(file) as content:
        lines = io.TextIOWrapper(content, encoding="utf-8-sig", errors="replace", newline="")
        return well_quoted(lines, form.delimiter, form.newlines_in_values, form.quote_char)
