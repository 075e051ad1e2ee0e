"""Projection maps: where the rows lie along two private components, as a noisy histogram."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, NoReturn, cast

import numpy as np
from scipy import sparse
from scipy.special import ndtri
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..decomposition.base import BasePrivatePCA
from ..decomposition.parameters import check_parameters
from ..decomposition.validation import check_groups, check_rows, class_numbers, public_classes
from ..exceptions import OutsideMapWarning, UnaccountedFitsWarning
from ..privacy import BaseAccountant, GaussianEvent, PrivacyEvent, PrivacyReport
from ..privacy.charging import check_accounted
from ..privacy.user_warnings import level_of_user
from ..private_data import Answer, Public
from ..records import Layout, Records, Source
from ..releasing import (
    ReleaseTerms,
    Results,
    check_chargeable,
    event_of,
    noise_source,
    public_parameters,
    release,
)
from ..statistics import Histogram

# The share of the records outside from which on a map is said to miss many, and the sds of the
# noise beyond which their number is no noise. Round numbers: they decide a warning alone.
MANY_OUTSIDE, NOISE_SDS = 0.1, 4.0

# The arguments that a report of a map states.
PARAMETERS = (
    *("epsilon", "delta", "bins", "extent", "components", "classes", "adjacency", "unit"),
    *("accountant", "random_state"),
)


@dataclass(frozen=True)
class ProjectionMap:
    """A noisy two-dimensional histogram. Everything in it is public or was paid for.

    Parameters
    ----------
    counts : ndarray of shape (n_x, n_y), or (n_classes, n_x, n_y) with classes
        Noisy numbers of records, by cell of the first and of the second component. They may be
        negative, which keeps sums over cells unbiased.
    outside : ndarray of shape () or (n_classes,)
        The noisy number of records outside of all cells.
    edges : tuple of two ndarrays
        Bounds of the cells along either component; public.
    components : (int, int)
        Which ones, counted from 0.
    classes : tuple or None
        The public labels.
    noise_sd : float
        Standard deviation of the noise of every number.
    privacy_ : PrivacyReport
        What this map cost, besides the fit of its axes.
    accountant : PrivacyAccountant, PrivacyLedger or None, default=None
        What it was charged to, for the totals in a report of it.
    """

    counts: np.ndarray = field(repr=False)
    outside: np.ndarray = field(repr=False)
    edges: tuple[np.ndarray, np.ndarray] = field(repr=False)
    components: tuple[int, int]
    classes: tuple[Hashable, ...] | None
    noise_sd: float
    privacy_: PrivacyReport = field(repr=False)
    accountant: BaseAccountant | None = field(default=None, repr=False)

    @property
    def threshold(self) -> float:
        """A count that, were all cells empty, the noise of about one of them would exceed."""
        return self.noise_sd * max(0.0, float(ndtri(1 - 1 / self.counts.size)))

    def __repr__(self) -> str:
        return f"<ProjectionMap: {self._shape()}; {repr(self.privacy_)[1:-1]}>"

    def _repr_html_(self) -> str:
        drawn = "To draw it: <code>skdppca.plotting.ProjectionMapDisplay.from_map</code>."
        report = self.privacy_._repr_html_()
        return f"<div><p>Projection map: {self._shape()}. {drawn}</p>{report}</div>"

    def _shape(self) -> str:
        """Its axes and cells in a few words."""
        (first, second), (n_x, n_y) = self.components, self.counts.shape[-2:]
        of = "" if self.classes is None else f" of {len(self.classes)} classes"
        return (
            f"components {first} and {second}, counted from 0; {n_x} x {n_y} cells{of}, "
            f"noise sd {self.noise_sd:.3g}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class LabelledSource(Source):
    """A source of rows that have labels besides: whose they are, and of which class.

    Parameters
    ----------
    rows : Records
        Every row by itself.
    groups, classes : ndarray of int of shape (n_rows,) or None
    """

    rows: Records
    groups: np.ndarray | None = None
    classes: np.ndarray | None = None

    @property
    def layout(self) -> Layout:
        """Public; all that the rounding of a total may depend on."""
        return self.rows.layout

    def total(self, statistic: Any) -> np.ndarray:
        """The exact histogram, for `PrivateData` only."""
        if not isinstance(statistic, Histogram):
            raise TypeError(f"{type(statistic).__name__} takes no labels; ask a Histogram")
        return statistic.total(self.rows, self.groups, self.classes)

    def _refused(self, *args: Any) -> NoReturn:
        raise TypeError("a map looks at all rows as they are, and at once; ask a Histogram")

    through = parts = shuffled = whole = cast(Any, _refused)
    private_n = property(_refused)


def projection_map(
    pca: BasePrivatePCA,
    X: Any,
    *,
    epsilon: float,
    delta: float,
    bins: int | tuple[int, int] = 20,
    extent: Any = None,
    components: tuple[int, int] = (0, 1),
    y: Any = None,
    classes: Sequence[Hashable] | None = None,
    groups: Any = None,
    adjacency: str | None = None,
    unit: str | None = None,
    accountant: Any = None,
    random_state: Any = None,
) -> ProjectionMap:
    """Release how many records lie where along two components, at a cost of `epsilon` and `delta`.

    Transformed rows are not private, so a scatter plot of them is not either; this map is. Its
    cost comes on top of that of the fit. The accountant is charged before anything is computed.

    Parameters
    ----------
    pca : fitted private PCA
        Private PCA of this package: the axes of another one would reveal the rows. From a Pipeline,
        give the step.
    X : array-like or sparse matrix of shape (n_rows, n_features)
        The rows to show: those of the fit, or others. In a Pipeline, the rows that reach the PCA:
        ``pipeline[:-1].transform(X)``. Never written to. They must not change until the map is
        returned.
    epsilon, delta : float
        Budget of this map.
    bins : int or (int, int), default=20
        Cells along the components. The noise of a cell does not depend on their number.
    extent : ((float, float), (float, float)), optional
        Least and largest score along either component. It must be **public**; by default three
        standard deviations to either side of the mean, by the released `explained_variance_`.
        Records outside are counted together, in `outside`.
    components : (int, int), default=(0, 1)
        Which ones, counted from 0.
    y : array-like of shape (n_rows,), optional
        Private labels of the rows: one map a class, at the same cost as a single one.
    classes : sequence, optional
        The labels to show, **public**: the values that `y` happens to take are private. A row of
        another label counts nowhere. Required exactly with `y`.
    groups : array-like of shape (n_rows,), optional
        Whose row it is; required exactly when the unit is not "row". A group weighs 1 in all,
        each of its rows the same share of it.
    adjacency, unit : str, optional
        What neighbours differ in; by default as `pca` was fitted.
    accountant : PrivacyAccountant or PrivacyLedger, optional
        By default that of `pca`. If that is None, nothing adds the map up with the fit.
    random_state : int, RandomState or None, default=None
        None draws secure noise. A seed makes the map repeatable, so **not private**.

    Returns
    -------
    ProjectionMap
        To be drawn by `skdppca.plotting.ProjectionMapDisplay`.

    Raises
    ------
    ValueError, TypeError
        Invalid parameters or data; nothing was charged.
    BudgetExceeded
        The accountant's budget does not cover the map; nothing was released.
    LedgerError
        The ledger cannot be written. The map may be charged, and nothing was released.

    Notes
    -----
    One Gaussian query (Dong, Roth & Su 2022, Theorem 2.7) of sensitivity 1, or the root of 2 if
    a record is exchanged, label included: `skdppca.statistics.Histogram`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdppca import DPGauss
    >>> from skdppca.maps import projection_map
    >>> X = load_digits().data
    >>> pca = DPGauss(n_components=2, epsilon=1.0, delta=1e-6).fit(X)
    >>> found = projection_map(pca, X, epsilon=1.0, delta=1e-6, bins=12)
    >>> found.counts.shape
    (12, 12)
    """
    given = {name: value for name, value in locals().items() if name in PARAMETERS}
    # 1. validate
    check_pca(pca)
    pca = copy.copy(pca)  # another fit of it meanwhile changes no axis
    given["accountant"] = accountant = pca.accountant if accountant is None else accountant
    check_budget(given)
    check_accounted(accountant, epsilon, delta, random_state)
    _warn_of_no_charge(pca.privacy_, accountant, epsilon)
    pair = check_components(components, len(pca.components_))
    edges = map_edges(pca, pair, bins, extent)
    adjacency, unit = neighbours(pca, adjacency, unit)
    names = check_classes(y, classes)
    X = check_rows(pca, X, reset=False)
    labels = check_groups(groups, X.shape[0], unit)
    numbers = None if names is None else class_numbers(y, names, X.shape[0])
    # 2. what is asked, and its cost, from public facts
    event = priced(epsilon, delta, edges, names)
    histogram = Histogram(
        axes=np.ascontiguousarray(pca._axes()[list(pair)], dtype=np.float64),
        centre=np.asarray(pca.mean_, dtype=np.float64),
        x_edges=edges[0],
        y_edges=edges[1],
        n_classes=1 if names is None else len(names),
        grouped=labels is not None,
    )
    axes = pca.privacy_
    terms = ReleaseTerms(
        method="projection_map",
        event=event,
        epsilon=float(epsilon),
        delta=float(delta),
        public=Public(X.shape[1], adjacency, unit, sparse.issparse(X)),
        unit=unit,
        accountant=accountant,
        parameters=public_parameters(
            given | {"components": pair, "classes": names, "adjacency": adjacency, "unit": unit}
        ),
        noise=noise_source(epsilon, random_state),
        centre=histogram.centre,
        feature_names=axes.feature_names,
        not_private=tuple(f"axes: {reason}" for reason in axes.not_private),
    )
    stated = ("epsilon", "delta", "unit", "adjacency", "private")
    about_axes = {"axes": axes.method, **{f"axes_{name}": getattr(axes, name) for name in stated}}
    about_axes["axes_release"] = axes.release_id
    first = () if names is None else (len(names),)

    def results(answer: Answer) -> Results:
        counts = answer.value
        return Results(
            attributes={
                "counts": _frozen(counts[:, :-1].reshape(*first, *(len(e) - 1 for e in edges))),
                "outside": _frozen(counts[:, -1].reshape(first)),
                "noise_sd": answer.noise_sd,
                "x_edges": edges[0],
                "y_edges": edges[1],
            },
            details={**about_axes, "noise_sd": answer.noise_sd},
        )

    # 3. charge, compute, report, record
    found = release(
        terms,
        LabelledSource(Records.of(X, may_miss=pca._may_miss), labels, numbers),
        lambda data: data.ask(histogram, name="histogram"),
        results,
    )
    _warn_of_records_outside(found["counts"], found["outside"], found["noise_sd"])
    return ProjectionMap(
        counts=found["counts"],
        outside=found["outside"],
        edges=edges,
        components=pair,
        classes=names,
        noise_sd=found["noise_sd"],
        privacy_=found["privacy_"],
        accountant=accountant,
    )


def _warn_of_no_charge(axes: PrivacyReport, accountant: Any, epsilon: float) -> None:
    """Warn if the axes were charged, and their map is not: of a release that was loaded."""
    if accountant is None and axes.receipts and epsilon < math.inf:
        warnings.warn(
            "the axes were charged to a ledger and this map is charged to none, so nothing adds up "
            "what both cost; write projection_map(..., accountant=PrivacyLedger(path))",
            UnaccountedFitsWarning,
            stacklevel=level_of_user(),
        )


def _warn_of_records_outside(counts: np.ndarray, outside: np.ndarray, noise_sd: float) -> None:
    """Warn if many records lie beyond the axes; by released numbers alone."""
    missed, shown = float(outside.sum()), max(0.0, float(counts.sum()))
    noise = noise_sd * math.sqrt(outside.size)
    if missed > MANY_OUTSIDE * (missed + shown) and missed > NOISE_SDS * noise:
        warnings.warn(
            f"about {100 * missed / (missed + shown):.0f} % of the records lie outside the map, so "
            "it does not show them; give a larger extent that is public",
            OutsideMapWarning,
            stacklevel=level_of_user(),
        )


def _frozen(numbers: np.ndarray) -> np.ndarray:
    numbers.flags.writeable = False
    return numbers


# Without an extent, the map reaches this many standard deviations to either side of the mean.
REACH = 3.0

MAX_CELLS = 2**20

# Smallest mu for one cell; it grows with the root of their number. Noise below it is too large for
# the grid.
LEAST_MU = 2.0**-26


def check_pca(pca: Any) -> None:
    """Refuse a PCA that is not fitted, or not of this package: its axes need not be private."""
    if isinstance(pca, BasePrivatePCA):
        check_is_fitted(pca)
        return
    for place, (_, step) in enumerate(pca.steps if isinstance(pca, Pipeline) else []):
        if isinstance(step, BasePrivatePCA):
            rows = f"pipeline[:{place}].transform(X)" if place else "X"
            raise TypeError(
                "pca is a Pipeline, and a map takes the fitted PCA alone. Give that step and the "
                f"rows that reach it: projection_map(pipeline[{place}], {rows}, ...)"
            )
    raise TypeError(
        f"pca is a {type(pca).__name__}, which is no private PCA of this package, so its axes "
        "would tell of the rows. Fit one first, for example "
        "pca = PrivatePCA(n_components=2).fit(X)"
    )


def check_budget(given: dict[str, Any]) -> None:
    """Check the budget of a map as the estimators check theirs."""
    names = ("epsilon", "delta", "accountant", "random_state")
    constraints = {name: BasePrivatePCA._parameter_constraints[name] for name in names}
    check_parameters(constraints, given, "projection_map")
    check_chargeable(given["epsilon"], given["accountant"], given["random_state"])


def check_components(components: Any, n_components: int) -> tuple[int, int]:
    """Return two different components, counted from 0, or raise."""
    try:
        first, second = components
        valid = all(_is_whole(i) and 0 <= int(i) < n_components for i in (first, second))
    except (TypeError, ValueError):
        valid = False
    if not valid or first == second:
        raise ValueError(
            f"components={components!r} are not two different ones of the {n_components} there "
            "are; count from 0"
        )
    return int(first), int(second)


def map_edges(
    pca: BasePrivatePCA, pair: tuple[int, int], bins: Any, extent: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return the bounds of the cells along both components, from public or released numbers."""
    try:
        counts: tuple[Any, ...] = (bins, bins) if _is_whole(bins) else tuple(bins)
        valid = len(counts) == 2 and all(_is_whole(b) and int(b) > 0 for b in counts)
    except TypeError:
        valid = False
    if not valid:
        raise ValueError(f"bins={bins!r} is no positive int, and no two of them")
    counts = tuple(map(int, counts))  # NumPy's would wrap around
    if math.prod(counts) > MAX_CELLS:
        raise ValueError(f"bins={bins!r} make more than {MAX_CELLS} cells; choose fewer")
    extent = _reach(pca, pair) if extent is None else extent
    try:
        ends = np.asarray(extent, dtype=np.float64)
        valid = ends.shape == (2, 2)
    except (TypeError, ValueError, OverflowError):
        valid = False
    if valid:
        with np.errstate(all="ignore"):
            x, y = (np.linspace(ends[i, 0], ends[i, 1], counts[i] + 1) for i in (0, 1))
            valid = all(np.isfinite(e).all() and (np.diff(e) > 0).all() for e in (x, y))
    if not valid:
        raise ValueError(
            "extent must be ((least, largest), (least, largest)) of the two components, public, "
            f"finite and increasing; got {extent!r}"
        )
    for edges in (x, y):
        edges.flags.writeable = False
    return x, y


