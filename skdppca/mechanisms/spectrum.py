"""Estimates of the true spectrum from a noisy one; all of it post-processing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral

import numpy as np

from .._sklearn import assess_dimension


@dataclass(frozen=True)
class CorrelationConstants:
    """Thresholds below which a variance is too small to be divided by; round numbers."""

    # Squares below this share of their median are taken for that: constant features stay small.
    least_of_median: float = 0.05
    # So are those below this share of their mean, unless above sqrt(d) times the noise: divided by
    # themselves, many features of mere noise would have an eigenvalue beyond those of the others.
    hidden_of_mean: float = 0.25


CORRELATION = CorrelationConstants()


@dataclass(frozen=True)
class NoisySpectrum:
    """Eigenvalues of a symmetric matrix plus symmetric Gaussian noise.

    Parameters
    ----------
    values : ndarray of shape (d,)
        From large to small.
    noise_sd : float
        Standard deviation of the noise on the diagonal; off it the noise has sd ``noise_sd /
        sqrt(2)``.

    Notes
    -----
    Spiked Wigner model, an approximation for large d: noise of off-diagonal sd tau spreads the
    bulk over ``centre +- 2 tau sqrt(d)``; an eigenvalue seen at l above it was at
    ``theta = (l + sqrt(l^2 - 4 tau^2 d)) / 2`` (both from the centre), and its eigenvector's
    expected squared alignment with the noise-free one is ``1 - tau^2 d / theta^2``.
    """

    values: np.ndarray
    noise_sd: float

    @property
    def centre(self) -> float:
        """Centre of the bulk: the median eigenvalue."""
        return float(np.median(self.values))

    @property
    def half_width(self) -> float:
        """Half the width that noise alone gives the bulk."""
        return math.sqrt(2 * len(self.values)) * self.noise_sd

    @property
    def edge(self) -> float:
        """Where the noise-only spectrum ends."""
        return self.centre + self.half_width if self.noise_sd else 0.0

    @cached_property
    def _signal(self) -> np.ndarray:
        """Theta, counted from the centre; half the distance inside the bulk."""
        offset = self.values - self.centre
        root = np.sqrt(np.maximum(offset**2 - self.half_width**2, 0.0))
        return (offset + np.sign(offset) * root) / 2

    @property
    def visible(self) -> np.ndarray:
        """Theta, counted from the centre; 0 for what cannot be told from the bulk."""
        return np.where(self.values > self.edge, self._signal, 0.0)

    @cached_property
    def debiased(self) -> np.ndarray:
        """The eigenvalues without what the noise added; positive, from large to small.

        Their sum is that of `values`, the trace, of which the noise has sd ``sqrt(d) noise_sd``: so
        eigenvalues in the bulk, which noise spreads to both sides of their mean, count for no more
        than that mean.
        """
        if not self.noise_sd:
            return np.maximum(self.values, 0.0)
        theta = np.maximum(self.centre + self._signal, self.noise_sd)
        hidden = self.values <= self.edge
        if not hidden.any():
            return theta
        seen = theta[~hidden]
        rest = float(self.values.sum() - seen.sum()) / int(np.count_nonzero(hidden))
        mean = max(rest, self.noise_sd / math.sqrt(len(self.values)))
        scaled = theta[hidden] * (mean / theta[hidden].mean())
        theta[hidden] = np.minimum(scaled, seen.min(initial=np.inf))
        return theta

    @property
    def pooled(self) -> np.ndarray:
        """`debiased`, with what cannot be told from the bulk at its mean."""
        hidden = self.values <= self.edge
        debiased = self.debiased
        return np.where(hidden, debiased[hidden].mean() if hidden.any() else 0.0, debiased)

    @property
    def alignments(self) -> np.ndarray:
        """Expected squared cosine between each eigenvector and the noise-free one."""
        if not self.noise_sd:
            return np.ones_like(self.values)
        above = self.values > self.edge
        ratio = self.half_width / 2 / np.where(above, self._signal, np.inf)
        return np.where(above, 1 - ratio**2, 0.0)


def correlation(
    scatter: np.ndarray,
    noise_sd: float,
    total: float | None,
    which: np.ndarray,
    clipped: float = 1.0,
) -> tuple[np.ndarray, float, np.ndarray]:
    """A noisy scatter matrix over the standard deviations of its own diagonal.

    Parameters
    ----------
    scatter : ndarray of shape (d, d)
    noise_sd : float
        Standard deviation of the noise on its diagonal, which counts for no less.
    total : float or None
        What the diagonal is to be: the number of rows. None: its own mean.
    which : ndarray of bool of shape (d,)
        The features that are divided, one or more; the others keep their units.
    clipped : float
        What squares are over those that clipping left, which the matrix shows; the divisors are
        those of the former.

    Returns
    -------
    matrix : ndarray of shape (d, d)
    noise_sd : float
        The root mean square of the entries' noise, as if it were the same for all.
    scale : ndarray of shape (d,)
        What the features were divided by.
    """
    diagonal = np.diag(scatter)[which]
    hidden = CORRELATION.hidden_of_mean * float(np.mean(diagonal))
    hidden = min(hidden, math.sqrt(len(diagonal)) * noise_sd)
    least = max(CORRELATION.least_of_median * float(np.median(diagonal)), noise_sd, hidden)
    squares = np.maximum(diagonal, least)
    squares = squares / (float(squares.mean()) if total is None else total)
    square, factor = np.ones(len(which)), np.where(which, clipped, 1.0)
    square[which] = squares
    scale = np.sqrt(square)
    matrix, products = scatter / np.outer(scale, scale), np.outer(factor, factor)
    matrix /= np.sqrt(products, out=products)
    divided = noise_sd * float(np.mean(which / square)) / clipped
    return matrix, divided + noise_sd * float(np.mean(~which)), scale * np.sqrt(factor)


def elliptical_variances(sign_values: np.ndarray, iterations: int = 200) -> np.ndarray:
    """Variances, summing to 1, of an elliptical law whose sign covariance has these eigenvalues.

    The sign covariance of an elliptical law has the eigenvectors of the covariance, and the
    eigenvalues ``phi_l = E[v_l z_l^2 / sum_j v_j z_j^2]``, z standard normal; they are flatter
    than the variances v. The fixed point ``v <- v phi~ / phi(v)`` inverts that.

    Parameters
    ----------
    sign_values : ndarray of shape (d,)
        Positive.
    """
    target = sign_values / sign_values.sum()
    log_t, step = np.linspace(-35.0, 35.0, 281, retstep=True)
    t = len(target) * np.exp(log_t)
    variances = target.copy()
    for _ in range(iterations):
        terms = 2 * variances[:, None] * t
        # int v (1 + 2 v t)^-1 prod_j (1 + 2 v_j t)^(-1/2) dt, dt = t d(log t)
        common = np.exp(-0.5 * np.log1p(terms).sum(axis=0)) * t * step
        phi = variances * ((1 / (1 + terms)) @ common)
        new = variances * target / phi
        new /= new.sum()
        if np.allclose(new, variances, rtol=1e-9, atol=0.0):
            return new
        variances = new
    return variances


@dataclass(frozen=True)
class LengthConstants:
    """Weights of a model in which lengths of rows follow their directions."""

    # The spread of lengths goes with directions wholly for normal rows. Where others spread as much
    # or more, this power of that is taken: shares of digits, questionnaires and power laws are then
    # within .8 to 1.25 of the exact ones.
    most: float = 0.8
    # Power that is taken where the spread was not seen; round.
    unseen: float = 0.5
    # Normal rows, the same for everybody, that the spread of their lengths is measured on.
    draws: int = 2048


LENGTHS = LengthConstants()


def shares_behind(sign_values: np.ndarray, spread: float = 0.0) -> np.ndarray:
    """Shares of the variance, from large to small, of rows whose directions have these values.

    Long rows lie along the first components, so directions alone show too little of these: under a
    normal law as much as `elliptical_variances` says. Of rows that are all as long nothing is
    missing. In between both are averaged by their logarithms, weighted by the variance of the
    lengths' logarithms over that under a normal law.

    Parameters
    ----------
    sign_values : ndarray of shape (d,)
        Positive.
    spread : float, optional
        Standard deviation of the logarithms of the lengths; 0 if it was not seen.
    """
    normal = elliptical_variances(sign_values)
    weight = LENGTHS.unseen
    if spread:
        rows = np.random.default_rng(0).standard_normal((LENGTHS.draws, len(normal)))
        expected = float(np.var(np.log(np.square(rows, out=rows) @ normal))) / 4
        weight = LENGTHS.most * min(spread**2 / expected, 1.0)
    shares = sign_values ** (1 - weight) * normal**weight
    return np.sort(shares / shares.sum())[::-1]


def minka_rank(variances: np.ndarray, n: int, most: int) -> int:
    """The rank of highest evidence, at most `most` (Minka, NIPS 2000).

    The formula knows the sampling error of variances but not our noise, so it may only choose
    among what stands above the noise; it tells each variance from the next, so equal ones end it.
    """
    ties = np.flatnonzero(np.diff(variances) > -1e-9 * variances[1:])
    most = min(most, int(ties[0]) if len(ties) else len(variances) - 1)
    return max(range(1, most + 1), key=lambda rank: assess_dimension(variances, rank, n), default=1)


def count_components(
    wanted: int | float | str | None, spectrum: NoisySpectrum, variances: np.ndarray, n_rows: float
) -> int:
    """Return the number of components: as many as are wanted, or as the spectrum supports.

    Parameters
    ----------
    wanted : int, float, "auto", "mle" or None
        An int: that number. A float: enough for that share of the variance. "auto": those above
        the noise. "mle": these or fewer, by Minka's likelihood. None: all, but without noise no
        more than there are rows.
    variances : ndarray of shape (d,)
        Behind the eigenvalues, from large to small.
    n_rows : float
        Public or released.
    """
    d = len(variances)
    if wanted is None:
        return d if spectrum.noise_sd else min(d, int(n_rows))
    if isinstance(wanted, Integral):
        return int(wanted)
    signal = max(1, int(np.count_nonzero(spectrum.values > spectrum.edge)))
    if wanted == "auto":
        return signal
    if wanted == "mle":
        return minka_rank(variances, max(2, round(n_rows)), signal)
    explained = np.cumsum(variances)
    enough = np.searchsorted(explained, wanted * explained[-1], side="right")
    return min(d, int(enough) + 1)
