"""Methods that find a subspace: count, centre, directions, and variances along those."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from ..._sklearn import Interval
from ...linalg import decreasing_eigh
from ...mechanisms.base import BUDGET, Release, with_unseen
from ...mechanisms.centre import rough_centre
from ...mechanisms.clipping import searches, with_typical_norm
from ...mechanisms.missing import share_present
from ...mechanisms.norm_histogram import ClippingFactor, clipping_details, with_sample
from ...mechanisms.variances import Variances, release_variances
from ...private_data import PrivateData
from ..base import BasePrivatePCA
from ..fitted import VARIANCES
from ..parameters import estimator, parameter
from .iteration import ITERATION, Directions


@dataclass(frozen=True)
class SubspaceConstants:
    """Constants of the alignments and the sure variances of a subspace; round numbers."""

    # Halvings of the bracket of an eigenvalue: all digits of it.
    halvings: int = 60
    # Sds of its noise that are subtracted from a variance for a lower bound on it.
    sure: float = 2.0


SUBSPACE = SubspaceConstants()


def alignments_of_moves(
    found: Directions, along: Variances, surely: np.ndarray, per_row: float
) -> tuple[np.ndarray, float]:
    r"""Expected squared cosines with the components without noise, and the noise floor.

    Parameters
    ----------
    found : Directions
        With `moves`.
    along : Variances
        Their noise is independent of that of the steps.
    surely : ndarray of shape (k,)
        Lower bounds on the variances.
    per_row : float
        A variance over an eigenvalue of a step's mean.

    Returns
    -------
    alignments : ndarray of shape (k,)
        0 for a variance that is not surely above the floor.
    floor : float
        The variance below which no step brings a direction nearer to a component.

    Notes
    -----
    An approximation, to first order in the noise of a step. All d - p directions that are not in
    the span are taken to vary alike: by r, the mean of all that were left out.

    *What a step does.* Let l be the eigenvalue of a component, and q the squared tangent of the
    angle between it and the span. The step to ``W + G / b``, ``b = ||W^T G|| / rate``, multiplies
    what the span has of the component by ``1 + l / b``, and what it has of other directions by
    ``1 + r / b``. It adds noise of mean square ``(d - p) s^2 / b^2`` to a unit vector, and the
    share ``1 / (1 + q)`` of that vector's square is the component's. So

        q <- ((b + r)^2 q + (d - p) s^2 (1 + q)) / (b + l)^2 ,

    from ``(d - p) / p``, that of a random start. No direction is farther from a component than a
    random one, so q is at most ``d - 1``. If l is below ``sqrt((b + r)^2 + (d - p) s^2) - b`` in
    every step, q grows in all of them: the least of these is the floor. For an infinite rate and
    equal steps, ``1 / (1 + q)`` tends to ``1 - (d - p) s^2 / (l^2 - r^2)``, which is 0 there.

    *What is turned within the span.* One noisy matrix says which k of the p directions are kept,
    and another one their order. Noise x off the diagonal turns two directions a gap g apart by a,
    ``tan 2 a = 2 x / g``. The squares of the sines are added to q.

    *Which l.* A released variance v is that along a noisy direction: ``v = c l + (1 - c) r``, with
    the alignment ``c = 1 / (1 + q)``. That is solved for l. The means of the steps are clipped more
    than the variances are, and all directions are taken to lose the same share by it.
    """
    core = decreasing_eigh(found.core)[0]
    left = np.clip(per_row * core.sum() / along.clipped.sum(), ITERATION.least_left, 1.0) / per_row
    steps = _Steps(found, float(left * along.clipped_rest))
    outside = steps.lost(steps.behind(left * along.clipped))
    inside = _reordered(along) + _turned(
        np.abs(core[:, None] - found.dropped), found.moves[-1].noise_sd
    )
    is_seen = left * surely > steps.floor
    return np.where(is_seen, 1 / (1 + outside + inside), 0.0), float(steps.floor / left)


def alignments_of_span(noise_sd: float, d: int, along: Variances) -> np.ndarray:
    """Expected squared cosines of the components of a span that itself has noise; 0 if it is lost.

    Parameters
    ----------
    noise_sd : float
        s, of every entry of k orthonormal directions; infinite if they are lost in it.
    d : int
        The number of features.
    along : Variances

    Notes
    -----
    The directions with noise, as rows Y, have squares of 1 + d s^2 in the mean. Of that, 1 + k s^2
    is in the span without noise. For many features ``Y Y^T`` is about ``(1 + d s^2) I``, so the
    quotient is the expected squared cosine of every direction of the one span with the other. What
    the noisy order turns within the span is added to its squared tangent, as in
    `alignments_of_moves`.
    """
    k = len(along.clipped)
    if math.isinf(noise_sd):
        return np.zeros(k)
    return 1 / ((1 + d * noise_sd**2) / (1 + k * noise_sd**2) + _reordered(along))


@dataclass(frozen=True)
class _Steps:
    """Effect of the steps on a component, and on their own noise.

    Parameters
    ----------
    found : Directions
    rest : float
        r, in units of the steps' means.
    """

    found: Directions
    rest: float

    @property
    def n_features(self) -> int:
        """D."""
        return self.found.directions.shape[1]

    @property
    def n_outside(self) -> int:
        """D - p."""
        return self.n_features - self.found.started

    @property
    def floor(self) -> float:
        """The least eigenvalue that some step makes clearer."""
        least = (
            math.hypot(move.unit + self.rest, math.sqrt(self.n_outside) * move.noise_sd) - move.unit
            for move in self.found.moves
        )
        return max(self.rest, min(least))

    def lost(self, values: np.ndarray) -> np.ndarray:
        """Q of components with these eigenvalues, which are not below r."""
        q = np.full(len(values), self.n_outside / self.found.started)
        for move in self.found.moves:
            whole = move.unit + values
            passed = ((move.unit + self.rest) / whole) ** 2 * q
            noise = self.n_outside * (move.noise_sd / whole) ** 2 * (1 + q)
            q = np.minimum(passed + noise, self.n_features - 1)
        return q

    def behind(self, seen: np.ndarray) -> np.ndarray:
        """The l of which v is seen; r where v is less.

        ``c (l - r)`` grows with l, and c is at least ``1 / d``.
        """
        beyond = np.maximum(seen - self.rest, 0.0)
        low, high = self.rest + beyond, self.rest + self.n_features * beyond
        for _ in range(SUBSPACE.halvings):
            middle = (low + high) / 2
            too_high = middle - self.rest > beyond * (1 + self.lost(middle))
            low, high = np.where(too_high, low, middle), np.where(too_high, middle, high)
        return high


def _reordered(along: Variances) -> np.ndarray:
    """Return the squared sines by which noise in the variances' matrix turns each component."""
    gaps = np.abs(along.clipped[:, None] - along.clipped)
    np.fill_diagonal(gaps, np.inf)
    return _turned(gaps, along.error)


