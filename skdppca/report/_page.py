"""A report as HTML: whatever it says is escaped where it is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ._found import FIRST, found
from ._pictures import Picture
from ._sections import page_facts, templates, words


def page(document: Mapping[str, Any], pictures: Sequence[Picture]) -> str:
    """Return the page as HTML text: one file that loads nothing.

    Parameters
    ----------
    document : dict
        What a report holds, as JSON-able values.
    pictures : sequence of Picture
    """
    return _rendered("page.html", document, pictures)


def snippet(document: Mapping[str, Any], pictures: Sequence[Picture]) -> str:
    """Return the box, what was found and the pictures as HTML, to stand in another page."""
    return _rendered("snippet.html", document, pictures)


def _rendered(template: str, document: Mapping[str, Any], pictures: Sequence[Picture]) -> str:
    environment = templates()
    style = environment.loader.get_source(environment, "style.css")[0].strip()
    text: str = environment.get_template(template).render(
        page_facts(document),
        first=FIRST,
        found=found(document),
        pictures=pictures,
        say=words(),
        style=style,
    )
    return text.strip() + "\n"
