"""A directory that one run alone writes to, and that never holds a mixture of two releases."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from ._contents import SUMS, Write, hash_of_file, sums

# The lock dies with its process: after a crash the file of this name stands in nobody's way.
LOCK = "skdppca.lock"

UNFINISHED = "unfinished-"

# Beside a directory whose release is replaced as a whole: the release to come, the one before, and
# what one run alone holds.
NEXT, PREVIOUS, HELD = ".next", ".previous", ".lock"

# Bytes beside the files: of a file that grows over the end of a block, and of all else.
STRADDLING = 2**12
MARGIN = 2**17

# No space, no quota, or a limit on the size of files.
FULL = {getattr(errno, name, None) for name in ("ENOSPC", "EDQUOT", "EFBIG")}


class Directory:
    """The files of one release: first written apart, then moved into place together.

    Parameters
    ----------
    out : Path
        Claimed by this run.
    results : sequence of str
        All names that a release may have; files of these names are an earlier release.

    Attributes
    ----------
    begun : bool
        Whether a file was written, or at least tried.
    """

    def __init__(self, out: Path, results: Sequence[str]) -> None:
        self.out = out
        self._results = results
        self._apart = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=out))
        self._hashes: dict[str, str] = {}
        self._published = False
        self._room = ExitStack()
        self.begun = False

    def reserve(self, sizes: Iterable[int]) -> None:
        """Hold room on the disk for files of these sizes, until the first of them is written.

        Each takes a place in the folder and whole blocks, as the files will. There must be some
        more, for rows of a ledger and the hashes, which are not held.

        Raises
        ------
        OSError
        """
        if not hasattr(os, "posix_fallocate"):  # Windows and macOS
            return
        sizes = list(sizes)
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
        """Write one file, apart from the files that are in place."""
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
        """Replace an earlier release by the files that were added; return all their names.

        Its hashes go first and come last, so a directory without them is visibly incomplete.
        """
        files = dict(self._hashes)
        self.add(SUMS, lambda file: file.write(sums(files).encode()))
        for name in (SUMS, *self._results):
            (self.out / name).unlink(missing_ok=True)
        for name in self._hashes:
            os.replace(self._apart / name, self.out / name)
        self._published = True
        return list(self._hashes)

    def discard(self) -> None:
        """Remove the files that were added and not published: they can be had again for nothing."""
        for name in self._hashes:
            (self._apart / name).unlink(missing_ok=True)

    def contents(self) -> str:
        """Say what this run has left on the disk so far."""
        if self._published:
            return f"all files are in {self.out}/"
        apart = [name for name in self._hashes if (self._apart / name).exists()]
        moved = [name for name in self._hashes if name not in apart]
        if not self._hashes:
            return f"nothing was written to {self.out}/"
        places = [(moved, self.out), (apart, self._apart)]
        return "; ".join(f"{place}/ has {', '.join(names)}" for names, place in places if names)

    def close(self) -> None:
        """Remove what is empty. Files that a failed run leaves behind were paid for: they stay."""
        self._room.close()
        with suppress(OSError):
            self._apart.rmdir()


@contextmanager
def claimed(out: Path, results: Sequence[str], force: bool) -> Iterator[Directory]:
    """Make the directory, lock it against other runs, and check that a release can be written.

    Parameters
    ----------
    out : Path
    results : sequence of str
        Names of the files to come, beside their hashes.
    force : bool
        Whether files of these names may be replaced. Only an earlier release is, or a part of one.

    Raises
    ------
    ValueError, OSError
        If another run writes to the directory, if it is not empty, or not writable; or if an update
        was cut short, whose release would take the place of this one.
    """
    _check_settled(out)
    if os.path.exists(out) and not os.path.isdir(out):
        raise ValueError(f"{out} is a file; choose another directory")
    made = not out.exists()
    busy = (
        f"{out}: another run of skdppca writes to it; wait until that has ended (if none runs, "
        f"delete {out / LOCK}), or choose another directory"
    )
    try:
        with _alone(out / LOCK, out, busy):
            _check_free(out, (SUMS, *results), force)
            try:
                directory = Directory(out, results)
            except OSError as error:
                raise _unwritable(out, error) from None
            with closing(directory):
                yield directory
    finally:
        with suppress(OSError):
            if made:
                out.rmdir()  # which fails unless it is empty


@contextmanager
def _alone(lock: Path, out: Path, busy: str) -> Iterator[None]:
    """Let one run alone write to a directory; the others are told why not."""
    held = FileLock(lock, timeout=0)
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        held.acquire()
    except Timeout:
        raise ValueError(busy) from None
    except OSError as error:
        raise _unwritable(out, error) from None
    try:
        yield
    finally:
        # while it is held: who opened the file before looks whether it is still there
        with suppress(OSError):
            lock.unlink()
        held.release()


@contextmanager
def replacing(out: Path, results: Sequence[str]) -> Iterator[Directory]:
    """Claim a release directory, to be replaced as a whole by one that is written beside it.

    At every moment there is a whole release: in the directory, or for the time between two renames
    beside it. What is replaced stays in a directory of the same name with ``.previous`` at its end.

    Parameters
    ----------
    out : Path
        With a release, or not there yet.
    results : sequence of str
        All names that a release may have.

    Raises
    ------
    ValueError, OSError
        If another run replaces it or has replaced it, if it holds what is no release, if the files
        of an earlier run are in the way, or if the place is not writable.
    """
    following = _beside(out, NEXT)
    busy = f"{out}: another run of skdppca updates it; wait until that has ended"
    with _alone(_beside(out, HELD), out, busy):
        _check_settled(out)
        _check_replaceable(out, results)
        before = hash_of_file(out / SUMS)
        with claimed(following, results, force=False) as directory:
            yield directory
        if not (following / SUMS).is_file():
            return
        if hash_of_file(out / SUMS) != before:
            raise ValueError(
                f"{out} was replaced during the update, whose release is in {following}; both "
                "were paid for: verify both, then move one of them away"
            )
        _exchange(out)


def _beside(out: Path, suffix: str) -> Path:
    return out.with_name(f"{out.name}{suffix}")


def _exchange(out: Path) -> None:
    """Put the next release in the place of this one, which becomes the previous."""
    previous = _beside(out, PREVIOUS)
    if out.exists():
        if previous.exists():
            # the hashes first: what is left is visibly no release
            (previous / SUMS).unlink(missing_ok=True)
            shutil.rmtree(previous)
        os.rename(out, previous)
    os.rename(_beside(out, NEXT), out)


def _check_settled(out: Path) -> None:
    """Refuse a directory beside which an update left a release, before its renames or between."""
    if (_beside(out, NEXT) / SUMS).is_file():
        raise ValueError(
            f"{_beside(out, NEXT)} holds the release of an update of {out} that was cut short, "
            f"which was paid for; verify it, and move it to {out}, in place of what is there, or "
            "away"
        )


def instead_of(out: Path) -> str:
    """Where the releases are of an update that was cut short between two renames.

    Empty if the directory is there, or no such release is.
    """
    if os.path.lexists(out):
        return ""
    there = [_beside(out, end) for end in (NEXT, PREVIOUS)]
    found = " and ".join(str(path) for path in there if (path / SUMS).is_file())
    return found and f"an update of it was cut short, and its releases are in {found}"


def _check_replaceable(out: Path, results: Sequence[str]) -> None:
    """Refuse to move or to remove what is no release."""
    if os.path.lexists(out) and not (out / SUMS).is_file():
        raise OSError(f"{out} holds no release; give the directory of one, or a new name")
    if out.is_symlink() or os.path.ismount(out):
        raise ValueError(f"{out} is a link or a mounted disk; give the directory itself")
    following, previous = _beside(out, NEXT), _beside(out, PREVIOUS)
    if following.exists() and any(following.iterdir()):
        raise ValueError(
            f"{following} has files of an update that was cut short, which may have been charged; "
            "look at them, then move that folder away"
        )
    known = {LOCK, SUMS, *results}
    if os.path.lexists(previous) and (
        not previous.is_dir() or not {path.name for path in previous.iterdir()} <= known
    ):
        raise ValueError(
            f"{previous} holds what is no release, and an update would remove it; move it away"
        )


def _check_free(out: Path, results: Sequence[str], force: bool) -> None:
    for path in out.glob(f"{UNFINISHED}*"):
        with suppress(OSError):
            path.rmdir()  # what a run that was killed has left, if it is empty
    found = sorted(path.name for path in out.iterdir() if path.name != LOCK)
    ours = SUMS in found or all(name in results or name.startswith(UNFINISHED) for name in found)
    if found and not (force and ours):
        cut_short = [name for name in found if name.startswith(UNFINISHED)]
        hint = f"; {cut_short[0]}/ is from a run that was cut short" if cut_short else ""
        raise ValueError(
            f"{out} is not empty{hint}; choose another directory, "
            + (
                "or replace earlier results in it with force=True"
                if ours
                else "because it holds no earlier release that could be replaced"
            )
        )
    for name in results:
        path = out / name
        if path.is_dir() and not path.is_symlink():
            raise ValueError(f"{path} is a directory, and a result has this name; move it away")


def _unwritable(out: Path, error: OSError) -> OSError:
    return OSError(f"{out} cannot be written to ({error.strerror}); choose another directory")