def _turned(gaps: np.ndarray, noise_sd: float) -> np.ndarray:
    """By row, the squared sines by which a symmetric matrix's noise turns directions, added up.

    Parameters
    ----------
    noise_sd : float
        Standard deviation of the noise in an entry before it is averaged with the one across the
        diagonal.
    """
    angles = np.arctan2(math.sqrt(2) * noise_sd, gaps) / 2
    return (np.sin(angles) ** 2).sum(axis=1)


# The most steps of a method, and, per root of the entries of a step's mean, the least mu for which
# the noise of each of them stays on the grid.
MAX_ITER = 1000
LEAST_STEP_MU = 2.0**-19


@dataclass(frozen=True)
class SubspaceMechanism(ABC):
    """Count, centre, directions, variances; a method adds how it finds the directions.

    Parameters
    ----------
    n_components : int or None
        None for as many as features.
    center : bool
        Whether a private centre is found.
    variance_share : float
        Share of the budget; 0 for none.
    """

    n_components: int | None
    center: bool
    variance_share: float

    def __call__(self, data: PrivateData) -> Release:
        """Release the directions and, if they are paid for, the variances along them."""
        k = data.n_features if self.n_components is None else self.n_components
        # 1. n: how many records
        data = with_sample(data.ask_count(data.fraction(BUDGET.question_share)))
        # 2. c: a rough centre
        if self.center:
            data = rough_centre(data).data
        no_centre = data.unseen
        data = with_typical_norm(data)
        centre, present = data.centre, data.present
        if present is not None:
            # products of two features are as large as those of complete rows then, and rows longer
            share = share_present(present)
            data = replace(
                data.scaled(present),
                typical_norm=_over(data.typical_norm, share),
                norm_bound=_over(data.norm_bound, math.sqrt(share)),
                present=None,
            )
        data = data.shifted()
        # 3. the method itself, with all but what the variances cost
        found = self.directions(data.reserving(self.variance_share), k)
        # 4. the variances along the directions, which also give their order
        details = {"norm_bound": data.norm_bound}
        paid = bool(self.variance_share)
        release = release_along(data, found, centre, paid, details)
        release = with_unseen(release, data.public, no_centre=no_centre, no_norms=data.unseen)
        return release if present is None else _without_excess(release, share_present(present))

    @abstractmethod
    def directions(self, data: PrivateData, k: int) -> Directions:
        """Spend all of the budget on k directions."""


def _without_excess(release: Release, share: float) -> Release:
    """The variances, less what features divided by their shares have too much of squares.

    A square is divided by the share once too often. That adds to the variance along a direction
    what is taken for the same for all: of features that vary alike it is.
    """
    if release.explained_variance is None or not release.total_variance:
        return release
    excess = (1 - share) * release.total_variance / release.components.shape[1]
    return replace(
        release,
        explained_variance=_less(release.explained_variance, excess),
        total_variance=share * release.total_variance,
        noise_variance=float(_less(np.array(release.noise_variance), excess)),
    )


def _over(bound: float | None, share: float) -> float | None:
    return None if bound is None else bound / share


