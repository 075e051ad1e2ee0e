"""The iteration that finds a subspace through private means: the papers' loop, on one page."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from ...linalg import decreasing_eigh, qr_svd
from ...mechanisms.block_mean import BlockMean, Gradient, combine
from ...mechanisms.clipping import radius_mu
from ...noise import NoiseSource
from ...private_data import PrivateData

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
    """Return the mu that remains of a budget after these are paid."""
    # less what rounding may add to a small difference
    return budget if math.isinf(budget) else math.sqrt(budget**2 - float(mus @ mus)) * (1 - 1e-9)


def geometric(ratio: float, n_steps: int) -> np.ndarray:
    """Shares that add up to 1, each `ratio` times the one before; of many the first are equal."""
    least = max(ratio**-MOST_STEPS, LEAST_SHARE)
    weights = np.maximum(ratio ** np.arange(1.0 - n_steps, 1.0), least)
    return weights / weights.sum()


# An infinite learning rate moves by this: divisors stay positive.
LEAST_UNIT = float(np.finfo(np.float64).tiny)

# A step: takes the columns of W and of its prediction C, as rows, and returns the noisy mean.
PrivateMean = Callable[[np.ndarray, np.ndarray], Gradient]


@dataclass(frozen=True)
class IterationConstants:
    """Constants of the stepwise iteration for directions."""

    # Directions of W of which the new span has less than this say nothing about it; a guess.
    lost: float = 0.3
    # More directions than are wanted, and for how many of the first steps where means are
    # predicted: a random start of no more is close to orthogonal to one of them too often, and all
    # steps are spent on turning there. With 4 more, 94 failures of 600 became 0.
    oversampling: int = 4
    wide_steps: int = 2
    # Oja's iteration: the learning rate that "auto" stands for, and the growth of mu^2 from step to
    # step. With these, random starts fail less often than with a rate of 4 and equal budgets.
    ojas_rate: float = 8.0
    ojas_ratio: float = 1.2
    # Its share of the budget for the clipping radii, and how many first steps search one: later the
    # gradients hardly change in length, and a step with a known radius reads the records only once.
    ojas_range_share: float = 0.08
    ojas_searches: int = 5
    # The least share of a variance that is left once what filling absent entries added, or clipping
    # the steps' means took, is allowed for; round.
    least_left: float = 0.01


ITERATION = IterationConstants()


class Move(NamedTuple):
    """A step of Oja's iteration, to ``W + G / unit``, G a mean with noise.

    Parameters
    ----------
    unit : float
        Positive: ``||W^T G||`` over the learning rate.
    noise_sd : float
        Standard deviation of the noise in every entry of G.
    """

    unit: float
    noise_sd: float


class Directions(NamedTuple):
    """Directions, and what is known of them.

    Parameters
    ----------
    directions : ndarray of shape (k, d)
        Orthonormal rows.
    core : ndarray of shape (k, k)
        The Rayleigh matrix that is predicted for them.
    variance : float
        Variance of an entry of the mean of ``A_i W`` whose span this is; infinite if unknown.
    moves : tuple of Move
        The steps that led to them from a random start; none if means were predicted.
    started : int
        How many directions there were at the start.
    dropped : ndarray
        What the core had along directions that were left out.
    span_noise : float or None
        The sd of the noise in every entry, if it was added to orthonormal directions themselves;
        infinite if they are lost in it.
    """

    directions: np.ndarray
    core: np.ndarray
    variance: float = math.inf
    moves: tuple[Move, ...] = ()
    started: int = 0
    dropped: np.ndarray = np.zeros(0)
    span_noise: float | None = None

    @property
    def noise(self) -> float:
        """Length of the noise of such a mean, in all d dimensions."""
        return math.sqrt(self.variance * self.directions.shape[1])


def iterate(
    todo: list[PrivateMean],
    start: np.ndarray,
    learning_rate: float | Literal["auto"],
    predicts: bool,
    prediction: np.ndarray | None = None,
    narrowed: tuple[int, int] | None = None,
) -> Directions:
    """Oja's iteration over private means.

    Parameters
    ----------
    start : ndarray of shape (p, d)
        Orthonormal rows.
    learning_rate : float or "auto"
        ``eta_t = learning_rate / (t ||W^T G||)``, or infinite.
    predicts : bool
        Ask for the means around what the last one predicts, or around 0.
    prediction : ndarray of shape (p, d), optional
        What the first one is asked around; 0 by default.
    narrowed : tuple of int, optional
        After how many steps, or after the last, how many directions go on: those that hold most of
        what that step saw.

    Returns
    -------
    Directions
        The core as the last step saw it; how certain if means are predicted and the directions
        their limit, and the moves if none is predicted. Between the two, what older steps know is
        not kept.
    """
    directions = start
    prediction = np.zeros_like(start) if prediction is None else prediction
    core = np.zeros((len(start), len(start)))
    variance, moves, dropped = math.inf, list[Move](), np.zeros(0)
    when, kept = narrowed or (0, 0)
    for t, step in enumerate(todo, start=1):
        # 1. G: the noisy mean of A_i W, around its prediction C
        answer = step(directions, prediction)
        gradient = answer.mean
        if predicts:
            # 2. what the prediction knows already is worth as much as its variance is small
            gradient, variance = combine(prediction, variance, answer)
        # 3. Q, M: its span, and A within that
        basis, within = predict(gradient, directions)
        # 4. W: the power limit, or a step of Oja's
        if isinstance(learning_rate, str):  # "auto"
            directions, core = basis, within
        else:
            directions, unit = _moved(directions, gradient, learning_rate / t)
            moves += [Move(unit, answer.noise_sd)] if unit < math.inf else []
            turn = directions @ basis.T
            core = turn @ within @ turn.T
        if t == min(when, len(todo)):
            values, rotation = decreasing_eigh(core)
            directions, core = rotation[:kept] @ directions, np.diag(values[:kept])
            dropped = values[kept:]
        # 5. C: what A would do to the new W
        if predicts:
            prediction = (directions @ basis.T) @ within @ basis
    variance = variance if predicts and isinstance(learning_rate, str) else math.inf
    passed = () if predicts else tuple(moves)
    return Directions(directions, core, variance, passed, len(start), dropped)


def _moved(directions: np.ndarray, gradient: np.ndarray, rate: float) -> tuple[np.ndarray, float]:
    """The span of ``W + rate G / ||W^T G||``, and that norm over the rate; W if either is 0.

    The sum is formed in units in which nothing of it exceeds 1: rates and gradients have any size.
    """
    size = np.abs(gradient).max()
    unit = gradient / size if size else gradient
    length = np.linalg.norm(directions @ unit.T, 2)
    if not length or not rate:
        return directions, math.inf
    most = max(rate, 1.0)
    moved = np.linalg.qr((directions * (length / most) + unit * (rate / most)).T)[0].T
    return moved, max(float(length) / rate * float(size), LEAST_UNIT)


def predict(gradient: np.ndarray, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The span of a gradient, and what the mean matrix does within it.

    Parameters
    ----------
    gradient : ndarray of shape (p, d)
        About ``A W``, as rows.
    directions : ndarray of shape (p, d)
        W as rows.

    Returns
    -------
    basis : ndarray of shape (p, d)
        Orthonormal rows Q.
    core : ndarray of shape (p, p)
        Symmetric M, so that ``A`` is about ``Q^T M Q`` and the next prediction ``M Q``.
    """
    basis, triangle = np.linalg.qr(gradient.T)
    left, values, right = qr_svd(basis.T @ directions.T)
    kept = values > ITERATION.lost
    inverse = (right[kept].T / values[kept]) @ left[:, kept].T
    core = triangle @ inverse
    return basis.T, (core + core.T) / 2


def orthonormal_start(
    width: int, n_features: int, removed: np.ndarray | None, noise: NoiseSource
) -> np.ndarray:
    """Random orthonormal rows, orthogonal to what is removed; drawn without any data."""
    rows = noise.rounded_gaussian(2.0**30, (width, n_features)) * 2.0**-30
    if removed is not None:
        for _ in range(2):  # once leaves rounding errors where little is left
            rows -= (rows @ removed.T) @ removed
    return np.linalg.qr(rows.T)[0].T
