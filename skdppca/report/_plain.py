"""Files that others wrote: read only if they are plain, and never more than they can hold."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

# A pipe or a device that comes in between must not make the opening wait.
FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def is_plain(path: Path) -> bool:
    """Whether a path itself, and not what it links to, is a file on a disk."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def read_plain(path: Path, most: int, *, links: bool = False) -> bytes:
    """Return what a file holds.

    Parameters
    ----------
    path : Path
    most : int
        Bytes that it can have.
    links : bool, default=False
        Whether the path may be a symbolic link.

    Raises
    ------
    OSError
        If there is no plain file, if it is larger, or cannot be read; `strerror` says which.
    """
    if not stat.S_ISREG((path.stat() if links else path.lstat()).st_mode):
        raise OSError(errno.EINVAL, "it is no file", os.fspath(path))
    handle = os.open(path, FLAGS | (0 if links else getattr(os, "O_NOFOLLOW", 0)))
    with open(handle, "rb") as file:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode):  # it was replaced just now
            raise OSError(errno.EINVAL, "it is no file", os.fspath(path))
        # looked at before it is read: a file with holes may claim any size
        content = file.read(about.st_size + 1) if about.st_size <= most else None
    if content is None or len(content) > about.st_size:
        raise OSError(errno.EFBIG, f"it is larger than {most} bytes, or grows", os.fspath(path))
    return content
