"""``skdppca verify``: whether a report, the files beside it, a ledger and someone outside agree."""

from __future__ import annotations

import argparse

from ..report import verify
from ..report._verify import check_directory

__all__ = ["verify_release"]


def verify_release(options: argparse.Namespace) -> int:
    """Print what agrees and what differs; return the exit status."""
    check_directory(options.directory)
    found = verify(
        options.directory, ledger=options.ledger, head=options.head, signer=options.signer
    )
    print(found)
    return 0 if found.passed else 1
