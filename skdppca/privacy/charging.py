"""One door from a release to its accountant; without one, an error or a warning."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

from ..exceptions import SeededNoiseWarning, UnaccountedFitsWarning
from .accountant import LOCK, accounts_of, charge_all
from .chain import Receipt
from .config import VARIABLE, get_config
from .events import NonPrivateEvent, PrivacyEvent
from .user_warnings import level_of_user, warn_if_weak

# Private releases without an accountant so far. A forked child goes on counting from here.
_unaccounted = 0

_exempt: ContextVar[bool] = ContextVar("exempt", default=False)
_silent: ContextVar[bool] = ContextVar("silent", default=False)


@contextmanager
def needs_no_accountant(*, seeded: bool = False, silent: bool = True) -> Iterator[None]:
    """In this block no release needs an accountant: its cost is charged elsewhere, or is none.

    It holds for the thread that enters it, so enter it in the function that a worker runs.

    Parameters
    ----------
    seeded : bool, default=False
        The caller chose the seeds, for data that are synthetic or public: they do not warn. A
        filter of warnings holds for the whole process.
    silent : bool, default=True
        Whether nothing is printed of their progress, whatever they were asked to print.
    """
    token, quiet = _exempt.set(True), _silent.set(silent or is_silent())
    try:
        ignored = warnings.catch_warnings(action="ignore", category=SeededNoiseWarning)
        with ignored if seeded else nullcontext():
            yield
    finally:
        _silent.reset(quiet)
        _exempt.reset(token)


def charged_elsewhere() -> bool:
    """Return whether this runs in a block whose release is charged elsewhere."""
    return _exempt.get()


def is_silent() -> bool:
    """Return whether this runs in a block that prints nothing."""
    return _silent.get()


def check_accounted(accountant: Any, epsilon: float, delta: float, random_state: Any) -> None:
    """Refuse a private release without an accountant, if the process requires one.

    A budget that hardly protects anyone warns. To be called before the data are read.
    """
    accounts_of(accountant)
    if math.isinf(epsilon) or random_state is not None or charged_elsewhere():
        return
    if accountant is None and get_config()["require_accountant"]:
        raise ValueError(
            "accountant=None, but this process requires an accountant for every private release "
            f"(skdppca.set_config(require_accountant=True), or {VARIABLE} in the environment); "
            "nothing was released. Pass accountant=PrivacyAccountant(...) or "
            "accountant=PrivacyLedger(path); in a shell, --ledger FILE"
        )
    warn_if_weak(epsilon, delta)


def charge(
    accountant: Any,
    event: PrivacyEvent,
    *,
    adjacency: str,
    unit: str,
    label: str,
    seeded: bool,
) -> tuple[Receipt, ...]:
    """Charge a release that is about to happen to each of the accounts, as `charge_all` does.

    Without an accountant nothing is charged, and the second private release warns.

    Raises
    ------
    UnaccountedFitsWarning
        If a filter makes it an error. As after every error here, nothing may be released.
    """
    terms: dict[str, Any] = {
        "adjacency": adjacency,
        "unit": unit,
        "label": label,
        "seeded": seeded,
    }
    match accounts_of(accountant):
        case [one]:
            return (one.charge(event, **terms),)
        case [_, *_] as several:
            return charge_all(several, event, **terms)
    if not (seeded or isinstance(event, NonPrivateEvent) or charged_elsewhere()):
        _count()
    return ()


def _count() -> None:
    """Count one more private release without an accountant; the second one warns.

    If a filter makes the warning an error, the release does not happen and is not counted, so the
    next one warns again.
    """
    global _unaccounted
    with LOCK:
        if _unaccounted == 1:
            warnings.warn(
                "nothing adds up what the private fits of this process cost together: this is the "
                "second one without an accountant. If they read data about the same people, pass "
                "one accountant to all of them: accountant=PrivacyAccountant(...), or a "
                "PrivacyLedger for several processes. This warning comes once a process, and fits "
                "in its worker processes are not counted: each worker counts its own.",
                UnaccountedFitsWarning,
                stacklevel=level_of_user(),
            )
        _unaccounted += 1
