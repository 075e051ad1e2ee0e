"""``skdppca ledger``: create, show and verify a ledger."""

from __future__ import annotations

import argparse

from ..planner.text import aligned
from ..privacy import PrivacyLedger, Receipt, epsilon_of_event
from ._report import path_in, read_report

__all__ = ["create", "show", "verify"]


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
    """Print the charges, what they add up to, and what is left."""
    ledger = PrivacyLedger(options.file)
    print(f"{options.file}: {_budget(ledger)}")
    rows = [_row(receipt, ledger.delta) for receipt in ledger.receipts]
    if rows:
        heads = ("row", "time (UTC)", "label", f"epsilon at delta={ledger.delta:g}")
        print("\n".join(aligned([heads, *rows])))
    spent, remaining = ledger.spent, ledger.remaining
    print(f"spent: epsilon {spent.epsilon:.6g} at delta {spent.delta:g}")
    print(f"remaining: epsilon {remaining.epsilon:.6g} at delta {remaining.delta:g}")


def verify(options: argparse.Namespace) -> None:
    """Check the chain, and that the receipts of the given reports are in it."""
    receipts = []
    for path in options.report:
        receipt = read_report(path_in(path)).receipt
        if receipt is None:
            raise ValueError(f"{path} was charged to no ledger; leave it out")
        receipts.append(receipt)
    ledger = PrivacyLedger(options.file)
    ledger.verify(*receipts)
    rows = ledger.receipts
    head = f", head {rows[-1].head}" if rows else ""
    print(f"{options.file}: whole; charges: {len(rows)}{head}")
    if receipts:
        print(f"The charges of all given reports are in it: {len(receipts)}")
    else:
        print("An older copy of it would be whole, too: give --report with reports that you hold.")


def _budget(ledger: PrivacyLedger) -> str:
    who = "every row" if ledger.unit == "row" else f"all rows of every {ledger.unit}"
    return f"epsilon {ledger.epsilon:g}, delta {ledger.delta:g} for {who}, under {ledger.adjacency}"


def _row(receipt: Receipt, delta: float) -> tuple[str, ...]:
    label = receipt.label + (" (seeded: not private)" if receipt.seeded else "")
    cost = epsilon_of_event(receipt.event, delta)
    return str(receipt.row), receipt.time[:19], label, f"{cost:.6g}"
