"""``skdppca ledger``: create, charge, show and verify a ledger."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from inspect import signature
from pathlib import Path

from .._text import aligned, printable
from .._text.digits import down
from ..decomposition import PrivatePCA
from ..exceptions import BudgetExceeded
from ..privacy import (
    ApproximateEvent,
    Entry,
    ExternalReceipt,
    PrivacyLedger,
    PureEvent,
    Statement,
    epsilon_of_event,
)
from ..privacy.chain import Chain
from ..privacy.events import PrivacyEvent, stated_event
from ..report import verify
from ..report._sections import words
from ._charged_ledger import check_there, exact_mu, fate, over_budget
from ._json import LedgerDocument, ListedCharge
from ._parameter_options import Command, argument, flag, option, parameters
from ._terminal import SHOWN, Ended, status_of

# A charge whose delta leaves less than this share of what its epsilon leaves is refused.
LEAST_LEFT = 0.01

MU_DIGITS = 9


@dataclass(kw_only=True)
class LedgerCreate(Command):
    """Open an account with a total budget.

    Parameters
    ----------
    epsilon : float
        Total budget.
    unit : str
        What is protected as a whole: row, or the name of a column of labels.

    Examples
    --------
    skdppca ledger create patients.ledger --epsilon 2 --delta 1e-6 --unit patient
    """

    epsilon: float = option(required=True)
    delta: float = option(of=PrivatePCA, required=True, sentences=2)
    adjacency: str = option(of=PrivatePCA)
    unit: str = option(of=PrivatePCA)
    file: Path = argument(metavar="FILE")

    def run(self) -> None:
        """Make a ledger file; an existing one is never replaced."""
        if os.path.lexists(self.file):
            raise ValueError(
                f"{self.file} exists, and a ledger is never replaced; charge it as it is (fit "
                f"--ledger {self.file}), or choose another name"
            )
        terms = parameters(self, signature(PrivacyLedger.create))
        print(_head(self.file, PrivacyLedger.create(self.file, **terms).statement()))
        if self.unit == "row":
            print(
                "The ledger protects every row alone. If a person can have several rows, delete "
                "the file before any charge, and create a ledger with --unit COLUMN, the column "
                "that says to whom each row belongs."
            )


@dataclass(kw_only=True)
class LedgerCharge(Command):
    """Charge what another tool releases.

    Parameters
    ----------
    label : str
        Public text: the tool and its release.
    epsilon : float or None
        Epsilon of the release; give --delta, too.
    delta : float or None
        Delta of the release; 0 for pure differential privacy.
    mu : float or None
        In place of epsilon and delta: mu of a Gaussian release, which is the sensitivity divided by
        the standard deviation of the noise.
    adjacency : str or None
        The neighbours that the guarantee of the release is stated for (default: those of the
        ledger).
    force : bool
        Charge the release even if its delta leaves none for later.

    Examples
    --------
    skdppca ledger charge patients.ledger --epsilon 0.5 --delta 0 --label "counts"
    """

    label: str = option(required=True)
    epsilon: float | None = option()
    delta: float | None = option()
    mu: float | None = option()
    adjacency: str | None = option(of=PrivatePCA, default=None)
    force: bool = flag()
    file: Path = argument(metavar="FILE")

    def run(self) -> None:
        """Charge the release; print the receipt and what is left."""
        event = stated_event(self.epsilon, self.delta, self.mu)
        ledger, receipt = PrivacyLedger(check_there(self.file)), None
        with suppress(ValueError):  # over the budget, which the charge itself says
            _ = Statement(_planned(ledger.statement().chain, event)).remaining
        if self.adjacency in (None, ledger.adjacency):
            _check_leaves_delta(ledger, event, self.force)
        try:
            receipt = ledger.charge_external(
                self.label,
                epsilon=self.epsilon,
                delta=self.delta,
                mu=self.mu,
                adjacency=self.adjacency,
            )
            statement = ledger.statement()
            cost = epsilon_of_event(receipt.event, ledger.delta)
            print(_head(self.file, statement))
            label = printable(receipt.label)
            print(f"charged: {label}, epsilon {cost:.6g} at delta {ledger.delta:g}")
            print(f"receipt: row {receipt.row}, head {receipt.head}")
            print(_totals(statement))
        except KeyboardInterrupt as interrupt:
            said = f"interrupted; it {fate(self.file, receipt)}"
            raise Ended(said, status_of(interrupt)) from None
        except BudgetExceeded:
            raise over_budget(ledger, event, "let the other tool release less") from None
        except Exception as error:
            if receipt is None:
                raise
            said = f"it {fate(self.file, receipt)}, but it cannot be shown: {error}"
            raise Ended(said, 1) from None


@dataclass(kw_only=True)
class LedgerShow(Command):
    """List charges, and what is left.

    Examples
    --------
    skdppca ledger show patients.ledger
    """

    json: bool = flag()
    file: Path = argument(metavar="FILE")

    def run(self) -> None:
        """Print the charges, what they released and add up to, and what is left."""
        statement = PrivacyLedger(check_there(self.file)).statement()
        if self.json:
            print(LedgerDocument.of(self.file, statement))
            return
        print(_head(self.file, statement))
        rows = [_row(entry, statement) for entry in statement.entries]
        if rows:
            cost = f"epsilon at delta={statement.budget.delta:g}"
            heads = ("row", "time (UTC)", "label", cost, "total", "release")
            print("\n".join(aligned([heads, *rows])))
        print(_totals(statement))
        print(f"ledger {statement.chain.terms.accountant[:SHOWN]}, head {statement.chain.head()}")


@dataclass(kw_only=True)
class LedgerVerify(Command):
    """Check that no charge was changed, and that reports agree with the ledger.

    Parameters
    ----------
    report : list of Path
        A DIR that a fit wrote: the ledger must hold its release.

    Examples
    --------
    skdppca ledger verify patients.ledger --report release/
    """

    report: list[Path] = option(nargs="+", default=[], metavar="DIR")
    file: Path = argument(metavar="FILE")

    def run(self) -> int:
        """Check the chain, and the given reports with it; return the exit status."""
        # opening it verifies every row
        statement = PrivacyLedger(check_there(self.file)).statement()
        chain = statement.chain
        external = sum(isinstance(receipt, ExternalReceipt) for receipt in chain.receipts)
        counts = [f"charges: {len(chain.receipts)}", f"releases: {len(chain.releases)}"]
        counts += [f"external: {external}"] if external else []
        counts += [f"head {chain.head()}"] if chain.rows else []
        print(f"{self.file}: no row was changed or removed ({', '.join(counts)})")
        if not self.report:
            print(
                "An older copy of the file would pass, too. To rule that out, give reports that "
                "you hold: --report DIR"
            )
        found = {path: verify(path, ledger=statement) for path in self.report}
        for path, one in found.items():
            print(f"{path}:\n{one}")
        return 0 if all(one.agrees for one in found.values()) else 1


ACTIONS = {
    "create": LedgerCreate,
    "charge": LedgerCharge,
    "show": LedgerShow,
    "verify": LedgerVerify,
}


def _planned(chain: Chain, event: PrivacyEvent) -> Chain:
    return chain.charged(event, "planned", False, ExternalReceipt)


def _check_leaves_delta(ledger: PrivacyLedger, event: PrivacyEvent, force: bool) -> None:
    """Refuse a charge that takes the ledger's delta, and with it the epsilon that is left."""
    if not isinstance(event, ApproximateEvent):
        return
    chain, budget = ledger.statement().chain, (ledger.epsilon, ledger.delta)
    pure = PureEvent(event.epsilon)
    left, otherwise = (_planned(chain, one).total.room(*budget) for one in (event, pure))
    fits = _planned(chain, event).total.fits(*budget)
    if left >= LEAST_LEFT * otherwise or (fits and force):
        return
    how = "a smaller --delta, or by --mu" if ledger.delta else "--delta 0"
    raise BudgetExceeded(
        f"--delta {event.delta:g} uses up the delta {ledger.delta:g} of {ledger.path}: epsilon "
        f"{down(left, 4)} would be left, and {down(otherwise, 4)} after the same charge at delta "
        f"0. Nothing was charged; state the release's guarantee at {how}"
        + ("; or pass --force, to charge it all the same" if fits else "")
    )


