"""Text that is safe to print on a terminal, whatever wrote it."""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress
from unicodedata import category

from .._text import printable

# Digits that name a release or a ledger.
SHOWN = 16


def has_controls(text: str) -> bool:
    """Whether the text has control characters, such as a line break, or bytes that are no UTF-8."""
    return any(category(letter) in ("Cc", "Cs") for letter in text)


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
