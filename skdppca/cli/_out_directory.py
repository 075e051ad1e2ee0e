"""The directory that results go to: what must not be replaced in it, what is, and writing."""

from __future__ import annotations

import os
from pathlib import Path
from shlex import quote

from ..report import ReleaseReport, verify
from ..report._contents import FILES, SUMS
from ..report._directory import Directory
from ._terminal import SHOWN

NOT_STATED = "No --title and no --context: the page says 'Not stated'. To state them, in a copy:"


def spare(out: Path, *read: Path | None) -> None:
    """Refuse to replace what a command reads by a result."""
    for path in read:
        if path is None:
            continue
        for name in (SUMS, *FILES):
            if os.path.exists(path) and os.path.exists(out / name) and path.samefile(out / name):
                raise ValueError(
                    f"{path} would be replaced by the file of that name in --out {out}; choose "
                    "another directory"
                )


def apart(out: Path, *directories: Path) -> None:
    """Refuse to write a release into one that a command reads."""
    for directory in directories:
        if out.resolve().is_relative_to(directory.resolve()):
            raise ValueError(
                f"--out {out} lies in {directory}, which is read and stays as it is; choose "
                "another directory"
            )


def replaced(out: Path) -> list[str]:
    """Lines about the charge of an earlier release in the directory, which stays."""
    try:
        one = verify(out).report
    except OSError:  # there is none
        return []
    if one is None:
        return []
    return [
        f"Replaced: release {one.release_id[:SHOWN]}. Its charge stays: epsilon {one.epsilon:g} at "
        f"delta {one.delta:g}, row {receipt.row} of the ledger {receipt.accountant[:SHOWN]}"
        for receipt in one.receipts
    ]


def write(report: ReleaseReport, directory: Directory) -> list[str]:
    """Write a release, the most important files first, and move it into place.

    Parameters
    ----------
    report : ReleaseReport
    directory : Directory
        Files of an earlier release in it are replaced or removed.

    Returns
    -------
    list of str
        The names of the files.

    Raises
    ------
    OSError
        If a file could not be written. The others are left apart, and nothing was replaced.
    """
    lost = []
    for name, content in report._files().items():
        try:
            directory.add(name, content)
        except Exception as error:
            lost.append(f"{name} ({getattr(error, 'strerror', None) or type(error).__name__})")
    if lost:
        raise OSError(f"not written: {', '.join(lost)}")
    return directory.publish()


def where_written(out: Path, written: list[str], why: str) -> str:
    """Say which files a release has, and why it has no pictures."""
    text = f"Written to {out}/: {', '.join(written)}"
    return text + (f"\nNo pictures: {why}" if why else "")


def not_stated(out: Path, *words: object) -> list[str]:
    """Return the command that adds a title and answers to a release that has neither."""
    if any(one is not None for one in words):
        return []
    return [
        f"{NOT_STATED}\n  skdppca declare {quote(str(out))} --title TEXT --context FILE --out DIR"
    ]