def _head(file: Path, statement: Statement) -> str:
    return f"{file}: {printable(str(statement.chain.terms))}"


def _totals(statement: Statement) -> str:
    spent, remaining = statement.spent, statement.remaining
    text = (
        f"spent: epsilon {spent.epsilon:.6g} at delta {spent.delta:g}{_mu(statement)}\n"
        f"remaining: epsilon {remaining.epsilon:.6g} at delta {remaining.delta:g}"
    )
    if spent.epsilon + remaining.epsilon > statement.budget.epsilon * (1 + 1e-9):
        text += (
            "\nMore than the difference remains: the costs of Gaussian noise add up in squares "
            "(mu^2), and not epsilon by epsilon."
        )
    seeded = [receipt.row for receipt in statement.chain.receipts if receipt.seeded]
    return f"{text}\n{words().seeded_charges(seeded)}" if seeded else text


def _mu(statement: Statement) -> str:
    """The mu of all charges, if all of them are Gaussian: then it says everything."""
    total = statement.chain.total
    if not total.squares or total.failing or total.steps or total.selections:
        return ""
    return f" (all charges together: mu {exact_mu(total.mu, MU_DIGITS)})"


def _row(entry: Entry, statement: Statement) -> tuple[str, ...]:
    one = ListedCharge.of(entry, statement.budget.delta)
    label = printable(one.label) + (" (seeded: not private)" if one.seeded else "")
    total = "" if one.total is None else f"{one.total:.6g}"
    if one.external:
        release = "external"
    elif entry.release is None:
        release = "charged; no release recorded"
    else:
        release = f"{entry.release.release[:SHOWN]} (row {entry.release.row})"
    return str(one.row), printable(one.time[:19]), label, f"{one.epsilon:.6g}", total, release
