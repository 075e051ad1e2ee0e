"""Quotation marks in tables of text.

A reader takes what stands between two quotation marks for one cell, with all its line breaks. So a
mark that one record has left open would swallow the records behind it.
"""

from __future__ import annotations

from collections.abc import Iterable

MARK = '"'


def well_quoted(
    lines: Iterable[str], delimiter: str, line_breaks: bool = True, mark: str = MARK
) -> bool:
    r"""Whether quotation marks open and end whole cells only, or are doubled within one.

    So says RFC 4180: then the cells are the same for every reader, and no record decides how
    another is read.

    Parameters
    ----------
    lines : iterable of str
        With their ends, as a file gives them that was opened with ``newline=""``.
    delimiter : str
        What stands between cells.
    line_breaks : bool, default=True
        Whether a cell may have some.
    mark : str, default='"'
        The quotation mark.

    Examples
    --------
    >>> well_quoted(['a,b\n', '1,"5"" tube"\n'], ",")
    True
    >>> well_quoted(['a,b\n', '1," open\n', '2,3\n'], ",")
    False
    """
    quoted: bool | None = False
    for line in lines:
        if quoted or mark in line:
            quoted = _end_of(line, delimiter, mark, bool(quoted))
            if quoted is None or (quoted and not line_breaks):
                return False
    return not quoted


def _end_of(line: str, delimiter: str, mark: str, quoted: bool) -> bool | None:
    """Whether a quoted cell is open at the end of the line; None if a mark is out of place."""
    at = 0
    while True:
        if quoted:
            place = line.find(mark, at)
            if place < 0:
                return True
            behind = line[place + 1 : place + 2]
            if behind == mark:
                at = place + 2
            elif behind == delimiter:
                at, quoted = place + 2, False
            else:
                return False if behind in ("", "\r", "\n") else None
        elif line.startswith(mark, at):
            at, quoted = at + 1, True
        else:
            end = line.find(delimiter, at)
            if mark in line[at : len(line) if end < 0 else end]:
                return None
            if end < 0:
                return False
            at = end + 1
