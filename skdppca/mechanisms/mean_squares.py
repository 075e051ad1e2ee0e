"""Private mean squares of all features at once."""

from __future__ import annotations

import math

import numpy as np

from ..private_data import PrivateData
from ..statistics import MeanSquares
from ..statistics.lemmas import psd_sum

__all__ = ["SQUARE_SHARE", "root_mean_squares"]

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
    data: PrivateData,
    centre: np.ndarray,
    unit: np.ndarray,
    present: np.ndarray,
    mean: np.ndarray,
) -> np.ndarray:
    """Of every feature's deviations from `mean`, in units of `unit`; 1 if noise would hide them.

    Parameters
    ----------
    centre, unit : ndarray of shape (d,)
        Public or released: what they are asked about, and a rough scale.
    present : ndarray of shape (d,)
        The (noisy) number of records that have the feature.
    mean : ndarray of shape (d,)
        Rough; where it is not the centre, its part of the mean square is taken off: by what `unit`
        is to the root mean square about the centre, whatever both are off by.

    Returns
    -------
    ndarray of shape (d,)
        At least SMALLEST.
    """
    d = data.n_features
    mu = data.fraction(SQUARE_SHARE)
    # The bound, over sqrt(d), at which a mean square's noise would be 1.
    reach = present * mu / (math.sqrt(d) * psd_sum(1.0, data.public.adjacency))
    bound = min(max(BORNE * float(np.median(reach)), LEAST), MOST)
    hidden = HIDDEN * reach < bound
    if hidden.all():
        return np.ones(d)
    squares = MeanSquares(centre, unit, bound * math.sqrt(d))
    total = data.ask(squares, mu, "mean squares").value
    about_mean = total / present / (1 + ((mean - centre) / unit) ** 2)
    roots = np.sqrt(np.maximum(about_mean, SMALLEST**2))
    return np.where(hidden, 1.0, roots)
