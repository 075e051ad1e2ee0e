"""Batches of rows from files, by readers that wait for whoever uses the rows.

A scanner of pyarrow does not wait: it goes on to the end of a file while a batch is used, and holds
all that it has read by then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq

# Bytes that are read from a Parquet file at a time, of all columns; and of one at least.
BUFFER_BYTES = 2**24
LEAST_BUFFER = 2**14


def batches(
    dataset: ds.Dataset, columns: Sequence[str], size: int = 2**16
) -> Iterator[pa.RecordBatch]:
    """Some columns of a dataset in its order, of which little is in memory at a time.

    Of a Parquet file that is a page of every column, of a ``.csv`` some tens of its blocks, and of
    an Arrow file one record batch. A ``.csv`` is read with the types of the dataset's schema: none
    is inferred from its first rows.

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


def value_type(schema: pa.Schema, name: str) -> pa.DataType:
    """The type of a column's values, whether or not they are encoded."""
    kind = schema.field(name).type
    return kind.value_type if pa.types.is_dictionary(kind) else kind


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
