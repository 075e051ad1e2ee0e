"""Reading and writing of files: JSON in one reading only, and files that are whole."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

# Most characters of a report's JSON: names, means and scales of a million features take half.
MAX_LENGTH = 2**27


def parse_json(text: str, most: int = MAX_LENGTH) -> Any:
    """Return what a JSON text holds; refuse one that could be read in two ways, or is too large.

    Parameters
    ----------
    text : str
    most : int
        Characters that it can have.

    Raises
    ------
    ValueError
        If it is no JSON, too long or too deep, names a key twice, or holds NaN or Infinity.
    """
    if len(text) > most:
        raise ValueError(f"it is longer than {most} characters")
    try:
        return json.loads(text, object_pairs_hook=_unambiguous, parse_constant=_no_number)
    except RecursionError:
        pass
    raise ValueError("it is nested too deeply")


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("it names a key twice")
    return record


def _no_number(text: str) -> Any:
    raise ValueError(f"it holds {text}, which is no number in JSON")


@contextmanager
def replaced(path: Path, mode: int = 0o600) -> Iterator[BinaryIO]:
    """Open a file that takes the place of `path` at the end of the block: whole, or not at all.

    It is on the disk then. Until then, `path` is as it was, and another process may read it.

    Parameters
    ----------
    path : Path
    mode : int, default=0o600
        Who may use the file, less the umask; by default only this user.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replaced(Path(folder) / "text") as file:
    ...         _ = file.write(b"all of it")
    ...     [(path.name, path.read_text()) for path in Path(folder).iterdir()]
    [('text', 'all of it')]
    """
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with open(os.open(part, flags, mode), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
    synced(path.parent)


def synced(folder: Path) -> None:
    """Put a folder's entries onto the disk."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
