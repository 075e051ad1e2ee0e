"""Private mean squares of all features at once (METHODS 4)."""

from __future__ import annotations

import math

import numpy as np

from ..noise import NoiseSource
from ..records import Records, SquaredDeviations
from .base import Public, Spender
from .centre import clip_weights, norm_error
from .gaussian import summation_error
from .sensitivity import psd_sum

__all__ = ["SMALLEST", "root_mean_squares"]

# Share of mu^2.
SQUARE_SHARE = 0.05

# The norm to which a record's squares are clipped, over sqrt(d): as large as the noise of a mean
# square stays at BORNE, where about 1 is expected, but within these two. Rows of normal values have
# sqrt(3). Where even LEAST makes more noise than HIDDEN, nothing is asked.
BORNE, HIDDEN = 0.1, 0.25
LEAST, MOST = 3.0, 16.0

# Half of the values are beyond .67 units: a root that is seen to be less is noise.
SMALLEST = 0.5


def root_mean_squares(
    records: Records,
    centre: np.ndarray,
    unit: np.ndarray,
    n: float,
    spender: Spender,
    public: Public,
    noise: NoiseSource,
) -> np.ndarray:
    """Of every feature's deviations from `centre`, in units of `unit`; 1 if noise would hide them.

    A record's (mean) row of squares has no negative entry. So it is the diagonal of a positive
    semi-definite matrix of that norm, and `psd_sum` bounds the sum's sensitivity.

    Parameters
    ----------
    centre, unit : ndarray of shape (d,)
        Public or released; `unit` a rough scale.
    n : float
        The (noisy) number of records.

    Returns
    -------
    ndarray of shape (d,)
        At least SMALLEST.
    """
    d = records.n_features
    mu = spender.share(SQUARE_SHARE)
    reach = n * mu / (math.sqrt(d) * psd_sum(1.0, public.adjacency))
    if HIDDEN * reach < LEAST:
        return np.ones(d)
    bound = min(max(BORNE * reach, LEAST), MOST) * math.sqrt(d)
    squares = SquaredDeviations(records, centre, unit)
    weights = clip_weights(squares.map(lambda block: block.distances(None)), bound)
    total = squares.fold(lambda out, block, w: block.add_moment(out, w, None), (d,), weights)
    query = spender.take(
        "mean squares",
        mu,
        psd_sum(bound, public.adjacency),
        size=d,
        norm_error=norm_error(squares),
        rounding=summation_error(bound, squares.span_rows, 1),
    )
    return np.sqrt(np.maximum(query.release(total, noise) / n, SMALLEST**2))
