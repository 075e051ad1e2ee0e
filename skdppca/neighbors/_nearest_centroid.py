"""A nearest-centroid classifier of private class means, from one clipped sum."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from ..decomposition import BasePrivatePCA
from ..decomposition.base import LEAST_MU, VALIDATED
from ..decomposition.fit_warnings import warn_of_steps_before
from ..decomposition.parameters import Estimator, estimator, parameter
from ..decomposition.validation import (
    check_domain,
    check_groups,
    check_reach,
    check_rows,
    check_unclipped,
    class_numbers,
    public_classes,
)
from ..mechanisms.base import BUDGET
from ..mechanisms.centre import rough_centre
from ..mechanisms.clipping import (
    CLIPPING,
    expected_norms,
    find_radius,
    radius_share,
    with_typical_norm,
)
from ..privacy import GaussianEvent, PrivacyEvent
from ..privacy.charging import check_accounted
from ..privacy.declared import check_vector
from ..private_data import PrivateData, Public
from ..records import MAX_ROWS, Records
from ..releasing import (
    ReleaseTerms,
    Results,
    check_chargeable,
    event_of,
    make_plain,
    noise_source,
    public_parameters,
    publish,
    release,
)
from ..statistics import ClippedSum, Distances
from ..statistics.base import around

# Divisor without noise where a class has no record: its sum is 0 then.
LEAST_COUNT = 2.0**-30

LARGEST = np.finfo(np.float64).max


# Weight of a row in its class, over the clipping norm of its features: the sums then have
# sqrt(1 + 1/4) times the noise; round.
COUNT_WEIGHT = 0.5


@dataclass(frozen=True, eq=False, repr=False)
class LabelledRows:
    """Rows with the classes that they are of; all of it private but the number of classes.

    Parameters
    ----------
    X : ndarray of shape (n_rows, d)
    groups : ndarray of int of shape (n_rows,) or None
        Whose row it is.
    classes : ndarray of int of shape (n_rows,)
        From 0; -1 for none of the public ones.
    n_classes : int
        Public.
    """

    X: np.ndarray
    groups: np.ndarray | None
    classes: np.ndarray
    n_classes: int

    def by_class(self, centre: np.ndarray, constant: float) -> Records:
        """Records of ``n_classes (d + 1)`` features: ``[x - c, t]`` in the place of the class.

        Elsewhere they are 0, and of no class everywhere. A row becomes a function of that row, of
        its class, and of numbers that are public or released. So neighbours stay neighbours, and
        whatever is proven for a sum over records holds for this one.

        Parameters
        ----------
        centre : ndarray of shape (d,)
            c, public or released.
        constant : float
            t, public or released.
        """
        kept, d = self.classes >= 0, self.X.shape[1]
        entries = np.empty((int(kept.sum()), d + 1))
        with np.errstate(all="ignore"):
            entries[:, :d] = self.X[kept] - centre
        entries[:, d] = constant
        columns = self.classes[kept, None] * (d + 1) + np.arange(d + 1)
        shape = len(self.X), self.n_classes * (d + 1)
        rows = sparse.csr_array(
            (
                np.clip(entries, -LARGEST, LARGEST).ravel(),
                columns.ravel(),
                (d + 1) * np.concatenate([[0], np.cumsum(kept)]),
            ),
            shape=shape,
        )
        return Records.of(rows, self.groups)


def class_means(
    data: PrivateData, labelled: LabelledRows, center: bool
) -> tuple[np.ndarray, np.ndarray, float, bool]:
    """Release means and counts, with all of the budget.

    A row x of class j, clipped, adds ``w [x - c, t]`` to the place of j, with ``w = min(1, R' /
    ||[x - c, t]||)`` and ``R'^2 = R^2 + t^2``: one `ClippedSum` of records that lie in a space with
    a place for each class, of sensitivity R', or 2 R' if a record is exchanged. The mean of a class
    is the quotient of both parts. So a row that is clipped weighs less in both.

    Parameters
    ----------
    data : PrivateData
        The rows without their classes, about a public centre.
    labelled : LabelledRows
        The same rows.
    center : bool
        Whether a private centre is found.

    Returns
    -------
    means : ndarray of shape (n_classes, d)
    counts : ndarray of shape (n_classes,)
        Noisy numbers of records, none counted above 1; of groups, the sum of shares.
    radius : float
        What the features were clipped to, together with ``t = radius / 2``.
    unseen : bool
        The noise hid where the records are.
    """
    # 1. the number of records, a centre, and a norm that most of them do not exceed
    data = data.ask_count(data.fraction(BUDGET.question_share))
    data = rough_centre(data).data if center else with_typical_norm(data)
    n_classes, d = labelled.n_classes, data.n_features
    size, radius = n_classes * (d + 1), data.norm_bound
    if radius is None:
        mu_radius = radius_share(data, CLIPPING.radius_share, CLIPPING.most_radius_share)
        radius, _ = find_radius(
            data,
            Distances(data.centre),
            size,
            data.remaining,
            mu_radius,
            "clipping norm",
            expected=expected_norms(data),
        )
    # 2. sums and counts of all classes, in one answer
    constant = COUNT_WEIGHT * radius if math.isfinite(radius) else 1.0
    records = labelled.by_class(data.centre, constant)
    placed = replace(data, source=records, centre=np.zeros(size))
    answer = placed.ask(ClippedSum(placed.centre, math.hypot(radius, constant)), name="class sums")
    # 3. their quotients; a count below its noise is no number to divide by
    sums = answer.value.reshape(n_classes, d + 1)
    counts = sums[:, d] / constant
    least = max(answer.noise_sd / constant, LEAST_COUNT)
    means = data.centre + sums[:, :d] / np.maximum(counts, least)[:, None]
    return means, counts, radius, data.unseen


def nearest_class(
    X: np.ndarray | sparse.csr_array, means: np.ndarray, n_jobs: int | None = None
) -> np.ndarray:
    """The number of the mean that is nearest to each row: a bitwise function of that row alone.

    ``||x - m||^2`` is least where ``(x - c).(m - c) - ||m - c||^2 / 2`` is largest, whatever c.
    """
    centre = means.mean(axis=0)
    directions = np.ascontiguousarray(means - centre)
    products = Records.of(X, n_jobs=n_jobs).map(
        lambda block: block.scores(directions, around(centre)), width=len(means)
    )
    return np.argmax(products - np.sum(directions**2, axis=1) / 2, axis=1)


# Words in the report where no rows were seen.
UNSEEN = "the class means say little: rows are clipped to a norm that nearly all exceed"

OF_PCA = {entry.name: entry for entry in fields(BasePrivatePCA)}


def _as_in_pca(name: str) -> Any:
    """A parameter with the constraints and the default that it has in every private PCA."""
    return parameter(*OF_PCA[name].metadata["constraints"], default=OF_PCA[name].default)


@estimator
class PrivateNearestCentroid(ClassifierMixin, Estimator):
    """Classify rows by the nearest of the private means of the classes.

    Use it behind a private PCA, as the last step of a Pipeline, or alone. The fit asks for the
    clipped sums and the numbers of the records of all classes in one noisy answer.

    Parameters
    ----------
    classes : array-like
        The labels, **public**: the values that `y` happens to take are private. A row of another
        label belongs to no class.
    epsilon : float, default=1.0
        Privacy budget. ``inf`` adds no noise; it is not private.
    delta : float, default=1e-6
        Additive part of the guarantee. Choose it well below 1 / n.
    adjacency : {"add-remove", "replace-one"}, default="add-remove"
        What neighbouring data sets differ in: one record more or less, or one record exchanged. Its
        label comes, goes or changes with the record.
    unit : str, default="row"
        What a record is: a row, or a name ("patient") for the groups given to `fit`.
    norm_bound : float or None, default=None
        Public bound on the norms of the rows less the mean (with groups, of a group's mean row).
        Enforced by clipping. It saves the search for one.
    center : bool, default=True
        Find a private point near all rows, from which their norms are measured. Set it to False
        behind a private PCA, whose scores lie about 0 already.
    mean : array-like of shape (n_features,) or None, default=None
        A public such point; it costs nothing.
    accountant : PrivacyAccountant, PrivacyLedger or None, default=None
        Charged before every fit. None: nothing adds this fit up with others.
    random_state : int, RandomState or None, default=None
        None draws secure noise. A seed makes the release repeatable, so **not private**.
    verbose : int, default=0
        1 prints each question as it is asked, and the report of the fit.

    Attributes
    ----------
    centroids_ : ndarray of shape (n_classes, n_features)
        The private means of the classes.
    class_counts_ : ndarray of shape (n_classes,)
        Noisy numbers of records. Rows that were clipped count less than 1, and a group counts in a
        class by its share of rows there.
    classes_ : ndarray of shape (n_classes,)
        The public labels, in the order given.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        If the columns of X have names.
    privacy_ : PrivacyReport
        What was released, at what cost.

    See Also
    --------
    sklearn.neighbors.NearestCentroid : The same without noise.
    skdppca.model_selection.PrivateSearchCV : Chooses parameters by the share of records that this
        classifier gets right.

    Notes
    -----
    One Gaussian query (Dong, Roth & Su 2022, Theorem 2.7) of a `skdppca.statistics.ClippedSum`,
    besides those for the number of records, the centre and the clipping norm. Every record lies in
    a space with a place for each class, so one record moves the sum no further than its clipped
    norm, or twice that if it is exchanged.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.pipeline import make_pipeline
    >>> from skdppca import DPGauss
    >>> from skdppca.neighbors import PrivateNearestCentroid
    >>> X, y = load_digits(return_X_y=True)
    >>> pca = DPGauss(n_components=8, epsilon=2.0)
    >>> classifier = PrivateNearestCentroid(classes=range(10), epsilon=2.0, center=False)
    >>> pipeline = make_pipeline(pca, classifier).fit(X, y)
    >>> pipeline.predict(X[:5]).shape
    (5,)
    """

    classes: Any = parameter("array-like", range, tuple, None, default=None, kw_only=False)
    epsilon: float = _as_in_pca("epsilon")
    delta: float = _as_in_pca("delta")
    adjacency: Literal["add-remove", "replace-one"] = _as_in_pca("adjacency")
    unit: str = _as_in_pca("unit")
    norm_bound: float | None = _as_in_pca("norm_bound")
    center: bool = _as_in_pca("center")
    mean: Any = _as_in_pca("mean")
    accountant: Any = _as_in_pca("accountant")
    random_state: Any = _as_in_pca("random_state")
    verbose: int = _as_in_pca("verbose")

    # So that metadata routing brings the groups to `fit`.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": True}

    # The declared domain: more records are an error, which is no private output.
    _max_records: ClassVar[int] = MAX_ROWS
    _more_records: ClassVar[str] = "take fewer"

    def fit(self, X: Any, y: Any, *, groups: Any = None) -> Self:
        """Release the means of the classes, at a cost of `epsilon` and `delta`.

        The accountant, if there is one, is charged before anything is computed.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Finite real numbers. Never written to.
        y : array-like of shape (n_rows,)
            The label of every row; private.
        groups : array-like of shape (n_rows,), optional
            Whose row it is; required exactly when `unit` is not "row".

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            Invalid parameters or data; nothing was charged.
        BudgetExceeded
            The accountant's budget does not cover this fit; nothing was released.
        LedgerError
            The ledger cannot be written. The fit may be charged, and nothing was released.
        """
        warn_of_steps_before(self)
        own = copy.copy(self)
        return publish(self, own._released(X, y, groups), own.verbose)

    def _released(self, X: Any, y: Any, groups: Any) -> dict[str, Any]:
        """Return what a fit stores; nobody else holds this estimator."""
        # 1. validate, whatever scikit-learn is told to skip
        self._validate_params()
        make_plain(self)
        check_accounted(self.accountant, self.epsilon, self.delta, self.random_state)
        names = self._public_classes()
        if y is None:
            raise ValueError(
                "PrivateNearestCentroid requires y to be passed, but the target y is None; give "
                "the label of every row, as fit(X, y)"
            )
        X = check_rows(self, X)
        if sparse.issparse(X):
            raise ValueError("X is sparse; give an array, for example that of pca.transform(X)")
        d = X.shape[1]
        labels = check_groups(groups, X.shape[0], self.unit)
        numbers = class_numbers(y, names, X.shape[0])
        mean = None if self.mean is None else check_vector(self.mean, d, "mean")
        check_reach(mean, None, self.norm_bound)
        self._check_parameters(d)
        records = Records.of(X, labels)
        check_domain(self, records.private_n)
        is_exact = math.isinf(self.epsilon)
        if is_exact:
            check_unclipped(records)
        # 2. what is asked, and its cost, from public facts
        knows_n = is_exact or self.adjacency == "replace-one"
        n = records.private_n if knows_n else None
        public = Public(d, self.adjacency, self.unit, n_records=n)
        terms = ReleaseTerms(
            method=type(self).__name__,
            event=self._event(),
            epsilon=float(self.epsilon),
            delta=float(self.delta),
            public=public,
            unit=self.unit,
            accountant=self.accountant,
            parameters=public_parameters(self.get_params()),
            noise=noise_source(self.epsilon, self.random_state),
            centre=np.zeros(d) if mean is None else mean,
            norm_bound=None if self.norm_bound is None else float(self.norm_bound),
            verbose=self.verbose,
        )
        labelled = LabelledRows(X, labels, numbers, len(names))
        validated = {name: value for name, value in vars(self).items() if name in VALIDATED}
        center = bool(self.center) and mean is None

        def results(found: tuple[np.ndarray, np.ndarray, float, bool]) -> Results:
            means, counts, radius, unseen = found
            return Results(
                attributes={"centroids_": means, "class_counts_": counts},
                details={"norm_bound": None if is_exact else radius}
                | ({"no_norms": UNSEEN} if unseen else {}),
                besides={**validated, "classes_": _as_array(names)},
            )

        # 3. charge, compute, report, record
        return release(terms, records, lambda data: class_means(data, labelled, center), results)

    def predict(self, X: Any) -> np.ndarray:
        """Predict the class of every row; the map is private, **the predictions are not**.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        return self.classes_[nearest_class(check_rows(self, X, reset=False), self.centroids_)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of the rows that are classified right. It reads X and y without noise or charge.

        So it is not private, unless the rows are public.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        sample_weight : array-like of shape (n_rows,), optional

        Returns
        -------
        float
        """
        return float(super().score(X, y, sample_weight))

    def _public_classes(self) -> tuple[Any, ...]:
        if self.classes is None:
            raise ValueError(
                "classes=None, but the labels that y happens to take are private; list the labels "
                "that there may be, for example classes=[0, 1]"
            )
        return public_classes(self.classes)

    def _check_parameters(self, n_features: int) -> None:
        if self.unit == "interaction":
            raise ValueError(
                "unit='interaction' protects single entries, a classifier whole records; set "
                "unit='row', or call what a group is by another name"
            )
        check_chargeable(self.epsilon, self.accountant, self.random_state)
        event, size = self._event(), len(self._public_classes()) * (n_features + 1)
        if isinstance(event, GaussianEvent) and event.mu < LEAST_MU * (size + 1):
            raise ValueError(
                f"epsilon={self.epsilon}, delta={self.delta} ask for more noise than the grid "
                f"holds with n_features={n_features} and these classes; nothing could be seen "
                "through it: raise them"
            )

    def _event(self) -> PrivacyEvent:
        """Cost of one fit."""
        return event_of(self.epsilon, self.delta)


def _as_array(names: tuple[Any, ...]) -> np.ndarray:
    """The labels as they are: those of several types stay what they are."""
    if len({type(name) for name in names}) == 1 and not isinstance(names[0], tuple):
        return np.asarray(names)
    labels = np.empty(len(names), dtype=object)
    labels[:] = names
    return labels
