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
        found: dict[str, set[Any]] = {}
        index: set[str] = set()
        for file in files:
            table = partial(ds.dataset, [str(file)], format=kind, partitioning=_keys(file))
            schema = replacing_errors(file, partial(unlike, file, WHAT[kind]), table).schema
            check_names(file, schema.names)
            check_same(files[0], file, sorted(found or schema.names), sorted(schema.names))
            index |= index_columns(schema) | set(_keys(file).schema.names)
            for name in schema.names:
                found.setdefault(name, set()).add(schema.field(name).type)
        types = {name: _common(kinds) for name, kinds in found.items()}
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


def _common(kinds: set[Any]) -> Any:
    """Return the type of a column that has these in several files; null if no type is common.

    It follows from the declared types alone, in any order. A file in which the column has no entry,
    of the type null, leaves the others theirs; without any it is a column of numbers.
    """
    import pyarrow as pa

    from ..out_of_core.column_types import is_label, is_number

    kinds = {kind for kind in kinds if not pa.types.is_null(kind)} or {pa.float64()}
    if len(kinds) == 1:
        return next(iter(kinds))
    if all(map(pa.types.is_integer, kinds)):
        return pa.int64()
    if all(map(is_number, kinds)):
        return pa.float64()
    is_text = all(is_label(kind) and not is_number(kind) for kind in kinds)
    return pa.string() if is_text else pa.null()