def _reach(pca: BasePrivatePCA, pair: tuple[int, int]) -> np.ndarray:
    if not hasattr(pca, "explained_variance_"):
        raise ValueError(
            "extent=None takes the released variances, but there are none; give a public extent"
        )
    variances = np.asarray(pca.explained_variance_, dtype=np.float64)[list(pair)]
    sds = np.ones(2) if pca.whiten else np.sqrt(variances)
    if not (sds > 0).all():
        raise ValueError("extent=None, but a component has no variance; give a public extent")
    return np.outer(REACH * sds, [-1, 1])


def neighbours(pca: BasePrivatePCA, adjacency: Any, unit: Any) -> tuple[str, str]:
    """Return the adjacency and the unit: what is given, or else what the PCA was fitted with."""
    adjacency = pca.privacy_.adjacency if adjacency is None else adjacency
    if adjacency not in ("add-remove", "replace-one"):
        raise ValueError(
            f"adjacency={adjacency!r} is neither 'add-remove' nor 'replace-one'; choose one"
        )
    unit = pca.privacy_.unit if unit is None else unit
    if unit == "interaction":  # one entry can move its row to another cell: two counts change
        raise ValueError(
            "unit='interaction' protects single entries, a map whole rows; set unit='row', or "
            "call what a group is by another name"
        )
    if not isinstance(unit, str):
        raise ValueError(f"unit={unit!r} is no text; give 'row' or the name of a group")
    return adjacency, unit


