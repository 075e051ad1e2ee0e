"""One PCA out of several releases: computed from what they released, so it costs nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import combinations
from typing import Any, Literal, NoReturn

import numpy as np

from ..linalg import decreasing_eigh, fix_signs
from ..mechanisms.missing import without_empty
from ..mechanisms.noisy_covariance import NoisyCovariance
from ..mechanisms.scatter import NoisyScatter
from ..privacy import PrivacyReport
from ..privacy.declared import DeclaredScales
from ..privacy.parts import (
    MOST_PARTS,
    MergedPart,
    accounts_charged,
    bound,
    described,
    same,
    why_not_private,
)
from ..releasing import hashes, public_parameters, store, versions
from .base import BasePrivatePCA, attributes_of, cast
from .fitted import FittedPCA, matrix_of, read_only
from .parameters import estimator, parameter

# Parameters that the parts must have in common, as what they released means the same only then.
COMMON = ("center", "scale")

# Characters of a value that an error quotes, and of an account's id.
LONGEST, SHOWN = 60, 8


@estimator
class MergedPCA(FittedPCA):
    """One PCA made of several releases by `skdppca.merge`; it has no `fit`.

    It does with rows what other fitted estimators do: `transform`, `inverse_transform`, `sample`,
    `score`. It was computed from releases alone, so it is as private as all of them together.

    Parameters
    ----------
    scale : array-like of shape (n_features,), dict, "private" or None, default=None
        What the parts divided the features by.
    missing : {"error", "mean"}, default="error"
        What NaN means in rows to transform: "mean" if it does so in one of the parts.
    whiten : bool, default=False
        Whether `transform` returns scores of unit variance.
    n_jobs : int or None, default=None
        Threads that share each pass over rows, as in `DPGauss`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal directions, by decreasing variance.
    mean_ : ndarray of shape (n_features,)
        The mean of the parts' means, weighted by their numbers of records.
    scale_ : ndarray of shape (n_features,)
        With private scales: the geometric mean of those of the parts, weighted alike. Public ones
        stand among them as they were given.
    explained_variance_ : ndarray of shape (n_components,)
        Variance along each component within the parts: the mean of the parts' models, weighted by
        their numbers of records. Differences between the parts' means are not in it.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Its share of the total variance within the parts.
    singular_values_ : ndarray of shape (n_components,)
        The same in the form that scikit-learn's `PCA` has.
    noise_variance_ : float
        Mean of the variances left out.
    n_components_ : int
        Number of components.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        If the columns of the parts have names.
    n_samples_ : float
        The sum of the parts' numbers of records; noisy under add-remove.
    parts_ : tuple of dict of str to array or number
        The arrays that each part released, by name. Whoever has them can merge them again.
    privacy_ : PrivacyReport
        Both guarantees, and the report of each part in its `details`.

    See Also
    --------
    skdppca.merge : What makes it.
    """

    scale: Any | Literal["private"] | None = parameter(
        *BasePrivatePCA._parameter_constraints["scale"], default=None
    )
    missing: Literal["error", "mean"] = parameter(
        *BasePrivatePCA._parameter_constraints["missing"], default="error"
    )
    whiten: bool = parameter("boolean", default=False)
    n_jobs: int | None = parameter(*BasePrivatePCA._parameter_constraints["n_jobs"], default=None)

    def fit(self, X: Any, y: None = None) -> NoReturn:
        """Refuse rows: this PCA is made of releases.

        Parameters
        ----------
        X : object
        y : None

        Raises
        ------
        TypeError
        """
        raise TypeError(
            "MergedPCA is made of releases and cannot be fitted on rows; fit DPGauss or another "
            "method, and merge what it released: skdppca.merge([first, second])"
        )


@dataclass(frozen=True)
class Given:
    """A release to be merged.

    Parameters
    ----------
    fitted : BasePrivatePCA
    called : str
        How an error names it.
    names : tuple of str or None
        Names of its columns.
    """

    fitted: Any
    called: str
    names: tuple[str, ...] | None

    @property
    def report(self) -> PrivacyReport:
        """Its own."""
        found: PrivacyReport = self.fitted.privacy_
        return found

    @cached_property
    def matrix(self) -> NoisyScatter | None:
        """Its noisy matrix, if that was released."""
        return matrix_of(self.fitted)

    @cached_property
    def declared(self) -> DeclaredScales:
        """Its scales, as far as they were declared."""
        d = int(self.fitted.n_features_in_)
        return DeclaredScales.of(self.report.parameters["scale"], d, self.names)

    @property
    def n_records(self) -> float:
        """Number of records, as it was released."""
        return float(self.fitted.n_samples_)

    @property
    def arrays(self) -> dict[str, Any]:
        """The released arrays, by the names in the report."""
        return {one.name: getattr(self.fitted, f"{one.name}_") for one in self.report.released}


def merged(given: Sequence[Given], disjoint: bool, n_components: int | None) -> MergedPCA:
    """Return one PCA of several releases, as `skdppca.merge` tells.

    Parameters
    ----------
    given : sequence of Given
    disjoint : bool
    n_components : int or None
    """
    _check(given)
    if disjoint:
        _check_disjoint(given)
    reports = [one.report for one in given]
    total = bound(reports, disjoint)
    matrices = [one.matrix for one in given if one.matrix is not None]
    whole = len(matrices) == len(given)
    attributes, details = (
        _of_matrices(given, matrices, n_components)
        if whole
        else _of_projectors(given, n_components)
    )
    dtype = np.result_type(*(one.fitted.components_ for one in given)).type
    attributes, how = cast(attributes, dtype), "matrices" if whole else "projectors"
    parts = [MergedPart(one.report, one.n_records) for one in given]
    pca = MergedPCA(
        scale=reports[0].parameters["scale"],
        missing="mean" if any(one.parameters["missing"] == "mean" for one in reports) else "error",
    )
    report = PrivacyReport(
        method="MergedPCA",
        epsilon=total.epsilon,
        delta=total.delta,
        adjacency=reports[0].adjacency,
        unit=reports[0].unit,
        event=total.event,
        not_private=why_not_private(reports),
        parameters={
            "disjoint": disjoint,
            "center": reports[0].parameters["center"],
            **public_parameters({"scale": pca.scale, "missing": pca.missing, "whiten": pca.whiten}),
        },
        details={"merged": how, **described(parts, disjoint), **details},
        released=hashes(attributes),
        feature_names=given[0].names,
        software=versions(),
    )
    arrays = tuple(one.arrays for one in given)
    besides: dict[str, Any] = {"parts_": arrays, "privacy_": report}
    besides["n_features_in_"] = len(attributes["mean_"])
    if given[0].names is not None:
        besides["feature_names_in_"] = np.array(given[0].names, dtype=object)
    store(pca, attributes | besides)
    return read_only(pca)


def _check(given: Sequence[Given]) -> None:
    """Refuse parts that are not about the same columns and neighbours, and one that is there twice.

    Parameters are those that the reports promise, whatever an estimator was set to after its fit.
    """
    if len(given) < 2:
        raise ValueError(f"{len(given)} release was given; give at least two to merge")
    if len(given) > MOST_PARTS:
        raise ValueError(f"{len(given)} releases were given; give at most {MOST_PARTS}")
    first = given[0]
    for other in given[1:]:
        for what, theirs, ours in _facts(other, first):
            if theirs != ours:
                raise ValueError(
                    f"{other.called} and {first.called} do not go together: {what} of the one is "
                    f"{_quoted(theirs)}, and of the other {_quoted(ours)}; merge releases that "
                    f"have the same {what}"
                )
    for place, again, what in same([each.report for each in given]):
        raise ValueError(
            f"{given[place].called} and {given[again].called} have the same {what}, so the same "
            "records would count twice; give each release once"
        )


def _check_disjoint(given: Sequence[Given]) -> None:
    """Refuse the declaration where two parts were charged to one account, or to copies of it."""
    for one, other in combinations(given, 2):
        common = accounts_charged(one.report) & accounts_charged(other.report)
        if common:
            raise ValueError(
                f"{one.called} and {other.called} were both charged to the account "
                f"{min(common)[:SHOWN]}, so their people are not disjoint; leave disjoint=True "
                "out, and give other people an account of their own"
            )


def _facts(one: Given, other: Given) -> Iterator[tuple[str, Any, Any]]:
    """Yield the facts in which two releases must agree, by their names."""
    told, theirs = one.report.parameters, other.report.parameters
    yield "number of columns", one.fitted.n_features_in_, other.fitted.n_features_in_
    yield "names of columns", one.names, other.names
    yield "unit", one.report.unit, other.report.unit
    yield "adjacency", one.report.adjacency, other.report.adjacency
    for name in COMMON:
        yield name, told[name], theirs[name]
    if not told["center"]:  # moments about another mean are of other rows
        yield "mean", told["mean"], theirs["mean"]


def _quoted(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _of_matrices(
    given: Sequence[Given], matrices: Sequence[NoisyScatter], n_components: int | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Merge the parts' noisy matrices by the matched filter, and read the sum as any matrix."""
    told, d = [one.report.parameters for one in given], len(matrices[0].mean)
    if n_components is not None and n_components > d:
        raise ValueError(
            f"n_components={n_components} is more than the {d} features; give at most {d}"
        )
    k = n_components or min(len(one.fitted.components_) for one in given)
    declared, matrix = given[0].declared, reduce(NoisyScatter.merged, matrices)
    private = declared.private if declared.private.any() else None
    covariance = NoisyCovariance(k, "auto", bool(told[0]["center"]), private)
    release = covariance.read(matrix, searched=all(one["norm_bound"] is None for one in told))
    if private is not None:
        units = matrix.units if release.scale is None else matrix.units * release.scale
        release = replace(release, scale=units)
    details = release.details
    if any(one["missing"] == "mean" for one in told):
        details = details | {"present": matrix.present}
        release = without_empty(matrix.present == 0, release, matrix.mean)
    return attributes_of(release, declared), details


