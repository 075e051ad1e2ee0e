"""Fail on words without a number, riddles in docstrings and comments, and arrows between rooms.

A summary or a comment that opens with "What", "How" or "The same" does not name its subject, and
one that opens with "Of" or "As" is no sentence, nor is an entry.

A room is a module or package at the top of `skdppca`; an arrow says that one imports another, at
its top, in a function or for types only.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("skdppca", "tests")
PACKAGE = "skdppca"

# Today's numbers: no change may raise them.
MOST_CIRCLES = 0
MOST_ARROWS = 109

MOST_RIDDLES = 0
MOST_FRAGMENTS = 0
MOST_COMMENTS = 0

RIDDLE = re.compile(r"(What|How|Whether|Which|Those|Who|The same)\b")
FRAGMENT = re.compile(r"(Of|As)\b")

# Also over the end of a line, within a comment too.
NUMBERLESS = re.compile(r"\bso[\s#]+(?:many|much)\b", re.IGNORECASE)

Arrow = tuple[str, str]


def numberless(text: str) -> list[int]:
    """Numbers of the lines where words stand for a number or the name of a quantity."""
    return [text.count("\n", 0, found.start()) + 1 for found in NUMBERLESS.finditer(text)]


def places(root: Path, folders: Iterable[str]) -> Iterator[str]:
    """Path and line of all such words in the files of the folders."""
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                for line in numberless(path.read_text(encoding="utf-8", errors="replace")):
                    yield f"{path.relative_to(root)}:{line}"


def docstrings(root: Path) -> Iterator[str]:
    """Docstrings of all modules, classes and functions of the package."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for path in sorted((root / PACKAGE).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, documented):
                yield ast.get_docstring(node) or ""


def fragments_of(docstring: str) -> int:
    """Count openings of the docstring, of its paragraphs and of its entries that are fragments."""
    lines = ["", *docstring.splitlines()]
    opening = (
        line.strip()
        for before, line in pairwise(lines)
        if not before.strip() or len(line) - len(line.lstrip()) > len(before) - len(before.lstrip())
    )
    return sum(bool(FRAGMENT.match(line)) for line in opening)


def comments(root: Path) -> Iterator[str]:
    """First lines of all comments of the package that have lines of their own."""
    for path in sorted((root / PACKAGE).rglob("*.py")):
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
        for before, line in pairwise(["", *lines]):
            if line.startswith("# ") and not before.startswith("#"):
                yield line.removeprefix("# ")


def arrows_of(package: str) -> set[Arrow]:
    """All pairs of rooms of which the first imports the second; the package itself is a room."""
    graph = grimp.build_graph(package, cache_dir=None)
    rooms = graph.find_children(package)
    for room in rooms:
        graph.squash_module(room)
    return {
        (room, other)
        for room in {package, *rooms}
        for other in graph.find_modules_directly_imported_by(room)
        if other != room
    }


def circles_of(arrows: set[Arrow]) -> list[list[str]]:
    """Sets of rooms that all import each other, directly or through others."""
    reached: dict[str, set[str]] = {}
    for start in {room for arrow in arrows for room in arrow}:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            room = waiting.pop()
            new = {other for one, other in arrows if one == room} - seen
            seen |= new
            waiting += new
        reached[start] = seen
    circles = {
        frozenset(other for other in seen if start in reached[other])
        for start, seen in reached.items()
        if start in seen
    }
    return sorted(sorted(circle) for circle in circles)


def main() -> int:
    """Print what is wrong and all numbers; 1 if anything is wrong."""
    sys.path.insert(0, str(ROOT))
    found = list(places(ROOT, FOLDERS))
    for place in found:
        print(f"{place}: says 'so many' or 'so much'; write the number, or name the quantity")
    arrows = arrows_of(PACKAGE)
    circles = circles_of(arrows)
    # what the package offers is no arrow between two of its rooms
    n_arrows = sum(PACKAGE not in arrow for arrow in arrows)
    print(f"circles between rooms: {len(circles)} (at most {MOST_CIRCLES})")
    for circle in circles:
        print(f"  {', '.join(circle)} import each other; move what they share below them")
    print(f"arrows between rooms: {n_arrows} (at most {MOST_ARROWS})")
    texts = list(docstrings(ROOT))
    riddles, fragments = sum(map(bool, map(RIDDLE.match, texts))), sum(map(fragments_of, texts))
    print(f"summaries that open with a riddle: {riddles} (at most {MOST_RIDDLES})")
    print(f"sentences and entries that are fragments: {fragments} (at most {MOST_FRAGMENTS})")
    opened = sum(bool(RIDDLE.match(text) or FRAGMENT.match(text)) for text in comments(ROOT))
    print(f"comments that open with a riddle or a fragment: {opened} (at most {MOST_COMMENTS})")
    return int(
        bool(found)
        or len(circles) > MOST_CIRCLES
        or n_arrows > MOST_ARROWS
        or riddles > MOST_RIDDLES
        or fragments > MOST_FRAGMENTS
        or opened > MOST_COMMENTS
    )


if __name__ == "__main__":
    sys.exit(main())
