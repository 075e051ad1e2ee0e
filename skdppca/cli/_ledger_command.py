"""``skdppca ledger``: create, charge, show and verify a ledger."""

from __future__ import annotations

import argparse
import os

from ..exceptions import BudgetExceeded
from ..planner.text_tables import aligned
from ..plotting import LedgerDisplay
from ..privacy import (
    ApproximateEvent,
    Entry,
    ExternalReceipt,
    PrivacyLedger,
    PureEvent,
    Statement,
    epsilon_of_event,
)
from ..privacy.events import PrivacyEvent, stated_event
from ..report import verify as verify_release
from ..report._digits import down
from ._charged_ledger import check_there, exact_mu, over_budget
from ._ended import Ended, status_of
from ._picture_file import check_picture, draw
from ._terminal import SHOWN, printable

__all__ = ["charge", "create", "show", "verify"]

TINY = 1e-9

# A charge whose delta leaves less than this share of what its epsilon leaves is refused.
LEAST_LEFT = 0.01

MU_DIGITS = 9


def create(options: argparse.Namespace) -> None:
    """Make a ledger file; an existing one is never replaced."""
    if os.path.lexists(options.file):
        raise ValueError(
            f"{options.file} exists, and a ledger is never replaced; charge it as it is (fit "
            f"--ledger {options.file}), or choose another name"
        )
    ledger = PrivacyLedger.create(
        options.file,
        options.epsilon,
        options.delta,
        adjacency=options.adjacency,
        unit=options.unit,
    )
    print(_head(options, ledger.statement()))
    if options.unit == "row":
        print(
            "It protects every row alone. If a person can have several rows, delete it before any "
            "charge, and create it with --unit COLUMN, the column that says whose row it is."
        )


def charge(options: argparse.Namespace) -> None:
    """Charge what another tool releases; print the receipt and what is left."""
    _check_stated(options)
    event = stated_event(options.epsilon, options.delta, options.mu)
    check_there(options.file)
    ledger, receipt = PrivacyLedger(options.file), None
    _check_can_be_added_up(ledger, event)
    if options.adjacency == ledger.adjacency:
        _check_leaves_delta(ledger, event, options.force)
    try:
        receipt = ledger.charge_external(
            options.label,
            epsilon=options.epsilon,
            delta=options.delta,
            mu=options.mu,
            adjacency=options.adjacency,
        )
        statement = ledger.statement()
        print(_head(options, statement))
        cost = epsilon_of_event(receipt.event, ledger.delta)
        print(f"charged: {printable(receipt.label)}, epsilon {cost:.6g} at delta {ledger.delta:g}")
        print(f"receipt: row {receipt.row}, head {receipt.head}")
        print(_totals(statement))
    except KeyboardInterrupt as interrupt:
        raise Ended(f"interrupted; {_fate(options, receipt)}", status_of(interrupt)) from None
    except BudgetExceeded:
        raise over_budget(ledger, event, "let the other tool release less") from None
    except Exception as error:
        if receipt is None:
            raise
        raise Ended(f"{_fate(options, receipt)}, but it cannot be shown: {error}", 1) from None


def _check_can_be_added_up(ledger: PrivacyLedger, event: PrivacyEvent) -> None:
    """Refuse a charge that could not be shown afterwards, because a library is missing."""
    chain, missing = ledger.statement().chain, ""
    try:
        _ = Statement(chain.charged(event, "planned", False, ExternalReceipt)).remaining
    except ImportError as error:
        missing = str(error)
    except ValueError:
        pass  # over the budget, which the charge itself says
    if missing:
        raise ImportError(f"nothing was charged: {missing}")


def _check_leaves_delta(ledger: PrivacyLedger, event: PrivacyEvent, force: bool) -> None:
    """Refuse a charge that takes the ledger's delta, and with it the epsilon that is left."""
    if not isinstance(event, ApproximateEvent):
        return
    chain = ledger.statement().chain
    pure = PureEvent(event.epsilon)
    left, otherwise = (
        Statement(chain.charged(one, "planned", False, ExternalReceipt)).remaining.epsilon
        for one in (event, pure)
    )
    fits = chain.charged(event, "planned", False, ExternalReceipt).total.fits(
        ledger.epsilon, ledger.delta
    )
    if left >= LEAST_LEFT * otherwise or (fits and force):
        return
    how = "a smaller --delta, or by --mu" if ledger.delta else "--delta 0"
    raise BudgetExceeded(
        f"--delta {event.delta:g} uses up the delta {ledger.delta:g} of {ledger.path}: epsilon "
        f"{down(left, 4)} would be left, and {down(otherwise, 4)} after the same charge at delta "
        f"0. Nothing was charged; state the release's guarantee at {how}"
        + ("; or pass --force, to charge it all the same" if fits else "")
    )


