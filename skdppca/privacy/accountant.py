"""Accountants: they grant releases out of one budget, and write a receipt for each."""

from __future__ import annotations

import os
import threading
import uuid
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_FLOOR, Context
from html import escape
from typing import Any, TypeVar, cast

from .._text import check_unit, printable
from ..exceptions import BudgetExceeded, LedgerError, SealedAccountantError
from .chain import ADJACENCIES, Chain, ChainRow, ExternalReceipt, Receipt, ReleaseRow, Terms
from .composition import Composition
from .events import (
    ComposedEvent,
    GaussianEvent,
    PrivacyEvent,
    PureEvent,
    add_event,
    stated_event,
)
from .pricing import epsilon_of_event
from .statement import PrivacyCost, Statement
from .user_warnings import warn_if_weak

T = TypeVar("T")
R = TypeVar("R", bound=Receipt)

# Held while an accountant is read or charged, and across a fork, so that no child inherits half a
# charge that another thread was making.
LOCK = threading.RLock()
_process = uuid.uuid4().hex  # differs in every forked child, even if a process id is reused
_owner: tuple[int, str] | None = None  # the process that uses an accountant at this moment


def _wake_in_child() -> None:
    global _process
    _process = uuid.uuid4().hex
    LOCK.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=_wake_in_child
    )


def here() -> tuple[int, str]:
    """Return what no other process has."""
    return os.getpid(), _process


def check_not_forked() -> None:
    """Refuse to go on in a child with what its parent began."""
    if _owner != here():
        raise RuntimeError(
            "this process was forked while its parent used a privacy accountant, so it must not "
            "finish what its parent began; nothing was released here; fork outside of charges, "
            "and not in a signal handler"
        )


def alone(work: Callable[[], T]) -> T:
    """Return ``work()``, which nothing else that uses an accountant interrupts.

    Other threads wait. What runs in the same thread, such as a signal handler, cannot wait, and
    its charge would be lost when the interrupted one goes on: it is refused.
    """
    global _owner
    with LOCK:  # unlike a context manager in Python, it is left even if a signal interrupts it
        if _owner is not None:
            raise RuntimeError(
                "a privacy accountant was used while this thread was already using one, as a "
                "signal handler can do; nothing was charged by this call. Let the handler set a "
                "flag, and use the accountant after the interrupted call"
            )
        try:
            _owner = here()
            result = work()
            check_not_forked()
        finally:
            _owner = None
    return result


class _RefusedCharge(Exception):
    """The account whose budget did not cover a charge, and its chain then."""


def accounts_of(accountant: Any) -> tuple[BaseAccountant, ...]:
    """Return the accounts that a parameter `accountant` names: none, one, or those of a list.

    Raises
    ------
    TypeError, ValueError
        If one is no accountant, or is there twice, be it by another path or as a copy.
    """
    given = () if accountant is None else accountant
    accounts = tuple(given) if isinstance(given, list | tuple) else (given,)
    for account in accounts:
        if not isinstance(account, BaseAccountant):
            raise TypeError(
                f"accountant={account!r} is no account; pass a PrivacyAccountant, a PrivacyLedger, "
                "or for a joint fit a list of them, one for each group of people"
            )
    if isinstance(accountant, list | tuple) and not accounts:
        raise ValueError("accountant=[] charges nobody; pass accountant=None, or an account")
    if len({account.id for account in accounts}) < len(accounts):
        raise ValueError(
            f"accountant={list(accounts)!r} has one account twice, or a copy of it, so the same "
            "people would pay twice; give each group of people one account of its own"
        )
    return accounts


def charge_all(
    accounts: Sequence[BaseAccountant],
    event: PrivacyEvent,
    *,
    adjacency: str,
    unit: str,
    label: str = "",
    seeded: bool = False,
) -> tuple[Receipt, ...]:
    """Charge a release that is about to happen to the accounts of all people it reads.

    Each of them pays all of it. See `BaseAccountant.charge`, which charges one.

    Returns
    -------
    tuple of Receipt
        In the order of the accounts.
    """
    for account in accounts:
        account._check_notion(adjacency, unit)
    if not add_event(Composition(), event).private:
        raise ValueError(
            "a release without noise has no cost that an accountant could charge; choose a "
            "finite epsilon, or accountant=None for a result that is not private"
        )
    try:
        return _granted(
            accounts,
            event,
            label,
            seeded,
            Receipt,
            refused="refused, nothing was released: the privacy budget does not cover this "
            'release (in a search pass error_score="raise", or this error is swallowed)',
        )
    except LedgerError as error:
        raise LedgerError(f"{error}; nothing was released") from error


