"""``skdppca report``."""

from __future__ import annotations

import argparse

from ..privacy.parts import paid_by
from ..privacy.storage import replaced
from ..report import verify
from ..report._release import rendered
from ..report._results import advice, results
from ..report._verify import check_directory
from ._json import Released

# Rights of the page, less the umask.
ANYONE = 0o666


def report(options: argparse.Namespace) -> int:
    """Print what a release found and what it cost, if its files agree; return the exit status."""
    check_directory(options.directory)
    found = verify(options.directory)
    if found.passed and options.page is not None:
        with replaced(options.page, ANYONE) as file:
            file.write(rendered(found.subjects, found.document).encode())
    if options.json:
        print(Released.of(options.directory, found))
        return 0 if found.passed else 1
    if not found.passed:
        print(found)
        return 1
    print("\n".join(results(found.document, details=options.details)))
    if any(one.receipt is not None for report in found.reports for one in paid_by(report)):
        print(f"To check the charge: skdppca verify {options.directory} --ledger FILE")
    print("\n".join(advice(found.document)))
    return 0
