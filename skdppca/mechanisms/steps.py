"""How an iterative method divides its budget, or its records, among its steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from ..linalg import decreasing_eigh, qr_svd
from ..noise import NoiseSource
from ..private_data import PrivateData
from .block_mean import BlockMean, Gradient
from .clipping import radius_mu

__all__ = [
    "Found",
    "Step",
    "chained",
    "combine",
    "geometric",
    "iterate",
    "left_by",
    "orthonormal_start",
    "predict",
    "radius_mus",
    "steps",
]

# What a step answers: the columns of W and of its prediction C, as rows, to the noisy mean.
Step = Callable[[np.ndarray, np.ndarray], Gradient]

# Records are divided by draws of so many faces.
FACES = 100

# Shares grow over so many steps at most, and from so much of the last: no step may get so little
# that its noise leaves the grid.
MOST_STEPS, LEAST_SHARE = 20, 2.0**-20

# Directions of W that the new span has lost say nothing about it.
LOST = 0.3


class Found(NamedTuple):
    """Directions, and what is known of them.

    Parameters
    ----------
    directions : ndarray of shape (k, d)
        Orthonormal rows.
    core : ndarray of shape (k, k)
        The Rayleigh matrix that is predicted for them.
    variance : float
        Of an entry of the mean of ``A_i W`` that they are the span of; infinite if unknown.
    """

    directions: np.ndarray
    core: np.ndarray
    variance: float = math.inf

    @property
    def noise(self) -> float:
        """How long the noise of such a mean is, in all d dimensions."""
        return math.sqrt(self.variance * self.directions.shape[1])


def steps(
    mean: BlockMean,
    sampling: str,
    n_steps: int,
    ratio: float,
    range_share: float,
    searches: int | None = None,
) -> Iterator[Step]:
    """So many private steps, which spend all that is left of the budget of `mean`.

    Parameters
    ----------
    sampling : {"reuse", "split"}
        Every step sees all records, and their costs add up; or every step sees its own disjoint
        random parts, one for the radius and one for the mean, at the full cost each.
    ratio : float
        "reuse": each mean costs so many times the last one's square.
    range_share : float
        Share of the budget ("reuse", usually at most) or of the records ("split") for the radii.
    searches : int, optional
        "reuse": only so many first steps search a radius, and the others take the last one.
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
    mus = left_by(mus_radius, mean.left) * np.sqrt(geometric(ratio, n_steps))
    yield from chained(mean, mus_radius, mus)


def chained(
    mean: BlockMean, mus_radius: np.ndarray, mus: np.ndarray, radius: float | None = None
) -> Iterator[Step]:
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
    """What so many radii cost, together usually so much of mu^2 of what is left, or less."""
    usual = data.left * math.sqrt(range_share / searches)
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


def orthonormal_start(
    width: int, n_features: int, removed: np.ndarray | None, noise: NoiseSource
) -> np.ndarray:
    """Random orthonormal rows, orthogonal to what is removed; drawn without any data."""
    rows = noise.rounded_gaussian(2.0**30, (width, n_features)) * 2.0**-30
    if removed is not None:
        for _ in range(2):  # once leaves rounding errors where little is left
            rows -= (rows @ removed.T) @ removed
    return np.linalg.qr(rows.T)[0].T


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
    kept = values > LOST
    inverse = (right[kept].T / values[kept]) @ left[:, kept].T
    core = triangle @ inverse
    return basis.T, (core + core.T) / 2


def combine(prediction: np.ndarray, variance: float, answer: Gradient) -> tuple[np.ndarray, float]:
    """A prediction and a noisy answer, weighted by inverse variance.

    Parameters
    ----------
    prediction : ndarray of shape (p, d)
    variance : float
        Of every entry, at least; infinite if it predicts nothing.
    answer : Gradient

    Returns
    -------
    estimate : ndarray of shape (p, d)
    variance : float
    """
    noise = answer.noise_sd**2
    miss = answer.mean - prediction
    # The answer tells how wrong the prediction was: James & Stein's estimate, where that is more.
    variance = max(variance, float(np.mean(miss**2)) - noise)
    if not noise or math.isinf(variance):
        return answer.mean, noise
    weight = variance / (variance + noise)
    return prediction + weight * miss, weight * noise


def _moved(directions: np.ndarray, gradient: np.ndarray, rate: float) -> np.ndarray:
    """The span of ``W + rate G / ||W^T G||``, W if that norm is 0.

    The sum is formed in units in which nothing of it exceeds 1: rates and gradients have any size.
    """
    size = np.abs(gradient).max()
    unit = gradient / size if size else gradient
    length = np.linalg.norm(directions @ unit.T, 2)
    if not length:
        return directions
    most = max(rate, 1.0)
    return np.linalg.qr((directions * (length / most) + unit * (rate / most)).T)[0].T


def iterate(
    todo: list[Step],
    start: np.ndarray,
    learning_rate: float | str,
    predicts: bool,
    prediction: np.ndarray | None = None,
    narrowed: tuple[int, int] | None = None,
) -> Found:
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
    Found
        The core as the last step saw it; how certain only if means are predicted and the
        directions their limit: else what older steps know of them is not kept.
    """
    directions = start
    prediction = np.zeros_like(start) if prediction is None else prediction
    core = np.zeros((len(start), len(start)))
    variance = math.inf
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
            directions = _moved(directions, gradient, learning_rate / t)
            turn = directions @ basis.T
            core = turn @ within @ turn.T
        if t == min(when, len(todo)):
            values, rotation = decreasing_eigh(core)
            directions, core = rotation[:kept] @ directions, np.diag(values[:kept])
        # 5. C: what A would do to the new W
        if predicts:
            prediction = (directions @ basis.T) @ within @ basis
    certain = predicts and isinstance(learning_rate, str)
    return Found(directions, core, variance if certain else math.inf)
