"""``skdppca ledger``: create, show and verify a ledger."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from ..planner.text import aligned
from ..privacy import PrivacyLedger, Receipt, epsilon_of_event
from ._text import printable
from ._verify import examine

__all__ = ["create", "show", "verify"]

# So many digits name a release in a table.
SHOWN = 16


def create(options: argparse.Namespace) -> None:
    """Make a ledger file; an existing one is never replaced."""
    ledger = PrivacyLedger.create(
        options.file,
        options.epsilon,
        options.delta,
        adjacency=options.adjacency,
        unit=options.unit,
    )
    print(f"{options.file}: {_budget(ledger)}")


def show(options: argparse.Namespace) -> None:
    """Print the charges, what they released and add up to, and what is left."""
    ledger = PrivacyLedger(options.file)
    print(f"{options.file}: {_budget(ledger)}")
    released = {row.charge: row.release for row in ledger.releases}
    rows = [_row(receipt, released, ledger.delta) for receipt in ledger.receipts]
    if rows:
        heads = ("row", "time (UTC)", "label", f"epsilon at delta={ledger.delta:g}", "release")
        print("\n".join(aligned([heads, *rows])))
    spent, remaining = ledger.spent, ledger.remaining
    print(f"spent: epsilon {spent.epsilon:.6g} at delta {spent.delta:g}")
    print(f"remaining: epsilon {remaining.epsilon:.6g} at delta {remaining.delta:g}")


def verify(options: argparse.Namespace) -> int:
    """Check the chain, and the given reports with it; return the exit status."""
    ledger = PrivacyLedger(options.file)
    ledger.verify()
    rows = [*ledger.receipts, *ledger.releases]
    head = f", head {max(rows, key=lambda row: row.row).head}" if rows else ""
    print(
        f"{options.file}: no row was changed or removed "
        f"(charges: {len(ledger.receipts)}, releases: {len(ledger.releases)}{head})"
    )
    if not options.report:
        print(
            "An older copy of the file would pass, too. To rule that out, give reports that you "
            "hold: --report DIR"
        )
    passed = True
    for path in options.report:
        examined = examine(path, ledger)
        print(f"{path}:\n{examined}")
        passed = passed and examined.passed
    return 0 if passed else 1


def _budget(ledger: PrivacyLedger) -> str:
    who = "every row" if ledger.unit == "row" else f"all rows of every {printable(ledger.unit)}"
    return f"epsilon {ledger.epsilon:g}, delta {ledger.delta:g} for {who}, under {ledger.adjacency}"


def _row(receipt: Receipt, released: Mapping[int, str], delta: float) -> tuple[str, ...]:
    label = printable(receipt.label) + (" (seeded: not private)" if receipt.seeded else "")
    cost = epsilon_of_event(receipt.event, delta)
    release = released.get(receipt.row, "")[:SHOWN] or "charged; no release recorded"
    return str(receipt.row), printable(receipt.time[:19]), label, f"{cost:.6g}", release