def _granted(
    accounts: Sequence[BaseAccountant],
    event: PrivacyEvent,
    label: str,
    seeded: bool,
    kind: type[R],
    refused: str,
) -> tuple[R, ...]:
    """Charge an event: the one way by which a charge enters a chain.

    The accounts are locked in the order of their ids, so two charges never wait for each other.
    Each grants before any is written. A crash in between leaves a charge without a release, which
    wastes budget and reveals nothing.
    """
    receipts: dict[str, R] = {}

    def grant(rest: Sequence[BaseAccountant]) -> None:
        account, *others = rest

        def charged(chain: Chain) -> Chain:
            longer = chain.charged(event, label, seeded, kind)
            if not longer.total.fits(account.epsilon, account.delta):
                raise _RefusedCharge(account, chain)
            if others:
                grant(others)
            return longer

        receipts[account.id] = cast(R, account._extend(charged).rows[-1])

    try:
        alone(lambda: grant(sorted(accounts, key=lambda account: account.id)))
    except _RefusedCharge as refusal:  # explained only now: pricing may take long
        account, chain = refusal.args
    else:
        return tuple(receipts[account.id] for account in accounts)
    whose = f" ({account!r})" if len(accounts) > 1 else ""
    raise BudgetExceeded(f"{refused}{whose}\n{account._refusal(chain, event)}")


