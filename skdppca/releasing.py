"""The order of every release, written once: charge, compute, report, record, store."""

from __future__ import annotations

import math
import platform
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, TypeVar

import numpy as np
import scipy
import sklearn
from sklearn.base import BaseEstimator

from ._version import __version__
from .exceptions import CentreNotSeenWarning, SeededNoiseWarning
from .noise import NoiseSource
from .privacy import (
    BaseAccountant,
    GaussianEvent,
    NonPrivateEvent,
    PrivacyEvent,
    PrivacyFilter,
    PrivacyReport,
    Released,
    Spending,
    mu_of,
)
from .privacy.accountant import accounts_of
from .privacy.charging import charge, charged_elsewhere, is_silent
from .privacy.fit_report import check_price, jsonable
from .privacy.privacy_filter import Query, untold
from .privacy.user_warnings import level_of_user
from .private_data import PrivateData, Public
from .records import Source
from .records.machine import one_pool

E = TypeVar("E", bound=BaseEstimator)
T = TypeVar("T")

# Keys of a report's details where something was not seen; its words; a public fact to give instead.
UNSEEN = (
    ("no_centre", "no centre was", "a public mean"),
    ("no_norms", "no lengths of rows were", "a public norm_bound"),
)


@dataclass(frozen=True, kw_only=True)
class ReleaseTerms:
    """All that is promised of a release, fixed by validation from parameters and public facts.

    Parameters
    ----------
    method : str
        What releases, as the ledger names it.
    event : PrivacyEvent
        What it costs.
    epsilon, delta : float
        The guarantee that the event was made of.
    public : Public
        What is known of the records; its `adjacency` is accounted.
    unit : str
        What one of neighbouring data sets has more of: `public.unit`, or something smaller.
    accountant : BaseAccountant, list of BaseAccountant or None
        The account of the people whose records are read, or all of their accounts.
    noise : NoiseSource
    parameters : dict
        Parameters as `public_parameters` makes them.
    centre : ndarray of shape (n_features,)
        Public.
    norm_bound : float or None
        Public; see `PrivateData`.
    feature_names : tuple of str or None
    not_private : tuple of str
        What takes the guarantee away, besides a seed and epsilon=inf.
    budget : float or None
        The mu that the door may spend, where that is not all of the event. The questions are then
        no list of what the event is composed of, and the report lists none.
    verbose : int
        Whether the questions are printed as they are asked.
    """

    method: str
    event: PrivacyEvent
    epsilon: float
    delta: float
    public: Public
    unit: str
    accountant: BaseAccountant | Sequence[BaseAccountant] | None
    noise: NoiseSource
    parameters: dict[str, Any]
    centre: np.ndarray
    norm_bound: float | None = None
    feature_names: tuple[str, ...] | None = None
    not_private: tuple[str, ...] = ()
    budget: float | None = None
    verbose: int = 0

    def __post_init__(self) -> None:
        check_price(self.event, self.epsilon, self.delta)  # or the report would, after the charge
        if self.accountant is not None:  # a list may change while its accounts are charged
            object.__setattr__(self, "accountant", accounts_of(self.accountant))

    @property
    def why_not_private(self) -> tuple[str, ...]:
        """For the report; empty if the guarantee holds."""
        if math.isinf(self.epsilon):
            return ("epsilon=inf: no noise and no clipping", *self.not_private)
        if not self.noise.is_private:
            seeded = "random_state: the noise can be repeated by whoever knows the seed"
            return (seeded, *self.not_private)
        return self.not_private


@dataclass(frozen=True)
class Results:
    """Results of a release: private outputs, public facts, and what follows from both.

    Parameters
    ----------
    attributes : dict
        Arrays and numbers by the names of their attributes. The report holds their hashes.
    details : dict
        What the report says besides.
    besides : dict
        What is stored with the attributes, without hashes.
    released : tuple of Released
        Hashes of numbers that `besides` holds.
    method : str
        What released them, where only the outcome tells; empty for that of the terms.
    feature_names : tuple of str or None
        Likewise.
    """

    attributes: dict[str, Any]
    details: dict[str, Any]
    besides: dict[str, Any] = field(default_factory=dict)
    released: tuple[Released, ...] = ()
    method: str = ""
    feature_names: tuple[str, ...] | None = None


