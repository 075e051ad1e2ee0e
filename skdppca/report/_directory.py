"""A release directory: one run alone writes it beside its place, and then renames it."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from ..privacy.storage import synced
from ._contents import FILES, SUMS, Write, hash_of_file, sums

# Beside a release: the one to come, the one that it replaced, and what one run alone holds.
NEXT, PREVIOUS, LOCK = ".next", ".previous", ".lock"

# Bytes beside the files: of a file that grows over the end of a block, and of all else.
STRADDLING = 2**12
MARGIN = 2**17

# No space, no quota, or a limit on the size of files.
FULL = {getattr(errno, name, None) for name in ("ENOSPC", "EDQUOT", "EFBIG")}


class Directory:
    """The files of one release, which are written beside its place and renamed together.

    Parameters
    ----------
    out : Path
        The place of the release.
    apart : Path
        The empty folder beside it.

    Attributes
    ----------
    begun : bool
        Whether a file was written, or at least tried.
    """

    def __init__(self, out: Path, apart: Path) -> None:
        self.out, self._apart = out, apart
        self._hashes: dict[str, str] = {}
        self._published = False
        self._room = ExitStack()
        self.begun = False

    def reserve(self, sizes: Sequence[int]) -> None:
        """Hold room on the disk for files of these sizes, until the first of them is written.

        Each takes a place in the folder and whole blocks, as the files will. There must be some
        more, for rows of a ledger and the hashes, which are not held.

        Raises
        ------
        OSError
        """
        if not hasattr(os, "posix_fallocate"):  # Windows and macOS
            return
        try:
            for size in sizes:
                self._room.enter_context(self._holding(size + STRADDLING))
            with self._holding(MARGIN):
                pass
        except OSError as error:  # another one may be that of a file system that cannot reserve
            if error.errno not in FULL:
                return
            self._room.close()
            raise OSError(
                f"{self.out} has no room for a release of {sum(sizes) / 1e6:.2g} MB "
                f"({error.strerror}); nothing was charged; free some, or choose another directory"
            ) from None

    @contextmanager
    def _holding(self, size: int) -> Iterator[None]:
        """A file without a name, which ends with this process."""
        with tempfile.TemporaryFile(dir=self._apart) as file:
            os.posix_fallocate(file.fileno(), 0, size)
            yield

    def add(self, name: str, write: Write) -> None:
        """Write one file beside the place of the release."""
        self.begun = True
        self._room.close()
        path = self._apart / name
        try:
            with path.open("xb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            self._hashes[name] = hash_of_file(path)
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    def publish(self) -> list[str]:
        """Put the files in their place; return all their names.

        Their hashes come last, so a folder without them is visibly incomplete. A release in the
        place becomes the previous one. At every moment there is a whole release: in its place, or
        for the time between two renames beside it.
        """
        files, previous = dict(self._hashes), beside(self.out, PREVIOUS)
        self.add(SUMS, lambda file: file.write(sums(files).encode()))
        synced(self._apart)
        if self.out.exists():
            if not any(self.out.iterdir()):
                self.out.rmdir()
            else:
                if previous.exists():  # the hashes first: what is left is visibly no release
                    (previous / SUMS).unlink(missing_ok=True)
                    shutil.rmtree(previous)
                os.rename(self.out, previous)
        os.rename(self._apart, self.out)
        synced(self.out.absolute().parent)
        self._published = True
        return list(self._hashes)

    def discard(self) -> None:
        """Remove the files that were added and not published: they can be had again for nothing."""
        for name in () if self._published else self._hashes:
            (self._apart / name).unlink(missing_ok=True)

    def contents(self) -> str:
        """Say what this run has left on the disk so far."""
        if self._published:
            return f"all files are in {self.out}/"
        if not self._hashes:
            return f"nothing was written to {self.out}/"
        return f"{self._apart}/ has {', '.join(self._hashes)}"

    def close(self) -> None:
        """Remove what is empty. Files that a failed run leaves behind were paid for: they stay."""
        self._room.close()
        with suppress(OSError):
            self._apart.rmdir()


@contextmanager
def writing(out: Path, force: bool = False) -> Iterator[Directory]:
    """Let one run alone write a release, and check that it can be written.

    Parameters
    ----------
    out : Path
        The place of the release: an empty directory, or none.
    force : bool, default=False
        Whether a release in it may be replaced. It stays beside the new one, in a directory of the
        same name with ``.previous`` at its end.

    Raises
    ------
    ValueError, OSError
        If another run writes there, if something is in the way, or if the place is not writable.
    """
    apart, lock = beside(out, NEXT), FileLock(beside(out, LOCK), timeout=0)
    try:
        apart.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise ValueError(
            f"{out}: another run of skdppca writes to it; wait until that has ended, or choose "
            "another directory"
        ) from None
    except OSError as error:
        raise _unwritable(out, error) from None
    try:
        _check_free(out, force)
        try:
            apart.mkdir()
        except OSError as error:
            raise _unwritable(out, error) from None
        with closing(Directory(out, apart)) as directory:
            yield directory
    finally:
        with suppress(OSError):  # while it is held: who opened the file before looks for it again
            Path(lock.lock_file).unlink()
        lock.release()


def write_all(out: Path, files: Mapping[str, Write], force: bool) -> list[str]:
    """Write a release that costs nothing: all files, or none.

    Parameters
    ----------
    out : Path
    files : dict of str to callable
        Writers by the names of the files.
    force : bool

    Returns
    -------
    list of str
        The names of the files, the hashes among them.

    Raises
    ------
    ValueError, OSError
    """
    with writing(out, force) as directory:
        try:
            for name, write in files.items():
                directory.add(name, write)
            return directory.publish()
        except OSError as error:
            raise _unwritable(out, error) from None
        finally:
            directory.discard()


def beside(out: Path, suffix: str) -> Path:
    """Return the place of the same name with something at its end."""
    path = Path(os.path.abspath(out))
    return path.with_name(f"{path.name}{suffix}")


def instead_of(out: Path) -> str:
    """Where the releases are of a run that was cut short between two renames.

    Empty if the directory is there, or no such release is.
    """
    if os.path.lexists(out):
        return ""
    there = [beside(out, end) for end in (NEXT, PREVIOUS)]
    found = " and ".join(str(path) for path in there if (path / SUMS).is_file())
    return found and f"an update of it was cut short, and its releases are in {found}"


def _check_free(out: Path, force: bool) -> None:
    """Refuse a place where a release cannot be put, or that holds what would be lost."""
    apart, previous = beside(out, NEXT), beside(out, PREVIOUS)
    if (apart / SUMS).is_file():
        raise ValueError(
            f"{apart} holds the release of a run that was cut short, which was paid for; verify "
            f"it, and move it to {out}, in place of what is there, or away"
        )
    if os.path.lexists(apart):
        names = sorted(path.name for path in apart.iterdir()) if apart.is_dir() else []
        held = ", ".join(names) or "nothing"
        raise ValueError(
            f"{apart} is from a run that was cut short, with {held} in it. If `skdppca "
            "ledger show` lists its charge, that is spent, and a new fit is charged again; look "
            "at the files, then move that folder away"
        )
    if out.is_symlink() or os.path.ismount(out):
        raise ValueError(
            f"{out} is a link or a mounted disk, which cannot be renamed; choose a new directory "
            "in it"
        )
    if os.path.lexists(out) and not out.is_dir():
        raise ValueError(f"{out} is a file; choose another directory")
    if out.exists() and any(out.iterdir()) and not (force and _is_ours(out)):
        how = "or replace earlier results in it with force=True"
        how = how if _is_ours(out) else "because it holds no earlier release that could be replaced"
        raise ValueError(f"{out} is not empty; choose another directory, {how}")
    if force and os.path.lexists(previous) and not _is_ours(previous):
        raise ValueError(f"{previous} holds what is no release, and would be removed; move it away")


def _is_ours(folder: Path) -> bool:
    """Return whether a folder holds nothing but files that a release may have."""
    return folder.is_dir() and all(
        path.name in (SUMS, *FILES) and not path.is_dir() for path in folder.iterdir()
    )


def _unwritable(out: Path, error: OSError) -> OSError:
    return OSError(f"{out} cannot be written to ({error.strerror}); choose another directory")
