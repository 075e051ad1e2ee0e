"""The files of a release. They contain released values and declared words only."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np

from .._text import printable
from ._archive import write_archive
from ._directory import MANIFEST, REPORT, Write
from ._pictures import PICTURES
from ._subject import Subject

PAGE = "report.html"
SIGNATURE = f"{MANIFEST}.sig"

# Releases in one report, at most.
MOST = 9

_NUMBERS = ("", *map(str, range(2, MOST + 1)))

# All names that a release may have beside its manifest.
FILES = (
    *(f"components{number}.npz" for number in _NUMBERS),
    *(f"components{number}.csv" for number in _NUMBERS),
    REPORT,
    PAGE,
    *(f"{name}{number}.svg" for name in PICTURES for number in _NUMBERS),
    SIGNATURE,
)

# A spreadsheet may run a cell that begins so as a formula, also in full width (OWASP, "CSV
# Injection"). A quote before it makes it text.
FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def arrays_file(place: int) -> str:
    """The name of the archive of the release at this place of a report."""
    return f"components{_NUMBERS[place]}.npz"


def table_file(place: int) -> str:
    """The name of its table, if it has components."""
    return f"components{_NUMBERS[place]}.csv"


def files(subjects: Sequence[Subject], texts: Mapping[str, Callable[[], str]]) -> dict[str, Write]:
    """Return what writes each file of a release, by the file's name, the most important first.

    Parameters
    ----------
    subjects : sequence of Subject
        Whose arrays and tables come first.
    texts : dict of str to callable
        What returns each of the other files, which may fail without harm to the first.
    """
    found: dict[str, Write] = {}
    for place, one in enumerate(subjects):
        found[arrays_file(place)] = lambda file, one=one: _write_arrays(one, file)  # type: ignore[misc]
    for place, one in enumerate(subjects):
        if "components" in one.arrays:
            found[table_file(place)] = lambda file, one=one: write_table(one, file)  # type: ignore[misc]
    for name, text in texts.items():
        found[name] = lambda file, text=text: file.write(text().encode())  # type: ignore[misc]
    return found


def as_json(document: Mapping[str, Any]) -> str:
    """The document as text, the same for the same values."""
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _write_arrays(subject: Subject, file: BinaryIO) -> None:
    """Write the arrays as they are: the report holds their hashes."""
    names = {"feature_names": np.array(subject.names, dtype=str)} if subject.names else {}
    arrays: dict[str, Any] = {**subject.arrays, **names}
    write_archive(arrays, file)


def write_table(subject: Subject, file: BinaryIO) -> None:
    """Write one line per feature: name, mean, private scale if any, entry in each component."""
    columns = {name: subject.arrays[name] for name in ("mean", "scale") if name in subject.arrays}
    components = np.atleast_2d(subject.arrays["components"])
    text = io.TextIOWrapper(file, newline="", encoding="utf-8")
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(["feature", *columns, *(f"pc{i + 1}" for i in range(len(components)))])
    for name, *entries in zip(subject.names, *columns.values(), *components, strict=True):
        lines.writerow([cell(name), *map(float, entries)])
    text.detach()


def cell(name: str) -> str:
    """A name as printable text, which no reader takes for a new line and none for a formula."""
    text = printable(name)
    return f"'{text}" if text.startswith(FORMULA) else text