def release(
    terms: ReleaseTerms,
    source: Source,
    run: Callable[[PrivateData], T],
    results: Callable[[T], Results],
) -> dict[str, Any]:
    """Charge, compute, report and record; the caller stores all of it in one step.

    Nothing is asked of the records before the charge. An error leaves the charge, and nothing is
    released.

    Parameters
    ----------
    terms : ReleaseTerms
    source : Source
        The records, valid.
    run : callable
        The private computation.
    results : callable
        What is released of its outcome.

    Returns
    -------
    dict
        All that is to be stored, the report as ``privacy_``.

    Raises
    ------
    BudgetExceeded
        The accountant's budget does not cover it; nothing was computed.
    LedgerError
        The charge, or the row of the release, cannot be written.
    """
    # 1. charge
    receipts = charge(
        terms.accountant,
        terms.event,
        adjacency=terms.public.adjacency,
        unit=terms.unit,
        label=terms.method,
        seeded=not terms.noise.is_private,
    )
    # 2. compute, through the door
    is_whole = terms.budget is None
    tell = _phases(terms)
    data = PrivateData(
        source=source,
        public=terms.public,
        budget=PrivacyFilter.of(terms.event, tell)
        if terms.budget is None
        else PrivacyFilter(terms.budget, tell=tell),
        noise=terms.noise,
        centre=terms.centre,
        norm_bound=terms.norm_bound,
    )
    if terms.norm_bound is not None:
        data = data.near(terms.norm_bound)
    # no warning tells of numbers, whatever the caller asked for, and few threads spin
    with np.errstate(all="ignore"), one_pool(data.n_features):
        found = results(run(data))
    # 3. report
    asked = data.budget.queries if is_whole else ()
    spendings = tuple(
        Spending(q.name, q.mu, q.widened_sensitivity, q.noise_sd, q.part) for q in asked
    )
    report = PrivacyReport(
        method=found.method or terms.method,
        epsilon=terms.epsilon,
        delta=terms.delta,
        adjacency=terms.public.adjacency,
        unit=terms.unit,
        event=terms.event,
        not_private=terms.why_not_private,
        spendings=spendings,
        receipts=receipts,
        details=found.details,
        parameters=terms.parameters,
        released=(*found.released, *hashes(found.attributes)),
        feature_names=found.feature_names or terms.feature_names,
        software=versions(),
    )
    # 4. record: if a row cannot be written, nothing is released
    paid = zip(accounts_of(terms.accountant), receipts, strict=True)
    rows = tuple(account.record(receipt, report.release_id) for account, receipt in paid)
    report = replace(report, releases=rows) if rows else report
    return {**found.besides, **found.attributes, "privacy_": report}


def _phases(terms: ReleaseTerms) -> Callable[[Query], None]:
    """Return a function that prints the queries by number and name, if that is asked for.

    Which question is asked follows from public facts and from answers that were charged. An output
    that is closed stops no fit.
    """
    if not terms.verbose or is_silent():
        return untold
    number = count(1)

    def tell(query: Query) -> None:
        part = f" (part {query.part})" if query.part else ""
        with suppress(OSError, ValueError):
            print(f"{terms.method}: question {next(number)}, {query.name}{part}", flush=True)

    return tell


def publish(estimator: E, found: Mapping[str, Any], verbose: int) -> E:
    """Store what a fit has released in its estimator, and tell the user.

    A fit is made of a copy, and nobody else can set its parameters: whatever becomes of those of
    the estimator meanwhile, the fit is that of the parameters which it was called with. A fit that
    is refused leaves the estimator as it was.

    Parameters
    ----------
    estimator : estimator
    found : mapping
        All that is to be stored, the report as ``privacy_``.
    verbose : int
        Verbosity of the copy.

    Returns
    -------
    estimator
        The given one, fitted.
    """
    store(estimator, found)
    announce(found["privacy_"], verbose)
    return estimator


def make_plain(own: E) -> E:
    """Make NumPy's numbers Python's among the parameters of an estimator that nobody else holds.

    NumPy's wrap around (``-np.uint8(2)`` is 254), or bring a precision of their own into what is
    computed from them. To be called once they were validated.
    """
    for name, value in own.get_params(deep=False).items():
        if isinstance(value, np.integer):
            setattr(own, name, int(value))
        elif isinstance(value, np.floating):
            setattr(own, name, float(value))
    return own


