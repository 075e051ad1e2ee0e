"""The last steps of every release: its report, its row in the ledger, and its storage."""

from __future__ import annotations

import copy
import platform
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import scipy
import sklearn
from sklearn.base import BaseEstimator

from ..privacy import BaseAccountant, PrivacyReport, Released, Spending
from ..privacy.charging import charged_elsewhere
from ..privacy.report import jsonable
from ..privacy.spender import Query

__all__ = [
    "announce",
    "fit_promised",
    "public_parameters",
    "published",
    "released_of",
    "spendings_of",
    "store",
]

E = TypeVar("E", bound=BaseEstimator)


def fit_promised(estimator: E, release: Callable[[E], dict[str, Any]]) -> E:
    """Fit an estimator as it is now, whatever becomes of its parameters meanwhile.

    A copy is validated, charged, computed and reported, and nobody else can set its parameters. A
    fit that is refused leaves the estimator as it was.

    Parameters
    ----------
    estimator : estimator
    release : callable
        What the copy releases: all that is to be stored, the report as ``privacy_``.

    Returns
    -------
    estimator
        The given one, fitted.
    """
    promised = copy.copy(estimator)
    found = release(promised)
    store(estimator, found)
    announce(found["privacy_"], promised.verbose)
    return estimator


def public_parameters(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return all parameters of a release as its report holds them: JSON-able and without a seed.

    To be called before the charge, because a parameter of an unknown kind may fail.
    """
    return {name: _public(name, value) for name, value in given.items()}


def _public(name: str, value: Any) -> Any:
    if isinstance(value, BaseAccountant):
        return value.id
    if name.rpartition("__")[2] == "random_state":
        return None if value is None else "seeded"
    return jsonable(value)


def spendings_of(queries: Iterable[Query]) -> tuple[Spending, ...]:
    """Return what a report says of the queries that were answered."""
    return tuple(Spending(q.name, q.mu, q.widened_sensitivity, q.noise_sd, q.part) for q in queries)


def released_of(stored: Mapping[str, Any]) -> tuple[Released, ...]:
    """Return the hashes of arrays and numbers, given by the names of their attributes."""
    return tuple(Released.of(name.removesuffix("_"), value) for name, value in stored.items())


def published(report: PrivacyReport, accountant: BaseAccountant | None) -> PrivacyReport:
    """Return the report with the versions of the software, recorded by the accountant.

    All that is released must be computed before, and stored after it: if the row cannot be
    written, nothing is released.

    Parameters
    ----------
    report : PrivacyReport
        Complete but for `software` and `release`.
    accountant : BaseAccountant or None
        The one that wrote the report's receipt.

    Raises
    ------
    LedgerError
        If the row cannot be written; the charge stands.
    """
    report = replace(report, software=_versions())
    if accountant is None or report.receipt is None:
        return report
    return replace(report, release=accountant.record(report.receipt, report.release_id))


def store(estimator: BaseEstimator, found: Mapping[str, Any]) -> None:
    """Put the attributes of a fit in the place of those of an earlier one, in one step."""
    parameters = estimator.get_params(deep=False)
    kept = {k: v for k, v in vars(estimator).items() if k in parameters or not k.endswith("_")}
    estimator.__dict__ = kept | dict(found)


def announce(report: PrivacyReport, verbose: int) -> None:
    """Print the report of a release that is stored, if it is asked for.

    Of a candidate nothing is printed: its search may release another one.
    """
    if verbose and not charged_elsewhere():
        print(report)


def _versions() -> dict[str, str]:
    """Versions of what computed a release."""
    from .. import __version__  # known only when all of the package is imported

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