def show(options: argparse.Namespace) -> None:
    """Print the charges, what they released and add up to, and what is left."""
    if options.plot is not None:
        check_picture(options.plot)
    check_there(options.file)
    statement = PrivacyLedger(options.file).statement()
    print(_head(options, statement))
    rows = [_row(entry, statement.budget.delta) for entry in statement.entries]
    if rows:
        cost = f"epsilon at delta={statement.budget.delta:g}"
        heads = ("row", "time (UTC)", "label", cost, "total", "release")
        print("\n".join(aligned([heads, *rows])))
    print(_totals(statement))
    print(f"ledger {statement.chain.terms.accountant[:SHOWN]}, head {statement.chain.head()}")
    if options.plot is not None:
        over = options.over
        draw(options.plot, lambda ax: LedgerDisplay.from_ledger(statement, over=over, ax=ax))
        print(f"Written: {options.plot}")


def verify(options: argparse.Namespace) -> int:
    """Check the chain, and the given reports with it; return the exit status."""
    check_there(options.file)
    statement = PrivacyLedger(options.file).statement()  # opening it verifies every row
    chain = statement.chain
    external = sum(isinstance(receipt, ExternalReceipt) for receipt in chain.receipts)
    counts = [f"charges: {len(chain.receipts)}", f"releases: {len(chain.releases)}"]
    counts += [f"external: {external}"] if external else []
    counts += [f"head {chain.head()}"] if chain.rows else []
    print(f"{options.file}: no row was changed or removed ({', '.join(counts)})")
    if not options.report:
        print(
            "An older copy of the file would pass, too. To rule that out, give reports that you "
            "hold: --report DIR"
        )
    passed = True
    for path in options.report:
        examined = verify_release(path, ledger=statement)
        print(f"{path}:\n{examined}")
        passed = passed and examined.passed
    return 0 if passed else 1


def _check_stated(options: argparse.Namespace) -> None:
    """Refuse a cost that is stated in two ways, or in half of one."""
    pair = (options.epsilon is not None, options.delta is not None)
    if pair != ((True, True) if options.mu is None else (False, False)):
        raise ValueError(
            "state the cost in one way: --epsilon and --delta (0 for pure differential privacy), "
            "or --mu alone, for Gaussian noise"
        )


def _head(options: argparse.Namespace, statement: Statement) -> str:
    return f"{options.file}: {printable(str(statement.chain.terms))}"


def _totals(statement: Statement) -> str:
    spent, remaining = statement.spent, statement.remaining
    text = (
        f"spent: epsilon {spent.epsilon:.6g} at delta {spent.delta:g}{_mu(statement)}\n"
        f"remaining: epsilon {remaining.epsilon:.6g} at delta {remaining.delta:g}"
    )
    if spent.epsilon + remaining.epsilon > statement.budget.epsilon * (1 + TINY):
        text += (
            "\nMore than the difference remains: the costs of Gaussian noise add up in squares "
            "(mu^2), and not epsilon by epsilon."
        )
    return text


def _mu(statement: Statement) -> str:
    """The mu of all charges, if all of them are Gaussian: then it says everything."""
    total = statement.chain.total
    gaussian = total.squares and not (total.failing or total.steps or total.selections)
    return f" (all charges together: mu {exact_mu(total.mu, MU_DIGITS)})" if gaussian else ""


def _row(entry: Entry, delta: float) -> tuple[str, ...]:
    receipt = entry.receipt
    label = printable(receipt.label) + (" (seeded: not private)" if receipt.seeded else "")
    cost = epsilon_of_event(receipt.event, delta)
    total = "" if entry.total is None else f"{entry.total:.6g}"
    if entry.external:
        release = "external"
    elif entry.release is None:
        release = "charged; no release recorded"
    else:
        release = f"{entry.release.release[:SHOWN]} (row {entry.release.row})"
    return str(receipt.row), printable(receipt.time[:19]), label, f"{cost:.6g}", total, release


def _fate(options: argparse.Namespace, receipt: ExternalReceipt | None) -> str:
    """Say whether an external release was charged, when that cannot be printed in full."""
    if receipt is None:
        return f"it may have been charged (skdppca ledger show {options.file} says it)"
    return f"it was charged (row {receipt.row} of {options.file})"
