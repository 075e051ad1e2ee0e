"""``skdppca report``, and how the files of a release may be used."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from .._text import printable
from ..privacy import PrivacyReport
from ..report import verify
from ..report._sections import claim, status_of
from ..report._verify import check_directory

__all__ = ["advice", "lost", "report"]


def report(options: argparse.Namespace) -> int:
    """Print the report of a release in words, if its files agree; return the exit status."""
    check_directory(options.directory)
    found = verify(options.directory)
    if not found.passed:
        print(found)
        return 1
    for one in found.reports:
        print("\n".join([str(one), *lost(one)]))
    if any(one.receipt is not None for one in found.reports):
        print(f"To check the charge: skdppca verify {options.directory} --ledger FILE")
    print(advice(found.document))
    return 0


def advice(document: Mapping[str, Any]) -> str:
    """Say how the files of a release may be used."""
    status = status_of(document)
    if status == "broken":
        return "Nothing in these files is protected: treat them as you treat the data themselves."
    if status in ("void", "failed"):
        return "\n".join(map(printable, claim(document)))
    return "These files are private as stated; rows transformed with the components are not."


def lost(report: PrivacyReport) -> list[str]:
    """Which components are noise, and what to do, if there are any."""
    alignments = report.details.get("alignments", ())
    numbers = [i for i, alignment in enumerate(alignments, start=1) if alignment <= 0]
    if not numbers:
        return []
    first, last = numbers[0], numbers[-1]
    if last - first == len(numbers) - 1 > 1:
        which = f"Components {first} to {last}"
    else:
        which = f"Component{'s' * (last > first)} {', '.join(map(str, numbers))}"
    unscaled = report.parameters.get("scale") is None
    scales = "--scale private (if the columns have different units), " * unscaled
    return [
        f"{which} of {len(alignments)}: lost in the noise, so do not interpret them. To see more, "
        f"fit again with {scales}a larger --epsilon or more records; that is charged separately."
    ]
