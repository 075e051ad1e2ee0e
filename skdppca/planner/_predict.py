"""What a method is expected to do with a problem: the method itself, on synthetic rows."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace

import numpy as np

from ..decomposition import BasePrivatePCA
from ..exceptions import SeededNoiseWarning
from ..linalg import decreasing_eigh
from ..metrics import missed_share
from ._methods import Method
from ._synthetic import ROWS, Problem, exact_rows

__all__ = ["MOST_FITS", "Prediction", "TooLittle", "noise_floor", "predict"]

# Public: the same question has the same answer.
SEED = 20_260

# Fits that share their rows; and in all: until the median's standard error is so small a share,
# or so many entries were fitted.
FITS_A_DRAW, LEAST_FITS, MOST_FITS = 4, 12, 160
PRECISE, MOST_ENTRIES = 0.04, 16_000_000

# Standard error of a median over that of the mean, of normal values.
MEDIAN_ERROR = 1.25

# The noise floor is searched in factors of RAISE above the tail, then halved so often in between.
FLOOR_FITS, RAISE, FLOOR_RAISES, FLOOR_HALVINGS = 4, 4, 14, 5

# In few dimensions so few fits see a direction in noise alone, by chance: so many, and then so
# many, must see it too, there or at RAISE times the variance.
SURE_FITS = 12, 32

# How far from chance to certainty the square of a direction must be released to be seen.
SEEN = 0.5


class TooLittle(ValueError):
    """A method refuses to be fitted at the budget."""


@dataclass(frozen=True)
class Prediction:
    """What the simulated fits came to.

    Parameters
    ----------
    losses : tuple of float
        1 - captured variance: the quartiles, the median between them.
    clip : str
    clip_norm : float
    noise_sd : float
        Of an entry of the noisy mean that the components come from, in units of the variances;
        neither is told of a method that adds noise to the components themselves.
    """

    losses: tuple[float, float, float]
    clip: str
    clip_norm: float | None
    noise_sd: float | None


def predict(method: Method, problem: Problem, most_fits: int = MOST_FITS) -> Prediction:
    """Median loss of a method, as if all rows had been there."""
    losses: list[float] = []
    sampling: list[float] = []
    noise = []
    draw = 0
    entries = problem.n_rows * len(problem.variances)
    most = min(most_fits, MOST_ENTRIES // entries)
    while len(losses) < LEAST_FITS or (len(losses) < most and _error(losses) > PRECISE):
        rows = problem.draw(np.random.default_rng([SEED, draw]))
        values, vectors = decreasing_eigh(rows.T @ rows / len(rows))
        fits = 1 if problem.is_whole else FITS_A_DRAW
        fitted = [_fit(method, problem, rows, draw * FITS_A_DRAW + i) for i in range(fits)]
        losses += [missed_share(pca.components_, values, vectors) for pca in fitted]
        noise += [_noise(method, problem, pca) for pca in fitted if method.query]
        if not problem.is_whole:
            sampling.append(_sampling_loss(method, problem, rows, fitted, values, vectors))
        draw += 1
    quartiles = np.quantile(losses, (0.25, 0.5, 0.75))
    if sampling:
        # n rows sample so much better than those that were simulated
        better = 1 - problem.n_rows / problem.n_samples
        quartiles -= better * np.minimum(max(np.mean(sampling), 0.0), quartiles)
    quartiles = tuple(map(float, quartiles))
    if not noise:
        return Prediction(quartiles, "clipped", None, None)
    clips, norms, sds = zip(*noise, strict=True)
    usual = max(set(clips), key=clips.count)
    return Prediction(quartiles, usual, float(np.median(norms)), float(np.median(sds)))


def noise_floor(method: Method, problem: Problem) -> float:
    """Variance that the last wanted component must have to be seen, the others as assumed.

    Seen: of its direction's square, halfway between ``k / d`` and 1 is in the released span on
    average. Infinite if no variance is enough: it lengthens the rows, too, and the noise with them.
    """
    k = problem.n_components
    if k == len(problem.variances):
        return 0.0
    chance = k / len(problem.variances)
    enough = chance + SEEN * (1 - chance)
    others = np.delete(problem.variances, k - 1)
    basis = exact_rows(np.ones(len(others) + 1), ROWS, np.random.default_rng(SEED))

    larger = replace(problem, n_samples=math.inf)

    def is_seen(variance: float, fits: int = FLOOR_FITS) -> bool:
        rows = basis * np.sqrt(np.r_[variance, others])
        fitted = [_fit(method, larger, rows, i) for i in range(fits)]
        return np.mean([np.sum(pca.components_[:, 0] ** 2) for pca in fitted]) >= enough

    low = max(problem.variances[k], problem.variances.sum() * 1e-6)
    for _ in range(FLOOR_RAISES):
        surely = (all(is_seen(v, n) for n in SURE_FITS) for v in (RAISE * low, RAISE**2 * low))
        if is_seen(RAISE * low) and any(surely):
            break
        low *= RAISE
    else:
        return math.inf
    step = math.sqrt(RAISE)
    for _ in range(FLOOR_HALVINGS):
        low *= 1 if is_seen(step * low) else step
        step = math.sqrt(step)
    return low * step / problem.unit


def _fit(
    method: Method, problem: Problem, rows: np.ndarray, seed: int, private: bool = True
) -> BasePrivatePCA:
    budget = problem.budget(len(rows)) if private else {"epsilon": math.inf}
    told = {} if problem.is_whole else method.standing_in
    pca = method.estimator(problem.n_components, random_state=seed, **budget, **told)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeededNoiseWarning)
        try:
            return pca.fit(rows)
        except ValueError as refused:  # in terms of the simulated rows' budget
            raise TooLittle(str(refused)) from refused


def _error(losses: list[float]) -> float:
    """Standard error of the median, over the median."""
    logs = np.log(np.maximum(losses, np.finfo(float).eps))
    return float(MEDIAN_ERROR * np.std(logs, ddof=1) / math.sqrt(len(losses)))


def _sampling_loss(
    method: Method,
    problem: Problem,
    rows: np.ndarray,
    fitted: list[BasePrivatePCA],
    values: np.ndarray,
    vectors: np.ndarray,
) -> float:
    """The part of the loss that falls with the number of simulated rows at the same noise.

    What the fits to the same rows have in common: to first order the loss is a weighted square of
    the block B of the projector between wanted and other directions, B is sampling plus noise, and
    noise is independent from fit to fit. A method that leaves out pairs of rows at random has a
    part that the fits do not share; without noise it is left with its sampling alone.
    """
    if method.unbiased:
        exact = [_fit(method, problem, rows, i, private=False) for i in range(2)]
        return float(np.mean([missed_share(p.components_, values, vectors) for p in exact]))
    k = problem.n_components
    turned = [pca.components_ @ vectors.T for pca in fitted]
    blocks = np.array([u[:, :k].T @ u[:, k:] for u in turned])
    products = np.sum(blocks, axis=0) ** 2 - np.sum(blocks**2, axis=0)
    weights = values[:k, None] - values[None, k:]
    pairs = len(fitted) * (len(fitted) - 1)
    return float(np.sum(weights * products) / pairs / values[:k].sum())


def _noise(method: Method, problem: Problem, pca: BasePrivatePCA) -> tuple[str, float, float]:
    """How records are clipped, to which norm, and the noise that this takes; as if all were there.

    The sensitivity is that of what one record adds, of at most the square of its clipping norm.
    """
    query = [spent for spent in pca.privacy_.spendings if spent.name == method.query][-1]
    square = query.sensitivity / method.sensitivity(1.0, problem.adjacency)
    # of an entry of the mean; lumped features took more noise than each has
    sd = query.noise_sd / (method.adds_up_to * problem.n_rows) / math.sqrt(problem.spread)
    if pca.privacy_.details.get("clip") == "spherical":
        return "scaled", 1.0, sd * float(problem.variances.sum()) / problem.unit
    return "clipped", math.sqrt(square / problem.unit), sd / problem.unit
