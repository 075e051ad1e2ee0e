"""Private mean squares of all features at once."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...private_data import PrivateData
from ...statistics import MeanSquares
from ...statistics.lemmas import psd_sum


@dataclass(frozen=True)
class SquareConstants:
    """How the mean squares of all features are asked for; tuned with `ScaleConstants`."""

    # Share of mu^2.
    share: float = 0.05
    # A record's squares are clipped to a norm, over sqrt(d), at which the noise of a mean square
    # is this, where about 1 is expected; and to no less and no more than two bounds. Rows of normal
    # values have sqrt(3).
    noise: float = 0.1
    least_norm: float = 3.0
    most_norm: float = 16.0
    # Nothing is asked where even the least norm makes more noise than that.
    most_noise: float = 0.25
    # Half of the values are beyond .67 units: a root that is seen to be less than this is noise.
    least_root: float = 0.5


SQUARES = SquareConstants()


def root_mean_squares(
    data: PrivateData,
    centre: np.ndarray,
    unit: np.ndarray,
    present: np.ndarray,
    mean: np.ndarray,
) -> np.ndarray:
    """Mean squares of the deviations from `mean`, in units of `unit`; 1 if noise would hide them.

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
        At least `SQUARES.least_root`.
    """
    d = data.n_features
    mu = data.fraction(SQUARES.share)
    # The bound, over sqrt(d), at which a mean square's noise would be 1.
    reach = present * data.effective(mu) / (math.sqrt(d) * psd_sum(1.0, data.public.adjacency))
    bound = min(max(SQUARES.noise * float(np.median(reach)), SQUARES.least_norm), SQUARES.most_norm)
    hidden = SQUARES.most_noise * reach < bound
    if hidden.all():
        return np.ones(d)
    squares = MeanSquares(centre, unit, bound * math.sqrt(d))
    total = data.ask(squares, mu, "mean squares").value
    about_mean = total / present / (1 + ((mean - centre) / unit) ** 2)
    roots = np.sqrt(np.maximum(about_mean, SQUARES.least_root**2))
    return np.where(hidden, 1.0, roots)
