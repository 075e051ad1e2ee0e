"""The files of a release. They contain released values and declared words only."""

from __future__ import annotations

import csv
import errno
import hashlib
import io
import json
import os
import re
import stat
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from .._text import printable
from ..privacy import Released
from ._subject import Subject

# Writes a file that is open for it.
Write = Callable[[BinaryIO], object]

# The files of a release: tables and arrays, the report that they belong to, and its page.
ARRAYS, TABLE, PARTS = "components.npz", "components.csv", "parts.npz"
REPORT, PAGE = "report.json", "report.html"

# The hashes of all other files, as `sha256sum -c` reads them, and their signature.
SUMS = "SHA256SUMS"
SIGNATURE = f"{SUMS}.sig"
LINE = re.compile("([0-9a-f]{64})  ([a-z0-9.]+)")

# All names that a release may have beside its hashes.
FILES = (ARRAYS, TABLE, PARTS, REPORT, PAGE, SIGNATURE)

# Most bytes of one archive: all components of 16 000 features. And of the hashes.
MOST_BYTES = 2**31
MOST_LISTED = 2**14

# Bytes that an array takes beside its numbers, at most: headers of zip and npy, its name twice.
OVERHEAD = 1024
NUMBERS = re.compile("bool|u?int(8|16|32|64)|float(16|32|64)")

# A spreadsheet may run a cell that begins so as a formula, also in full width (OWASP, "CSV
# Injection"). A quote before it makes it text.
FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def files(subject: Subject, report: Callable[[], str], page: Callable[[], str]) -> dict[str, Write]:
    """Return what writes each file of a release, by the file's name, the most important first.

    Parameters
    ----------
    subject : Subject
        Whose arrays and table come first.
    report, page : callable
        Return the text of the other files, and may fail without harm to the first.
    """
    found: dict[str, Write] = {ARRAYS: lambda file: _write_arrays(subject, file)}
    if "components" in subject.arrays:
        found[TABLE] = lambda file: file.write(table(subject))
    if subject.parts:
        found[PARTS] = lambda file: _write_parts(subject, file)
    texts: dict[str, Write] = {
        REPORT: lambda file: file.write(report().encode()),
        PAGE: lambda file: file.write(page().encode()),
    }
    return found | texts


def as_json(document: Mapping[str, Any]) -> str:
    """Return the document as text, the same for the same values."""
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _write_arrays(subject: Subject, file: BinaryIO) -> None:
    """Write the arrays as they are: the report holds their hashes."""
    arrays = dict(subject.arrays)
    if subject.names:
        arrays["feature_names"] = np.array(subject.names, dtype=str)
    np.savez(file, **arrays)


def _write_parts(subject: Subject, file: BinaryIO) -> None:
    """Write the arrays of all parts: those of the first are called 1.components and so on."""
    arrays: dict[str, Any] = {}
    for number, part in enumerate(subject.parts, start=1):
        arrays |= {f"{number}.{name}": array for name, array in part.items()}
    np.savez(file, **arrays)


def table(subject: Subject) -> bytes:
    """Return one line per feature: name, mean, private scale if any, entry in each component."""
    columns = {name: subject.arrays[name] for name in ("mean", "scale") if name in subject.arrays}
    components = np.atleast_2d(subject.arrays["components"])
    lines = csv.writer(text := io.StringIO(), lineterminator="\n")
    lines.writerow(["feature", *columns, *(f"pc{i + 1}" for i in range(len(components)))])
    for name, *entries in zip(subject.names, *columns.values(), *components, strict=True):
        lines.writerow([cell(name), *map(float, entries)])
    return text.getvalue().encode()


def cell(name: str) -> str:
    """Return a name as printable text, which no reader takes for a new line or a formula."""
    text = printable(name)
    return f"'{text}" if text.startswith(FORMULA) else text


