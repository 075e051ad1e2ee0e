"""Text that is safe on a terminal, a progress bar, and the end of a run."""

from __future__ import annotations

import errno
import io
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from .._text import printable

if TYPE_CHECKING:
    from rich.progress import Progress


# Digits that name a release or a ledger.
SHOWN = 16


def print_to(name: str, text: str) -> OSError | None:
    """Print to a standard stream, and return the error if it cannot take the text.

    Parameters
    ----------
    name : {"stdout", "stderr"}
        It may be closed, a pipe that nobody reads, or a full disk.
    text : str
        Lines. What a terminal would obey in them is escaped.
    """
    stream = getattr(sys, name)
    if not text:
        return None
    if stream is None:
        return OSError(errno.EBADF, os.strerror(errno.EBADF))
    try:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
        stream.write("\n".join(map(printable, text.split("\n"))))
        stream.flush()
    except OSError as error:
        with suppress(OSError):  # what is still in the buffer would fail again at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return error
    return None


class Ended(Exception):
    """A run failed after its charge.

    Parameters
    ----------
    message : str
    status : int
        The exit status of the process.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def status_of(interrupt: KeyboardInterrupt) -> int:
    """The exit status after an interrupt, which carries the number of its signal if it has one."""
    return 128 + (interrupt.args[0] if interrupt.args else 2)


@contextmanager
def progress() -> Iterator[Callable[[str, float], None]]:
    """Yield a function that shows what is being done, and which share of all is done.

    A fit calls it at public steps only: the progress of a pass over the data would reveal the
    number of rows. Without a terminal, or without rich, nothing is shown.
    """
    bar = _bar() if sys.stderr is not None and sys.stderr.isatty() else None
    if bar is None:
        yield lambda name, share: None
        return
    task = bar.add_task("", total=1.0)

    def show(name: str, share: float) -> None:
        with suppress(OSError):  # a terminal that was closed ends no fit
            bar.update(task, description=name, completed=share, refresh=True)

    try:
        with suppress(OSError):
            bar.start()
        yield show
    finally:
        with suppress(OSError):
            bar.stop()


def _bar() -> Progress | None:
    """A bar without a thread that refreshes it; None without rich."""
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        return None
    return Progress(
        console=Console(stderr=True),
        transient=True,
        auto_refresh=False,
        redirect_stdout=False,
        redirect_stderr=False,
    )


T = TypeVar("T")


class Unusable(ValueError):
    """The file cannot be used. The message quotes nothing of it but names of columns."""


def unlike(path: Path, what: str) -> str:
    """Say that a file is not what its name promises."""
    return f"{path} is not {what}; save it anew"


def replacing_errors(path: Path, wrong: Callable[[], str], reader: Callable[[], T]) -> T:
    """Return what the reader returns, and replace its error by one that quotes nothing of the file.

    A reader's error may quote a cell or the number of a line, and one that it is raised from, too.
    Warnings may do the same.

    Parameters
    ----------
    path : Path
    wrong : callable
        Says what is wrong with the file, once it could not be read.
    reader : callable
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return reader()
    except (Unusable, ImportError):
        raise
    except MemoryError:
        refused: str | None = (
            f"{path} does not fit into memory; give the data as .npy or .parquet, which are read "
            "piece by piece"
        )
    except Exception as error:
        refused = None
        if isinstance(error, OSError) and error.errno:
            refused = f"{path}: {error.strerror}; check the path and its permissions"
    raise Unusable(wrong() if refused is None else refused)
