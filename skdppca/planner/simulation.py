"""What a method can be expected to do: the method itself, run on synthetic rows.

Under privacy a method depends on n and its budget mu by ``n mu`` only: the noise of a sum over n,
the share of records to clip, the steps of a search. So m rows at ``mu n / m`` meet the noise that
n rows meet at mu. Sampling depends on n by itself: the m rows get exactly the covariance that n
rows of the law would have, and the sampling error that is left is weighed by m / n.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg

from ..decomposition import BasePrivatePCA, Method
from ..exceptions import SeededNoiseWarning
from ..linalg import decreasing_eigh
from ..metrics import missed_share
from ..privacy import epsilon_of, mu_of

__all__ = [
    "FEATURES",
    "MOST_COMPONENTS",
    "MOST_FITS",
    "ROWS",
    "Prediction",
    "Problem",
    "TooLittle",
    "exact_rows",
    "noise_floor",
    "predict",
]

# The seed is public: the same question has the same answer.
SEED = 20_260

# The most rows and features that are simulated.
ROWS, FEATURES = 2000, 400

# Of more features the first KEPT times k stay as they are and the others are lumped; there may
# then be at most MOST_COMPONENTS components.
KEPT, MOST_COMPONENTS = 2, 100

# Relative distance by which tied variances are parted.
PARTED = 1e-6

# Fits that share their rows, the least number of fits, and the most. Between these, fits are
# repeated until the median's relative standard error is PRECISE or MOST_ENTRIES were fitted.
FITS_A_DRAW, LEAST_FITS, MOST_FITS = 4, 12, 160
PRECISE, MOST_ENTRIES = 0.04, 16_000_000

# Standard error of the median over that of the mean, for normal values.
MEDIAN_ERROR = 1.25

# The search for the noise floor raises a variance by factors of RAISE from the tail on, and then
# halves the last interval FLOOR_HALVINGS times.
FLOOR_FITS, RAISE, FLOOR_RAISES, FLOOR_HALVINGS = 4, 4, 14, 5

# In few dimensions FLOOR_FITS fits may find a direction in noise by chance. So many fits, and then
# so many more, must find it as well, at that variance or at RAISE times it.
SURE_FITS = 12, 32

# A direction is seen if this share of the way from chance to certainty is released.
SEEN = 0.5


class TooLittle(ValueError):
    """The budget is so small that a method refuses to be fitted."""


@dataclass(frozen=True)
class Problem:
    """What is simulated: at most `ROWS` rows of at most `FEATURES` features.

    Parameters
    ----------
    n_samples : float
        Records of the plan; if features are lumped, divided by `spread`, so that the number of
        records per feature stays what it is.
    variances : ndarray of shape (d,)
        Largest first.
    n_components : int
    n_mu : float
        Signal over noise: the number of records times mu.
    delta : float
    adjacency : str
    spread : float
        How many features each simulated one of the tail stands for.
    unit : float
        Factor by which the variances were multiplied.
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
        """Reduce a planned fit to at most `FEATURES` features.

        Noise of sd tau in d directions turns a component like noise of ``tau sqrt(s)`` in d / s.
        The clipping radius grows with the power `exponent` of the total variance, and lumping makes
        the total smaller. Radii are found on a grid, so the variances are scaled until the radius
        is what it was, and the noise is set to what it was relative to them.
        """
        n_mu = n_samples * mu_of(epsilon, delta)
        d = len(variances)
        if d <= FEATURES:
            return cls(n_samples, variances, n_components, n_mu, delta, adjacency)
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
        """Number of simulated rows."""
        return round(max(2, min(self.n_samples, ROWS)))

    @property
    def is_whole(self) -> bool:
        """Whether as many rows are simulated as are planned."""
        return self.n_samples < ROWS + 0.5

    def budget(self, n_rows: int) -> dict[str, Any]:
        """Return the parameters under which `n_rows` rows meet the planned noise."""
        mu = self.n_mu / n_rows
        delta = min(self.delta, mu / 100)  # a larger delta would cover a tiny mu by itself
        return {"epsilon": epsilon_of(mu, delta), "delta": delta, "adjacency": self.adjacency}

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Draw Gaussian rows; if they are fewer than planned, with the covariance of all."""
        if self.is_whole:
            shape = (self.n_rows, len(self.variances))
            return rng.standard_normal(shape) * np.sqrt(self.variances)
        variances = self._sample_variances(rng)
        return exact_rows(variances, self.n_rows, rng)

    def _sample_variances(self, rng: np.random.Generator) -> np.ndarray:
        """Draw the eigenvalues of the covariance of n rows, by Bartlett's triangle."""
        d, degrees = len(self.variances), self.n_samples - 1
        triangle = np.tril(rng.standard_normal((d, d)), -1)
        triangle[np.diag_indices(d)] = np.sqrt(rng.chisquare(degrees - np.arange(d)))
        factor = np.sqrt(self.variances)[:, None] * triangle
        return linalg.svdvals(factor) ** 2 / degrees


