"""Tables that are read aloud well: heads say what they are heads of, and each table has a caption.

A table without a title gets the heading above it, which the eye has seen already, for ears only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # a test uses this module without Sphinx
    from sphinx.application import Sphinx

HEADING_OR_TABLE = re.compile(r"<h[1-6][\s>].*?</h[1-6]>|<table[\s>].*?</table>", re.DOTALL)
ROW = re.compile(r"<tr[\s>].*?</tr>", re.DOTALL)


def readable(body: str) -> str:
    """Return a page with captions and scopes in all of its tables."""
    heading = ""

    def changed(found: re.Match[str]) -> str:
        nonlocal heading
        text = found[0]
        if text.startswith("<h"):
            heading = re.sub(r'<a class="headerlink".*?</a>|<[^>]*>', "", text, flags=re.DOTALL)
            return text
        if "<caption" not in text:
            caption = f'<caption class="visually-hidden">{heading}</caption>'
            text = re.sub(r"<table[^>]*>", lambda start: start[0] + caption, text, count=1)
        return ROW.sub(_scoped, text)

    return HEADING_OR_TABLE.sub(changed, body)


def _scoped(row: re.Match[str]) -> str:
    """Say whether heads are those of columns, in a row of heads only, or of their row."""
    scope = "row" if "<td" in row[0] else "col"
    return re.sub(r"<th(?=[\s>])(?![^>]*\sscope=)", f'<th scope="{scope}"', row[0])


def read(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Change a page before it is written."""
    if "body" in context:
        context["body"] = readable(context["body"])


def setup(app: Sphinx) -> dict[str, bool]:
    """Look at all pages."""
    app.connect("html-page-context", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
