"""What a report is made of, whatever it is printed as: sections of a few kinds of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

__all__ = ["Box", "Bullets", "Code", "Fact", "Facts", "Figure", "Section", "Table", "Text"]


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
class Table:
    """Columns with heads; the columns of which `text` has the number are not of numbers."""

    kind: ClassVar[str] = "table"
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    text: Sequence[int] = (0,)


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
    """A picture, by its name."""

    kind: ClassVar[str] = "figure"
    name: str
    alt: str


Block = Text | Facts | Table | Bullets | Code | Figure


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
    reasons: Sequence[str] = field(default=())
