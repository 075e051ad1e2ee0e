"""``skdppca verify``: whether a report, the files beside it, a ledger and someone outside agree."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from ..report import verify
from ..report._verify import check_directory
from ._charged_ledger import check_there
from ._json import Verified


def verify_release(options: argparse.Namespace) -> int:
    """Print what agrees and what differs; return the exit status."""
    check_directory(options.directory)
    if options.head is not None:
        options.head = options.head.strip().lower()
        _check_head(options.head, options.ledger)
    if options.ledger is not None:
        check_there(options.ledger)
    found = verify(
        options.directory, ledger=options.ledger, head=options.head, signer=options.signer
    )
    print(Verified.of(found) if options.json else found)
    return 0 if found.passed else 1


def _check_head(head: str, ledger: Path | None) -> None:
    """Refuse what cannot be the head of a ledger."""
    if ledger is None:
        raise ValueError("--head is compared with a ledger; pass that, too: --ledger FILE")
    if not re.fullmatch("[0-9a-f]{64}", head):
        raise ValueError(
            f"--head {head} is no head; give all of its 64 digits (0-9, a-f), as `skdppca fit` "
            "printed them"
        )
