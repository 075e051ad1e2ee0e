"""The private score of components: how much of the clipped records they capture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..mechanisms.base import Public, Spender
from ..mechanisms.centre import clip_weights, rough_centre
from ..mechanisms.clipping import NOISE_WEIGHT
from ..mechanisms.gaussian import GaussianQuery, summation_error
from ..mechanisms.radius import excess_records, noisy_count, private_radius
from ..mechanisms.sensitivity import bounded_sum
from ..noise import NoiseSource
from ..records import Records

__all__ = ["Scorer", "prepare_scorer"]

# Of what is asked before the first score: the number of records. A centre takes what it takes of
# a fit (up to a third), and the radius gets all the rest.
COUNT_SHARE = 0.1

# Rows that are summed one by one in a sum of numbers (numpy adds in pairs beyond).
SPAN = 256


@dataclass(frozen=True)
class Scorer:
    """Scores components on the same records, with fresh noise every time.

    Parameters
    ----------
    records : Records
    weights : ndarray
        What clips every record, private.
    centre : ndarray of shape (d,) or None
    radius : float
    n : float
        The (noisy) number of records.
    mu : float
        The cost of one score.
    public : Public
    noise : NoiseSource
    """

    records: Records
    weights: np.ndarray
    centre: np.ndarray | None
    radius: float
    n: float
    mu: float
    public: Public
    noise: NoiseSource

    def __call__(self, components: np.ndarray) -> float:
        """``(sum_u w_u^2 ||Y_u V^T||^2 + noise) / n``, rows of V orthonormal, Frobenius norms.

        Y_u holds the rows of record u less the centre, ``w_u = min(1, radius / ||Y_u||)``.

        Sensitivity. A projection shortens every row, so a term lies between 0 and
        ``w_u^2 ||Y_u||^2 <= radius^2`` (`bounded_sum`), however many components there are. It is a
        bitwise function of its record, and cut at that bound against rounding.
        """
        axes = np.linalg.qr(np.asarray(components, np.float64).T)[0].T
        projected = self.records.scores(np.ascontiguousarray(axes), self.centre)
        norms = projected.map(lambda block: block.spreads(None))
        with np.errstate(all="ignore"):  # a record at infinity has weight 0
            terms = np.nan_to_num((self.weights * norms) ** 2, nan=0.0)
        total = np.minimum(terms, self.radius**2).sum()
        return float(self.query.release(total, self.noise)) / self.n

    @property
    def query(self) -> GaussianQuery:
        """What a score asks for, and its noise."""
        bound = self.radius**2
        return GaussianQuery(
            "score",
            self.mu,
            bounded_sum(bound, self.public.adjacency),
            rounding=summation_error(bound, SPAN, 1),
        )


def prepare_scorer(
    records: Records,
    centre: np.ndarray | None,
    norm_bound: float | None,
    spender: Spender,
    mu_score: float,
    public: Public,
    noise: NoiseSource,
) -> Scorer:
    """Find what all scores share, with what `spender` has.

    Parameters
    ----------
    centre : ndarray of shape (d,) or None
        Public; None finds a private one.
    norm_bound : float or None
        Public bound on ``||Y_u||``; it saves the search.
    """
    n = noisy_count(records.private_n, spender, spender.share(COUNT_SHARE), public, noise)
    if centre is None:
        centre, _ = rough_centre(records, n, norm_bound, spender, public, noise)
    around = centre if centre.any() else None
    norms = records.map(lambda block: block.spreads(around))
    radius = norm_bound
    if radius is None:
        mu_radius = spender.left
        excess = excess_records(n, 1, mu_score, mu_radius, NOISE_WEIGHT)
        name = "clipping norm of the scores"
        radius = private_radius(norms, min(excess, n / 2), name, spender, mu_radius, public, noise)
    weights = clip_weights(norms, radius)
    return Scorer(records, weights, around, radius, n, mu_score, public, noise)
