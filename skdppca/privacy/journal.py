"""What SQLite left beside a ledger in a crash, and whether it may still be applied.

SQLite writes the pages that a charge is about to change into a journal, then the ledger, and then
deletes the journal. After a crash it puts these pages back. The journal is named after the ledger,
and does not follow when the ledger is renamed. So a ledger that was renamed after a crash, charged,
and renamed back finds a journal from before these charges, which would undo them.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

_MAGIC = bytes.fromhex("d9d505f920a163d7")
_CHECKSUM = 4
# In the first page: a number that every commit raises by one.
_COUNTER = slice(24, 28)
# The bytes that SQLite locks on POSIX: all of them for one who writes.
_LOCKED = 0x40000000
_WIDTH = 512


def settle(path: str, stands: Callable[[sqlite3.Connection], bool]) -> bool:
    """Delete a journal that is not needed; return whether SQLite may apply one that is there.

    A ledger that is whole as it stands needs no journal. It may have one charge more than with its
    journal, and it has all that any name of it was charged for. A ledger that a crash left half
    written needs the journal of that very crash.

    Parameters
    ----------
    path : str
        The ledger, which no other process uses in this way.
    stands : callable
        Whether all of the file that a connection reads is whole.

    Returns
    -------
    bool
    """
    path = os.path.realpath(path)
    journal = f"{path}-journal"
    try:
        before = _first_page_of(journal)
    except FileNotFoundError:
        return True
    if before is None or not os.path.getsize(path):
        return True  # SQLite does not apply it either
    status = os.stat(path)
    uri = f"{Path(path).as_uri()}?immutable=1"  # which reads no journal
    with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as db:
        whole = stands(db)
    if whole:
        _delete(journal, path, status.st_mtime_ns)
        return True
    with open(path, "rb") as file:
        now = file.read(_COUNTER.stop)[_COUNTER]
    commits = int.from_bytes(now, "big") - int.from_bytes(before[_COUNTER], "big")
    return commits in (0, 1)


def _first_page_of(journal: str) -> bytes | None:
    """The ledger's first page, as the journal has it; None if the journal was not complete."""
    with open(journal, "rb") as file:
        header = file.read(28)
        sector, page = (int.from_bytes(header[i : i + 4], "big") for i in (20, 24))
        if header[:8] != _MAGIC or header[8:12] == bytes(4) or not sector:
            return None
        file.seek(sector)
        while len(record := file.read(4 + page + _CHECKSUM)) == 4 + page + _CHECKSUM:
            if int.from_bytes(record[:4], "big") == 1:
                return record[4:-_CHECKSUM]
    return None


def _delete(journal: str, path: str, modified: int) -> None:
    """Delete the journal once the ledger is on the disk, unless another program writes to it."""
    with open(path, "r+b") as file:
        if sys.platform != "win32":
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, _WIDTH, _LOCKED)
            except BlockingIOError:
                return
        if os.fstat(file.fileno()).st_mtime_ns == modified:
            os.fsync(file.fileno())
            with suppress(FileNotFoundError):
                os.unlink(journal)
