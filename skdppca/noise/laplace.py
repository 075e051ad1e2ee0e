"""One Laplace release of a sum, on a grid that betrays no low bits."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from .discrete import MAX_SD
from .gaussian import grid_steps, up
from .heavy_tails import LAPLACE, rounded_noise, saturated_sum
from .source import NoiseSource


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
        Of the exact sum of the records as they are clipped, in the l1 norm.
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