class BaseAccountant(ABC):
    """A budget: it checks every charge, records it, and says what is left.

    A copy would be a second budget, so `clone`, `copy` and `deepcopy` return the accountant itself.
    A signal handler must not use an accountant: within a use of the same thread it gets an error.

    Notes
    -----
    You may choose a Gaussian release in view of what earlier ones returned, because the sum of
    squared `mu` is a privacy filter. The kinds and sizes of other events, and of failures, must
    not depend on earlier outputs: their price holds only for a fixed plan.
    """

    @property
    @abstractmethod
    def _terms(self) -> Terms:
        """The budget, the neighbours and the unit it is stated for, and the accountant's id."""

    @abstractmethod
    def _current(self) -> Chain:
        """Return the verified chain as it is now. To be called by `alone`, as `_extend` is."""

    def _anew(self) -> Chain:
        """Return the chain with every row read and verified anew. To be called by `alone`."""
        return self._current()

    @abstractmethod
    def _extend(self, grant: Callable[[Chain], Chain]) -> Chain:
        """Apply `grant` to the current chain, store the result durably, and return it."""

    @property
    def id(self) -> str:
        """The accountant's id, as its receipts carry it."""
        return self._terms.accountant

    @property
    def epsilon(self) -> float:
        """The budget's epsilon."""
        return self._terms.epsilon

    @property
    def delta(self) -> float:
        """The budget's delta."""
        return self._terms.delta

    @property
    def adjacency(self) -> str:
        """Difference of neighbouring data sets: "add-remove" or "replace-one" record."""
        return self._terms.adjacency

    @property
    def unit(self) -> str:
        """Unit of privacy, one record: "row", or the name of a group."""
        return self._terms.unit

    def charge(
        self,
        event: PrivacyEvent,
        *,
        adjacency: str,
        unit: str,
        label: str = "",
        seeded: bool = False,
    ) -> Receipt:
        """Charge a release that is about to happen. There is no refund.

        Parameters
        ----------
        event : PrivacyEvent
            What the release costs.
        adjacency, unit : str
            The neighbours that this cost is stated for; they must be the accountant's.
        label : str, default=""
            Public text for the receipt.
        seeded : bool, default=False
            Whether the noise will come from a seed.

        Returns
        -------
        Receipt

        Raises
        ------
        BudgetExceeded
            If the budget does not cover it; nothing was charged.
        ValueError
            If the event is not private, or its adjacency or unit is not the accountant's.
        """
        (receipt,) = charge_all(
            [self], event, adjacency=adjacency, unit=unit, label=label, seeded=seeded
        )
        return receipt

    def _check_notion(self, adjacency: str, unit: str) -> None:
        """Refuse a charge for other neighbours than the accountant's."""
        if (adjacency, unit) != (self.adjacency, self.unit):
            raise ValueError(
                f"this accountant counts adjacency={self.adjacency!r}, unit={self.unit!r}, and the "
                f"charge is for adjacency={adjacency!r}, unit={unit!r}: such costs do not add up. "
                + (
                    f"Fit with adjacency={self.adjacency!r}. "
                    if adjacency != self.adjacency
                    else f"To protect all rows of one {unit} together, charge an accountant for "
                    f"that unit: PrivacyLedger.create(path, ..., unit={unit!r}). "
                    if self.unit == "row"
                    else f"Pass unit={self.unit!r} and the groups to this step, too. "
                    if unit == "row"
                    else f"If each {unit} is one {self.unit}, pass unit={self.unit!r}. "
                )
                + "Another accountant does not count what was charged here for the same people."
            )

    def charge_external(
        self,
        label: str,
        *,
        adjacency: str | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        mu: float | None = None,
    ) -> ExternalReceipt:
        """Charge what another tool releases of the same people. There is no refund.

        Give `epsilon` and `delta`, or `mu` alone. Charge before the other tool releases anything.

        Parameters
        ----------
        label : str
            Public text for the receipt: which tool, and what it releases.
        adjacency : {"add-remove", "replace-one"}, optional
            The neighbours that the other tool's guarantee is stated for; they must be the
            accountant's, which are the default. Its unit must be the accountant's, too: if this
            accountant protects patients, a guarantee for single rows is too small a charge.
        epsilon, delta : float, optional
            The guarantee of the release. ``delta=0`` is pure differential privacy.
        mu : float, optional
            Its Gaussian-DP parameter: sensitivity over noise sd of a Gaussian mechanism. It adds
            up to less than the epsilon and delta of the same release.

        Returns
        -------
        ExternalReceipt
            No release can be recorded for it.

        Raises
        ------
        BudgetExceeded
            If the budget does not cover it; nothing was charged.
        ValueError
            If the guarantee is not stated in one of these ways, or for another adjacency.

        Notes
        -----
        Unless you give `mu`, the size of the charge must not depend on what was released before,
        as with all charges that are not Gaussian.

        Examples
        --------
        >>> from skdppca import PrivacyAccountant
        >>> accountant = PrivacyAccountant(epsilon=2.0, delta=1e-6)
        >>> receipt = accountant.charge_external(
        ...     "OpenDP: counts by year", epsilon=0.5, delta=0.0
        ... )
        >>> receipt.row, accountant.spent.epsilon
        (1, 0.5)
        """
        event = stated_event(epsilon, delta, mu)
        if adjacency not in (None, self.adjacency):
            raise ValueError(_other_neighbours(self.adjacency, adjacency))
        try:
            (receipt,) = _granted(
                [self],
                event,
                label,
                False,
                ExternalReceipt,
                refused="refused, nothing was charged: the privacy budget does not cover this "
                "external release",
            )
        except LedgerError as error:
            raise LedgerError(
                f"{error}; look whether the ledger has this charge before you charge it again"
            ) from error
        return receipt

    def record(self, receipt: Receipt, release: str) -> ReleaseRow:
        """Record what a charge released, before anyone sees the result.

        Parameters
        ----------
        receipt : Receipt
            What `charge` returned for this release. A charge has one release at most.
        release : str
            SHA-256 of what was released, 64 hexadecimal digits.

        Returns
        -------
        ReleaseRow

        Raises
        ------
        ValueError
            If the receipt is not in the accountant's chain, has its release already, or `release`
            is no SHA-256.
        LedgerError
            If the row cannot be stored. The charge stands, and nothing may be released.
        """
        if not isinstance(receipt, Receipt):
            raise TypeError(f"receipt={receipt!r} is no Receipt; pass what `charge` returned")
        try:
            chain = alone(lambda: self._extend(lambda chain: chain.released(receipt, release)))
            return cast(ReleaseRow, chain.rows[-1])
        except LedgerError as error:
            raise LedgerError(
                f"{error}; the charge in row {receipt.row} stands, and nothing was released"
            ) from error

    def statement(self) -> Statement:
        """Return all charges and releases and the remaining budget, all of one moment."""
        return Statement(alone(self._current))

    @property
    def spent(self) -> PrivacyCost:
        """Cost of all granted releases together: epsilon at the accountant's delta."""
        return self.statement().spent

    @property
    def remaining(self) -> PrivacyCost:
        """Remaining budget: largest epsilon, at the accountant's delta, of one more Gaussian fit.

        With ``delta=0``, that of one more pure release. Gaussian releases add up in squares: after
        a charge of half of epsilon, more than half is left. After a charge that was not Gaussian,
        the answer may be too small by up to ``epsilon / 4096``.
        """
        return self.statement().remaining

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """The receipts of all charges, oldest first."""
        return alone(self._current).receipts

    @property
    def releases(self) -> tuple[ReleaseRow, ...]:
        """Rows of all recorded releases, oldest first."""
        return alone(self._current).releases

    @property
    def unrecorded(self) -> tuple[Receipt, ...]:
        """The receipts of charges whose release was not recorded, oldest first.

        Such a fit was interrupted or runs still, or nothing was computed after the charge. External
        charges are not among them: what they released is not recorded.
        """
        return alone(self._current).unrecorded

    def verify(self, *rows: ChainRow | Mapping[str, Any]) -> None:
        """Check that every given receipt or release row is in the accountant's chain.

        Parameters
        ----------
        *rows : Receipt, ReleaseRow, or what their `to_dict` returns

        Raises
        ------
        LedgerError
            If one is missing or differs.
        """
        wrong = alone(self._anew).lacks(rows)
        if wrong is not None:
            raise LedgerError(f"{self!r}: {wrong}; verify against the accountant that wrote it")

    def check_has(self, receipts: Sequence[Receipt]) -> None:
        """Refuse to go on with an account that lacks a charge which was made to it.

        Raises
        ------
        LedgerError
            If one is missing, as from an older copy, or differs.
        """
        wrong = alone(self._current).lacks(receipts)
        if wrong is not None:
            raise LedgerError(f"{self!r}: {wrong}; put the account itself back")

    def _refusal(self, chain: Chain, event: PrivacyEvent) -> str:
        room, spent = chain.total.room(self.epsilon, self.delta), chain.total.epsilon(self.delta)
        charges = len(chain.receipts)
        most = f"epsilon={rounded_down(room)} at delta={self.delta!r}"
        plain = isinstance(event, GaussianEvent if self.delta else PureEvent)
        ask = "at most" if plain else "less, for a single fit may have no more than"
        remedy = f"ask for {ask} {most}, or" if room else "nothing is left;"
        return (
            f"spent before: epsilon={spent:.6g} at delta={self.delta:g} "
            f"in {charges} charge{'' if charges == 1 else 's'}\n"
            f"this request: epsilon={epsilon_of_event(event, self.delta):.6g} "
            f"at delta={self.delta:g} ({_in_short(event)})\n"
            f"budget: epsilon={self.epsilon:g}, delta={self.delta:g}\n"
            f"remedy: {remedy} agree on a larger budget"
        )

    def _describe(self) -> str:
        return (
            f"epsilon={self.epsilon!r}, delta={self.delta!r}, "
            f"adjacency={self.adjacency!r}, unit={self.unit!r}"
        )

    def _repr_html_(self) -> str:
        """The account as a table, for notebooks; an account out of reach must not end a cell."""
        try:
            table = self.statement()._repr_html_()
        except (LedgerError, SealedAccountantError, ImportError) as error:
            table = f"<p>{escape(printable(str(error)))}</p>"
        return f"<div><p><code>{escape(printable(repr(self)))}</code></p>{table}</div>"

    def __sklearn_clone__(self) -> BaseAccountant:
        return self

    def __copy__(self) -> BaseAccountant:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> BaseAccountant:
        return self


