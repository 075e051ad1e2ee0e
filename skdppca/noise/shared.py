"""One Gaussian release of a sum whose noise several parties add, each a share."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..linalg import symmetric_from_upper, upper_triangle
from .discrete import MAX_SD
from .gaussian import HALF_ROOT, MOST_STEPS, grid_steps, up, widened
from .source import NoiseSource

# r of the proof, in grid units: the least sd of every party's noise in every entry.
LEAST_SD = 4.0

# Grid exponents for which all numbers below stay far from the ends of float64.
LEAST_GRID_LOG2 = -400
MOST_GRID_LOG2 = 400

# Standard deviations that no draw exceeds: the probability is below exp(-2000).
FAR = 64


@dataclass(frozen=True)
class SharedQuery:
    """A sum over the records of several sites, and the noise that each of them adds.

    Every site rounds its own sum to the grid and adds discrete Gaussian noise. Only the sum of all
    is seen. Of it the noise of `honest` sites counts: the others may know theirs and subtract it.

    The fields decide both what noise is drawn and what is charged. Whoever asks makes a query of a
    price (`at`), and a site makes the same query of the fields it was sent, and finds the price.

    Parameters
    ----------
    name : str
        What is released.
    sensitivity : float
        Sensitivity of the exact sum, in Frobenius norm: how far one record, which is at one site,
        can move it.
    n_sites : int
        m.
    honest : int
        h, from 1 to m.
    grid_log2 : int
        The grid is ``2**grid_log2``.
    site_sd : float
        s: the scale of each site's noise in grid units; of the diagonal, if symmetric. At least 4,
        and ``4 sqrt(2)`` if symmetric.
    size : int
        Entries of the vector, or rows of the symmetric matrix.
    symmetric : bool
        The noise off the diagonal has the scale ``s / sqrt(2)``.
    norm_error, rounding : float
        See `GaussianQuery`. 0 for `rounding` means that the sum is one of integers.
    part : str
        Which of several disjoint parts of the records was asked; empty for all of them.

    Notes
    -----
    **Price.** ``mu = Delta / sqrt(h s^2 - 16)``, Delta the widened sensitivity in grid units.

    *Proof*, for an integer vector f (all sites' rounded sums together) without symmetry. Write
    ``S^2 = h s^2``, ``phi_S`` for the density of N(0, S^2) and ``N_Z(S)`` for the discrete Gaussian
    ``P(k) ~ exp(-k^2 / 2 S^2)``. Each step is for one entry; entries are independent.

    1. *The honest sites' noise is nearly one discrete Gaussian.* The sum of discrete Gaussians of
       variance parameters ``j s^2`` and ``s^2`` has at k the probability of one of ``(j + 1) s^2``,
       times a sum over a shifted lattice of a Gaussian of variance ``s^2 j / (j + 1)``. By Poisson
       summation that sum is constant in k up to ``2 sum_i exp(-2 pi^2 s^2 i^2 j / (j + 1))``. So
       the sum of h has every probability of N_Z(S) up to a factor ``exp(+-tau)``, with
       ``tau = 10 sum_{j=1}^{h-1} exp(-2 pi^2 s^2 j / (j + 1))`` (Kairouz, Liu and Steinke 2021).
    2. *One discrete Gaussian is nearly a post-processed Gaussian mechanism.* Draw x from
       ``N(f, S^2 - r^2)``, r = 4. Then draw an integer k with probability
       ``phi_r(k - x) / W(x)``, ``W(x) = sum_j phi_r(j - x)``: that looks at x alone. By Poisson
       summation W is 1 up to ``eta = 2.01 exp(-2 pi^2 r^2)``, whatever x is. So k comes out with
       probability ``int phi(x - f) phi_r(k - x) / W(x) dx``, which is ``phi_S(k - f)`` up to a
       factor ``1 / (1 +- eta)``. So is N_Z(S), for ``S >= r``.
    3. Neighbours' f lie at most Delta apart: a record moves one site's exact sum by the
       sensitivity, floating point by twice its error, and rounding to integers moves each entry by
       at most 1 more, ``sqrt(entries)`` together. So the mechanism of step 2 before its
       post-processing is ``Delta / sqrt(S^2 - r^2)``-GDP.
    4. What was left out changes every probability by a factor within ``exp(+-n (tau + 4 eta))``, n
       the number of entries. With ``s >= 4``, ``h <= 50`` and ``n <= 2^26`` that is below 1e-58 in
       epsilon, thousands of queries together below 1e-54. The price is rounded up in its 16th
       digit, which covers it. What the other sites add, the masks, and the wrap-around at 2^64 are
       post-processing.

    A symmetric matrix: in the isometry that multiplies entries off the diagonal by sqrt 2, their
    noise has the scale s as well. There step 1 holds for ``s / sqrt(2) >= 4``, and step 2 with the
    kernel's width ``r / sqrt(2)`` in grid units, and ``eta = 2.01 exp(-pi^2 r^2)``. Rounding
    moves both triangles: ``sqrt(entries) = d``. More noise than ``s / sqrt(2)``, to which it is
    rounded up, is post-processing.

    ``Delta / S`` is *not* a valid price: at small S the discrete mechanism has a delta that is
    larger by up to 6 %. A test computes both by exact sums.

    References
    ----------
    C. Canonne, G. Kamath, T. Steinke. The discrete Gaussian for differential privacy. NeurIPS 2020.

    P. Kairouz, Z. Liu, T. Steinke. The distributed discrete Gaussian mechanism for federated
    learning with secure aggregation. ICML 2021.

    Examples
    --------
    >>> from skdppca.noise import SharedQuery
    >>> query = SharedQuery.at(0.1, "count", 1.0, n_sites=3, honest=2, max_rows=2**20)
    >>> query.mu <= 0.1, round(query.noise_sd, 2)  # 10 sqrt(3 / 2)
    (True, 12.25)
    """

    name: str
    sensitivity: float
    n_sites: int
    honest: int
    grid_log2: int
    site_sd: float
    size: int = 1
    symmetric: bool = False
    norm_error: float = 0.0
    rounding: float = 0.0
    part: str = ""

    def __post_init__(self) -> None:
        if not 1 <= self.honest <= self.n_sites:
            raise ValueError(f"honest={self.honest} must lie between 1 and the number of sites")
        if not LEAST_GRID_LOG2 <= self.grid_log2 <= MOST_GRID_LOG2:
            raise ValueError(
                f"grid_log2={self.grid_log2} is out of range; choose units in which the sum is "
                "neither tiny nor huge"
            )
        least = self.off_diagonal_sd if self.symmetric else self.site_sd
        if not (least >= LEAST_SD and self.site_sd <= MAX_SD):
            raise ValueError(
                f"site_sd={self.site_sd} is out of range: every site adds noise of at least "
                f"{LEAST_SD:g} grid units to every entry, and of at most 2**33; choose another grid"
            )

    @classmethod
    def at(
        cls,
        mu: float,
        name: str,
        sensitivity: float,
        *,
        n_sites: int,
        honest: int,
        max_rows: int,
        size: int = 1,
        symmetric: bool = False,
        norm_error: float = 0.0,
        rounding: float = 0.0,
        part: str = "",
    ) -> SharedQuery:
        """The query that costs at most `mu`, with the finest grid on which it fits into 64 bits.

        Parameters
        ----------
        mu : float
            Positive and finite.
        max_rows : int
            No site has more records.
        """
        reach = sensitivity + 2 * rounding
        # as far as they go, the grids of `GaussianQuery`: what rounding adds is then far below 1 %
        finest = max(
            2.0**-30 * sensitivity,
            2.0**-31 * reach / mu,
            n_sites * max_rows * (sensitivity * (1 + norm_error) + rounding) / MOST_STEPS,
        )
        query = cls(
            name=name,
            sensitivity=sensitivity,
            n_sites=n_sites,
            honest=honest,
            grid_log2=math.ceil(math.log2(finest)),
            site_sd=MAX_SD,  # another one at once
            size=size,
            symmetric=symmetric,
            norm_error=norm_error,
            rounding=rounding,
            part=part,
        )
        steps = query.widened_sensitivity * 2.0**-query.grid_log2
        sd = math.sqrt(((steps / mu) ** 2 + LEAST_SD**2) / honest)
        sd = max(sd, LEAST_SD * (1.5 if symmetric else 1.0))
        while (priced := replace(query, site_sd=sd)).mu > mu:
            sd *= 1 + 2.0**-48  # twice or so: the price is rounded up
        return priced

    @property
    def grid(self) -> float:
        """Spacing of the released values."""
        return 2.0**self.grid_log2

    @property
    def entries(self) -> int:
        """Entries of the vector or of the whole matrix."""
        return self.size**2 if self.symmetric else self.size

    @property
    def drawn(self) -> int:
        """Entries that are sent: those of one triangle of a symmetric matrix."""
        return self.size * (self.size + 1) // 2 if self.symmetric else self.size

    @cached_property
    def widened_sensitivity(self) -> float:
        """Sensitivity of the sum as computed and rounded to the grid; rounded up."""
        if not self.rounding and self.grid <= 1.0:  # integers lie on the grid
            return self.sensitivity
        return widened(self.sensitivity, self.norm_error, self.rounding, self.grid, self.entries)

    @property
    def off_diagonal_sd(self) -> float:
        """Sd of each site's noise off the diagonal, in grid units; rounded up."""
        return up(self.site_sd * HALF_ROOT)

    @cached_property
    def mu(self) -> float:
        """Cost as mu: ``Delta / sqrt(h s^2 - 16)``, rounded up in every operation."""
        square = _down(_down(self.honest * _down(self.site_sd**2)) - LEAST_SD**2)
        if square <= 0:
            return math.inf
        root = _down(math.sqrt(square))
        return up(up(self.widened_sensitivity * 2.0**-self.grid_log2 / root))

    @cached_property
    def noise_sd(self) -> float:
        """Standard deviation of the noise in the sum of all sites, in its units."""
        return self.grid * up(math.sqrt(self.n_sites) * self.site_sd)

    def fits(self, max_rows: int) -> bool:
        """Return whether the sum stays within 64 bits, if no site has more records.

        Proof. What one record adds is no longer than the sensitivity, and so is no entry of it.
        """
        one = self.sensitivity * (1 + self.norm_error) + self.rounding
        site = max_rows * one * 2.0**-self.grid_log2 + FAR * self.site_sd
        return site <= MOST_STEPS and self.n_sites * site <= 2 * MOST_STEPS

    def is_plausible(self, opened: np.ndarray, max_rows: int) -> bool:
        """Return whether all sites together can make the opened sum, if each keeps its word.

        Proof. No site has more than `max_rows` records, and what one record adds is no longer than
        the sensitivity, nor is any entry of it (`fits`). Rounding adds half a step at each site.
        The noise of all sites together has the standard deviation ``sqrt(m) site_sd``, and is
        beyond 64 of them with a probability below exp(-2000).
        """
        one = self.sensitivity * (1 + self.norm_error) + self.rounding
        steps = self.n_sites * (max_rows * one * 2.0**-self.grid_log2 + 1)
        most = steps + FAR * math.sqrt(self.n_sites) * self.site_sd
        return bool(np.max(np.abs(opened.astype(np.float64)), initial=0.0) <= most)

    def rounded(self, total: np.ndarray) -> np.ndarray:
        """One site's part without noise: ``round(total / grid)``, as integers.

        A symmetric `total` is read from its upper triangle only.
        """
        total = np.asarray(total, dtype=np.float64)
        total = total[upper_triangle(self.size)] if self.symmetric else total.ravel()
        return grid_steps(total, self.grid)

    def share(self, total: np.ndarray, noise: NoiseSource) -> np.ndarray:
        """One site's part: its rounded total plus its noise, as integers to be summed."""
        sd: np.ndarray | float = self.site_sd
        if self.symmetric:
            diagonal = np.eye(self.size, dtype=bool)[upper_triangle(self.size)]
            sd = np.where(diagonal, self.site_sd, self.off_diagonal_sd)
        return self.rounded(total) + noise.discrete_gaussian(sd, (self.drawn,))

    def value(self, opened: np.ndarray) -> np.ndarray:
        """The sum of all sites' parts, in units of the sum."""
        total = self.grid * opened.astype(np.float64)
        return symmetric_from_upper(total, self.size) if self.symmetric else total


def _down(result: float) -> float:
    """At most the exact result of the one operation that was rounded to this; see `up`."""
    return math.nextafter(result, -math.inf)
