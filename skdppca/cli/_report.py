"""``skdppca report``, and how the files of a release may be used."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ..privacy import PrivacyReport
from ..report import verify
from ..report._verify import check_directory

__all__ = ["advice", "report"]


def report(options: argparse.Namespace) -> int:
    """Print the report of a release in words, if its files agree; return the exit status."""
    check_directory(options.directory)
    found = verify(options.directory)
    if not found.passed:
        print(found)
        return 1
    for one in found.reports:
        print(one)
    if any(one.receipt is not None for one in found.reports):
        print(f"To check the charge: skdppca verify {options.directory} --ledger FILE")
    print(advice(found.reports))
    return 0


def advice(reports: Sequence[PrivacyReport]) -> str:
    """Say how the files of a release may be used."""
    if not all(one.private for one in reports):
        return "Nothing in these files is protected: treat them as you treat the data themselves."
    return "These files are private as stated; rows transformed with the components are not."
