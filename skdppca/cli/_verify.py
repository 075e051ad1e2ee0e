"""``skdppca verify``: whether a report, the files beside it and a ledger agree."""

from __future__ import annotations

import argparse
import csv
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..privacy import Finding, PrivacyLedger, PrivacyReport, verify_report
from ..privacy.report import MAX_LENGTH, parse
from ._directory import MANIFEST, MANIFEST_SCHEMA
from ._text import printable
from ._write import ARRAYS, FILES, PAGE, REPORT, TABLE

__all__ = ["Examined", "check_directory", "examine", "verify_release"]

# Every release has these, and may have pictures.
NEEDED = (ARRAYS, TABLE, REPORT, PAGE)

# These are compared with the report itself; all others with the manifest only.
COMPARED = (ARRAYS, TABLE, REPORT)

BEYOND = (
    "No check can tell whether the noise was drawn as stated, what was fitted on the data before, "
    "or what was released without a charge."
)


@dataclass(frozen=True)
class Examined:
    """What the checks of one report found; as text, one line a level.

    Parameters
    ----------
    report : PrivacyReport or None
        None if it cannot be read.
    findings : list of Finding
    levels : list of int
        Those that were asked for.
    listed : list of str
        The files that the manifest names.
    """

    report: PrivacyReport | None
    findings: list[Finding]
    levels: list[int]
    listed: list[str]

    @property
    def passed(self) -> bool:
        """Whether nothing differs."""
        return all(finding.passed for finding in self.findings)

    def __str__(self) -> str:
        lines, agree = [], True
        for level in (1, 2, 3):
            wrong = [f for f in self.findings if f.level == level and not f.passed]
            agree = agree and not wrong
            lines.append(f"Level {level} of 4: {self._said(level, agree, bool(wrong))}")
            lines += [f"  {finding.what}: {finding.says}" for finding in wrong]
        if self.passed:
            lines.append(BEYOND)
        return "\n".join(map(printable, lines))

    def _said(self, level: int, agree: bool, differs: bool) -> str:
        if level not in self.levels:
            return self._left_out(level)
        if not agree:
            return "something differs." if differs else "not complete, for a level before differs."
        if level == 1:
            return "this report agrees with itself."
        if level == 2:
            alone = [name for name in self.listed if name not in COMPARED]
            if self.report is not None and self.report.feature_names is None:
                alone.append("the features' names")
            told = ", ".join(alone)
            return f"this report and these files agree. Only {MANIFEST} vouches for {told}."
        files = ", these files" if 2 in self.levels else ""
        return f"this report{files} and this ledger agree. Not checked: who wrote the ledger."

    def _left_out(self, level: int) -> str:
        if level == 2:
            return "not checked; give the directory, to check the files in it."
        if self.report is not None and self.report.receipt is None:
            return "there is none, because no ledger was charged."
        return "not checked; give --ledger FILE, to check the charge."


def verify_release(options: argparse.Namespace) -> int:
    """Print what agrees and what differs; return the exit status."""
    check_directory(options.directory)
    ledger = None if options.ledger is None else PrivacyLedger(options.ledger)
    examined = examine(options.directory, ledger)
    print(examined)
    return 0 if examined.passed else 1


def check_directory(path: Path) -> None:
    """Refuse a report without its files."""
    if not path.is_dir():
        raise OSError(f"{path} is no directory; give one that `skdppca fit --out` wrote")


def examine(path: Path, ledger: PrivacyLedger | None = None) -> Examined:
    """Check a report by itself, with the files of its directory, and with a ledger.

    Parameters
    ----------
    path : Path
        The directory of a release; or a report alone, whose files are not checked then.
    ledger : PrivacyLedger, optional

    Raises
    ------
    OSError
        If there is no report.
    LedgerError
        If the ledger cannot be read.
    """
    whole = path.is_dir()
    text = _text(path / REPORT if whole else path)
    arrays = _arrays(path / ARRAYS) if whole else None
    findings = verify_report(text, arrays=arrays, ledger=ledger)
    report = PrivacyReport.from_json(text) if findings[0].passed else None
    listed = _listed(path / MANIFEST) if whole else None
    if whole:
        differences = [*_wrong_numbers(path, arrays), *_wrong_files(path, listed)]
        findings += [Finding(2, "files", False, difference) for difference in differences]
    levels = [1, *([2] if whole else []), *([3] if ledger is not None else [])]
    return Examined(report, findings, levels, list(listed or ()))


def _text(path: Path) -> str:
    """The text of a report, or as much of it as tells that it is too long."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_LENGTH + 1).decode(errors="replace")
    except OSError as error:
        raise OSError(
            f"{path}: {error.strerror}; give a directory that `skdppca fit --out` wrote"
        ) from None


def _arrays(path: Path) -> dict[str, Any] | None:
    """All arrays of an archive; None if it is missing or none, whatever is wrong with it."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
            return arrays if len(arrays) == len(archive.files) else None  # no name twice
    except Exception:
        return None


def _listed(path: Path) -> dict[str, str] | None:
    """The files' hashes in a manifest, by name; None if it is missing or none."""
    try:
        content = parse(_text(path))
        listed = content["files"]
        written = content == {"schema": MANIFEST_SCHEMA, "files": listed} and all(
            isinstance(digest, str) and Path(name).name == name != ""
            for name, digest in listed.items()
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    return listed if written else None


def _wrong_numbers(path: Path, arrays: Mapping[str, Any] | None) -> Iterator[str]:
    """What the files with numbers in them lack, and whether they differ from each other."""
    if arrays is None:
        yield f"{ARRAYS} is missing, or no archive of arrays"
    elif not _same_table(path / TABLE, arrays):
        yield f"{TABLE} is missing, or has other names or numbers than {ARRAYS}"


def _same_table(path: Path, arrays: Mapping[str, Any]) -> bool:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            head, *lines = csv.reader(file)
        columns = {name: arrays[name] for name in ("mean", "scale") if name in arrays}
        columns |= {f"pc{i + 1}": component for i, component in enumerate(arrays["components"])}
        expected = np.column_stack(list(columns.values()))
        # a quote before a name keeps a spreadsheet from running it
        named = [
            line[0] in (name, f"'{name}")
            for line, name in zip(lines, arrays["feature_names"], strict=True)
        ]
        numbers = np.array([line[1:] for line in lines], dtype=np.float64)
        return head[1:] == list(columns) and all(named) and np.array_equal(numbers, expected)
    except (OSError, ValueError, KeyError, IndexError, csv.Error):
        return False


def _wrong_files(path: Path, listed: Mapping[str, str] | None) -> Iterator[str]:
    """Which files are missing, changed or of another release, by the manifest."""
    if listed is None:
        yield f"{MANIFEST} is missing, or not as skdppca writes it"
        return
    for name in sorted({*NEEDED, *listed}):
        if not (path / name).is_file():
            yield f"{name} is missing"
        elif name not in listed:
            yield f"{name} is not in {MANIFEST}"
        elif _sha256(path / name) != listed[name]:
            yield f"{name} was changed"
    for name in sorted({*FILES} - {*NEEDED, *listed}):
        if (path / name).exists():
            yield f"{name} is not in {MANIFEST}: it is of another release"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
