"""DPGauss: the covariance matrix with Gaussian noise, and its eigenvectors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import ClassVar, Literal

import numpy as np

from .._sklearn import Interval, StrOptions
from ..mechanisms.base import BUDGET, Mechanism, Release, with_unseen
from ..mechanisms.centre import improved_centre, rough_centre
from ..mechanisms.clipping import searches, with_typical_norm
from ..mechanisms.missing import HIDING, filled, without_empty
from ..mechanisms.nested_spheres import release_nested, shows_more
from ..mechanisms.noisy_covariance import NoisyCovariance, release_gram
from ..mechanisms.norm_histogram import with_sample
from ..mechanisms.scatter import NoisyScatter
from ..privacy import PrivacyEvent
from ..private_data import PrivateData, Public
from ..records.machine import MATRICES, Held
from .fitted import MATRIX
from .joining import JoinsCohorts
from .parameters import estimator, parameter


@dataclass(frozen=True)
class CohortConstants:
    """Budget that a later cohort spends beside its matrix."""

    # Share of mu^2 of its mean, which improves the centre: round.
    centre_share: float = 0.045


COHORT = CohortConstants()


@dataclass(frozen=True)
class NextCohort:
    """The matrix of people who come later; nothing that earlier ones showed is looked for again.

    Parameters
    ----------
    reader : NoisyCovariance
    before : NoisyScatter
        Matrix of the people before, in units of the records that it is given.
    """

    reader: NoisyCovariance
    before: NoisyScatter

    def __call__(self, data: PrivateData) -> Release:
        """Release the matrix; the records are about the mean of those before."""
        reader, before = self.reader, self.before
        # 1. n: how many records
        data = data.ask_count(data.fraction(BUDGET.question_share))
        # 2. c: the mean of those before, improved by that of these
        if reader.center:
            mu = data.fraction(COHORT.centre_share)
            data = improved_centre(data, before.distance, before.mean_variance, mu)
        # 3. how many rows there are
        n_rows = reader.rows(data)
        # 4. the noisy Gram matrix, with the clipping norm R of those before
        clip = reader.augmented(before.clip, data, n_rows)
        gram = release_gram(data, clip)
        matrix = reader.scatter(gram, data, clip, n_rows, before.distance)
        return Release(
            components=np.empty((0, data.n_features)),
            centre=matrix.mean,
            n_samples=matrix.n_records,
            matrix=matrix,
        )


@dataclass(frozen=True)
class JoinedMechanism:
    """The matrix of people who come later, and all that is read off it and those before.

    Parameters
    ----------
    reader : NoisyCovariance
    method : Mechanism
        What releases their matrix: `NextCohort`, and what absent entries need.
    before : NoisyScatter
    forget : float or "auto"
        What the weight of the matrix before is multiplied by.
    """

    reader: NoisyCovariance
    method: Mechanism
    before: NoisyScatter
    forget: float | str

    def __call__(self, data: PrivateData) -> Release:
        """Ask for one matrix; all else is post-processing."""
        reader, before = self.reader, self.before
        # 1. their matrix, in the units of those before
        # no unit was found for a feature that was empty then, so it stays hidden
        unknown = np.zeros(data.n_features, bool)
        seen = data
        if reader.correlate is not None:
            unknown = (before.present == 0) & reader.correlate
            seen = data.scaled(np.where(unknown, HIDING, before.units))
        found = self.method(seen.centred_at(before.mean / np.where(unknown, HIDING, 1.0)))
        if found.matrix is None:
            raise RuntimeError("a cohort released no matrix: a fault of skdppca")
        matrix = replace(found.matrix, units=before.units).without(unknown, before.mean)
        # 2. how far they differ, and what is forgotten of those before
        wanted = reader.n_components
        drift = before.drift(matrix, wanted if isinstance(wanted, int) else None)
        kept = before.forgetting(drift.excess) if self.forget == "auto" else float(self.forget)
        # 3. one matrix, and what it shows
        merged = before.merged(matrix, kept)
        release = reader.read(merged, searches(data))
        scale = release.scale
        if reader.correlate is not None:
            scale = before.units if scale is None else before.units * scale
        details = {**release.details, "cohort": (found.n_samples, drift.z, kept)}
        if "present" in found.details:
            details["present"] = merged.present
        release = replace(release, scale=scale, matrix=merged, details=details)
        empty = merged.present == 0
        return without_empty(empty, release, merged.mean) if empty.any() else release


@dataclass(frozen=True)
class DPGaussMechanism(NoisyCovariance):
    """Analyze Gauss (Dwork, Talwar, Thakurta & Zhang, STOC 2014), told nothing of the data.

    It differs from the paper in that the clipping norm and the mean are private as well, and
    that the noise has the exact scale of the Gaussian mechanism and no more variance off the
    diagonal than it needs.

    Parameters
    ----------
    nested : bool
        Nested spheres instead where they show more.
    keep_matrix : bool
        The noisy matrix is released as well, for what is read off it later.
    """

    nested: bool = False
    keep_matrix: bool = False

    def __call__(self, data: PrivateData) -> Release:
        """Release the whole noisy spectrum, and as many components as it supports."""
        # 1. n: how many records
        data = data.ask_count(data.fraction(BUDGET.question_share))
        nested = self.nested and shows_more(data, self.n_components)
        if self.center or nested or self.clip == "spherical" or searches(data):
            data = with_sample(data)  # else nobody asks for norms
        # 2. c: a rough centre; of few records without one, how long they are
        radius = None
        if self.center:
            centred = rough_centre(data, not nested and self.corrects(data))
            data, radius = centred.data, centred.radius
        elif nested:
            data = with_typical_norm(data)
        unseen = {"no_centre" if self.center else "no_norms": data.unseen}
        # 3. how many rows there are
        n_rows = self.rows(data)
        if nested:
            length = None if data.public.grouped else radius
            length = length if self.center else data.typical_norm
            release = release_nested(
                data, self.n_components, n_rows, radius=radius, typical_norm=length
            )
            return with_unseen(release, data.public, **unseen)
        # 4. R: the clipping norm around the centre
        clip = self.clipping(data, n_rows)
        unseen["no_norms"] = clip.unseen
        # 5. the noisy Gram matrix
        gram = release_gram(data, clip)
        # 6. all else is read off it
        matrix = self.scatter(gram, data, clip, n_rows, radius)
        release = with_unseen(self.read(matrix, searches(data)), data.public, **unseen)
        return replace(release, matrix=matrix) if self.keep_matrix else release


# Columns up to which the matrix is released if nothing is said: 32 MB, so that no file surprises.
LARGEST_KEPT = 2000


@estimator
class DPGauss(JoinsCohorts):
    """Private PCA by one noisy covariance matrix ("Analyze Gauss").

    A good first choice as long as the d x d matrix fits: it releases all of the spectrum for one
    price. It is told nothing of the data: the mean, the clipping norm and the number of records are
    found privately, inside the stated budget.

    Parameters
    ----------
    norm_bound : float or None, default=None
        Public bound on the records: on the norms of the (scaled) rows, and of the rows less the
        mean; with groups, on the root of the Frobenius norm of a group's Gram matrix. Longer
        records are shortened to it. None spends part of the budget to find one.
    clip : {"auto", "spherical"}, default="auto"
        "auto" clips more when the noise dominates, up to "spherical": every row is scaled to norm
        1, and the variances follow from a model of the rows and from how their lengths spread.

    keep_matrix : bool or None, default=None
        Whether to release the noisy matrix as well: `partial_fit` and `skdppca.merge` go on from
        it. It costs nothing, and is paid for already. Its file takes 8 d^2 bytes.

        - None: up to 2000 columns.
        - A bool: whether to, whatever the number of columns.

    forget : float or "auto", default=1.0
        What `partial_fit` multiplies the weight of the cohorts before by, when it joins the next.

        - 1: nothing is forgotten. For people who are alike over the years.
        - Between 0 and 1: as if that share of the records before was there.
        - "auto": 1 as long as no drift is seen in the noise, and less after one.

    Attributes
    ----------
    explained_variance_ : ndarray of shape (n_components,)
        Variances without the noise's share, at least the noise's standard deviation over n, and
        with what clipping took, unless `norm_bound` is given: exact in total as far as the
        histogram of norms shows, and under a model of long records for each one. Not
        released where the noise hides how long the records are; see "Nested spheres" in the guide.
    privacy_ : PrivacyReport
        What was released, at what cost. ``privacy_.details`` holds the clipping norm, the noise's
        sd, the whole spectrum and the components' `alignments`: expected squared cosine with the
        direction that the same method would give without noise. If ``details["clip"]`` is "nested",
        they tell how much of a component lies in the span of such directions.

    See Also
    --------
    sklearn.decomposition.PCA : The same without privacy.

    Notes
    -----
    Everything in the attributes is private at the stated cost. Rows that go through `transform`
    are not.

    References
    ----------
    C. Dwork, K. Talwar, A. Thakurta, L. Zhang. Analyze Gauss: optimal bounds for
    privacy-preserving principal component analysis. STOC 2014, Theorem 1.

    J. Düngler, A. Sanyal. An iterative algorithm for differentially private k-PCA with adaptive
    noise. 2025: DP-Gauss-1. For DP-Gauss-2 see `SmoothSensitivityPCA`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdppca import DPGauss
    >>> X = load_digits().data
    >>> pca = DPGauss(n_components=2, epsilon=1.0, delta=1e-6).fit(X)
    >>> pca.transform(X).shape
    (1797, 2)
    >>> pca.privacy_.private
    True
    """

    clip: Literal["auto", "spherical"] = parameter(
        StrOptions({"auto", "spherical"}), default="auto"
    )
    keep_matrix: bool | None = parameter("boolean", None, default=None)
    forget: float | Literal["auto"] = parameter(
        Interval(Real, 0, 1, closed="right"), StrOptions({"auto"}), default=1.0
    )

    _held: ClassVar[Held] = MATRICES

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        if self._joining and not self._keeps_matrix(n_features):
            raise ValueError(
                f"partial_fit goes on from the matrix of the cohort before, and with "
                f"keep_matrix={self.keep_matrix} none is released of {n_features} columns; set "
                "keep_matrix=True"
            )

    def _keeps_matrix(self, n_features: int) -> bool:
        if self.keep_matrix is None:
            return n_features <= LARGEST_KEPT
        return bool(self.keep_matrix)

    def _why_not_released(self, name: str) -> str | None:
        if not name.startswith(MATRIX) or not name.endswith("_"):
            return super()._why_not_released(name)
        if self.privacy_.details.get("clip") == "nested":
            return "nested spheres have no matrix; set a larger epsilon, or give more records"
        return f"beyond {LARGEST_KEPT} columns, or with keep_matrix=False; set keep_matrix=True"

    def _mechanism(self, public: Public) -> DPGaussMechanism:
        if self.clip == "spherical" and public.grouped:
            raise ValueError(
                f"clip='spherical' scales single rows, but unit={self.unit!r}; use clip='auto'"
            )
        return DPGaussMechanism(
            n_components=self.n_components,
            clip=self.clip,
            center=self._finds_centre,
            correlate=self._standardised(public.n_features),
            nested=not (self.whiten or self._joining),
            keep_matrix=self._keeps_matrix(public.n_features),
        )

    def _joined(self, public: Public, event: PrivacyEvent, before: NoisyScatter) -> Mechanism:
        reader = self._mechanism(public)
        cohort: Mechanism = NextCohort(reader, before)
        if self._may_miss:
            cohort = filled(cohort, event)
        return JoinedMechanism(reader, cohort, before, self.forget)
