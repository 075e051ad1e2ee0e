"""``skdppca report``, and how the files of a release may be used."""

from __future__ import annotations

import argparse

from ..privacy import PrivacyReport
from ._verify import check_directory, examine

__all__ = ["advice", "report"]


def report(options: argparse.Namespace) -> int:
    """Print the report of a release in words, if its files agree; return the exit status."""
    check_directory(options.directory)
    examined = examine(options.directory)
    if not examined.passed or examined.report is None:
        print(examined)
        return 1
    print(examined.report)
    if examined.report.receipt is not None:
        print(f"To check the charge: skdppca verify {options.directory} --ledger FILE")
    print(advice(examined.report))
    return 0


def advice(report: PrivacyReport) -> str:
    """Say how the files of a release may be used."""
    if not report.private:
        return "Nothing in these files is protected: treat them as you treat the data themselves."
    return "These files are private as stated; rows transformed with the components are not."