def archived(released: Sequence[Released], names: Sequence[str] | None = None) -> None:
    """Refuse arrays and names of features that take more bytes than a release may.

    Raises
    ------
    ValueError
    """
    total = 4 * len(names) * max(map(len, names)) if names else 0
    for one in released:
        if not NUMBERS.fullmatch(one.dtype) or min(one.shape, default=0) < 0:
            raise ValueError(f"{one.name} is declared with a type or a shape that no array has")
        total += prod(one.shape) * np.dtype(one.dtype).itemsize + OVERHEAD
    if total > MOST_BYTES:
        raise ValueError(
            f"arrays and names take more than {MOST_BYTES / 2**30:g} GiB, and no release holds "
            "more; set keep_matrix=False if there is a matrix, or release fewer components"
        )


def read_file(path: Path, most: int) -> bytes:
    """Return what a regular file holds.

    Raises
    ------
    OSError
        If there is none; `strerror` says what there is.
    ValueError
        If it has more bytes than `most`.
    """
    about = path.stat()
    if not stat.S_ISREG(about.st_mode):  # to read a pipe or a device may never end
        raise OSError(errno.EINVAL, "it is no file", os.fspath(path))
    if about.st_size > most:
        raise ValueError(f"it is larger than {most} bytes")
    return path.read_bytes()


def read_arrays(path: Path) -> dict[str, np.ndarray] | None:
    """Return the arrays of a release; None if there is no archive of them, whatever is wrong."""
    with suppress(Exception):
        content = read_file(path, MOST_BYTES)
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            # nothing is unpacked: a small file could fill the memory
            stored = all(one.compress_type == zipfile.ZIP_STORED for one in members)
            if not stored or sum(one.file_size for one in members) > len(content):
                return None
            arrays = {one.filename: _array(archive.read(one)) for one in members}
        named = len(arrays) == len(members) and all(name.endswith(".npy") for name in arrays)
        if named and content.startswith(b"PK"):
            return {name.removesuffix(".npy"): array for name, array in arrays.items()}
    return None


def _array(content: bytes) -> np.ndarray:
    """Return the array of a member of an archive, which is all of the member.

    Raises
    ------
    Exception
        If it is no array of numbers, or of names.
    """
    file = io.BytesIO(content)
    array: np.ndarray = np.lib.format.read_array(file, allow_pickle=False)
    is_known = array.dtype.kind == "U" or NUMBERS.fullmatch(array.dtype.name)
    if not is_known or file.read(1) or not array.nbytes:  # longer numbers have unused bytes
        raise ValueError("it holds something else, or nothing")
    if array.dtype.kind == "U" and not (array.ndim == 1 and array.tolist()):  # fails for no text
        raise ValueError("it holds no names")
    return array


def read_parts(path: Path) -> tuple[dict[str, np.ndarray], ...]:
    """Return the arrays of each part of a merged release; none if there is no archive of them."""
    parts: dict[str, dict[str, np.ndarray]] = {}
    for key, array in (read_arrays(path) or {}).items():
        number, _, name = key.partition(".")
        parts.setdefault(number, {})[name] = array
    return tuple(parts.get(str(number), {}) for number in range(1, len(parts) + 1))


def sums(hashes: Mapping[str, str]) -> str:
    """Return the hashes of files by their names, as `sha256sum -c` reads them."""
    return "".join(f"{sha256}  {name}\n" for name, sha256 in hashes.items())


def hashes_in(folder: Path) -> dict[str, str] | None:
    """Return the hashes that a release lists, by name; None if it lists none."""
    try:
        text = read_file(folder / SUMS, MOST_LISTED).decode(errors="replace")
    except (OSError, ValueError):
        return None
    lines = [LINE.fullmatch(line) for line in text.splitlines()]
    hashes = {line[2]: line[1] for line in lines if line is not None}
    return hashes if sums(hashes) == text else None


def hash_of_file(path: Path) -> str:
    """Return the SHA-256 of a file, hexadecimal; "" if it cannot be read."""
    with suppress(OSError), path.open("rb") as file:
        if path.stat().st_size <= MOST_BYTES:
            return hashlib.file_digest(file, "sha256").hexdigest()
    return ""
