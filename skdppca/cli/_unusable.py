"""Files that cannot be used: errors that name files and columns, and quote nothing else of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

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
