"""``skdppca report``, and reports read back from their files."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from ..privacy import PrivacyReport, Receipt, Spending, event_from_dict
from ._write import REPORT

__all__ = ["advice", "path_in", "read_report", "report"]


def report(options: argparse.Namespace) -> None:
    """Print the report of a release in words."""
    path = path_in(options.directory)
    found = read_report(path)
    print(found)
    if found.receipt is not None:
        print(f"To check the charge: skdppca ledger verify FILE --report {path}")
    print(advice(found))


def path_in(directory: Path) -> Path:
    """Return the report's path in a directory that a fit wrote; a file's path as it is."""
    return directory / REPORT if directory.is_dir() else directory


def advice(report: PrivacyReport) -> str:
    """Say how the files of a release may be used."""
    if not report.private:
        return "Nothing in these files is protected: treat them as you treat the data themselves."
    alone = (
        ""
        if report.receipt
        else "No ledger was charged: nothing adds this up with other releases of these data.\n"
    )
    return (
        f"{alone}These files are private as stated; rows transformed with the components are not."
    )


def read_report(path: Path) -> PrivacyReport:
    """Read the report in a file that `PrivacyReport.to_json` wrote.

    Raises
    ------
    OSError, ValueError
        If the file cannot be read, or holds no such report.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return _report(content)
    except OSError as error:
        raise OSError(
            f"{path}: {error.strerror}; give a directory that `skdppca fit --out` wrote"
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError(
            f"{path} is not a report of skdppca, or was changed; fit again to get one"
        ) from None


def _report(content: dict[str, Any]) -> PrivacyReport:
    report = PrivacyReport(
        method=content["method"],
        epsilon=float(content["epsilon"]),
        delta=float(content["delta"]),
        adjacency=content["adjacency"],
        unit=content["unit"],
        event=event_from_dict(content["event"]),
        not_private=tuple(content["not_private"]),
        spendings=tuple(Spending(**spending) for spending in content["spendings"]),
        receipt=None if content["receipt"] is None else Receipt.from_dict(content["receipt"]),
        details=content["details"],
    )
    if report.private != content["private"] or "norm_bound" not in report.details:
        raise ValueError("it contradicts itself, or lacks what `report` says")
    return report
