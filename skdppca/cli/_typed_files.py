"""Tables that state the types of their columns: Parquet and Arrow."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._column_names import check_names, check_same
from ._terminal import replacing_errors, unlike

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as ds

# Kinds of files, as pyarrow calls them, and what a file of each kind is.
KINDS = {".parquet": "parquet", ".feather": "ipc", ".arrow": "ipc"}
WHAT = {"parquet": "a table that Parquet can read", "ipc": "a table that Arrow can read"}


@dataclass(frozen=True)
class TypedFiles:
    """Files that state the types of their columns.

    Parameters
    ----------
    files : list of Path
    kind : {"parquet", "ipc"}
    types : dict of str to pyarrow.DataType
        Types of the columns.
    labels : dict of str to pyarrow.DataType
        Types of an index that pandas wrote, and of keys in the names of folders (``key=value``):
        they are no features.
    """

    files: list[Path]
    kind: str
    types: dict[str, pa.DataType]
    labels: dict[str, pa.DataType]

    @classmethod
    def open(cls, files: list[Path]) -> TypedFiles:
        """Read the names and the types of the columns.

        Raises
        ------
        Unusable
        """
        import pyarrow.dataset as ds

        from ..out_of_core.file_table import index_columns

        kind = KINDS[files[0].suffix.lower()]
        types: dict[str, Any] = {}
        index: set[str] = set()
        for file in files:
            table = partial(ds.dataset, [str(file)], format=kind, partitioning=_keys(file))
            schema = replacing_errors(file, partial(unlike, file, WHAT[kind]), table).schema
            check_names(file, schema.names)
            check_same(files[0], file, sorted(types or schema.names), sorted(schema.names))
            index |= index_columns(schema) | set(_keys(file).schema.names)
            for name in schema.names:
                types[name] = _common(types.get(name), schema.field(name).type)
        labels = {name: types.pop(name) for name in sorted(index)}
        return cls(files, kind, types, labels)

    def dataset(self, schema: pa.Schema) -> ds.Dataset:
        """Some columns of all files."""
        import pyarrow.dataset as ds

        files = [str(file) for file in self.files]
        return ds.dataset(files, schema, self.kind, partitioning=_keys(self.files[0]))

    def fault(self) -> str:
        """Say what to do about files of which one cannot be read."""
        return unlike(self.files[0], WHAT[self.kind])


def _keys(file: Path) -> ds.Partitioning:
    """Return the keys in the names of a file's folders; all their values are text."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    keys = [part.partition("=")[0] for part in file.parts[:-1] if "=" in part]
    return ds.partitioning(pa.schema([(key, pa.string()) for key in keys]), flavor="hive")


def _common(one: Any, other: Any) -> Any:
    """The type of a column of several files; None if one has text and another one numbers."""
    import pyarrow as pa

    from ..out_of_core.column_types import is_label, is_number

    if one is None or one == other:
        return other
    if pa.types.is_integer(one) and pa.types.is_integer(other):
        return pa.int64()
    if is_number(one) and is_number(other):
        return pa.float64()
    text = is_label(one) and is_label(other) and not (is_number(one) or is_number(other))
    return pa.string() if text else pa.null()
