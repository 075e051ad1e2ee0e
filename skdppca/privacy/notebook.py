"""Tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from .._text import printable


def html_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table as HTML: every cell escaped, and as `printable` has it.

    Examples
    --------
    >>> html_table([], [["<1"]])
    '<table><thead><tr></tr></thead><tbody><tr><td>&lt;1</td></tr></tbody></table>'
    """
    head = "".join(f'<th scope="col">{escape(printable(name))}</th>' for name in heads)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(printable(cell))}</td>' for cell in row)}</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
