"""Accountants: they grant releases out of one budget, and write a receipt for each."""

from __future__ import annotations

import os
import threading
import uuid
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar, cast

from ..exceptions import BudgetExceeded, LedgerError, SealedAccountantError
from .chain import Chain, ChainRow, Receipt, ReleaseRow, Terms
from .composition import Composition
from .events import PrivacyEvent, add_event
from .pricing import epsilon_of_event

__all__ = ["BaseAccountant", "PrivacyAccountant", "PrivacyCost", "Receipt"]

T = TypeVar("T")

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


class PrivacyCost(NamedTuple):
    """An (epsilon, delta) guarantee."""

    epsilon: float
    delta: float


class _Refused(Exception):
    """The chain at which a charge did not fit."""


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
        """What neighbouring data sets differ by: "add-remove" or "replace-one" record."""
        return self._terms.adjacency

    @property
    def unit(self) -> str:
        """What a record is: "row", or the name of a group."""
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
        if (adjacency, unit) != (self.adjacency, self.unit):
            raise ValueError(
                f"this accountant counts adjacency={self.adjacency!r}, unit={self.unit!r}, and the "
                f"charge is for adjacency={adjacency!r}, unit={unit!r}: such costs do not add up; "
                "fit with the accountant's adjacency and unit, or make another accountant for these"
            )
        if not add_event(Composition(), event).private:
            raise ValueError(
                "a release without noise has no cost that an accountant could charge; choose a "
                "finite epsilon, or accountant=None for a result that is not private"
            )

        def grant(chain: Chain) -> Chain:
            charged = chain.charged(event, label, seeded)
            if not charged.total.fits(self.epsilon, self.delta):
                raise _Refused(chain)
            return charged

        try:
            return cast(Receipt, alone(lambda: self._extend(grant)).rows[-1])
        except LedgerError as error:
            raise LedgerError(f"{error}; nothing was released") from error
        except _Refused as refused:  # explained only now: pricing may take long
            chain = refused.args[0]
        raise BudgetExceeded(self._refusal(chain, event))

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

    @property
    def spent(self) -> PrivacyCost:
        """What all granted releases cost together: epsilon at the accountant's delta."""
        return self._spent(alone(self._current))

    @property
    def remaining(self) -> PrivacyCost:
        """What is left: the largest epsilon, at the accountant's delta, of one more Gaussian fit.

        With ``delta=0``, that of one more pure release. Gaussian releases add up in squares: after
        a charge of half of epsilon, more than half is left. After a charge that was not Gaussian,
        the answer may be too small by up to ``epsilon / 4096``.
        """
        return PrivacyCost(alone(self._current).total.room(self.epsilon, self.delta), self.delta)

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """The receipts of all charges, oldest first."""
        return alone(self._current).receipts

    @property
    def releases(self) -> tuple[ReleaseRow, ...]:
        """What the charges released, oldest first."""
        return alone(self._current).releases

    @property
    def unrecorded(self) -> tuple[Receipt, ...]:
        """The receipts of charges whose release was not recorded, oldest first.

        Such a fit was interrupted or runs still, or nothing was computed after the charge.
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
        wrong = alone(self._current).lacks(rows)
        if wrong is not None:
            raise LedgerError(f"{self!r}: {wrong}; verify against the accountant that wrote it")

    def _spent(self, chain: Chain) -> PrivacyCost:
        if not chain.rows:
            return PrivacyCost(0.0, 0.0)
        return PrivacyCost(chain.total.epsilon(self.delta), self.delta)

    def _refusal(self, chain: Chain, event: PrivacyEvent) -> str:
        spent, room = self._spent(chain), chain.total.room(self.epsilon, self.delta)
        charges = len(chain.receipts)
        remedy = f"ask for at most epsilon={room!r}, or" if room else "nothing is left;"
        return (
            "refused, nothing was released: the privacy budget does not cover this release "
            '(in a search pass error_score="raise", or this error is swallowed)\n'
            f"spent before: epsilon={spent.epsilon:.6g} at delta={spent.delta:g} "
            f"in {charges} charge{'' if charges == 1 else 's'}\n"
            f"this request: epsilon={epsilon_of_event(event, self.delta):.6g} "
            f"at delta={self.delta:g} ({event!r})\n"
            f"budget: epsilon={self.epsilon:g}, delta={self.delta:g}\n"
            f"remedy: {remedy} agree on a larger budget"
        )

    def _describe(self) -> str:
        return (
            f"epsilon={self.epsilon!r}, delta={self.delta!r}, "
            f"adjacency={self.adjacency!r}, unit={self.unit!r}"
        )

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
        self, epsilon: float, delta: float, *, adjacency: str = "add-remove", unit: str = "row"
    ) -> None:
        self._settle(Terms(uuid.uuid4().hex, epsilon, delta, adjacency, unit), here())

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
