"""Text that is safe to print on a terminal, whatever wrote it."""

from __future__ import annotations

__all__ = ["printable"]


def printable(text: str) -> str:
    r"""Return the text with backslash escapes for what a terminal would obey or cannot show.

    Parameters
    ----------
    text : str
        One line. A line break is escaped, too, because it could begin a line of its own.

    Returns
    -------
    str
        Control characters, marks that change the direction of writing, and bytes that are no
        UTF-8, as escapes; everything else as it is.

    Examples
    --------
    >>> print(printable("a\x1b[2Jb"))
    a\x1b[2Jb
    """
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
        for letter in text
    )
