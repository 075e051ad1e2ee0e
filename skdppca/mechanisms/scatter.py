"""A noisy scatter matrix that can be kept, and joined with those of other people.

All of it is post-processing. Whoever joins matrices of the same people adds up what they paid.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from ..linalg import Eigenvectors
from .centre import shrink_to_signal
from .clipping import Clip
from .norm_histogram import ClippingFactor
from .spectrum import NoisySpectrum


@dataclass(frozen=True)
class ScatterConstants:
    """Weights of matrices and thresholds for comparing them."""

    # A record's mean square over that of its bound, at least; a matrix may be mere noise. Round.
    least_square: float = 0.05
    # Means that are no farther apart than this share of R are pooled: moving a matrix multiplies
    # its noise by the distance over the constant that rows are augmented with, which is R / 8.
    pooled: float = 1 / 8
    # A difference counts for drift only as far as it exceeds its noise by these sds; round.
    sds: float = 2.0
    # Matrices are compared in the span of this number of directions for each component; round.
    directions: int = 2


SCATTER = ScatterConstants()

# The fourth power of a number beyond this would overflow; of released ones, none is near to it.
LARGEST = 1e70

# The parts of the arrays that a matrix is stored as: vectors, and the numbers in this order.
VECTORS = ("mean", "units", "present")
NUMBERS = (
    "noise_sd",
    "n_rows",
    "n_records",
    "effective",
    "weight",
    "radius",
    "distance",
    "median",
    "mean_variance",
)
FACTOR = ("value", "error", "sees_tail", "kept", "spread")


@dataclass(frozen=True)
class Drift:
    """Difference of two noisy matrices in the directions that both show most.

    Parameters
    ----------
    z : float
        The squared difference less what is expected of its noise, in sds of the noise.
    excess : float
        The variance of an entry's change that is beyond the noise; 0 without a visible one.
    """

    z: float
    excess: float


@dataclass(frozen=True, eq=False)
class NoisyScatter:
    """A noisy scatter matrix about its mean: what was paid for, and no more.

    Several are one by the matched filter: each is in units of its clipping norm, and weighs by what
    it shows over its noise and the error of its sample.

    Parameters
    ----------
    scatter : ndarray of shape (d, d)
        Scatter of rows around their mean, with noise. What filling absent entries took is undone.
    noise_sd : float
        Standard deviation of the noise on its diagonal; off it the noise has sd ``noise_sd /
        sqrt(2)``.
    mean : ndarray of shape (d,)
        In `units`, as the matrix is.
    n_rows, n_records : float
        Public or noisy.
    radius : float
        R, which records were clipped to; 1 if they were scaled to norm 1, infinite for neither.
    distance : float
        What a record's distance from the centre is clipped to in a mean.
    units : ndarray of shape (d,)
        Private scales of the features; 1 of those without.
    present : ndarray of shape (d,)
        Share of every feature's entries that are there; 0 of one that is taken for empty.
    weight : float
        Weight of the mean matrix; see `merged`.
    effective : float
        The number of records that would have the same error of the sample.
    mean_variance : float
        Variance of the noise in an entry of the mean.
    median : float
        Median of the distances, where rows were scaled to norm 1; else NaN.
    factor : ClippingFactor or None
        What clipping took of the second moments; None if no histogram tells.
    """

    scatter: np.ndarray
    noise_sd: float
    mean: np.ndarray
    n_rows: float
    n_records: float
    radius: float
    distance: float
    units: np.ndarray
    present: np.ndarray
    weight: float
    effective: float
    mean_variance: float = 0.0
    median: float = math.nan
    factor: ClippingFactor | None = None

    @classmethod
    def of_cohort(
        cls,
        scatter: np.ndarray,
        noise_sd: float,
        mean: np.ndarray,
        *,
        n_rows: float,
        n_records: float,
        radius: float,
        **known: Any,
    ) -> Self:
        """The matrix of one release, weighted by what it shows.

        Its sum in units of R^2 has n a of every record's square, and in every direction the noise
        and the error of a sample of n. The matched filter is that over these.
        """
        d, unit = len(mean), radius**2 if math.isfinite(radius) else 1.0
        square = float(np.trace(scatter)) / (unit * n_records)
        a = min(max(square, SCATTER.least_square), 1.0)
        variance = (noise_sd / unit) ** 2 + n_records * a**2 / d
        return cls(
            scatter=scatter,
            noise_sd=noise_sd,
            mean=mean,
            n_rows=n_rows,
            n_records=n_records,
            radius=radius,
            weight=n_records * a / variance * n_rows if noise_sd else n_rows,
            effective=n_records,
            **known,
        )

    @property
    def spherical(self) -> bool:
        """True if rows were scaled to norm 1."""
        return not math.isnan(self.median)

    @property
    def share_present(self) -> float:
        """Share of the entries that are there, of features that are not taken for empty."""
        return float(np.mean(self.present[self.present > 0]))

    @property
    def clip(self) -> Clip:
        """Clipping norm of the records."""
        median = self.median if self.spherical else None
        return Clip(self.radius, self.spherical, self.factor, median=median)

    @property
    def unit(self) -> float:
        """Divisor of the mean matrix: R^2, or 1 without clipping."""
        return self.radius**2 if math.isfinite(self.radius) else 1.0

    @property
    def covariance(self) -> np.ndarray:
        """The mean matrix, in that unit."""
        return self.scatter / (self.unit * self.n_rows)

    @property
    def covariance_sd(self) -> float:
        """Sd of the noise in its diagonal."""
        return self.noise_sd / (self.unit * self.n_rows)

    def merged(self, other: NoisyScatter, forget: float = 1.0) -> NoisyScatter:
        """The matrix of these records and of others, in these units.

        Each is about its own mean, unless the means are near to each other, or without noise: then
        it is about the pooled one. The order does not matter, but for rounding and for `forget`.

        Parameters
        ----------
        other : NoisyScatter
            Matrix of other people: joining two of the same people would pay twice.
        forget : float
            What the weight of this matrix is multiplied by; 1 forgets nothing.
        """
        mine, theirs = self, other.in_units(self.units)
        mine, theirs = mine._beside(theirs), theirs._beside(mine)
        if mine.spherical != theirs.spherical:
            mine, theirs = mine.unscaled(), theirs.unscaled()
        weight = forget * mine.weight + theirs.weight
        share, n = theirs.weight / weight, mine.n_rows + theirs.n_rows

        def mean(a: Any, b: Any) -> Any:
            return a if np.array_equal(a, b) else a + share * (b - a)

        def variance(a: float, b: float) -> float:
            return (1 - share) ** 2 * a + share**2 * b

        apart = mine._apart(theirs)
        unit = mean(mine.unit, theirs.unit)
        covariance = mine.covariance + share * (theirs.covariance - mine.covariance)
        covariance += share * (1 - share) / unit * np.outer(apart, apart)
        sd = math.sqrt(variance(mine.covariance_sd**2, theirs.covariance_sd**2))
        same = mine.radius == theirs.radius
        return NoisyScatter(
            scatter=covariance * (unit * n),
            noise_sd=sd * (unit * n),
            mean=mean(mine.mean, theirs.mean),
            n_rows=n,
            n_records=mine.n_records + theirs.n_records,
            radius=mine.radius if same else math.sqrt(unit),
            distance=mean(mine.distance, theirs.distance),
            units=mine.units,
            present=mean(mine.present, theirs.present),
            weight=weight,
            effective=1 / variance(1 / mine.effective, 1 / theirs.effective),
            mean_variance=variance(mine.mean_variance, theirs.mean_variance),
            median=math.sqrt(mean(mine.median**2, theirs.median**2)),
            factor=_mean_factor(mine.factor, theirs.factor, share),
        )

    def in_units(self, units: np.ndarray) -> NoisyScatter:
        """Return the matrix with features divided by other scales; its noise is taken for even."""
        if np.array_equal(self.units, units):
            return self
        ratio = self.units / units
        even = float(np.mean(ratio**2))
        return replace(
            self,
            scatter=self.scatter * np.outer(ratio, ratio),
            noise_sd=self.noise_sd * even,
            mean=self.mean * ratio,
            mean_variance=self.mean_variance * even,
            units=units,
        )

    def without(self, empty: np.ndarray, centre: np.ndarray) -> NoisyScatter:
        """Return the matrix with empty features, which lie at the centre, in units of 1.

        Parameters
        ----------
        empty : ndarray of bool of shape (d,)
        centre : ndarray of shape (d,)
            In units of the features.
        """
        return replace(
            self,
            mean=np.where(empty, centre, self.mean),
            units=np.where(empty, 1.0, self.units),
            present=np.where(empty, 0.0, self.present),
        )

    def unscaled(self) -> NoisyScatter:
        """Return the matrix as if rows had been clipped to their median distance, not scaled."""
        if not self.spherical:
            return self
        square = self.median**2
        scatter, noise_sd = self.scatter * square, self.noise_sd * square
        return replace(
            self, scatter=scatter, noise_sd=noise_sd, radius=self.median, median=math.nan
        )

    def drift(self, other: NoisyScatter, n_components: int | None = None) -> Drift:
        """Return the difference from another matrix in the directions that both show most.

        These are the top eigenvectors of the mean by inverse variance, whose noise is independent
        of that of the difference. What is expected of the difference is the noise of both, and the
        errors of their samples, as if rows were normal: of entries i and j of the matrix in their
        own directions ``v_i v_j (1 + (i = j)) / n``, v the variances.

        Each matrix was divided by its own noisy n, whose error scales all variances alike. So what
        of the diagonal is along v does not count: a change of scale alone is no drift. With
        ``u = v / |v|``, its mean square ``sum_i u_i^2 error_ii`` is no part of the noise. The sd is
        that of all entries, and so no smaller than that of those that count.

        Parameters
        ----------
        n_components : int, optional
            By default those that stand above the noise.
        """
        both, theirs = self.merged(other), other.in_units(self.units)
        found = Eigenvectors(both.covariance)
        spectrum = NoisySpectrum(found.values, both.covariance_sd)
        k = n_components or max(1, int(np.count_nonzero(spectrum.values > spectrum.edge)))
        p = min(SCATTER.directions * k, len(spectrum.values))
        V, variances = found.top(p), spectrum.debiased[:p]
        difference = V @ (theirs.covariance - self.covariance) @ V.T
        unit = variances / (np.linalg.norm(variances) or 1.0)
        difference -= np.diag(unit * (np.diag(difference) @ unit))
        noise = self.covariance_sd**2 + theirs.covariance_sd**2
        error = np.outer(variances, variances) * (1 / self.effective + 1 / theirs.effective)
        error += noise / 2
        error[np.diag_indices(p)] *= 2
        sd = math.sqrt(4 * np.sum(error**2) - 2 * np.sum(np.diag(error) ** 2))
        excess = float(np.sum(difference**2) - error.sum() + unit**2 @ np.diag(error))
        entries = p * (p + 1) / 2
        beyond = max(0.0, excess - SCATTER.sds * sd) / entries
        return Drift(excess / sd if sd else 0.0, beyond)

    def forgetting(self, excess: float) -> float:
        """Return the factor that multiplies this matrix's weight after a drift.

        With P the variance of an entry of this matrix and r of the next one, weights of 1 / P and
        1 / r are those of a Kalman filter. A drift adds its variance q to P: the weight falls by
        ``P / (P + q)``.

        Parameters
        ----------
        excess : float
            q; see `Drift`.
        """
        square = float(np.clip(np.trace(self.covariance), SCATTER.least_square, 1.0))
        return 1 / (1 + excess * self.weight / square)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """All of it as float64 arrays, by name; `from_arrays` gives the same matrix again."""
        factor = [math.nan] * len(FACTOR)
        if self.factor is not None:
            factor = [float(getattr(self.factor, name)) for name in FACTOR]
        numbers = [float(getattr(self, name)) for name in NUMBERS]
        arrays = {name: getattr(self, name) for name in ("scatter", *VECTORS)}
        arrays["numbers"] = np.array([*numbers, *factor])
        return {name: np.array(values, dtype=np.float64) for name, values in arrays.items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> NoisyScatter:
        """The matrix that `to_arrays` wrote.

        Raises
        ------
        ValueError
            If it cannot have written these.
        """
        none = np.empty(0)
        held = {
            name: np.array(arrays.get(name, none), np.float64) for name in ("scatter", *VECTORS)
        }
        numbers, d = np.array(arrays.get("numbers", none), np.float64), held["mean"].size
        shapes = {"scatter": (d, d)} | dict.fromkeys(VECTORS, (d,))
        known: dict[str, Any] = dict(zip(NUMBERS, numbers.ravel().tolist(), strict=False))
        factor = numbers.ravel()[len(NUMBERS) :].tolist()
        fits = numbers.shape == (len(NUMBERS) + len(FACTOR),)
        fits = fits and all(held[name].shape == shape for name, shape in shapes.items())
        if not (fits and _possible(held, known, factor)):
            raise ValueError(
                "these arrays are no matrix that skdppca released; take all of one release, as "
                "they were stored"
            )
        if not math.isnan(factor[0]):
            value, error, sees_tail, kept, spread = factor
            known["factor"] = ClippingFactor(value, error, sees_tail == 1.0, kept, spread)
        return cls(**known | held)

    def _beside(self, other: NoisyScatter) -> NoisyScatter:
        """Return a copy that takes the other's mean for features that are empty here."""
        if self.present.all():
            return self
        return replace(self, mean=np.where(self.present == 0, other.mean, self.mean))

    def _apart(self, other: NoisyScatter) -> np.ndarray:
        """From this mean to the other, as far as the noise shows it; 0 if they are not pooled."""
        if self.spherical:
            return np.zeros_like(self.mean)
        sd = math.sqrt(self.mean_variance + other.mean_variance)
        apart = shrink_to_signal(other.mean - self.mean, sd)
        exact = not (self.noise_sd or other.noise_sd)
        near = float(np.linalg.norm(apart)) <= SCATTER.pooled * min(self.radius, other.radius)
        return apart if exact or near else np.zeros_like(apart)


