"""How an iterative method divides its budget, or its records, among its steps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from ...mechanisms.block_mean import BlockMean, Gradient
from ...mechanisms.clipping import radius_mu
from ...private_data import PrivateData
from .iteration import PrivateMean

# Number of faces of the draws that divide the records.
FACES = 100

# The most steps over which shares grow, and the least share of a step over that of the last one:
# with less, the noise of a step could leave the grid.
MOST_STEPS = 20
LEAST_SHARE = 2.0**-20


def steps(
    mean: BlockMean,
    sampling: str,
    n_steps: int,
    ratio: float,
    range_share: float,
    searches: int | None = None,
) -> Iterator[PrivateMean]:
    """Yield `n_steps` private steps, which spend all that is left of the budget of `mean`.

    Parameters
    ----------
    sampling : {"reuse", "split"}
        Every step sees all records, and their costs add up; or every step sees its own disjoint
        random parts, one for the radius and one for the mean, at the full cost each.
    ratio : float
        "reuse": the square of each mean's mu over that of the mean before.
    range_share : float
        Share of the budget ("reuse", usually at most) or of the records ("split") for the radii.
    searches : int, optional
        "reuse": the number of first steps that search a radius; the others take the last one. By
        default all steps search.
    """
    bounded = mean.data.norm_bound is not None
    if sampling == "split":
        ranged = 0 if bounded else min(max(round(FACES * range_share), 1), FACES - 1)
        parts = mean.parts((ranged, FACES - ranged) * n_steps)
        for others, mine in zip(parts[::2], parts[1::2], strict=True):
            yield partial(mine.ranged_by, others)
        return
    mus_radius = np.zeros(n_steps)
    if not bounded:
        searches = min(searches or n_steps, n_steps)
        mus_radius[:searches] = radius_mus(mean.data, range_share, searches)
    mus = left_by(mus_radius, mean.remaining) * np.sqrt(geometric(ratio, n_steps))
    yield from chained(mean, mus_radius, mus)


def chained(
    mean: BlockMean, mus_radius: np.ndarray, mus: np.ndarray, radius: float | None = None
) -> Iterator[PrivateMean]:
    """Steps at these costs; each has the last one's radius, or looks for its own if that costs.

    Parameters
    ----------
    radius : float, optional
        Before the first step; public or released.
    """

    def step(w: np.ndarray, c: np.ndarray, mu_radius: float, mu: float) -> Gradient:
        nonlocal radius
        gradient = mean(w, c, mu_radius, mu, radius)
        radius = gradient.radius
        return gradient

    for mu_radius, mu in zip(mus_radius, mus, strict=True):
        yield partial(step, mu_radius=float(mu_radius), mu=float(mu))


def radius_mus(data: PrivateData, range_share: float, searches: int) -> np.ndarray:
    """The mu of every search: `range_share` of the remaining mu^2 for all of them, or less."""
    usual = data.remaining * math.sqrt(range_share / searches)
    return np.full(searches, radius_mu(data, usual, usual))


def left_by(mus: np.ndarray, budget: float) -> float:
    """What a budget leaves when these are paid."""
    # less what rounding may add to a small difference
    return budget if math.isinf(budget) else math.sqrt(budget**2 - float(mus @ mus)) * (1 - 1e-9)


def geometric(ratio: float, n_steps: int) -> np.ndarray:
    """Shares that add up to 1, each `ratio` times the one before; of many the first are equal."""
    least = max(ratio**-MOST_STEPS, LEAST_SHARE)
    weights = np.maximum(ratio ** np.arange(1.0 - n_steps, 1.0), least)
    return weights / weights.sum()
