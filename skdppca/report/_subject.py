"""Subject of a report: a fit's own report, and the arrays that it released."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..decomposition import METHODS, MergedPCA, PrivatePCA
from ..decomposition.merged import Given, merged
from ..decomposition.parameters import legal
from ..decomposition.validation import check_names
from ..plotting._pipeline_steps import names_before, private_steps
from ..privacy import PrivacyReport
from ..privacy.parts import parts_of

# Classes of the estimators that come back from files, by the methods that reports name.
RESTORED: dict[str, Any] = {
    **{name: method.estimator for name, method in METHODS.items()},
    "PrivatePCA": PrivatePCA,
    "MergedPCA": MergedPCA,
}

# Parameters of a machine or a secret, which no report holds.
OWN = ("accountant", "random_state", "n_jobs", "verbose")


@dataclass(frozen=True)
class Subject:
    """One release.

    Parameters
    ----------
    report : PrivacyReport
    arrays : dict of str to array or number
        Arrays as they are stored, by the names of `PrivacyReport.released`.
    names : tuple of str
        Names of the features; empty if it has none.
    fitted : estimator or None
        Fitted estimator, as far as the report and the arrays have it, so that whoever has the files
        computes and draws the same; None without components.
    parts : tuple of dict of str to array or number
        The arrays of its parts, if it was merged.
    """

    report: PrivacyReport
    arrays: dict[str, Any]
    names: tuple[str, ...]
    fitted: Any
    parts: tuple[dict[str, Any], ...] = ()


def subject_of(release: Any, names: Sequence[str] | None = None) -> Subject:
    """Return what was released by an estimator, a Pipeline, a search or a map.

    Parameters
    ----------
    release : object
        Fitted, with a `privacy_`; or a Pipeline with one step that has one.
    names : sequence of str, optional
        Names of the features, for fits of rows without names. By default those that the steps of a
        Pipeline give them, if none of these steps learned from the records.

    Raises
    ------
    ValueError, TypeError
        If nothing was released, or more than one release.
    """
    if isinstance(release, list | tuple):
        raise TypeError("a report is of one release; write a report of each")
    steps = private_steps(release)
    if len(steps) != 1:
        raise ValueError(
            f"{len(steps)} steps of the Pipeline released something, and a report is of one "
            "release; give a part of the Pipeline with one, such as pipeline[:1]"
        )
    (fitted,) = steps
    if hasattr(fitted, "get_params"):  # a map is no estimator
        check_is_fitted(fitted)
    report = getattr(fitted, "privacy_", None)
    if not isinstance(report, PrivacyReport):
        raise TypeError(
            f"{type(fitted).__name__} has no privacy_, so nothing is known of its cost; give a "
            "fitted estimator of skdppca, or a ProjectionMap"
        )
    holders = [fitted, *_inner(getattr(fitted, "best_estimator_", None))]
    arrays = {one.name: _stored(holders, one.name) for one in report.released}
    known = report.feature_names or (names_before(release, fitted) if names is None else names)
    check_names(() if known is None else known)
    if known is None and "components" in arrays:
        known = [f"x{i}" for i in range(np.atleast_2d(arrays["components"]).shape[1])]
    return rebuilt(report, arrays, known or (), vars(fitted).get("parts_", ()))


def _inner(best: Any) -> list[Any]:
    return [step for _, step in best.steps] if isinstance(best, Pipeline) else [best] * bool(best)


def _stored(holders: list[Any], name: str) -> Any:
    """A released array, by the name that the report has for it."""
    if name in ("x_edges", "y_edges"):
        return holders[0].edges["xy".index(name[0])]
    for holder in holders:
        for attribute in (f"{name}_", name):
            value = vars(holder).get(attribute)
            if value is not None:
                return value
    if holders[0].privacy_.method.startswith("PrivateSearchCV"):
        raise ValueError(
            f"{name} was released by a search, and this is only a part of it; give the search "
            "itself: ReleaseReport(search)"
        )
    raise ValueError(f"{name} was released, and is not there any more; fit again")


def rebuilt(
    report: PrivacyReport,
    arrays: dict[str, Any],
    names: Sequence[str],
    parts: tuple[dict[str, Any], ...] = (),
) -> Subject:
    """Return a release by what its files hold."""
    stored = {name: value for name, value in arrays.items() if name != "feature_names"}
    fitted: Any = None
    if "components" in stored:
        kind = RESTORED.get(report.method, PrivatePCA)
        # what a report can only name, such as a function, is left as by default
        given = {name: v for name, v in report.parameters.items() if name not in OWN}
        fitted = kind(**legal(kind, {k: math.inf if v == "inf" else v for k, v in given.items()}))
        found = {
            f"{name}_": v if np.ndim(v) else np.asarray(v).item() for name, v in stored.items()
        }
        vars(fitted).update(found, n_features_in_=len(names), privacy_=report)
        if parts:
            fitted.parts_ = parts
    return Subject(report, stored, tuple(map(str, names)), fitted, parts)


def merged_again(subject: Subject) -> Subject:
    """Return what the parts of a merged release give, by their arrays alone.

    Raises
    ------
    Exception
        If they are not arrays that such parts release.
    """
    report = subject.report
    given = [
        Given(
            rebuilt(part.report, dict(arrays), subject.names).fitted,
            part.report.method,
            part.report.feature_names or report.feature_names,
        )
        for part, arrays in zip(parts_of(report), subject.parts, strict=True)
    ]
    pca = merged(given, report.parameters["disjoint"], len(subject.fitted.components_))
    return subject_of(pca, subject.names)
