"""One release of a sum with Gaussian or Laplace noise, on a grid that betrays no low bits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from ..linalg import symmetric_from_upper, upper_triangle
from .discrete import MAX_SD
from .heavy_tails import LAPLACE, rounded_noise, saturated_sum
from .source import NoiseSource

# Grid units that a sum may reach: half of what 64 bits hold is left to the noise.
MOST_STEPS = 2.0**61

# At least the root of 1/2.
HALF_ROOT = math.nextafter(math.sqrt(0.5), math.inf)


def up(result: float) -> float:
    """Return at least the exact result of the one operation on float64 that was rounded to this.

    Proof. IEEE 754 rounds the results of +, *, / and the square root to the nearest float64, so
    the exact one is below the next float64.
    """
    return math.nextafter(result, math.inf)


def grid_steps(total: np.ndarray, grid: float) -> np.ndarray:
    """``round(total / grid)``, as integers.

    A sum is finite and far below `MOST_STEPS`; were it not, the cast would wrap around.
    """
    with np.errstate(over="ignore"):
        steps = np.asarray(total / grid)
    np.clip(np.rint(steps, out=steps), -MOST_STEPS, MOST_STEPS, out=steps)
    steps[np.isnan(steps)] = 0.0
    return steps.astype(np.int64)


def widened(
    sensitivity: float, norm_error: float, rounding: float, grid: float, entries: int
) -> float:
    """Sensitivity of a sum as computed and rounded to a grid, a power of two; rounded up.

    Proof that it is at least ``sensitivity (1 + norm_error) + 2 rounding + grid sqrt(entries)`` as
    a real number: no term is negative, so each operation grows with its operands, and the result
    of each is rounded `up`. Products with powers of two are exact.
    """
    to_grid = grid * up(math.sqrt(entries))
    clipped = up(sensitivity * up(1 + norm_error))
    return up(up(clipped + 2 * rounding) + to_grid)


@dataclass(frozen=True)
class GaussianQuery:
    """A sum over records and the Gaussian noise that makes it `mu`-GDP.

    Parameters
    ----------
    name : str
        What is released.
    mu : float
        The cost: ``noise_sd = widened_sensitivity / mu``. Infinite: no noise, no privacy.
    sensitivity : float
        Sensitivity of the exact sum, in Frobenius norm.
    size : int
        Entries of the vector, or rows of the symmetric matrix.
    symmetric : bool
        The sum is a symmetric matrix: noise of sd ``noise_sd`` on the diagonal and
        ``noise_sd / sqrt(2)`` off it, the Gaussian mechanism in the Frobenius isometry.
    norm_error : float
        Relative error of the norms by which records were clipped.
    rounding : float
        Bound on the rounding error of the floating-point sum (0 for exact integers).
    part : str
        Which of several disjoint parts of the records was asked; empty for all of them.
    """

    name: str
    mu: float
    sensitivity: float
    size: int = 1
    symmetric: bool = False
    norm_error: float = 0.0
    rounding: float = 0.0
    part: str = ""

    @cached_property
    def grid(self) -> float:
        """Spacing of the released values, a power of two; 1 for counts, unless noise is huge.

        The noise is at most about 2^32 grid units, but for what rounding to the grid adds.
        """
        reach = self.sensitivity + 2 * self.rounding
        finest = max(2.0**-30 * self.sensitivity, 2.0**-32 * reach / self.mu)
        grid = 2.0 ** math.ceil(math.log2(finest))
        return grid if self.rounding else max(1.0, grid)

    @cached_property
    def widened_sensitivity(self) -> float:
        """Sensitivity of the sum as computed and rounded to the grid; rounded up.

        See `widened` for the proof.
        """
        if math.isinf(self.mu) or (not self.rounding and self.grid == 1.0):
            return self.sensitivity
        entries = self.size**2 if self.symmetric else self.size
        return widened(self.sensitivity, self.norm_error, self.rounding, self.grid, entries)

    @cached_property
    def noise_sd(self) -> float:
        """Standard deviation of the noise: at least ``widened_sensitivity / mu``, see `up`."""
        return 0.0 if math.isinf(self.mu) else up(self.widened_sensitivity / self.mu)

    def release(self, total: np.ndarray | float, noise: NoiseSource) -> np.ndarray:
        """``round(total / grid) + round(N(0, (noise_sd / grid)^2))``, in units of the sum.

        A symmetric `total` is read from its upper triangle only.
        """
        total = np.asarray(total, dtype=np.float64)
        if not self.symmetric:
            return total if math.isinf(self.mu) else self._noisy(total, self.noise_sd, noise)
        upper = upper_triangle(self.size)
        values: np.ndarray = total[upper]
        if not math.isinf(self.mu):
            off_diagonal = up(self.noise_sd * HALF_ROOT)
            diagonal = np.eye(self.size, dtype=bool)[upper]
            values = self._noisy(values, np.where(diagonal, self.noise_sd, off_diagonal), noise)
        return symmetric_from_upper(values, self.size)

    def _noisy(self, total: np.ndarray, sd: float | np.ndarray, noise: NoiseSource) -> np.ndarray:
        steps = grid_steps(total, self.grid)
        # the grid is a power of two, so the quotient is exact: the noise has the sd declared
        return self.grid * (steps + noise.rounded_gaussian(sd / self.grid, total.shape))


@dataclass(frozen=True)
class LaplaceQuery:
    """A sum over records and the Laplace noise that makes it `epsilon`-DP.

    Parameters
    ----------
    name : str
        What is released.
    epsilon : float
        The cost: the noise has the scale ``widened_sensitivity / epsilon``.
    sensitivity : float
        Sensitivity of the exact sum of the records as they are clipped, in the l1 norm.
    size : int
        Entries of the vector.
    rounding : float
        Bound on the rounding error of the sum in the l1 norm; 0 for exact integers.
    part : str
        Which of several disjoint parts of the records was asked; empty for all of them.
    """

    name: str
    epsilon: float
    sensitivity: float
    size: int = 1
    rounding: float = 0.0
    part: str = ""

    @property
    def mu(self) -> float:
        """The Gaussian-DP parameter that epsilon-DP implies."""
        return mu_of_pure(self.epsilon)

    @property
    def grid(self) -> float:
        """Spacing of the released values, a power of two; 1 for counts, unless noise is huge."""
        finest = max(2.0**-30 * self.sensitivity, self.sensitivity / self.epsilon / MAX_SD)
        grid = 2.0 ** math.ceil(math.log2(finest))
        return grid if self.rounding else max(1.0, grid)

    @property
    def widened_sensitivity(self) -> float:
        """Sensitivity of the sum as computed and rounded to the grid; rounded up."""
        if not self.rounding and self.grid == 1.0:
            return self.sensitivity
        return up(up(self.sensitivity + 2 * self.rounding) + self.grid * self.size)

    @property
    def scale(self) -> float:
        """Scale of the noise: at least ``widened_sensitivity / epsilon``."""
        return up(self.widened_sensitivity / self.epsilon)

    @property
    def noise_sd(self) -> float:
        """Standard deviation of the noise."""
        return math.sqrt(2) * self.scale

    def release(self, total: np.ndarray | float, noise: NoiseSource) -> np.ndarray:
        """``round(total / grid) + round(Laplace(scale / grid))``, in units of the sum."""
        total = np.asarray(total, dtype=np.float64)
        draws = rounded_noise(LAPLACE, self.scale / self.grid, self.size, noise)
        return self.grid * saturated_sum(grid_steps(total, self.grid), draws.reshape(total.shape))


def mu_of_pure(epsilon: float) -> float:
    """``-2 Phi^-1(1 / (1 + e^epsilon))``: the trade-off of epsilon-DP lies above that of mu-GDP."""
    return -2 * float(ndtri(1 / (1 + math.exp(min(epsilon, 700.0)))))
