"""A budget that lives in one text file, for all processes and for years.

A line is a row: its text, which is canonical JSON, a tab, and the chain's head after it. Row 0 has
the budget, every other row a charge or what a charge released. The file is only appended to. A
charge locks the file, reads the rows that it has not seen, checks the budget and appends its own
row, and noise is drawn only once that is on the disk. A crash can therefore waste budget, but never
release anything without a charge. Rows that were changed or removed are found by the hash chain,
by ledger objects, which remember the last row they saw, and by the receipts.

What follows the last newline is a row if it is a whole one, whose newline was not written. Anything
else there, and a last line with NUL bytes, is a write that was cut off, by a crash or because the
file is a copy that was cut short. Its charge was not granted in the first case, so the next row
takes its place and states its hash; every opening warns until then.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import sys
import time
import uuid
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Never, TypeVar

from msgspec.structs import replace

from .._text import check_unit
from ..exceptions import LedgerCutWarning, LedgerError
from .accountant import BaseAccountant, alone, check_not_forked, here
from .chain import Chain, ChainRow, Terms
from .storage import synced
from .user_warnings import level_of_user, warn_if_weak

if sys.platform == "win32":
    from filelock import FileLock
else:
    import fcntl

T = TypeVar("T")

_BUSY_SECONDS = 60
# Longest pause between two attempts to get the lock, in seconds.
_PAUSE = 0.005
# Most new bytes that a charge verifies while it holds the lock: about 4000 rows, or 0.1 seconds.
_MOST_LOCKED = 2**21
_RESTORE = "put the ledger itself back (an older copy would not know the latest charges)"
_ROLLED_BACK = "it is gone, so rows were removed or an older copy was put back"
_SWAPPED = "it is not what was seen before, so another file or an older copy was put here"
_BUSY = f"another process held it for {_BUSY_SECONDS} s: end that process, fit again"
_GONE = "it was deleted or replaced while it was in use, so a charge may be lost"


class PrivacyLedger(BaseAccountant):
    """A budget in a text file, shared by any number of processes.

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
    Every use locks the file while it reads rows, for some milliseconds. Opening the ledger and
    `verify` read all rows, every other use only the new ones. A use fails after waiting for 60
    seconds. The file must be readable, and to charge, writable. Links to it are fine: they are the
    same file.

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
        alone(lambda: self._remember(*self._followed(None, _use(self._path, _whole))))

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        epsilon: float,
        delta: float,
        *,
        adjacency: str = "add-remove",
        unit: str = "row",
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
        exist_ok : bool, default=False
            Whether to open a ledger that is there, if its budget, adjacency and unit are these: so
            that a notebook can be run again. What it was charged stays charged.

        Returns
        -------
        PrivacyLedger
        """
        check_unit(unit)
        chain = Chain(Terms(uuid.uuid4().hex, epsilon, delta, adjacency, unit))
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
        return self._known[0].terms

    def _current(self) -> Chain:
        return self._remember(*self._followed(self._known[0], _use(self._path, self._new)))

    def _extend(self, grant: Callable[[Chain], Chain]) -> Chain:
        def append(file: BinaryIO) -> tuple[Chain, int] | None:
            read, last = self._new(file), _line(self._known[0])
            if len(read.text) > len(last) + _MOST_LOCKED:
                return None
            before, start = self._followed(self._known[0], read)
            self._remember(before, start)
            chain = grant(replace(before, cut=read.cut))
            _append(self._path, file, read, chain)
            return chain, start + len(_line(before))

        while (granted := _use(self._path, append, writes=True)) is None:
            self._current()
        return self._remember(*granted)

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
        return self._remember(*self._followed(Chain(self._terms), _use(self._path, _whole)))

    def _remember(self, chain: Chain, start: int) -> Chain:
        self._known = chain, start  # at once: a signal may come between two statements
        self._seen = (len(chain.rows), chain.head())
        return chain

    def _new(self, file: BinaryIO) -> _Read:
        """Read the last row that was verified and all that follow it, unverified.

        They are verified once the lock is released, because that takes longer than to read them.
        """
        return _read(file, self._known[1])

    def _followed(self, chain: Chain | None, read: _Read) -> tuple[Chain, int]:
        """Return `chain` with the rows that follow it, all verified, and where the last begins.

        Without a `chain`, the ledger is opened. Else the row that was seen last must still be
        there, as the first that was read.
        """
        opened, row = chain is None, 0 if chain is None else len(chain.rows)
        lines = [line.decode("ascii", "replace") for line in read.lines()]
        try:
            if not lines:
                raise ValueError("it has no whole row" if opened else _ROLLED_BACK)
            if chain is None:
                body, head = _parts(lines[0])
                chain = Chain(Terms.from_body(body))
                if head != chain.head():
                    raise ValueError("its hash does not match")
            elif lines[0] != f"{chain.last_body}\t{chain.head()}":
                raise ValueError(_SWAPPED)
            for line in lines[1:]:
                row += 1
                chain = chain.followed(*_parts(line))
            if not opened:
                row, head = self._seen
                if row > len(chain.rows):
                    raise ValueError(_ROLLED_BACK)
                if chain.head(row) != head:
                    raise ValueError(_SWAPPED)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise self._error(f"row {row}: {error}") from error
        if read.cut and not read.start:
            self._warn_of_cut()
        return chain, read.start + sum(len(line) + 1 for line in lines[:-1])

    def _warn_of_cut(self) -> None:
        warnings.warn(
            f"{self._path}: it ends within a row. After a crash that is harmless: the charge was "
            "not granted, and the next one takes its place. If the file is a copy that was cut "
            f"short, {_RESTORE}",
            LedgerCutWarning,
            stacklevel=level_of_user(),
        )

    def _error(self, reason: str) -> LedgerError:
        return LedgerError(f"{self._path}: {reason}; check the path, or {_RESTORE}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self._path, self._terms, *self._seen)

    def __repr__(self) -> str:
        return f"PrivacyLedger({self._path!r}, {self._describe()})"


@dataclass(frozen=True)
class _Read:
    """Rows as they lie in the file.

    Parameters
    ----------
    start : int
        The place in the file where they begin.
    text : bytes
        Whole rows; the newline of the last one may be missing.
    cut : str
        SHA-256 of a write behind them that was cut off; empty if there is none.
    """

    start: int
    text: bytes
    cut: str = ""

    @property
    def end(self) -> int:
        """The place behind the rows."""
        return self.start + len(self.text)

    def lines(self) -> list[bytes]:
        """Return the rows, without their newlines."""
        return self.text.removesuffix(b"\n").split(b"\n") if self.text else []


def _reopen(path: str, terms: Terms, row: int, head: str) -> PrivacyLedger:
    """Return the ledger that was pickled, without opening the file before it is needed.

    A fitted estimator must load and transform even where the file cannot be reached.
    """
    ledger = PrivacyLedger.__new__(PrivacyLedger)
    ledger._path, ledger._known, ledger._seen = path, (Chain(terms), 0), (row, head)
    return ledger


def _absolute(path: str | os.PathLike[str]) -> str:
    return os.path.abspath(os.fsdecode(path))


def _line(chain: Chain) -> bytes:
    """Return the last row of the chain as it is written."""
    return f"{chain.last_body}\t{chain.head()}\n".encode("ascii")


def _parts(line: str) -> tuple[str, str]:
    """Return the text and the head of a row."""
    body, tab, head = line.partition("\t")
    if not tab:
        raise ValueError("it is no row of a ledger")
    return body, head


if sys.platform == "win32":

    def _read_at(file: BinaryIO, start: int) -> bytes:
        file.seek(start)
        return file.read()

    def _write_at(handle: int, line: bytes, place: int) -> int:
        os.lseek(handle, place, os.SEEK_SET)
        return os.write(handle, line)

else:  # a forked child shares the file's position, so none is used

    def _read_at(file: BinaryIO, start: int) -> bytes:
        pieces = []
        while piece := os.pread(file.fileno(), 2**24, start):
            pieces.append(piece)
            start += len(piece)
        return b"".join(pieces)

    _write_at = os.pwrite


def _whole(file: BinaryIO) -> _Read:
    return _read(file, 0)


def _read(file: BinaryIO, start: int) -> _Read:
    """Read the rows from a place on, and take off what a write left that was cut off."""
    text = _read_at(file, start)
    end = text.rfind(b"\n", 0, len(text) - 1) + 1  # of the last line, whether it has a newline
    last = text[end:]
    if not last or (last.endswith(b"\n") and b"\0" not in last) or _is_row(last):
        return _Read(start, text)
    return _Read(start, text[:end], hashlib.sha256(last).hexdigest())


def _is_row(last: bytes) -> bool:
    """Return whether a line without its newline lacks nothing else: its head has all its digits.

    Whether it follows the rows before it is checked as for all rows.
    """
    return re.fullmatch(rb"[^\0\n\t]*\t[0-9a-f]{64}", last) is not None


def _make(path: str, chain: Chain) -> None:
    """Write a new file with row 0 of the chain: whole on the disk, or not at all."""
    part = f"{path}.{secrets.token_hex(4)}.part"
    try:
        try:
            with open(part, "xb") as file:
                file.write(_line(chain))
                file.flush()
                os.fsync(file.fileno())
            os.link(part, path)  # which replaces nothing
        finally:
            with suppress(FileNotFoundError, ValueError):
                os.unlink(part)
        synced(Path(path).parent)
    except FileExistsError as error:
        raise LedgerError(
            f"{path}: already exists, and a ledger is never replaced; "
            "open it with PrivacyLedger(path) or exist_ok=True, or choose another path"
        ) from error
    except (OSError, ValueError) as error:
        raise LedgerError(
            f"{path}: cannot be created ({error}); choose a folder on a local disk that you can "
            "write to"
        ) from error


def _append(path: str, file: BinaryIO, read: _Read, chain: Chain) -> None:
    """Put the last row of the chain behind the rows that were read, onto the disk.

    It is one write, which no signal handler or fork can divide. A write that does not fit is taken
    back, as far as the disk allows; what it leaves is then a row that was cut off.
    """
    handle, line, end = file.fileno(), _line(chain), read.end
    if not read.text.endswith(b"\n"):
        line = b"\n" + line
    if read.cut:
        check_not_forked()
        os.ftruncate(handle, end)
    try:
        check_not_forked()
        written = _write_at(handle, line, end)
        if written < len(line):
            raise OSError(f"only {written} of {len(line)} bytes were written")
        os.fsync(handle)
    except OSError as error:
        with suppress(OSError):
            check_not_forked()
            os.ftruncate(handle, end)
        raise LedgerError(f"{path}: {error}; free disk space and fit again") from error
    if not _is_at(path, file):
        raise LedgerError(f"{path}: {_GONE}; {_RESTORE}")


def _use(path: str, work: Callable[[BinaryIO], T], writes: bool = False) -> T:
    """Return what `work` does with the file, while no other process uses it.

    All others wait meanwhile, so `work` should be short. The file is opened anew (never created)
    and closed, so that no fork or pickle ever shares it. An interrupt at any point releases all
    that is held here.
    """
    if not os.path.isfile(path):
        raise LedgerError(
            f"{path}: there is no such file; if the ledger was moved or deleted, {_RESTORE}; "
            "a new budget is made once, by PrivacyLedger.create(path, ...) or skdppca ledger create"
        )
    process = here()
    try:
        if sys.platform == "win32":  # where a lock of the file would keep its owner from reading
            with FileLock(f"{path}.lock", timeout=_BUSY_SECONDS), _opened(path, writes) as file:
                return work(file)
        with _opened(path, writes) as file:
            try:
                _lock(path, file)
                return work(file)
            finally:
                if here() == process:  # a forked child would unlock it for its parent
                    with suppress(OSError):
                        fcntl.flock(file, fcntl.LOCK_UN)
    except PermissionError as error:
        remedy = "make the file readable, and to charge it writable, for this user"
        raise LedgerError(f"{path}: {error}; {remedy}") from error
    except OSError as error:
        raise LedgerError(f"{path}: {error}; {_RESTORE}") from error


def _opened(path: str, writes: bool) -> BinaryIO:
    return open(path, "r+b" if writes else "rb", buffering=0)


def _lock(path: str, file: BinaryIO) -> None:
    """Lock the file against all other processes; refuse one that was replaced meanwhile."""
    start, pause = time.monotonic(), 0.0005
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError as error:
            if time.monotonic() - start > _BUSY_SECONDS:
                raise LedgerError(f"{path}: it is locked; {_BUSY}") from error
        except OSError as error:
            raise LedgerError(
                f"{path}: it cannot be locked ({error}); keep the ledger on a local disk"
            ) from error
        time.sleep(pause)
        pause = min(1.5 * pause, _PAUSE)
    if not _is_at(path, file):
        raise LedgerError(f"{path}: {_GONE}; {_RESTORE}")


def _is_at(path: str, file: BinaryIO) -> bool:
    """Return whether the path still leads to the file that is open."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False