class PrivacyAccountant(BaseAccountant):
    """A budget that lives in the memory of one process.

    Its pickle is a token. In the process that made the accountant, loading the token returns that
    accountant. In any other process, a fork included, it returns a sealed one, which can neither
    be charged nor say what was spent. Use a `PrivacyLedger` for fits in several processes.

    Parameters
    ----------
    epsilon : float
        Positive and finite.
    delta : float
        In [0, 1); 0 covers pure events only.
    adjacency : {"add-remove", "replace-one"}, default="add-remove"
        What neighbouring data sets differ by.
    unit : str, default="row"
        What a record is: a row, or all rows of the group of this name.

    Examples
    --------
    >>> from skdppca.privacy import GaussianEvent, PrivacyAccountant, mu_of
    >>> accountant = PrivacyAccountant(epsilon=1.0, delta=1e-6)
    >>> event = GaussianEvent(mu_of(0.5, 1e-6))
    >>> receipt = accountant.charge(event, adjacency="add-remove", unit="row", label="first")
    >>> receipt.row, round(accountant.spent.epsilon, 3), round(accountant.remaining.epsilon, 3)
    (1, 0.5, 0.841)
    """

    def __init__(
        self,
        epsilon: float,
        delta: float,
        *,
        adjacency: str = "add-remove",
        unit: str = "row",
    ) -> None:
        check_unit(unit)
        self._settle(Terms(uuid.uuid4().hex, epsilon, delta, adjacency, unit), here())
        warn_if_weak(epsilon, delta)

    def _settle(self, terms: Terms, home: tuple[int, str] | None) -> None:
        self._home = home
        self._chain = Chain(terms)
        _LIVE[terms.accountant] = self

    @property
    def _terms(self) -> Terms:
        return self._chain.terms

    def _current(self) -> Chain:
        if self._home != here():
            raise SealedAccountantError(
                "this PrivacyAccountant was made in another process, which alone knows what was "
                "spent; for fits in several processes use PrivacyLedger.create(path, ...) once and "
                "PrivacyLedger(path) as their accountant"
            )
        return self._chain

    def _extend(self, grant: Callable[[Chain], Chain]) -> Chain:
        self._chain = grant(self._current())
        return self._chain

    def __reduce__(self) -> tuple[Any, ...]:
        return _live_or_sealed, (self._terms,)

    def __repr__(self) -> str:
        text = f"PrivacyAccountant({self._describe()})"
        return text if self._home == here() else f"<sealed {text}, made in another process>"


