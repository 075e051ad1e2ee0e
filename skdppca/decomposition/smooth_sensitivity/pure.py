"""The span with noise that follows its smooth sensitivity, which stays private."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ...noise import MAX_SD, NoiseSource
from ...noise.gaussian import grid_steps
from ...noise.heavy_tails import (
    CAUCHY,
    chi,
    chi_error,
    rounded_noise,
    rounded_student,
    saturated_sum,
)
from ...noise.laplace import mu_of_pure
from .eigensolver import Spectrum
from .gap import ROTATION_LOSS, SPAN, SpanSensitivity, as_directions, rotated

# Relative error of the noise's scale, for which every entry pays.
SCALE_ERROR = 2.0**-46

# Released values are multiples of this, or of 2^-33 of the largest scale.
FINEST = 2.0**-40


@dataclass(frozen=True)
class SmoothQuery:
    r"""A span with noise that follows its smooth sensitivity S, which stays private.

    Parameters
    ----------
    law : {"gaussian", "student", "cauchy"}
    epsilon : float
    delta : float
        0 but for "gaussian".
    size : int
        m, the number of entries.
    sensitivity : SpanSensitivity
    name, part : str

    Notes
    -----
    Noise ``scale S Z`` on every entry, S = ``sensitivity.smooth(gap, beta)``:

    - "gaussian" (epsilon < 1): with ``L = log(2 / delta)``, ``beta = epsilon / (4 (m + L))`` and
      ``scale = 5 sqrt(2 L) / epsilon``, as in Nissim, Raskhodnikova & Smith (2007), Lemma 2.7, but
      not by their Lemma 2.6: first a shift, then a change of scale, each at delta / 2, cost
      ``delta (1 + exp(epsilon / 2)) / 2``. *Proof in one step.* Neighbours' spans are D apart,
      ``||D|| <= min(S, S')``, and ``b = log(S' / S)`` is between -beta and beta. In units of
      ``scale S`` it is N(0, I) against ``N(D, exp(2 b) I)``, whose log ratio at z is ``m b - (1 -
      exp(-2 b)) ||z||^2 / 2 + exp(-2 b) (||D||^2 / 2 - <z, D>)``. Let ``r = sqrt(m L)``. Under the
      first, but with probability ``exp(-L) / 2 + exp(-L) < delta``, ``-<z, D> <= sqrt(2 L) ||D||``,
      and ``||z||^2`` is below ``m + 2 r + 2 L`` (b < 0) or above ``m - 2 r`` (b > 0; Laurent &
      Massart 2000, Lemma 1). As ``exp(-b) ||D|| <= 1 / scale``, the last term is then at most
      ``exp(beta) epsilon / 5 + epsilon^2 / (100 L)``. The others are at most ``2 beta (r + L) +
      1.11 beta^2 (m + 2 r + 2 L)`` for either sign, as ``beta < .148`` (m is at least 1, L above
      log 2). With ``r + L <= 1.208 (m + L)`` and ``m + 2 r + 2 L <= 2.619 (m + L)`` all is less
      than ``(.232 + .015 + .604 + .108) epsilon``: the log ratio exceeds epsilon with a probability
      below delta.
    - "student": Z of density proportional to ``(1 + ||z||^2)^-q``, ``q = (m + v) / 2``, that is
      Gaussians over the root of a chi-square of v degrees of freedom; v is m, or m + 1 if that is
      odd. The log density has a gradient ``2 q ||z|| / (1 + ||z||^2) <= q``, so a shift by S
      costs ``q / scale``; its derivative by the log of the scale is between -m and v, so a change
      of S by exp(beta) costs ``v beta``. Both add up to epsilon.
    - "cauchy" (the paper's): independent entries. A shift costs 1 / scale times its l1 norm, at
      most ``sqrt(m) S``; a change of the scale ``m beta``.

    *Floating point.* The span is rounded to a public grid, which `sensitivity.rounding` pays for,
    and the noise is the rounding of an exact draw, so the release is that of the real mechanism,
    rounded. What is inexact is the scale, by a relative error h (of S, and of the chi draw).
    That changes densities by a factor of at most ``exp((m + 2 q) h)``, wherever one looks; of
    Student's law because ``int r^m exp(-r^2 ||z||^2 (1 + h)^2 / 2) dP(r)`` is the density at
    ``(1 + h) z`` up to a constant. Both data sets pay: `_loss`. For "gaussian" the change of scale
    is taken off beta.
    """

    law: str
    epsilon: float
    delta: float
    size: int
    k: int
    sensitivity: SpanSensitivity
    name: str = "span"
    part: str = ""

    @property
    def mu(self) -> float:
        """The Gaussian-DP parameter that epsilon-DP implies; infinite if delta is not 0."""
        return math.inf if self.delta else mu_of_pure(self.epsilon)

    @property
    def widened_sensitivity(self) -> float:
        """The largest there is: that of the data is private."""
        return self.sensitivity.cap

    noise_sd = math.inf  # private

    @property
    def dof(self) -> int:
        """v, the degrees of freedom of the divisor."""
        return self.size + self.size % 2

    @property
    def _loss(self) -> float:
        h = SCALE_ERROR + (chi_error(self.dof) if self.law == "student" else 0.0)
        rotation = ROTATION_LOSS * self.k**1.5 if self.k > 1 else 0.0
        return 6 * (self.size + 1) * h + rotation

    @property
    def noise(self) -> tuple[float, float]:
        """The smoothness beta, and the noise's scale over the sensitivity.

        Raises
        ------
        ValueError
            If epsilon is so small that nothing is left of it.
        """
        epsilon = self.epsilon * (1 - 2.0**-40) - self._loss
        if epsilon > self.epsilon / 2:
            beta, scale = self._calibrated(epsilon)
            if beta > 4 * SCALE_ERROR and scale * math.sqrt(self.size) <= MAX_SD / 4:
                return beta, scale
        raise ValueError(
            f"epsilon={self.epsilon} is less than what floating point costs with "
            f"{self.size} entries; raise epsilon, or ask for fewer components"
        )

    def _calibrated(self, epsilon: float) -> tuple[float, float]:
        if self.law == "gaussian":
            log = math.log(2 / self.delta) + self._loss  # of delta as well
            beta = epsilon / (4 * (self.size + log)) - 4 * SCALE_ERROR
            return beta, 5 * math.sqrt(2 * log) / epsilon
        shift = (1 - SPAN.smoothness) * epsilon
        if self.law == "student":
            return SPAN.smoothness * epsilon / self.dof, (self.size + self.dof) / 2 / shift
        return SPAN.smoothness * epsilon / self.size, math.sqrt(self.size) / shift

    def release(self, spectrum: Spectrum, noise: NoiseSource) -> np.ndarray:
        """Orthonormal rows of shape (k, d), in no order."""
        beta, scale = self.noise
        # With `noise`'s check: no scale passes MAX_SD, whatever the gap is.
        most = self.sensitivity.cap + self.sensitivity.rounding
        finest = max(FINEST, scale * most / MAX_SD)
        grid = 2.0 ** math.ceil(math.log2(finest) + 1)
        rounding = self.sensitivity.rounding + grid * math.sqrt(self.size)
        private = replace(self.sensitivity, rounding=rounding).smooth(spectrum.gap, beta)
        steps = grid_steps(rotated(spectrum.directions, noise).ravel(), grid)
        draws = self._draws(scale * private / grid, noise)
        rows = grid * saturated_sum(steps, draws).astype(np.float64)
        return as_directions(rows.reshape(spectrum.directions.shape))

    def _draws(self, scale: float, noise: NoiseSource) -> np.ndarray:
        if self.law == "gaussian":
            return noise.rounded_gaussian(scale, self.size)
        if self.law == "student":
            return rounded_student(chi(self.dof, noise), scale, self.size, noise)
        return rounded_noise(CAUCHY, scale, self.size, noise)
