"""Accountants: they grant releases out of one budget, and write a receipt for each."""

from __future__ import annotations

import os
import threading
import uuid
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..exceptions import BudgetExceeded, LedgerError, SealedAccountantError
from .chain import Chain, Receipt, Terms
from .composition import Composition
from .events import PrivacyEvent, add_event
from .pricing import epsilon_of_event

__all__ = ["BaseAccountant", "PrivacyAccountant", "PrivacyCost", "Receipt"]

# Held during every charge and across a fork, so that no child inherits half a charge.
LOCK = threading.RLock()
_process = uuid.uuid4().hex  # differs in every forked child, even if a process id is reused


def _wake_in_child() -> None:
    global _process
    _process = uuid.uuid4().hex
    LOCK.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=_wake_in_child
    )


class PrivacyCost(NamedTuple):
    """An (epsilon, delta) guarantee."""

    epsilon: float
    delta: float


class _Refused(Exception):
    """The chain at which a charge did not fit."""


class BaseAccountant(ABC):
    """A budget: it checks every charge, records it, and says what is left.

    A copy would be a second budget, so `clone`, `copy` and `deepcopy` return the accountant itself.

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
        """Return the verified chain as it is now."""

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
            if not add_event(chain.total, event).fits(self.epsilon, self.delta):
                raise _Refused(chain)
            return chain.charged(event, label, seeded)

        try:
            with LOCK:
                return self._extend(grant).receipts[-1]
        except _Refused as refused:  # explained only now: pricing may take long
            chain = refused.args[0]
        raise BudgetExceeded(self._refusal(chain, event))

    @property
    def spent(self) -> PrivacyCost:
        """What all granted releases cost together: epsilon at the accountant's delta."""
        return self._spent(self._current())

    @property
    def remaining(self) -> PrivacyCost:
        """What is left: the largest epsilon, at the accountant's delta, of one more Gaussian fit.

        With ``delta=0``, that of one more pure release. Gaussian releases add up in squares: after
        a charge of half of epsilon, more than half is left. After a charge that was not Gaussian,
        the answer may be too small by up to ``epsilon / 4096``.
        """
        return PrivacyCost(self._current().total.room(self.epsilon, self.delta), self.delta)

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """All receipts, oldest first."""
        return self._current().receipts

    def verify(self, *receipts: Receipt | Mapping[str, Any]) -> None:
        """Check that every given receipt, or its `to_dict`, is in the accountant's chain.

        Raises
        ------
        LedgerError
            If one is missing or differs.
        """
        wrong = self._current().lacks(receipts)
        if wrong is not None:
            raise LedgerError(f"{self!r}: {wrong}; verify against the accountant that wrote it")

    def _spent(self, chain: Chain) -> PrivacyCost:
        if not chain.receipts:
            return PrivacyCost(0.0, 0.0)
        return PrivacyCost(chain.total.epsilon(self.delta), self.delta)

    def _refusal(self, chain: Chain, event: PrivacyEvent) -> str:
        spent, room = self._spent(chain), chain.total.room(self.epsilon, self.delta)
        remedy = f"ask for at most epsilon={room!r}, or" if room else "nothing is left;"
        return (
            "refused, nothing was released: the privacy budget does not cover this release "
            '(in a search pass error_score="raise", or this error is swallowed)\n'
            f"spent before: epsilon={spent.epsilon:.6g} at delta={spent.delta:g} "
            f"in {len(chain.receipts)} charge{'' if len(chain.receipts) == 1 else 's'}\n"
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
        self._settle(Terms(uuid.uuid4().hex, epsilon, delta, adjacency, unit), _here())

    def _settle(self, terms: Terms, home: tuple[int, str] | None) -> None:
        self._home = home
        self._chain = Chain(terms)
        _LIVE[terms.accountant] = self

    @property
    def _terms(self) -> Terms:
        return self._chain.terms

    def _current(self) -> Chain:
        if self._home != _here():
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
        return text if self._home == _here() else f"<sealed {text}, made in another process>"


_LIVE: weakref.WeakValueDictionary[str, PrivacyAccountant] = weakref.WeakValueDictionary()


def _here() -> tuple[int, str]:
    return os.getpid(), _process


def _live_or_sealed(terms: Terms) -> PrivacyAccountant:
    """Return this process's accountant of that id, or a sealed stand-in."""
    accountant = _LIVE.get(terms.accountant)
    if accountant is None:
        accountant = PrivacyAccountant.__new__(PrivacyAccountant)
        accountant._settle(terms, home=None)
    return accountant
