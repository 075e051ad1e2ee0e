"""A report as HTML and as Markdown: from its sections, whatever they say."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from .._text import shown
from ._blocks import Block, Box, Bullets, Code, Fact, Facts, Figure, Section, TableBlock, Text
from ._found import FIRST, found
from ._sections import box, sections, templates
from ._svg import address


def page(document: Mapping[str, Any], pictures: Mapping[str, str]) -> str:
    """The page as HTML text: one file that loads nothing.

    Parameters
    ----------
    document : dict
        What a report holds, as JSON-able values.
    pictures : dict of str to str
        `svg` elements by name; all that the document tells of.
    """
    return _rendered("page.html", document, pictures, sections=sections(document))


def snippet(document: Mapping[str, Any], pictures: Mapping[str, str]) -> str:
    """The box, what was found and the pictures as HTML, to stand in another page."""
    figures = [Figure(one["name"], one["alt"]) for one in shown(document["pictures"])]
    return _rendered("snippet.html", document, pictures, figures=figures)


def _rendered(
    template: str, document: Mapping[str, Any], pictures: Mapping[str, str], **more: Any
) -> str:
    environment = templates()
    style = environment.loader.get_source(environment, "style.css")[0].strip()
    text: str = environment.get_template(template).render(
        title=shown(document["title"]),
        box=box(document),
        first=FIRST,
        found=found(document),
        pictures={name: address(picture) for name, picture in pictures.items()},
        style=style,
        **more,
    )
    return text.strip() + "\n"


def markdown(document: Mapping[str, Any]) -> str:
    """The report as Markdown; pictures are links to their files."""
    parts = [f"# {_escaped(shown(document['title']))}", f"## 1. {FIRST}", *_box(box(document))]
    parts += map(_block, found(document))
    for section in sections(document):
        parts += [f"## {section.number}. {section.title}", *_section(section)]
    return "\n\n".join(parts) + "\n"


def _box(box: Box) -> list[str]:
    reasons = [f"**{_escaped(reason)}**" for reason in box.reasons]
    return [f"**{box.headline}**", *reasons, _facts(box.facts)]


def _section(section: Section) -> list[str]:
    return [_block(block) for block in section.blocks]


def _block(block: Block) -> str:
    match block:
        case Text(text, tone):
            return f"**{_escaped(text)}**" if tone == "warning" else _escaped(text)
        case Facts(facts):
            return _facts(facts)
        case TableBlock(_, heads, rows):
            lines = [heads, ["---"] * len(heads), *rows]
            return "\n".join(f"| {' | '.join(map(_escaped, line))} |" for line in lines)
        case Bullets(points):
            return "\n".join(f"- {_escaped(point)}" for point in points)
        case Code(lines):
            fence = "`" * (1 + max(map(len, re.findall("`+", "\n".join(lines))), default=2))
            return "\n".join([fence, *lines, fence])
        case Figure(name, alt):
            return f"![{_escaped(alt)}]({name}.svg)"


def _facts(facts: Sequence[Fact]) -> str:
    return "\n".join(f"- {_escaped(fact.label)}: {_escaped(fact.text)}" for fact in facts)


def _escaped(text: str) -> str:
    """Text that Markdown shows as it is, and that opens no HTML."""
    if text == "---":
        return text
    return re.sub(r"([\\`*_\[\]<>|#!$~])", r"\\\1", text.replace("&", "&amp;"))