def _of_projectors(
    given: Sequence[Given], n_components: int | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Average the parts' projectors, each with the same weight, and their models.

    The first `k` components of a part span a space, and the mean of the projectors on these spaces
    has the merged space as that of its `k` largest eigenvalues. Where the parts share their signal,
    their errors average out in it. Variances within the space are those of the mean of the parts'
    models ``V^T diag(variance - noise) V + noise I``, weighted by their numbers of records.
    """
    fits = [one.fitted for one in given]
    k = min(len(fit.components_) for fit in fits)
    if n_components is not None and n_components > k:
        raise ValueError(
            f"n_components={n_components} is more than the {k} that each part has; give at most {k}"
        )
    k = k if n_components is None else n_components
    bases = [np.asarray(fit.components_, dtype=np.float64) for fit in fits]
    span = np.linalg.svd(np.concatenate([basis[:k] for basis in bases]), full_matrices=False)[2][:k]
    shares = _shares(given)
    attributes: dict[str, Any] = {
        "n_components_": k,
        "n_samples_": sum(one.n_records for one in given),
    }
    lacking = [one for one in given if "explained_variance_" not in vars(one.fitted)]
    if lacking:
        order = np.arange(k, 0, -1.0)
        within = np.sum([(span @ one[:k].T * order) @ one[:k] @ span.T for one in bases], axis=0)
        number = given.index(lacking[0]) + 1
        details = {"no_variances": f"part {number} has none, and no others stand for them"}
    else:
        details, within, total, divisor = {}, np.zeros((k, k)), 0.0, 0.0
        for fit, basis, share in zip(fits, bases, shares.tolist(), strict=True):
            variances, noise = (
                np.asarray(fit.explained_variance_, dtype=np.float64),
                float(fit.noise_variance_),
            )
            turned, left = span @ basis.T, basis.shape[1] - len(basis)
            within += share * ((turned * (variances - noise)) @ turned.T + noise * np.eye(k))
            total += share * (float(variances.sum()) + left * noise)
            divisor += _divisor(fit)
    values, turn = decreasing_eigh(within)
    attributes["components_"] = fix_signs(turn @ span)
    if not lacking:
        variances, d = np.maximum(values, 0.0), span.shape[1]
        attributes |= {
            "explained_variance_": variances,
            "explained_variance_ratio_": variances / (total or 1.0),
            "singular_values_": np.sqrt(variances * divisor),
            "noise_variance_": max(total - float(variances.sum()), 0.0) / (d - k) if d > k else 0.0,
        }
    attributes["mean_"] = shares @ np.stack([fit.mean_ for fit in fits])
    declared = given[0].declared
    if declared.private.any():
        mean = np.exp(shares @ np.log([fit.scale_ for fit in fits]))
        attributes["scale_"] = np.where(declared.private, mean, declared.whole(None))
    return attributes, details


def _shares(given: Sequence[Given]) -> np.ndarray:
    """Shares of the records, by noisy numbers."""
    numbers = np.array([max(one.n_records, 1.0) for one in given])
    return numbers / numbers.sum()


def _divisor(fit: Any) -> float:
    """Return the divisor that turned the sum of squares along a component into its variance."""
    variance = float(fit.explained_variance_[0])
    return float(fit.singular_values_[0]) ** 2 / variance if variance > 0 else 1.0
