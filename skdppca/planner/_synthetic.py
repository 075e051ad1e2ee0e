"""A planned fit made small: fewer synthetic rows and features under as much noise.

Everything that a method does under privacy depends on n and its budget by ``n mu`` alone: noise of
a sum over n, shares of records to clip, steps of a search. So m rows at ``mu n / m`` meet the noise
that n rows meet at mu. What depends on n by itself is sampling: the m rows get exactly the
covariance that n rows of the law would have, and what sampling is left is weighed by m / n
(`_predict`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ..privacy import epsilon_of, mu_of

__all__ = ["FEATURES", "MOST_COMPONENTS", "ROWS", "Problem", "exact_rows"]

# Relative spread that parts variances which tie.
PARTED = 1e-6

# The most rows and features that are simulated.
ROWS, FEATURES = 2000, 400

# Features beyond are lumped, all but so many times k of the first; then k may be so much.
KEPT, MOST_COMPONENTS = 2, 100


@dataclass(frozen=True)
class Problem:
    """What is to be simulated.

    Parameters
    ----------
    n_samples : float
        Of the plan; less by `spread` if features were lumped, so that there are as many a feature.
    variances : ndarray of shape (d,)
        From large to small.
    n_components : int
    n_mu : float
        Signal over noise: rows times mu.
    delta : float
    adjacency : str
    spread : float
        Features that each simulated one of the tail stands for.
    unit : float
        What the variances were multiplied by.
    """

    n_samples: float
    variances: np.ndarray
    n_components: int
    n_mu: float
    delta: float
    adjacency: str
    spread: float = 1.0
    unit: float = 1.0

    @classmethod
    def of(
        cls,
        n_samples: int,
        variances: np.ndarray,
        n_components: int,
        epsilon: float,
        delta: float,
        adjacency: str,
        exponent: float,
    ) -> Problem:
        """At most `FEATURES` features of a planned fit.

        Noise of sd tau in d directions turns a component like noise of ``tau sqrt(s)`` in d / s.
        The clipping radius grows with `exponent` of the total variance, which lumping makes
        smaller: variances are scaled so that the radius is what it was, for it is found on a
        grid, and the noise is set to what it was against them.
        """
        n_mu = n_samples * mu_of(epsilon, delta)
        told = (n_components, n_mu, delta, adjacency)
        d = len(variances)
        if d <= FEATURES:
            return cls(n_samples, variances, *told)
        kept = KEPT * n_components
        lumps = np.array_split(variances[kept:], FEATURES - kept)
        lumped = np.r_[variances[:kept], [lump.mean() for lump in lumps]]
        spread = (d - kept) / (FEATURES - kept)
        unit = (variances.sum() / lumped.sum()) ** exponent
        return cls(
            n_samples / spread,
            unit * lumped,
            n_components,
            n_mu / (unit * math.sqrt(spread)),
            delta,
            adjacency,
            spread,
            unit,
        )

    @property
    def n_rows(self) -> int:
        """Simulated rows."""
        return round(max(2, min(self.n_samples, ROWS)))

    @property
    def is_whole(self) -> bool:
        """Whether the rows are as many as planned."""
        return self.n_samples < ROWS + 0.5

    def budget(self, n_rows: int) -> dict[str, float | str]:
        """Parameters under which so many rows meet the planned noise."""
        mu = self.n_mu / n_rows
        delta = min(self.delta, mu / 100)  # a tiny mu would be within delta for nothing
        return {"epsilon": epsilon_of(mu, delta), "delta": delta, "adjacency": self.adjacency}

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Simulated rows of Gaussian law; if they are fewer, with the covariance of all."""
        if self.is_whole:
            shape = (self.n_rows, len(self.variances))
            return rng.standard_normal(shape) * np.sqrt(self.variances)
        variances = self._sample_variances(rng)
        return exact_rows(variances, self.n_rows, rng)

    def _sample_variances(self, rng: np.random.Generator) -> np.ndarray:
        """Eigenvalues of the covariance of n rows, by Bartlett's triangle."""
        d, degrees = len(self.variances), self.n_samples - 1
        triangle = np.tril(rng.standard_normal((d, d)), -1)
        triangle[np.diag_indices(d)] = np.sqrt(rng.chisquare(degrees - np.arange(d)))
        factor = np.sqrt(self.variances)[:, None] * triangle
        return linalg.svdvals(factor) ** 2 / degrees


def exact_rows(variances: np.ndarray, n_rows: int, rng: np.random.Generator) -> np.ndarray:
    """Rows about as Gaussian ones, of mean 0 and this diagonal covariance, to `PARTED`.

    Variances that tie are parted: no rows of a continuous law tie, and LAPACK may give up on it.
    """
    variances = variances * np.linspace(1 + PARTED, 1, len(variances))
    rows = rng.standard_normal((n_rows, len(variances)))
    basis = linalg.qr(rows - rows.mean(axis=0), mode="economic", check_finite=False)[0]
    return basis * np.sqrt((n_rows - 1) * variances)
