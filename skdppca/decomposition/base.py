"""Base class of all private PCAs: parameters, and a `fit` that charges before it computes."""

from __future__ import annotations

import copy
import math
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np

from .._sklearn import Interval, RealNotInt, StrOptions
from ..linalg import fix_signs
from ..mechanisms.base import Mechanism, Release
from ..mechanisms.missing import filled
from ..mechanisms.scales.private_scales import standardised
from ..mechanisms.scatter import NoisyScatter
from ..noise import NoiseSource
from ..privacy import GaussianEvent, PrivacyAccountant, PrivacyEvent, PrivacyLedger
from ..privacy.charging import check_accounted
from ..privacy.declared import DeclaredScales, check_vector, count_private
from ..private_data import Public
from ..records import MAX_ROWS, Records, Source, collection_of
from ..records.machine import Held, check_memory
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
from .fit_warnings import warn_of_noise, warn_of_steps_before
from .fitted import MATRIX, FittedPCA
from .parameters import estimator, parameter
from .validation import (
    check_domain,
    check_names,
    check_reach,
    check_unclipped,
    in_memory,
    warn_of_labels,
)

# Per feature: a query's share of mu, some thousandths, must leave its noise within 2^33 grid units.
LEAST_MU = 2.0**-24

# Factor on the least mu of a method with private scales: they leave it at least 60 % of mu^2.
SCALED_MU = 1.3

# The least share of the budget that a parameter may give a step.
LEAST_SHARE = 1e-4

# Attributes that `fit` finds out, in this or an earlier call.
VALIDATED = ("n_features_in_", "feature_names_in_")


class SomeDelta(Interval):
    """Values of `delta` allowed where noise is Gaussian; its text names methods that take 0."""

    def __str__(self) -> str:
        return f"{super().__str__()} (PrivatePCA and SmoothSensitivityPCA take 0: pure privacy)"


