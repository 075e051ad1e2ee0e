"""A budget that lives in an SQLite file, for all processes and for years.

One table, ``chain``: row 0 holds the budget, every other row a charge or what it released. A
charge verifies the rows, checks the budget and inserts its own row, and noise is drawn only after
that is on the disk. A crash can therefore waste budget, but never release anything without a
charge. The table accepts no changes of its rows. Changes made to the file by other means are found
by the hash chain, by ledger objects, which remember the last row they saw, and by the receipts.

All of this happens under a lock on the *folder* of the file. SQLite has locks of its own, but a
POSIX process loses them as soon as one of its threads opens and closes the file, for example to
copy it. The lock on the folder ends with the process that holds it, and not before. It needs no
lock file, which could be deleted while it is in use or be out of reach for other users.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Never, TypeVar

from ..exceptions import LedgerError
from .accountant import BaseAccountant, alone, check_not_forked, here
from .chain import Chain, ChainRow, Terms
from .journal import settle
from .strength import warn_if_weak
from .units import check_unit

if sys.platform == "win32":
    from filelock import FileLock
else:
    import fcntl

T = TypeVar("T")

_APPLICATION = 0x736B6470  # "skdp"
# Versions of a ledger without cohorts, and of one that may have them: charged for one, or made for
# people who are in several.
_VERSION = 2
_WITH_COHORTS = 3
_BUSY_SECONDS = 60
_TABLE = (
    "CREATE TABLE chain"
    " (row INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT NOT NULL, head TEXT NOT NULL)",
    "CREATE TRIGGER no_update BEFORE UPDATE ON chain"
    " BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END",
    "CREATE TRIGGER no_delete BEFORE DELETE ON chain"
    " BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END",
    "CREATE TRIGGER no_replace BEFORE INSERT ON chain"
    " WHEN NEW.row IS NOT (SELECT COALESCE(MAX(row), -1) + 1 FROM chain)"
    " BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END",
)
# SQLite keeps the number of the last row here, so a row cannot vanish from the end unnoticed.
_FORM = {*_TABLE, "CREATE TABLE sqlite_sequence(name,seq)"}
_RESTORE = "put the ledger itself back (an older copy would not know the latest charges)"
_ROLLED_BACK = "it is gone, so rows were removed or an older copy was put back"
_SWAPPED = "it is not what was seen before, so another file or an older copy was put here"
_BUSY = f"another process held it for {_BUSY_SECONDS} s: end that process, fit again"
# SQLite names its journal after the file, so a crash through one name is undone through that alone.
_LINKED = (
    "a hard link gives it another name, and a crash could undo what was charged through that name; "
    "copy it, do not link it. Keep one name (that with a -journal beside it, if there is one), and "
    "delete the others; find DIR -samefile FILE lists them"
)
_STALE = (
    "it is of an earlier crash than the ledger's last one, and would undo charges; delete it, and "
    "move the ledger back to where it was then, where a -journal lies that repairs it"
)
# Most new rows that a charge verifies while it holds the lock: about 0.1 seconds.
_MOST_LOCKED = 4096
# Longest pauses between two attempts to get the lock, in seconds. A charge asks more often than a
# use that only reads.
_PAUSES = {True: 0.005, False: 0.05}
_REMEDIES = {
    "SQLITE_NOTADB": f"it is no ledger, or damaged: check the path, or {_RESTORE}",
    "SQLITE_CORRUPT": f"it is damaged: {_RESTORE}",
    "SQLITE_READONLY": "make the file and its folder writable for this user",
    "SQLITE_FULL": "free disk space and fit again",
    "SQLITE_IOERR": "check that the disk has space and works, then fit again",
    "SQLITE_BUSY": _BUSY,
    "SQLITE_CANTOPEN": "make the file and its folder readable and writable for this user",
    "SQLITE_PERM": "make the file and its folder readable and writable for this user",
}


class PrivacyLedger(BaseAccountant):
    """A budget in an SQLite file, shared by any number of processes.

    `PrivacyLedger.create` makes the file once; ``PrivacyLedger(path)`` only opens it. The file
    holds the budget and what it is for, so a file that is missing, foreign, damaged or rolled back
    is an error and never a fresh budget. Every failure of the file raises a `LedgerError` before
    anything is released.

    Parameters
    ----------
    path : str or path-like
        An existing ledger, on a local disk.

    Notes
    -----
    Every use locks the folder of the file while it reads the rows from the disk, for some
    milliseconds, so the ledgers of one folder wait for each other. Opening the ledger and `verify`
    read all rows, every other use only the new ones. A use fails after waiting for 60 seconds. The
    folder must be readable, and to charge, it and the file must be writable.

    A ledger with a second name, a hard link, is refused. A symbolic link to it is fine.

    Examples
    --------
    >>> import tempfile
    >>> from skdppca.privacy import GaussianEvent, PrivacyLedger, mu_of
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = f"{folder.name}/study.ledger"
    >>> ledger = PrivacyLedger.create(path, epsilon=1.0, delta=1e-6, unit="patient")
    >>> event = GaussianEvent(mu_of(0.5, 1e-6))
    >>> receipt = ledger.charge(event, adjacency="add-remove", unit="patient")
    >>> round(PrivacyLedger(path).remaining.epsilon, 3)
    0.841
    >>> PrivacyLedger(path).verify(receipt)
    >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str], *terms: Never, **named: Never) -> None:
        if terms or named:
            raise TypeError(
                "PrivacyLedger(path) opens a ledger that is there, and its budget is in the file. "
                "To make one, or to open one of this budget: PrivacyLedger.create(path, "
                "epsilon=..., delta=..., exist_ok=True)"
            )
        self._path = _absolute(path)
        alone(lambda: self._remember(self._followed(_use(self._path, self._fetch_all))))

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        epsilon: float,
        delta: float,
        *,
        adjacency: str = "add-remove",
        unit: str = "row",
        max_cohorts_per_person: int = 1,
        exist_ok: bool = False,
    ) -> PrivacyLedger:
        """Make a new ledger file and open it.

        Parameters
        ----------
        path : str or path-like
            Where nothing lies yet; with `exist_ok`, or a ledger of the same terms.
        epsilon, delta : float
            The budget: ``epsilon`` positive and finite, ``delta`` in [0, 1).
        adjacency : {"add-remove", "replace-one"}, default="add-remove"
            What neighbouring data sets differ by.
        unit : str, default="row"
            What a record is: a row, or all rows of the group of this name.
        max_cohorts_per_person : int, default=1
            How many cohorts one unit may have records in, if charges name cohorts. It is public,
            and declared: nothing verifies it. More than 1 needs a `unit` other than "row".
        exist_ok : bool, default=False
            Whether to open a ledger that is there, if its budget, adjacency and unit are these: so
            that a notebook can be run again. What it was charged stays charged.

        Returns
        -------
        PrivacyLedger
        """
        check_unit(unit)
        budget = (epsilon, delta, adjacency, unit, max_cohorts_per_person)
        chain = Chain(Terms(uuid.uuid4().hex, *budget))
        path = _absolute(path)
        if exist_ok and os.path.exists(path):
            return cls(path)._of_terms(chain.terms)
        warn_if_weak(epsilon, delta)
        alone(lambda: _make(path, chain))
        return cls(path)

    def _of_terms(self, asked: Terms) -> PrivacyLedger:
        """Return the ledger, if it has the terms that are asked for."""
        if replace(asked, accountant=self._terms.accountant) != self._terms:
            raise LedgerError(
                f"{self._path}: already exists, with {self._terms}, and not {asked}; open it as it "
                "is with PrivacyLedger(path), or choose another path"
            )
        return self

    @property
    def path(self) -> str:
        """The file, as an absolute path."""
        return self._path

    @property
    def _terms(self) -> Terms:
        return self._verified.terms

    def _current(self) -> Chain:
        return self._remember(self._followed(_use(self._path, self._fetch), self._verified))

    def _extend(self, grant: Callable[[Chain], Chain]) -> Chain:
        def append(db: sqlite3.Connection) -> Chain | None:
            fetched = self._fetch(db)
            if len(fetched.rows) > _MOST_LOCKED:
                return None
            chain = grant(self._remember(self._followed(fetched, self._verified)))
            if fetched.version < _version_of(chain):  # before the row that no older version knows
                _check_one_name(self._path)
                _raise_version(db)
            _check_one_name(self._path)  # SQLite commits in the next call: as late as it can be
            _insert(db, chain)
            return chain

        while (chain := _use(self._path, append, exclusive=True)) is None:
            self._current()
        return self._remember(chain)

    def verify(self, *rows: ChainRow | Mapping[str, Any]) -> None:
        """Check the whole file anew, and that every given receipt or release row is in it.

        Parameters
        ----------
        *rows : Receipt, ReleaseRow, or what their `to_dict` returns

        Raises
        ------
        LedgerError
            If the file is damaged, altered or rolled back, or lacks a row.
        """
        wrong = alone(self._anew).lacks(rows)
        if wrong is not None:
            raise self._error(wrong)

    def _anew(self) -> Chain:
        fetched = _use(self._path, self._fetch_all)
        return self._remember(self._followed(fetched, Chain(self._terms)))

    def _remember(self, chain: Chain) -> Chain:
        self._verified = chain
        self._seen = (len(chain.rows), chain.head())
        return chain

    def _fetch_all(self, db: sqlite3.Connection) -> _Fetched:
        return self._fetch(db, whole=True)

    def _fetch(self, db: sqlite3.Connection, whole: bool = False) -> _Fetched:
        """Return the last row that was verified and all that follow it in the file, unverified.

        They are verified once the lock is released, because that takes longer than to fetch them.
        """
        db.execute("BEGIN")
        version = self._check_form(db)
        if whole:
            for (finding,) in db.execute("PRAGMA quick_check"):
                if finding != "ok":
                    raise self._error(f"it is damaged ({finding})")
        first = 0 if whole else len(self._verified.rows)
        rows = db.execute("SELECT row, body, head FROM chain WHERE row >= ? ORDER BY row", (first,))
        fetched = rows.fetchall()
        last = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'chain'").fetchone()
        db.execute("COMMIT")
        return _Fetched(fetched, last, version)

    def _followed(self, fetched: _Fetched, chain: Chain | None = None) -> Chain:
        """Return `chain` with the rows that follow it, all verified.

        Without a `chain`, the ledger is opened. Else the row that was seen last must still be
        there.
        """
        seen = None if chain is None else self._seen
        row, rows = len(chain.rows) if chain else 0, iter(fetched.rows)
        try:
            first = next(rows, None)
            if chain is None and first is not None:
                chain = Chain(Terms.from_body(first[1]))
            if chain is None or first is None:
                raise ValueError(_ROLLED_BACK)
            if first != (row, chain.last_body, chain.head()):
                raise ValueError(_SWAPPED)
            for row, body, head in rows:  # noqa: B007 (the error names the row)
                chain = chain.followed(body, head)
            if fetched.last != (row,):
                raise ValueError("it is not the last row, so rows were removed or are damaged")
            if seen is not None:
                row, head = seen
                if row > len(chain.rows):
                    raise ValueError(_ROLLED_BACK)
                if chain.head(row) != head:
                    raise ValueError(_SWAPPED)
            if fetched.version < _version_of(chain):
                raise ValueError("it has cohorts, and the schema number of a ledger without")
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise self._error(f"row {row}: {error}") from error
        return chain

    def _check_form(self, db: sqlite3.Connection) -> int:
        """Return the schema number of a ledger that can be read."""
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (version,) = db.execute("PRAGMA user_version").fetchone()
        size = os.path.getsize(self._path)  # the transaction keeps it from changing
        if size == 0:
            raise self._error("it is empty")
        if application != _APPLICATION:
            raise self._error("it is no skdppca ledger")
        if version > _WITH_COHORTS:
            raise LedgerError(
                f"{self._path}: written by a newer skdppca (schema {version}, this one knows "
                f"{_WITH_COHORTS}); upgrade skdppca"
            )
        if version == 1:
            raise LedgerError(
                f"{self._path}: written by an older skdppca (schema 1, this one knows "
                f"{_VERSION} and {_WITH_COHORTS}), and cannot be read; show it with that version, "
                "then make a new ledger for what remains"
            )
        form = db.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
        if version not in (_VERSION, _WITH_COHORTS) or {sql for (sql,) in form} != _FORM:
            raise self._error("its tables were altered")
        # SQLite reads a page that was cut short as if zeros followed, so the size is checked here.
        (page_size,) = db.execute("PRAGMA page_size").fetchone()
        (page_count,) = db.execute("PRAGMA page_count").fetchone()
        if size != page_size * page_count:
            raise self._error("it was cut short")
        return int(version)

    def _error(self, reason: str) -> LedgerError:
        return LedgerError(f"{self._path}: {reason}; check the path, or {_RESTORE}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self._path, self._terms, *self._seen)

    def __repr__(self) -> str:
        return f"PrivacyLedger({self._path!r}, {self._describe()})"


class _Fetched(NamedTuple):
    """Rows as they are in the file, the number of its last row as SQLite keeps it, its schema."""

    rows: list[tuple[int, str, str]]
    last: tuple[int] | None
    version: int


def _reopen(path: str, terms: Terms, row: int, head: str) -> PrivacyLedger:
    """Return the ledger that was pickled, without opening the file before it is needed.

    A fitted estimator must load and transform even where the file cannot be reached.
    """
    ledger = PrivacyLedger.__new__(PrivacyLedger)
    ledger._path, ledger._verified, ledger._seen = path, Chain(terms), (row, head)
    return ledger


def _stands(path: str, db: sqlite3.Connection) -> bool:
    """Whether a connection reads a ledger in which nothing is missing or altered."""
    ledger = PrivacyLedger.__new__(PrivacyLedger)
    ledger._path = path
    try:
        ledger._followed(ledger._fetch_all(db))
    except (LedgerError, sqlite3.Error, UnicodeError):
        return False
    return True


def _absolute(path: str | os.PathLike[str]) -> str:
    return os.path.abspath(os.fsdecode(path))


def _make(path: str, chain: Chain) -> None:
    """Write a new file with row 0 of the chain."""

    def fill(db: sqlite3.Connection) -> None:
        db.execute("BEGIN EXCLUSIVE")
        db.execute(f"PRAGMA application_id={_APPLICATION}")
        db.execute(f"PRAGMA user_version={_version_of(chain)}")
        for statement in _TABLE:
            db.execute(statement)
        _insert(db, chain)
        db.execute("COMMIT")

    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
    except FileExistsError as error:
        raise LedgerError(
            f"{path}: already exists, and a ledger is never replaced; "
            "open it with PrivacyLedger(path) or exist_ok=True, or choose another path"
        ) from error
    except (OSError, ValueError) as error:
        raise LedgerError(
            f"{path}: cannot be created ({error}); choose a folder that you can write to"
        ) from error
    try:
        _use(path, fill, exclusive=True)
    except BaseException:
        with suppress(OSError):
            os.unlink(path)  # made above, and not charged by anyone yet
        raise


def _version_of(chain: Chain) -> int:
    """The lowest schema number that a file with this chain may have."""
    several = chain.terms.max_cohorts_per_person > 1
    return _WITH_COHORTS if several or chain.total.own else _VERSION


def _raise_version(db: sqlite3.Connection) -> None:
    """Make older versions refuse the file from now on, in one call."""
    check_not_forked()
    db.execute(f"PRAGMA user_version={_WITH_COHORTS}")


def _insert(db: sqlite3.Connection, chain: Chain) -> None:
    """Insert the last row of the chain, in one call that no signal handler or fork can divide."""
    row = (len(chain.rows), chain.last_body, chain.head())
    check_not_forked()
    db.execute("INSERT INTO chain (row, body, head) VALUES (?, ?, ?)", row)


def _use(path: str, work: Callable[[sqlite3.Connection], T], exclusive: bool = False) -> T:
    """Return what `work` does with the file, while no other process writes to it.

    With `exclusive`, no other process reads it either. All others wait meanwhile, so `work` should
    be short. The file is opened anew (never created) and closed, so that no fork or pickle ever
    shares a connection. An interrupt at any point releases all that is held here.
    """
    if not os.path.isfile(path):
        raise LedgerError(
            f"{path}: there is no such file; if the ledger was moved or deleted, {_RESTORE}; "
            "a new budget is made once, by PrivacyLedger.create(path, ...) or skdppca ledger create"
        )
    if sys.platform == "win32":  # where a folder cannot be locked
        try:
            with FileLock(f"{path}.lock", timeout=_BUSY_SECONDS):
                return _work_on(path, work)
        except OSError as error:
            raise _explained(path, error) from error
    process = here()
    try:
        folder = os.open(os.path.dirname(os.path.realpath(path)), os.O_RDONLY)
    except OSError as error:
        raise _explained(path, error) from error
    try:
        _lock(path, folder, exclusive)
        return _work_on(path, work)
    finally:
        try:
            if here() == process:  # a forked child would unlock it for its parent
                with suppress(OSError):
                    fcntl.flock(folder, fcntl.LOCK_UN)
        finally:
            os.close(folder)


def _lock(path: str, folder: int, exclusive: bool) -> None:
    """Lock the folder, with `exclusive` against all others, else against those that charge.

    Several readers who come and go could keep a charge out for ever. So a reader waits for an
    empty folder, too, for up to a quarter of the time, and only then comes in beside others.
    """
    start, pause = time.monotonic(), 0.0005
    while True:
        empty = exclusive or time.monotonic() - start <= _BUSY_SECONDS / 4
        try:
            if empty:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not exclusive:  # a change of a lock may lose it to another process
                fcntl.flock(folder, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return
        except BlockingIOError as error:
            if time.monotonic() - start > _BUSY_SECONDS:
                raise LedgerError(f"{path}: its folder is locked; {_BUSY}") from error
        except OSError as error:
            raise LedgerError(
                f"{path}: its folder cannot be locked ({error}); keep the ledger on a local disk"
            ) from error
        time.sleep(pause)
        pause = min(1.5 * pause, _PAUSES[exclusive])


def _work_on(path: str, work: Callable[[sqlite3.Connection], T]) -> T:
    try:
        _check_one_name(path)
        if not settle(path, partial(_stands, path)):
            raise LedgerError(f"{path}-journal: {_STALE}")
        before = _identity(path)
        uri = Path(path).as_uri() + "?mode=rw"
        db = sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
        try:
            # With a write-ahead log, a copy of the file can lack the latest rows.
            if db.execute("PRAGMA journal_mode=DELETE").fetchone() != ("delete",):
                raise sqlite3.OperationalError("its journal mode was changed and is in use")
            db.execute("PRAGMA synchronous=EXTRA")
            result = work(db)
            if _identity(path) != before:  # while it is open, no other file gets its number
                raise LedgerError(
                    f"{path}: it was deleted or replaced while it was in use, so a charge may be "
                    f"lost; {_RESTORE}"
                )
        finally:
            db.close()
    except (sqlite3.Error, OSError, UnicodeError) as error:
        raise _explained(path, error) from error
    return result


def _identity(path: str) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_dev, status.st_ino


def _check_one_name(path: str) -> None:
    """Refuse a ledger, or what SQLite writes beside it, with a hard link."""
    path = os.path.realpath(path)  # as SQLite does, before it names the journal
    for name in (path, f"{path}-journal", f"{path}-wal"):
        # some file systems do not count links, and say 0 or 1
        with suppress(FileNotFoundError):
            if os.stat(name).st_nlink > 1:
                raise LedgerError(f"{name}: {_LINKED}")


def _explained(path: str, error: Exception) -> LedgerError:
    name = getattr(error, "sqlite_errorname", "SQLITE_PERM" * isinstance(error, PermissionError))
    remedy = next((_REMEDIES[key] for key in _REMEDIES if name.startswith(key)), _RESTORE)
    return LedgerError(f"{path}: {error}; {remedy}")
