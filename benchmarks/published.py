"""Check the cited figures: each key finds its figure, and what prints one agrees with it.

    python benchmarks/published.py

Pages cite a figure by the role ``measured``. Docstrings and README print it, and a row of
``doc/figures.csv`` ties it to its key (see `keys.py`): the ``file`` from the repository's root, the
``text``, words whose first number is the figure, and the ``key``.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import keys

ROOT = Path(__file__).parents[1]
PAGES = ("doc/**/*.rst", "doc/**/*.inc", "doc/tutorials/*.py", "examples/*.py")
BUILT = ("_build", "api/generated", "auto_")


def pages() -> Iterator[Path]:
    """All pages that people write."""
    for path in sorted(path for pattern in PAGES for path in ROOT.glob(pattern)):
        if not "/".join(path.relative_to(ROOT).parts[1:]).startswith(BUILT):
            yield path


def faults_of(page: Path) -> Iterator[str]:
    """Keys of a page that find no figure."""
    for key in re.findall(r":measured:`([^`]*)`", page.read_text(encoding="utf-8")):
        try:
            keys.figure(key)
        except keys.MissingFigure as error:
            yield f"{page.relative_to(ROOT)}: {error}"


def fault_of(row: dict[str, str]) -> str:
    """Say what is wrong with a printed figure."""
    if row["text"] not in " ".join((ROOT / row["file"]).read_text(encoding="utf-8").split()):
        return f"{row['file']} has no {row['text']!r}"
    try:
        value = keys.value(row["key"])
    except keys.MissingFigure as error:
        return f"{row['file']}: {error}"
    agreed = agrees(row["text"], value)
    return "" if agreed else f"{row['file']}: {row['text']!r}, but {row['key']} is {value:.4g}"


def agrees(text: str, value: float) -> bool:
    """Compare the first number of a text with a figure, as far as it is printed."""
    match = keys.NUMBER.search(text)
    if match is None:
        return False
    if re.match(r" ?%", text[match.end() :]):
        value *= 100
    return abs(float(match.group()) - value) <= keys.half_of(match.group()) * 1.001


def faults() -> list[str]:
    """All that is wrong."""
    with (ROOT / "doc" / "figures.csv").open(newline="", encoding="utf-8") as file:
        printed = filter(None, map(fault_of, csv.DictReader(file)))
        return [*(fault for page in pages() for fault in faults_of(page)), *printed]


if __name__ == "__main__":
    sys.exit("\n".join(faults()) or 0)
