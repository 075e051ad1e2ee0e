"""What a report is made of, whatever it is printed as: sections of a few kinds of blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ._pictures import Picture


@dataclass(frozen=True)
class Text:
    """A paragraph; `tone` is "", "note" or "warning"."""

    kind: ClassVar[str] = "text"
    text: str
    tone: str = ""


@dataclass(frozen=True)
class Fact:
    """A label and what it says; `tone` is "", "declared" or "missing"."""

    label: str
    text: str
    tone: str = ""


@dataclass(frozen=True)
class Facts:
    """Facts one below the other; with `long`, their labels are sentences."""

    kind: ClassVar[str] = "facts"
    facts: Sequence[Fact]
    long: bool = False


@dataclass(frozen=True)
class TableBlock:
    """Columns with heads; the columns of which `text` has the number are not of numbers."""

    kind: ClassVar[str] = "table"
    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    text: Sequence[int] = (0,)

    def aligned(self) -> list[str]:
        """The table as lines of text."""
        lines = [self.heads, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]


@dataclass(frozen=True)
class Bullets:
    """A list of sentences."""

    kind: ClassVar[str] = "bullets"
    points: Sequence[str]


@dataclass(frozen=True)
class Code:
    """Commands, one a line."""

    kind: ClassVar[str] = "code"
    lines: Sequence[str]


@dataclass(frozen=True)
class Figure:
    """A picture."""

    kind: ClassVar[str] = "figure"
    picture: Picture


Block = Text | Facts | TableBlock | Bullets | Code | Figure


@dataclass(frozen=True)
class Section:
    """A numbered part of a report."""

    number: int
    title: str
    blocks: Sequence[Block]

    @property
    def anchor(self) -> str:
        """The id of its heading."""
        return f"section-{self.number}"


@dataclass(frozen=True)
class Box:
    """The decision box: `status` is a key of `STATUS`."""

    status: str
    headline: str
    facts: Sequence[Fact]
    reasons: Sequence[str] = ()


def called_for(template: Any, facts: Mapping[str, Any]) -> list[tuple[str, list[Block]]]:
    """Return the blocks that a template calls for, by section; a box has none, and no title.

    What stands in the template, and the values between, come in as plain text. Whatever shows the
    blocks escapes all of it.
    """
    sections: list[tuple[str, list[Block]]] = [("", [])]
    entries: list[Any] = []

    def section(title: str) -> str:
        sections.append((title, []))
        return ""

    def add(*blocks: Block) -> str:
        sections[-1][1].extend(blocks)
        return ""

    def enter(entry: Any) -> str:
        entries.append(entry)
        return ""

    def within(caller: Callable[[], str]) -> tuple[Any, ...]:
        entries.clear()
        assert not caller().strip()
        return tuple(entries)

    def figure(name: str) -> str:
        return add(*(Figure(one) for one in facts["pictures"] if one.name == name))

    calls: dict[str, Callable[..., str]] = {
        "section": section,
        "text": lambda text, tone="": add(Text(text, tone)),
        "facts": lambda caller, long=False: add(Facts(within(caller), long)),
        "fact": lambda label, text, tone="": enter(Fact(label, text, tone)),
        "table": lambda caption, heads, caller, words=(0,): add(
            TableBlock(caption, heads, within(caller), words)
        ),
        "row": lambda *cells: enter(tuple(map(str, cells))),
        "bullets": lambda caller: add(Bullets(within(caller))),
        "point": enter,
        "code": lambda *lines: add(Code(lines)),
        "figure": figure,
    }
    left_out = template.render({**facts, **calls})
    assert not left_out.strip(), "words outside of a call stand nowhere"
    return sections