def exact_rows(variances: np.ndarray, n_rows: int, rng: np.random.Generator) -> np.ndarray:
    """Draw nearly Gaussian rows of mean 0 and exactly this diagonal covariance, up to `PARTED`.

    Tied variances are parted: rows of a continuous law never tie, and LAPACK may fail on ties.
    """
    variances = variances * np.linspace(1 + PARTED, 1, len(variances))
    rows = rng.standard_normal((n_rows, len(variances)))
    basis = linalg.qr(rows - rows.mean(axis=0), mode="economic", check_finite=False)[0]
    return basis * np.sqrt((n_rows - 1) * variances)


@dataclass(frozen=True)
class Prediction:
    """The outcome of the simulated fits.

    Parameters
    ----------
    losses : tuple of float
        Lower quartile, median and upper quartile of 1 - captured variance.
    clip : {"clipped", "scaled"}
    clip_norm : float or None
    noise_sd : float or None
        Of an entry of the noisy mean that the components come from, in units of the variances.
        This and `clip_norm` are None for a method that adds noise to the components themselves.
    """

    losses: tuple[float, float, float]
    clip: str
    clip_norm: float | None
    noise_sd: float | None


def predict(method: Method, problem: Problem, most_fits: int = MOST_FITS) -> Prediction:
    """Predict the loss of a method on all planned records."""
    losses: list[float] = []
    sampling: list[float] = []
    noise: list[tuple[str, float, float]] = []
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
        # the planned n rows have less sampling error than the simulated ones
        better = 1 - problem.n_rows / problem.n_samples
        quartiles -= better * np.minimum(max(float(np.mean(sampling)), 0.0), quartiles)
    low, median, high = map(float, quartiles)
    if not noise:
        return Prediction((low, median, high), "clipped", None, None)
    clips, norms, sds = zip(*noise, strict=True)
    usual = max(set(clips), key=clips.count)
    return Prediction((low, median, high), usual, float(np.median(norms)), float(np.median(sds)))


def noise_floor(method: Method, problem: Problem) -> float:
    """Find the variance that the last component must have to be seen, the others as assumed.

    It is seen if, on average, the released span holds at least half of the way from ``k / d``
    (chance) to 1 of its direction's square. The floor is infinite if no variance is enough: a
    larger variance lengthens the rows, and with them the noise.
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
        return bool(np.mean([np.sum(pca.components_[:, 0] ** 2) for pca in fitted]) >= enough)

    low = float(max(problem.variances[k], problem.variances.sum() * 1e-6))
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
    stand_in = {} if problem.is_whole else method.standing_in
    pca = method.estimator(problem.n_components, random_state=seed, **budget, **stand_in)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeededNoiseWarning)
        try:
            return pca.fit(rows)
        except ValueError as refused:  # in terms of the simulated rows' budget
            raise TooLittle(str(refused)) from refused


def _error(losses: list[float]) -> float:
    """Relative standard error of the median."""
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
    """Estimate the part of the loss that falls with the number of rows at the same noise.

    It is what the fits to the same rows have in common. To first order the loss is a weighted
    square of the block B of the projector between wanted and other directions. B is sampling error
    plus noise, and the noise of different fits is independent. A method that leaves out random
    pairs of rows has sampling error that its fits do not share; without noise that error is its
    whole loss.
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
    """Read off a report how records are clipped, to which norm, and the noise on all records.

    The query's sensitivity is that of one record's term, whose norm is at most the square of the
    clipping norm.
    """
    query = [spent for spent in pca.privacy_.spendings if spent.name == method.query][-1]
    square = query.sensitivity / method.sensitivity(1.0, problem.adjacency)
    # of an entry of the mean; a lumped feature took more noise than each of its features would
    sd = query.noise_sd / (method.adds_up_to * problem.n_rows) / math.sqrt(problem.spread)
    if pca.privacy_.details.get("clip") == "spherical":
        return "scaled", 1.0, sd * float(problem.variances.sum()) / problem.unit
    return "clipped", math.sqrt(square / problem.unit), sd / problem.unit