def store(estimator: BaseEstimator, found: Mapping[str, Any]) -> None:
    """Put the attributes of a fit in the place of those of an earlier one, in one step."""
    parameters = estimator.get_params(deep=False)
    kept = {k: v for k, v in vars(estimator).items() if k in parameters or not k.endswith("_")}
    estimator.__dict__ = kept | dict(found)


def announce(report: PrivacyReport, verbose: int) -> None:
    """Print the report of a release that is stored, if it is asked for; warn of what it lacks.

    Nothing is announced of a candidate: its search may release another one. A warning that a filter
    makes an error comes last, so that it stops nothing.
    """
    if charged_elsewhere():
        return
    if verbose:
        print(report)
    for key, what, instead in UNSEEN:
        if key in report.details:
            warnings.warn(
                f"{what} seen in the noise: {report.details[key]}. Set a larger epsilon, or give "
                f"more records or {instead}. If rows of X are shorter than 1e-42 or longer than "
                "1e42, choose other units: no others are looked for.",
                CentreNotSeenWarning,
                stacklevel=level_of_user(),
            )


def event_of(epsilon: float, delta: float) -> PrivacyEvent:
    """Return the cost of a release of that epsilon and delta, if all of its noise is Gaussian."""
    if math.isinf(epsilon):
        return NonPrivateEvent()
    return GaussianEvent(mu_of(float(epsilon), float(delta)))


def public_parameters(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return all parameters of a release as its report holds them: JSON-able and without a seed.

    To be called before the charge, because a parameter of an unknown kind may fail.
    """
    return {name: _public(name, value) for name, value in given.items()}


def check_chargeable(epsilon: float, accountant: Any, random_state: Any) -> None:
    """Refuse what has no price, and a random state that is nobody's own."""
    if random_state is np.random.mtrand._rand:
        raise ValueError(
            "random_state is numpy's global random state, which any code can seed or read; "
            "use None for secure noise, or an int of your own"
        )
    if math.isinf(epsilon) and accountant is not None:
        raise ValueError(
            "epsilon=inf has no cost that an accountant could charge; choose a finite "
            "epsilon, or accountant=None to compute what is not private"
        )


def noise_source(epsilon: float, random_state: Any, calls: int = 0) -> NoiseSource:
    """Secure noise, or that of a seed, with a warning where the noise should protect.

    Parameters
    ----------
    epsilon : float
    random_state : int, RandomState or None
    calls : int
        How often the seed was used before by the same estimator, so that noise is not repeated.
    """
    if random_state is None:
        return NoiseSource()
    if not math.isinf(epsilon):
        warnings.warn(
            "random_state is set: whoever knows or guesses it can subtract the noise, so this "
            "release is not private. Use random_state=None on data that must be protected.",
            SeededNoiseWarning,
            stacklevel=level_of_user(),
        )
    if isinstance(random_state, np.random.RandomState):
        return NoiseSource(random_state.randint(2**32, size=4, dtype=np.uint32).tolist())
    return NoiseSource([int(random_state), calls] if calls else int(random_state))


def _public(name: str, value: Any) -> Any:
    if isinstance(value, BaseAccountant):
        return value.id
    if name.rpartition("__")[2] == "accountant" and isinstance(value, list | tuple):
        return [account.id for account in accounts_of(value)]
    if name.rpartition("__")[2] == "random_state":
        return None if value is None else "seeded"
    return jsonable(value)


def hashes(stored: Mapping[str, Any]) -> tuple[Released, ...]:
    """Return the report's hashes of released arrays and numbers, by their attributes' names."""
    return tuple(Released.of(name.removesuffix("_"), value) for name, value in stored.items())


def versions() -> dict[str, str]:
    """Versions of what computed a release."""
    return {
        "skdppca": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "blas": _blas(),
    }


def _blas() -> str:
    """The library that NumPy was built with for products and decompositions of matrices."""
    found = np.show_config(mode="dicts")
    built = found.get("Build Dependencies", {}).get("blas", {}) if found else {}
    return f"{built.get('name', 'unknown')} {built.get('version', '')}".strip()
