"""PrivateNearestCentroid: the class whose private mean is the nearest."""

from __future__ import annotations

import copy
import math
from dataclasses import fields
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
    check_vector,
    class_numbers,
    public_classes,
)
from ..privacy import GaussianEvent, PrivacyEvent
from ..privacy.charging import check_accounted
from ..private_data import Public
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
from ._class_means import LabelledRows, class_means, nearest_class

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