def _less(variances: np.ndarray, excess: float) -> np.ndarray:
    return np.maximum(variances - excess, ITERATION.least_left * variances)


def release_along(
    data: PrivateData,
    found: Directions,
    centre: np.ndarray,
    variances: bool,
    details: dict[str, Any],
    core_variance: float = math.inf,
    core_factor: ClippingFactor | None = None,
) -> Release:
    """Directions in their order, and the variances along them, for all that is left.

    Parameters
    ----------
    centre : ndarray of shape (d,)
        That of the records; they may be seen less it.
    variances : bool
        Whether they are released.
    core_variance : float
        Variance of the prediction's entries, if it is to count.
    core_factor : ClippingFactor, optional
        What clipping took of the prediction.
    """
    k, d = found.directions.shape
    if not variances:
        components = decreasing_eigh(found.core)[1] @ found.directions
        return Release(components, centre, data.n, details=details)
    along = release_variances(data, found.directions, found.core, core_variance, core_factor)
    details = {
        "variance_errors": along.errors,
        "clipped_errors": np.full(k, along.error),
        **_certain(found, along, data.n),
        **clipping_details(along.factor, np.append(along.clipped, along.others), searches(data)),
        **details,
    }
    return Release(
        components=along.rotation @ found.directions,
        centre=centre,
        n_samples=data.n,
        explained_variance=along.explained,
        total_variance=float(along.explained.sum()) + (d - k) * along.rest,
        noise_variance=along.rest,
        n_rows=along.n_rows,
        details=details,
    )


def _certain(found: Directions, along: Variances, n: float) -> dict[str, Any]:
    """Return the directions' alignments, judged by variances whose noise is independent.

    The noise of a mean is passed on from step to step, each time by what other directions have of a
    direction's variance; so a share of ``noise^2 / (variance^2 - other^2)`` of its square is noise.
    What the directions themselves predict would not tell noise from variance. Of Oja's iteration
    every step is known, and of noise in the directions its size: see `_turned`.
    """
    per_row = n / max(along.n_rows - 1, 1.0)
    surely = along.clipped - SUBSPACE.sure * along.error
    if found.moves:
        alignments, floor = alignments_of_moves(found, along, surely, per_row)
        return {"alignments": alignments, "noise_floor": floor}
    if found.span_noise is not None:
        d = found.directions.shape[1]
        return {"alignments": alignments_of_span(found.span_noise, d, along)}
    if math.isinf(found.variance):
        return {}
    noise, predicted = found.noise * per_row, decreasing_eigh(found.core)[0] * per_row
    surely = np.maximum(np.minimum(surely, predicted), 0.0)
    beyond = np.maximum(surely**2 - along.clipped_rest**2, noise**2)
    lost = noise**2 / beyond if noise else np.zeros_like(beyond)
    floor = math.hypot(noise, along.clipped_rest) if noise else 0.0
    return {"alignments": 1 - lost, "noise_floor": floor}


@estimator
class SubspacePCA(BasePrivatePCA):
    """Base of the estimators of a `SubspaceMechanism`: their common parameters.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components to release. None: as many as features.
    variance_share : float, default=0.05
        Share of the budget for `explained_variance_` and what depends on it; 0 leaves them out.
    norm_bound : float or None, default=None
        Public bound on the norms of the (scaled) rows less the mean; with groups, on the root of
        the Frobenius norm of a group's Gram matrix. Longer records are shortened to it. None spends
        part of the budget to find one. With a bound, noise that would follow the spread of the
        records follows the bound.
    center : bool, default=True
        Whether to subtract a rough private mean. False gives the components of the second moments
        about `mean`, or about 0.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
        The rough private mean.
    explained_variance_ : ndarray of shape (n_components,)
        Eigenvalues of a private matrix of the records' scores: one more release of k x k numbers.
        What clipping took of them is added, unless `norm_bound` is given.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Over a private total.
    """

    n_components: int | None = parameter(
        Interval(Integral, 1, None, closed="left"), None, default=None, kw_only=False
    )
    variance_share: float = parameter(Interval(Real, 0, 0.5, closed="both"), default=0.05)

    _not_released: ClassVar[dict[str, str]] = dict.fromkeys(
        VARIANCES, "variance_share=0 leaves them out; set variance_share=0.05"
    )

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        if self.whiten and not self.variance_share:
            raise ValueError(
                "whiten=True divides by the variances, but variance_share=0 leaves them out; set "
                "variance_share=0.05"
            )

    def _least_mu(self, n_features: int) -> float:
        entries = n_features * self._width(n_features)
        return super()._least_mu(n_features) + LEAST_STEP_MU * math.sqrt(entries)

    def _width(self, n_features: int) -> int:
        """Columns of a step's mean."""
        return self.n_components or n_features

    def _shared(self) -> dict[str, Any]:
        """The fields of every `SubspaceMechanism`."""
        return {
            "n_components": self.n_components,
            "center": self._finds_centre,
            "variance_share": float(self.variance_share),
        }