@estimator
class BasePrivatePCA(FittedPCA, metaclass=ABCMeta):
    """Base of the private PCAs: an estimator adds its parameters and `_mechanism`.

    Parameters
    ----------
    n_components : int, float, "auto", "mle" or None, default=None
        Number of components to release.

        - An int: that many.
        - A float between 0 and 1: enough to explain that share of the variance.
        - "auto": those that stand above the privacy noise, at least one.
        - "mle": Minka's estimate.
        - None: as many as features.

        All but the int are read off the released spectrum, so they cost nothing more.
    epsilon : float, default=1.0
        Privacy budget of one fit. A smaller one protects more and adds more noise. ``inf`` runs the
        same computation without noise, which is not private.
    delta : float, default=1e-6
        Additive part of the guarantee. Choose it well below 1 / (number of records).
    adjacency : {"add-remove", "replace-one"}, default="add-remove"
        How neighbouring data sets differ.

        - "add-remove": by one record more or less. The number of records is private.
        - "replace-one": one record is exchanged for another. The number of records is public.
    unit : str, default="row"
        What is protected as a whole. "row": every row by itself. Any other name, such as "patient":
        all rows of one group; pass the groups to `fit`.
    norm_bound : float or None, default=None
        Public bound on the norms of the (scaled) rows less the mean; with groups, on the root of
        the Frobenius norm of a group's Gram matrix. Longer records are shortened to it. None spends
        part of the budget to find one.
    center : bool, default=True
        Whether to subtract a private mean. False gives the components of the second moments about
        `mean`, or about 0.
    mean : array-like of shape (n_features,) or None, default=None
        A public mean, for example from another data set. It costs nothing. None spends part of the
        budget to find one.
    scale : array-like of shape (n_features,), dict, "private" or None, default=None
        What the features are divided by. `norm_bound` is in the units that result.

        - "private": private scales, in place of a `StandardScaler`, where columns differ in units.
          They cost about 10 % of the budget, and up to 40 % if records are few.
        - An array or a list: public scales, which cost nothing. An entry "private" asks for a
          private scale of that feature alone.
        - A dict: the same by names of columns, as ``{"age": "private", "bmi": 2.5}``. All other
          columns stay as they are, as one-hot columns beside numbers should.
        - None: the features stay as they are.
    whiten : bool, default=False
        Whether `transform` returns scores of unit variance.
    missing : {"error", "mean"}, default="error"
        What NaN in X means.

        - "error": a mistake, so the fit refuses X.
        - "mean": an entry that is not there. The fit fills it with the private mean, and corrects
          components and variances for that as if entries were missing at random. This costs 2 % of
          the budget, whether or not an entry is missing. `transform` fills with `mean_`.
    accountant : PrivacyAccountant, PrivacyLedger, list of them or None, default=None
        The account of the people whose rows are fitted. It is charged for every fit, and refuses a
        fit that its budget does not cover.

        - A list: the accounts of several groups of people, for a joint fit of their rows. Each is
          charged, or none.
        - None: nothing adds this fit up with others. The second such fit of a process warns, and
          ``skdppca.set_config(require_accountant=True)`` refuses them all.
    random_state : int, RandomState or None, default=None
        None draws noise from the operating system. With a seed the release can be repeated, so it
        is **not private**: use one for tests only.
    n_jobs : int or None, default=None
        Threads that share each pass over the data. None: as many as the BLAS has (see
        ``threadpoolctl``) where X is an array that is long enough, and one over files. It changes
        neither the guarantee nor the cost.
    verbose : int, default=0
        With 1, `fit` prints each question as it is asked, and when all is released its report: the
        guarantee, and each question with its share of the budget. It prints no times, which would
        tell of the data. So would the moments at which its lines appear: nobody else may see them.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal directions, by decreasing variance.
    mean_ : ndarray of shape (n_features,)
        The private mean.
    scale_ : ndarray of shape (n_features,)
        The private scales, with ``scale="private"`` or if an entry of `scale` is "private"; then
        public ones stand among them as they were given.
    explained_variance_ : ndarray of shape (n_components,)
        Variance of the records along each component, with noise. Records are clipped; what that
        took is added, as far as a histogram of their norms shows it, under a model of long records
        (not with a public `norm_bound`).
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Its share of the total variance.
    singular_values_ : ndarray of shape (n_components,)
        The same in the form that scikit-learn's `PCA` has.
    noise_variance_ : float
        Mean of the variances left out.
    n_components_ : int
        Number of components that were released.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        If the columns of X have names.
    n_samples_ : float
        The number of records; noisy under add-remove.
    privacy_ : PrivacyReport
        What was released, at what cost.
    """

    n_components: int | float | Literal["auto", "mle"] | None = parameter(
        Interval(Integral, 1, None, closed="left"),
        Interval(RealNotInt, 0, 1, closed="neither"),
        StrOptions({"auto", "mle"}),
        None,
        default=None,
        kw_only=False,
    )
    epsilon: float = parameter(Interval(Real, 0, None, closed="right"), default=1.0)
    delta: float = parameter(SomeDelta(Real, 0, 1, closed="neither"), default=1e-6)
    adjacency: Literal["add-remove", "replace-one"] = parameter(
        StrOptions({"add-remove", "replace-one"}), default="add-remove"
    )
    unit: str = parameter(str, default="row")
    norm_bound: float | None = parameter(
        Interval(Real, 0, None, closed="neither"), None, default=None
    )
    center: bool = parameter("boolean", default=True)
    mean: Any = parameter("array-like", None, default=None)
    scale: Any | Literal["private"] | None = parameter(
        "array-like", dict, StrOptions({"private"}), None, default=None
    )
    whiten: bool = parameter("boolean", default=False)
    missing: Literal["error", "mean"] = parameter(StrOptions({"error", "mean"}), default="error")
    accountant: Any = parameter(PrivacyAccountant, PrivacyLedger, list, None, default=None)
    random_state: Any = parameter(
        Interval(Integral, 0, None, closed="left"), np.random.RandomState, None, default=None
    )
    n_jobs: int | None = parameter(
        Interval(Integral, None, -1, closed="right"),
        Interval(Integral, 1, None, closed="left"),
        None,
        default=None,
    )
    verbose: int = parameter("verbose", default=0)

    # So that metadata routing brings them to `fit`.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": True}

    # Name of the access to the records that the method needs besides sums over them.
    _beyond_sums: ClassVar[str] = ""

    # Memory that a fit needs beside the rows.
    _held: ClassVar[Held] = Held()

    # Remedy for more records than the declared domain has.
    _more_records: ClassVar[str] = "take fewer"

    @property
    def _max_records(self) -> int:
        """The declared domain: more records are an error, which is no private output."""
        return MAX_ROWS

    @abstractmethod
    def _mechanism(self, public: Public) -> Mechanism:
        """The mechanism, built from parameters and public facts alone."""

    def _prepared(self, public: Public, event: PrivacyEvent) -> Mechanism:
        """The mechanism behind the steps that find private scales and fill absent entries."""
        before = None if self._joining is None else self._joining.before
        if before is not None:
            return self._joined(public, event, before)
        method = self._mechanism(public)
        private = self._standardised(public.n_features)
        if private is not None:
            method = standardised(method, event, self._finds_centre, private)
        return filled(method, event) if self._may_miss else method

    def _joined(self, public: Public, event: PrivacyEvent, before: NoisyScatter) -> Mechanism:
        """The mechanism of a cohort that is joined with those before, if there is one."""
        raise NotImplementedError

    def _event(self, public: Public) -> PrivacyEvent:
        """Cost of one fit, and so the budget of the mechanism."""
        return event_of(self.epsilon, self.delta)

    def fit(self, X: Any, y: None = None, *, groups: Any = None) -> Self:
        """Release a private PCA of the rows of X, at a cost of `epsilon` and `delta`.

        The accountant, if there is one, is charged before anything is computed.

        Parameters
        ----------
        X : array-like, sparse matrix or table of shape (n_rows, n_features)
            Finite real numbers. Never written to. They are read several times, and must not change
            until `fit` returns: the guarantee holds for one and the same X. A
            ``pyarrow.dataset.Dataset`` is read from its files. Of a dask array or dask DataFrame
            the workers of the active scheduler sum their partitions.
        y : None
            Ignored.
        groups : array-like of shape (n_rows,) or str, optional
            The label of the record that each row belongs to; required exactly when `unit` is not
            "row". A str names a column of a dataset or of a dask DataFrame, or its index; the rows
            must be sorted by it.

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
        RuntimeError
            Files or workers failed, or X changed, during the fit. The charge stands, and nothing
            was released.
        """
        warn_of_steps_before(self)
        own = copy.copy(self)
        with ExitStack() as opened:
            found = release(*own._promised(X, groups, opened))
        publish(self, found, own.verbose)
        warn_of_noise(self)
        return self

    def _promised(
        self, X: Any, groups: Any, opened: ExitStack
    ) -> tuple[ReleaseTerms, Source, Mechanism, Callable[[Release], Results]]:
        """Return what `release` takes; nobody else holds this estimator.

        The source is closed with `opened`.
        """
        # 1. validate, whatever scikit-learn is told to skip
        self._validate_params()
        make_plain(self)
        check_accounted(self.accountant, self.epsilon, self.delta, self.random_state)
        collection, joining = collection_of(X), self._joining
        if collection is None:
            table = in_memory(self, X, groups)
        else:
            table = collection.table(self, groups)
        check_names(vars(self).get("feature_names_in_", ()))
        names, grouped = vars(self).get("feature_names_in_", ()), self.unit != "row"
        warn_of_labels(names, table.index, grouped)
        d = table.n_features
        if joining is not None:
            joining.check(self, d)
        parameters = public_parameters(self.get_params())
        declared = self._declared_scales(d)
        scale = declared.public
        if not (self.scale is None or isinstance(self.scale, str)):
            self.scale = declared.entries  # the caller's may change; a chosen method has no names
        mean = None if self.mean is None else check_vector(self.mean, d, "mean")
        check_reach(mean, scale, self.norm_bound)
        self._check_parameters(d)
        facts = Public(d, self.adjacency, self.unit, table.is_sparse)
        self._check_memory(facts)
        source = opened.enter_context(closing(table.read(scale, self.n_jobs)))
        check_domain(self, source.private_n)
        if math.isinf(self.epsilon):
            check_unclipped(source)
        # 2. build the mechanism from public facts
        public = replace(
            facts,
            n_records=self._public_count(source),
            in_memory=isinstance(source, Records),
        )
        event = self._event(public)
        method = self._prepared(public, event)
        if not public.in_memory:
            self._check_sums_only(public, table.gathering)
        self._check_noise(event, d)
        validated = {name: value for name, value in vars(self).items() if name in VALIDATED}
        terms = ReleaseTerms(
            method=type(self).__name__,
            event=event,
            epsilon=float(self.epsilon),
            delta=float(self.delta),
            public=public,
            unit=self._accounted_unit,
            accountant=self.accountant,
            parameters=parameters,
            noise=self._noise(),
            centre=self._public_centre(mean, scale, d),
            norm_bound=None if self.norm_bound is None else float(self.norm_bound),
            feature_names=feature_names_of(validated),
            verbose=self.verbose,
        )
        dtype = np.float32 if table.is_single else np.float64

        def results(found: Release) -> Results:
            own = Results(
                attributes=cast(self._attributes(found, d), dtype) | _matrix(found.matrix),
                details=self._details(found, public) | source.details(),
                besides=validated,
            )
            return own if joining is None else joining.completed(terms, found, own)

        return terms if joining is None else joining.joined(terms), source, method, results

    def _check_parameters(self, n_features: int) -> None:
        if isinstance(self.n_components, int | np.integer) and self.n_components > n_features:
            raise ValueError(
                f"n_components={self.n_components} exceeds n_features={n_features}; "
                f"choose at most {n_features}"
            )
        if self.unit == "interaction":
            raise ValueError(
                "unit='interaction' is what DPPowerMethod(protect='interaction') is accounted as; "
                "call what a group is by another name"
            )
        for name in ("variance_share", "location_share"):
            if 0 < getattr(self, name, 0.0) < LEAST_SHARE:
                raise ValueError(
                    f"{name}={getattr(self, name)} pays for no answer that could be used; set 0 "
                    f"to leave it out, or at least {LEAST_SHARE}"
                )
        check_chargeable(self.epsilon, self.accountant, self.random_state)

    def _check_sums_only(self, public: Public, gathering: str) -> None:
        """Refuse records that are not all in one place, if more than sums over them is needed."""
        if what := self._beyond(public):
            raise TypeError(
                f"{type(self).__name__} looks at {what}, which is no sum over records, so it needs "
                f"all of them in one place; {gathering}choose "
                f"{'KDPPCA' if public.grouped else 'DPGauss or KDPPCA'}"
            )

    def _beyond(self, public: Public) -> str:
        """Name the non-additive access to the records that a fit needs; empty if none."""
        if self._scales_privately and math.isinf(self.epsilon):
            return "the values of every feature, as scale='private' with epsilon=inf does"
        return self._beyond_sums

    def _check_noise(self, event: PrivacyEvent, n_features: int) -> None:
        least = self._least_mu(n_features) * (SCALED_MU if self._scales_privately else 1)
        if isinstance(event, GaussianEvent) and event.mu < least:
            raise ValueError(
                f"epsilon={self.epsilon}, delta={self.delta} ask for more noise than the grid "
                f"holds with n_features={n_features}; nothing could be seen through it: raise them"
            )

    def _check_memory(self, public: Public) -> None:
        """Refuse a fit that this machine cannot hold, whatever the rows are."""
        count, d = self.n_components, public.n_features
        n_components = int(count) if isinstance(count, int | np.integer) else d
        check_memory(self._held, d, n_components, count_private(self.scale, d), public.grouped)

    def _least_mu(self, n_features: int) -> float:
        """The mu of a fit below which the noise of some query leaves the grid."""
        return LEAST_MU * (n_features + 1)

    @property
    def _finds_centre(self) -> bool:
        """True if the fit estimates a private mean."""
        return bool(self.center) and self.mean is None

    def _standardised(self, n_features: int) -> np.ndarray | None:
        """Return a mask of the features whose scales the fit finds; None if there are none."""
        return self._declared_scales(n_features).private if self._scales_privately else None

    def _public_centre(
        self, mean: np.ndarray | None, scale: np.ndarray | None, n_features: int
    ) -> np.ndarray:
        """The public mean, in units of the features that public scales divide; or 0."""
        if mean is None:
            return np.zeros(n_features)
        return mean if scale is None else mean / scale

    def _public_count(self, source: Source) -> int | None:
        """The number of records, where the notion of neighbours makes it public."""
        return source.private_n if self._counts_publicly else None

    @property
    def _counts_publicly(self) -> bool:
        """True if the notion of neighbours makes the number of records public."""
        return self.adjacency == "replace-one" or math.isinf(self.epsilon)

    @property
    def _may_be_empty(self) -> bool:
        """Accept no rows of a cohort that nobody came to: an error would reveal it."""
        return self._joining is not None and not self._counts_publicly

    def _noise(self) -> NoiseSource:
        calls = 0 if self._joining is None else len(self._joining.fits)
        return noise_source(self.epsilon, self.random_state, calls)

    @property
    def _accounted_unit(self) -> str:
        """Unit by which neighbouring data sets differ, for the accountant and the report."""
        return self.unit

    def _attributes(self, release: Release, n_features: int) -> dict[str, Any]:
        """Return the attributes that `fit` stores of a release, in float64."""
        return attributes_of(release, self._declared_scales(n_features))

    def _details(self, release: Release, public: Public) -> dict[str, Any]:
        """Return the details of a release for the report."""
        return release.details

    def __getattr__(self, name: str) -> Any:
        if name == "partial_fit":
            raise AttributeError(
                f"{type(self).__name__} keeps no matrix that partial_fit could go on from; use "
                "DPGauss, or PrivatePCA with method='auto', or fit each cohort by itself and join "
                "the releases with skdppca.merge"
            )
        return super().__getattr__(name)


