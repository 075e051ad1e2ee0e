"""The command line. Every error is printed as one line."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from ..exceptions import (
    BudgetExceeded,
    CentreNotSeenWarning,
    LedgerError,
    NoiseOnlyWarning,
    NotReleasedError,
    WeakPrivacyWarning,
)
from ._parser import parser_of
from ._terminal import Ended, print_to, status_of

if TYPE_CHECKING:
    from ._parameter_options import Command

# Errors that a user can correct. Their messages hold parameters and paths, never data.
ANTICIPATED = (
    ValueError,
    TypeError,
    OSError,
    ImportError,
    BudgetExceeded,
    LedgerError,
    NotReleasedError,
)

# Warnings that are meant for the user, one line each.
FOR_USERS = (CentreNotSeenWarning, WeakPrivacyWarning)

# Signals that end a process politely: Ctrl-C, kill, and a terminal that was closed.
SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        By default those of the process.

    Returns
    -------
    int
        The exit status: 0, or 2 after an error, which is one line on stderr; 1 if a check found
        what differs, or if all was done and could not be printed; 128 and the number of the signal
        after an interrupt.
    """
    _occupy_standard_streams()
    said = io.StringIO()  # printed at the end: an output that is closed must not end a fit
    with _stoppable(), _plain_warnings(), redirect_stdout(said):
        message, status = _attempt(arguments)
    lost = print_to("stdout", said.getvalue())
    if lost is not None and not status:
        status = 1
        if not isinstance(lost, BrokenPipeError):  # who closes a pipe has read enough
            message = f"all was done, but it cannot be printed: {lost.strerror}"
    if message:
        line = "; ".join(line.strip() for line in message.splitlines())
        print_to("stderr", f"skdppca: error: {line}\n")
    return status


def _occupy_standard_streams() -> None:
    """Open what is closed: else a file gets its number, and a library's message lands there."""
    while (number := os.open(os.devnull, os.O_RDWR)) < 3:
        pass
    os.close(number)


def _attempt(arguments: Sequence[str] | None) -> tuple[str, int]:
    """Run a command; return what went wrong and the exit status."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    command: type[Command] | None = None
    try:
        options = vars(parser_of(given[0] if given else "").parse_args(given))
        command = options.pop("command")
        status = command(**options).run() or 0
    except SystemExit as end:  # argparse's, after --help too
        return ("", 0) if end.code in (None, 0) else (str(end.code), 2)
    except Ended as error:
        return str(error), error.status
    except ANTICIPATED as error:
        said = str(error) or type(error).__name__
        return said if command is None else command.in_options(said), 2
    except MemoryError:
        # numpy's message contains the shape of the data, and with it the number of rows.
        return "out of memory, and nothing was charged; free some, or give fewer columns", 2
    except KeyboardInterrupt as interrupt:
        return "interrupted", status_of(interrupt)
    return "", status


@contextmanager
def _stoppable() -> Iterator[None]:
    """Treat a signal to end as Ctrl-C, so that a run can say what it has charged."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    # nohup, and a shell's background, have some of them ignored: they stay so.
    heeded = [number for number in SIGNALS if before[number] not in (signal.SIG_IGN, None)]
    for number in heeded:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in heeded:
            signal.signal(number, before[number])


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Print warnings that are meant for the user as one line each, at once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoiseOnlyWarning)  # the results say it
        for category in FOR_USERS:
            warnings.simplefilter("always", category)
        shown = warnings.showwarning

        def show(message: Any, category: type[Warning], *where: Any) -> None:
            if issubclass(category, FOR_USERS):
                print_to("stderr", f"skdppca: warning: {message}\n")
            else:
                shown(message, category, *where)

        warnings.showwarning = show  # type: ignore[assignment]
        yield


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt(number)
