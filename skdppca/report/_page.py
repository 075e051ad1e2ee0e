"""A report as HTML: from its sections, whatever they say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._text import shown
from ._found import FIRST, found
from ._pictures import Picture
from ._sections import box, sections, templates


def page(document: Mapping[str, Any], pictures: Sequence[Picture]) -> str:
    """Return the page as HTML text: one file that loads nothing.

    Parameters
    ----------
    document : dict
        What a report holds, as JSON-able values.
    pictures : sequence of Picture
    """
    return _rendered("page.html", document, pictures, sections=sections(document, pictures))


def snippet(document: Mapping[str, Any], pictures: Sequence[Picture]) -> str:
    """Return the box, what was found and the pictures as HTML, to stand in another page."""
    return _rendered("snippet.html", document, pictures)


def _rendered(
    template: str, document: Mapping[str, Any], pictures: Sequence[Picture], **more: Any
) -> str:
    environment = templates()
    style = environment.loader.get_source(environment, "style.css")[0].strip()
    text: str = environment.get_template(template).render(
        title=shown(document["title"]),
        **box(document),
        first=FIRST,
        found=found(document),
        pictures=pictures,
        style=style,
        **more,
    )
    return text.strip() + "\n"