def feature_names_of(validated: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The names of the columns, if they have any."""
    names = validated.get("feature_names_in_")
    return None if names is None else tuple(map(str, names))


def attributes_of(release: Release, declared: DeclaredScales) -> dict[str, Any]:
    """Return the fitted attributes of a release, in float64."""
    scales = declared.whole(release.scale)
    found: dict[str, Any] = {
        "components_": fix_signs(release.components),
        "n_components_": len(release.components),
        "n_samples_": release.n_samples,
    }
    if release.scale is not None:
        found["scale_"] = scales
    found["mean_"] = release.centre * scales
    if release.explained_variance is not None:
        variances, total = release.explained_variance, release.total_variance or 1.0
        found["explained_variance_"] = variances
        found["explained_variance_ratio_"] = variances / total
        found["singular_values_"] = np.sqrt(variances * max((release.n_rows or 0.0) - 1, 1.0))
        if release.noise_variance is not None:
            found["noise_variance_"] = release.noise_variance
    return found


def _matrix(matrix: NoisyScatter | None) -> dict[str, np.ndarray]:
    """The attributes that hold a released matrix, always in float64."""
    arrays = {} if matrix is None else matrix.to_arrays()
    return {f"{MATRIX}{name}_": values for name, values in arrays.items()}


def cast(found: dict[str, Any], dtype: type) -> dict[str, Any]:
    """Arrays in the input's precision if it holds them all; what was computed is in float64.

    It holds them if none overflows, and no variance or scale underflows.
    """
    arrays = {k: v for k, v in found.items() if isinstance(v, np.ndarray)}
    largest = max(np.abs(values).max() for values in arrays.values())
    spreads = [arrays[name] for name in ("explained_variance_", "scale_") if name in arrays]
    least = min((x[x > 0].min(initial=np.inf) for x in spreads), default=np.inf)
    if largest < np.finfo(dtype).max and least >= np.finfo(dtype).tiny:
        return found | {k: values.astype(dtype, copy=False) for k, values in arrays.items()}
    return found