def check_classes(y: Any, classes: Any) -> tuple[Hashable, ...] | None:
    """Return the public labels, all different; None without classes."""
    if (y is None) != (classes is None):
        given, missing = ("y", "classes") if classes is None else ("classes", "y")
        raise ValueError(
            f"{given} was given without {missing}: y has the rows' labels, and classes names in "
            "public which of them to show"
        )
    return None if classes is None else public_classes(classes)


def _is_whole(value: Any) -> bool:
    """Return whether the value is an int; Python counts True among them."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def priced(
    epsilon: float,
    delta: float,
    edges: tuple[np.ndarray, np.ndarray],
    names: tuple[Hashable, ...] | None,
) -> PrivacyEvent:
    """Return the cost of the map; raise if there are too many cells, also for the budget."""
    n_cells = (1 if names is None else len(names)) * (1 + math.prod(len(e) - 1 for e in edges))
    if n_cells > 2 * MAX_CELLS:
        raise ValueError(
            f"bins and classes make more than {2 * MAX_CELLS} cells in all; choose fewer"
        )
    event = event_of(epsilon, delta)
    if isinstance(event, GaussianEvent) and event.mu < LEAST_MU * math.sqrt(n_cells):
        raise ValueError(
            f"epsilon={epsilon}, delta={delta} ask for more noise than the grid holds; nothing "
            "could be seen through it: raise them"
        )
    return event