_LIVE: weakref.WeakValueDictionary[str, PrivacyAccountant] = weakref.WeakValueDictionary()


def _live_or_sealed(terms: Terms) -> PrivacyAccountant:
    """Return this process's accountant of that id, or a sealed stand-in."""
    accountant = _LIVE.get(terms.accountant)
    if accountant is None:
        accountant = PrivacyAccountant.__new__(PrivacyAccountant)
        accountant._settle(terms, home=None)
    return accountant


def rounded_down(epsilon: float) -> str:
    """Four digits that are still granted: the last bit of what is left would be one too many."""
    floor = Context(prec=4, rounding=ROUND_FLOOR).create_decimal_from_float(epsilon)
    return f"{float(floor):g}"


def _in_short(event: PrivacyEvent) -> str:
    """Return the cost of an event in words, in few digits."""
    if isinstance(event, ComposedEvent):
        return f"{len(event.events)} releases together"
    costs = {name: value for name, value in event.to_dict().items() if name != "type"}
    return ", ".join(f"{name} {value:.3g}" for name, value in costs.items() if value) or "no cost"


def _other_neighbours(ours: str, theirs: str) -> str:
    """Say why a guarantee for other neighbours is refused, and what follows from it."""
    if theirs not in ADJACENCIES:
        return f"adjacency={theirs!r} is unknown; choose one of {', '.join(ADJACENCIES)}"
    if ours == "add-remove":
        follows = (
            "a guarantee for replace-one says nothing about a record that is added or removed; "
            "charge it to an accountant for replace-one"
        )
    else:
        follows = (
            "to replace a record is to remove one and to add one, so (epsilon, delta) for "
            "add-remove is (2 epsilon, (1 + exp(epsilon)) delta) for replace-one, and mu is 2 mu; "
            "give these numbers and adjacency='replace-one'"
        )
    return (
        f"this accountant counts adjacency={ours!r}, and adjacency={theirs!r} was given: {follows}"
    )