def _possible(
    arrays: Mapping[str, np.ndarray], numbers: Mapping[str, float], factor: list[float]
) -> bool:
    """Return whether a stored matrix is valid; after the next charge a refusal would be too late.

    Noise is of the size of what records are clipped to, so where nothing is clipped there is none.
    """
    exact, median = numbers["noise_sd"] == 0, numbers["median"]
    counts = [numbers[name] for name in ("n_rows", "n_records", "effective", "weight")]
    norms = [numbers["radius"], numbers["distance"]]
    clipped = [norm for norm in norms if not (exact and norm == math.inf)]
    if not all(_between(each, 1 / LARGEST) for each in (counts, clipped, arrays["units"])):
        return False
    radius = numbers["radius"] if math.isfinite(numbers["radius"]) else 1.0
    whole = radius**2 * numbers["n_rows"] * (LARGEST if exact else 1.0)
    return (
        _between([numbers["noise_sd"] / whole])
        and _between(np.abs(arrays["scatter"]) / whole)
        and _between(np.abs(arrays["mean"]))
        and _between(arrays["present"], most=1.0)
        and 0 <= numbers["mean_variance"] <= LARGEST**3
        and (math.isnan(median) or _between([median], 1 / LARGEST))  # others are divided by it
        and (math.isnan(factor[0]) or _between(factor))
    )


def _between(values: Any, least: float = 0.0, most: float = LARGEST) -> bool:
    """Return whether all values are numbers from the least to the largest one."""
    values = np.asarray(values)
    return bool(((values >= least) & (values <= most)).all())


def _mean_factor(
    mine: ClippingFactor | None, other: ClippingFactor | None, share: float
) -> ClippingFactor | None:
    """Mean of two factors, whose errors may be the same; None if either is not known."""
    if mine is None or other is None or mine == other:
        return mine if other is not None else None
    return ClippingFactor(
        value=mine.value + share * (other.value - mine.value),
        error=mine.error + share * (other.error - mine.error),
        sees_tail=mine.sees_tail and other.sees_tail,
        kept=mine.kept + share * (other.kept - mine.kept),
        spread=mine.spread + share * (other.spread - mine.spread),
    )
