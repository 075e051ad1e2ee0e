"""Sections of a page, in a few kinds of blocks: all plain text that HTML escapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple


class PageFact(NamedTuple):
    """A label and what it says; `tone` is "", "declared" or "missing"."""

    label: str
    text: str
    tone: str = ""


class PageBlock(NamedTuple):
    """A piece of a section.

    Parameters
    ----------
    kind : {"text", "facts", "table", "bullets", "code", "figure"}
    content : object
        A text, a picture, or a list of facts, rows, sentences or commands.
    tone : str
        Of a text: "", "note" or "warning". Of facts: "long" if labels are sentences.
    caption, heads
        Of a table.
    words : sequence of int
        The columns of a table that are not of numbers.
    """

    kind: str
    content: Any
    tone: str = ""
    caption: str = ""
    heads: Sequence[str] = ()
    words: Sequence[int] = (0,)


class PageSection(NamedTuple):
    """A part of a page; a box has none, and no title."""

    title: str
    blocks: list[PageBlock]


def called_for(template: Any, facts: Mapping[str, Any]) -> list[PageSection]:
    """Return the blocks that a template calls for, by section.

    What stands in the template, and the values between, come in as plain text. Whatever shows the
    blocks escapes all of it.
    """
    sections, entries = [PageSection("", [])], list[Any]()

    def section(title: str) -> str:
        sections.append(PageSection(title, []))
        return ""

    def add(kind: str, content: Any, *more: Any) -> str:
        sections[-1].blocks.append(PageBlock(kind, content, *more))
        return ""

    def enter(entry: Any) -> str:
        entries.append(entry)
        return ""

    def within(caller: Callable[[], str]) -> tuple[Any, ...]:
        entries.clear()
        assert not caller().strip()
        return tuple(entries)

    calls: dict[str, Callable[..., str]] = {
        "section": section,
        "text": lambda text, tone="": add("text", text, tone),
        "facts": lambda caller, tone="": add("facts", within(caller), tone),
        "fact": lambda *fact: enter(PageFact(*fact)),
        "table": lambda caption, heads, caller, words=(0,): add(
            "table", within(caller), "", caption, heads, words
        ),
        "row": lambda *cells: enter(tuple(map(str, cells))),
        "bullets": lambda caller: add("bullets", within(caller)),
        "point": enter,
        "code": lambda *lines: add("code", lines),
        "figure": lambda name: "".join(
            add("figure", one) for one in facts["pictures"] if one.name == name
        ),
    }
    outside = template.render({**facts, **calls})
    assert not outside.strip(), "words outside of a call stand nowhere"
    return sections
