"""A ledger that remembers the charge of a run, so that a later error can name it."""

from __future__ import annotations

import os
from collections.abc import Callable
from decimal import ROUND_CEILING, Context
from pathlib import Path
from shlex import quote
from typing import Any, TypeVar

from .._text.digits import up
from ..exceptions import BudgetExceeded, LedgerError, TableChangedError
from ..privacy import (
    GaussianEvent,
    PrivacyEvent,
    PrivacyLedger,
    PrivacyReport,
    Receipt,
    epsilon_of_event,
)
from ..privacy.accountant import rounded_down
from ..report._directory import Directory
from ._terminal import SHOWN, Ended, status_of

# Digits of a mu that is to be charged elsewhere.
DIGITS = 5

T = TypeVar("T")


class Charged(PrivacyLedger):
    """A ledger that remembers the charge of this run, also while the charge is being written."""

    begun = False
    paid: Receipt | None = None

    def charge(self, event: PrivacyEvent, **terms: Any) -> Receipt:
        """Charge a release that is about to happen, and remember the receipt."""
        self.begun = True
        try:
            self.paid = super().charge(event, **terms)
            return self.paid
        except BudgetExceeded:
            self.begun = False
        except Exception:
            self.begun = False  # refused; an interrupt is no refusal, and may come after the commit
            raise
        remedy = "ask for at most --epsilon {epsilon} --delta {delta}"
        raise over_budget(self, event, remedy)


def check_there(path: Path) -> Path:
    """Return the path of a ledger; refuse one that does not exist: it is made on purpose, once."""
    if not os.path.isfile(path):
        raise LedgerError(
            f"{path}: there is no such file; check the path. If the ledger was moved or deleted, "
            "put the ledger itself back (an older copy would not know the latest charges); a new "
            f"budget is made once, by skdppca ledger create {quote(str(path))}"
        )
    return path


def check_counts(ledger: PrivacyLedger, adjacency: str, unit: str) -> None:
    """Refuse a ledger whose charges are for other neighbours or another unit than a fit."""
    path, protected = ledger.path, quote(ledger.unit)
    if ledger.adjacency != adjacency:
        refused = f"is for --adjacency {ledger.adjacency}, and this fit for {adjacency}"
        remedy = f"pass --adjacency {ledger.adjacency}"
    elif ledger.unit == unit:
        return
    else:
        theirs, ours = (
            "every row alone" if one == "row" else f"all rows of every {one}"
            for one in (ledger.unit, unit)
        )
        refused = f"protects {theirs}, and this fit {ours}"
        remedy = f"pass --unit {protected} if every {unit} is one {ledger.unit}"
        if ledger.unit == "row":
            remedy = f"charge a ledger that was made with --unit {quote(unit)}"
        if unit == "row":
            remedy = f"pass --groups {protected} (or --groups COLUMN --unit {protected})"
    raise ValueError(
        f"{path} {refused}: such costs do not add up, and nothing was charged; {remedy}"
    )


def command(report: PrivacyReport) -> str:
    """The command that charges a fit to a ledger afterwards."""
    event, cost = report.event, f"--epsilon {report.epsilon!r} --delta {report.delta!r}"
    if isinstance(event, GaussianEvent) and not event.failure:
        cost = f"--mu {exact_mu(event.mu, DIGITS)}"
    other = "" if report.adjacency == "add-remove" else f" --adjacency {report.adjacency}"
    label = quote(f"{report.method}, release {report.release_id[:SHOWN]}")
    return f"skdppca ledger charge FILE --label {label} {cost}{other}"


def exact_mu(mu: float, digits: int) -> str:
    """A mu with `digits` digits, rounded up from all of its own: it may be charged as it stands."""
    rounded = Context(prec=digits, rounding=ROUND_CEILING).create_decimal_from_float(mu)
    return f"{float(rounded)!r}"


def over_budget(ledger: PrivacyLedger, event: PrivacyEvent, remedy: str) -> BudgetExceeded:
    """A refusal in the words of the command line.

    Parameters
    ----------
    ledger : PrivacyLedger
    event : PrivacyEvent
        What was asked for.
    remedy : str
        What to do if something is left: ``{epsilon}`` at ``{delta}``.
    """
    chain = ledger.statement().chain
    asked, delta = up(epsilon_of_event(event, ledger.delta), 4), f"{ledger.delta:g}"
    left = rounded_down(chain.total.room(ledger.epsilon, ledger.delta))
    charges, total = len(chain.receipts), chain.total.epsilon(ledger.delta)
    spent = f"epsilon {total:.4g} of {ledger.epsilon:g} is spent"
    if charges:
        spent += f" by {charges} charge{'' if charges == 1 else 's'}"
    remedy = remedy.format(epsilon=left, delta=delta) + ", or" if float(left) else "to go on,"
    return BudgetExceeded(
        f"the budget of {ledger.path} does not cover this, and nothing was charged: epsilon "
        f"{asked} at delta {delta} was asked for, and {left} is left ({spent}); {remedy} agree on "
        "a larger budget"
    )


def told(run: Callable[[], T], ledger: Charged | None, directory: Directory) -> T:
    """Return what `run` returns. If it fails after the charge, say what was charged and is left.

    Parameters
    ----------
    run : callable
    ledger : Charged or None
    directory : Directory

    Raises
    ------
    Ended
        It quotes nothing of an error that is not foreseen, because that may hold data.
    Exception
        Exception as it was raised, if nothing was charged or written.
    """
    try:
        return run()
    except KeyboardInterrupt as interrupt:
        message, status = "interrupted", status_of(interrupt)
    except Exception as error:
        if not (directory.begun or (ledger is not None and ledger.begun)):
            raise
        message, status = _reason(error), 2
    if ledger is None or not ledger.begun:
        parts = [message, "nothing was charged", directory.contents()]
    else:
        said = f"the fit {fate(ledger.path, ledger.paid)}"
        parts = [message, said, directory.contents(), "another fit is charged again"]
    raise Ended("; ".join(parts), status)


def _reason(error: Exception) -> str:
    match error:
        case MemoryError():
            return "out of memory (free some, or choose another --method or fewer columns)"
        case OSError():
            return error.strerror or str(error)
        case LedgerError() | TableChangedError():
            return str(error)
    return f"a fault of skdppca ({type(error).__name__}), please report it"


def fate(path: object, receipt: Receipt | None) -> str:
    """Say whether a release was charged, where that cannot be printed in full."""
    if receipt is None:
        return f"may have been charged (skdppca ledger show {path} says it)"
    return f"was charged (row {receipt.row} of {path})"
