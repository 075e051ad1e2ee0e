"""Simulated accuracy of a method: the method itself, run on synthetic rows.

Under privacy a method depends on n and its budget mu by ``n mu`` only: the noise of a sum over n,
the share of records to clip, the steps of a search. So m records at ``mu n / m`` meet the noise
that n records meet at mu. Sampling depends on n by itself: the rows get exactly the covariance that
n records of the law would have, and the sampling error that is left is weighed by m / n.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg

from ..decomposition import METHODS, BasePrivatePCA, Method
from ..metrics import missed_share
from ..privacy import epsilon_of
from ..privacy.charging import needs_no_accountant
from .synthetic_rows import Assumed, SyntheticRows

# The seed is public: the same question has the same answer.
SEED = 20_260

# Standard error of the median over that of the mean, for normal values: sqrt(pi / 2), rounded.
MEDIAN_ERROR = 1.25

# Told after every simulated fit: about which share of them is done.
Tick = Callable[[float], None]


class TooLittle(ValueError):
    """The budget is so small that a method refuses to be fitted."""


@dataclass(frozen=True)
class Effort:
    """Number of fits to simulate: until the median's relative standard error is `precise`."""

    least: int
    most: int
    precise: float


@dataclass(frozen=True)
class EffortConstants:
    """Precision of each simulation. Round numbers, with which a plan takes seconds."""

    # The method that is recommended, and the others beside it.
    recommended: Effort = Effort(8, 160, 0.04)
    others: Effort = Effort(8, 24, 0.08)
    # Every method at a point of a curve.
    curve: Effort = Effort(4, 8, 0.15)
    # Skewed rows, of whose losses the upper quartile is reported.
    skewed: Effort = Effort(12, 24, 0.1)


@dataclass(frozen=True)
class SimulationConstants:
    """Largest sizes of a simulation, and substitutes for a fit that is larger.

    Round numbers: what is larger takes longer. `bench_planner.py` measures plans that are made with
    them against fits at full size.
    """

    # The most rows, and the most entries of them.
    most_rows: int = 2000
    most_entries: int = 500_000
    # The most records of several rows. Of single rows there may always be as many.
    most_groups: int = 250
    # The most features.
    most_features: int = 400
    # If there are more features, the first ones, this multiple of k, stay as they are and the
    # others are lumped.
    kept: int = 2
    # The most components if features are lumped.
    most_components: int = 100
    # Fits that share their rows.
    fits_a_draw: int = 4
    # The most entries of all rows that are fitted.
    most_fitted_entries: int = 16_000_000
    # Fits that find how many components a spectrum shows.
    count_fits: int = 12
    # A pure guarantee needs a public norm bound: the one that this share of all records keeps.
    within_bound: float = 0.99


EFFORTS = EffortConstants()
SIMULATION = SimulationConstants()


@dataclass(frozen=True)
class Problem:
    """Problem to simulate: at most `most_features`, of as few records as will do.

    Parameters
    ----------
    name : str
        Name of the method.
    settings : dict
        What it is set to beside the budget and the components.
    n_samples : float
        Records of the plan; if features are lumped, divided by `spread`, so that the number of
        records per feature stays what it is.
    variances : ndarray of shape (d,)
        Largest first.
    n_components : int
    n_mu : float
        Signal over noise: the number of records times mu, or times epsilon if delta is 0.
    delta : float
    adjacency : str
    assumed : Assumed
    spread : float
        How many features each simulated one of the tail stands for.
    unit : float
        Factor by which the variances were multiplied.
    """

    name: str
    settings: Mapping[str, Any]
    n_samples: float
    variances: np.ndarray
    n_components: int
    n_mu: float
    delta: float
    adjacency: str
    assumed: Assumed
    spread: float = 1.0
    unit: float = 1.0

    @property
    def method(self) -> Method:
        """Return the row of the method."""
        return METHODS[self.name]

    def lumped(self) -> Problem:
        """Lump features until there are at most `most_features`.

        Noise of sd tau in d directions turns a component like noise of ``tau sqrt(s)`` in d / s.
        The clipping radius grows with a power of the total variance, and lumping makes the total
        smaller. Radii are found on a grid, so the variances are scaled until the radius is what it
        was, and the noise is set to what it was relative to them.
        """
        d, features = len(self.variances), SIMULATION.most_features
        if d <= features:
            return self
        kept = SIMULATION.kept * self.n_components
        lumps = np.array_split(self.variances[kept:], features - kept)
        lumped = np.r_[self.variances[:kept], [lump.mean() for lump in lumps]]
        spread = (d - kept) / (features - kept)
        unit = (self.variances.sum() / lumped.sum()) ** self.method.exponent
        return replace(
            self,
            n_samples=self.n_samples / spread,
            variances=unit * lumped,
            n_mu=self.n_mu / (unit * math.sqrt(spread)),
            spread=spread,
            unit=unit,
        )

    @property
    def _most_records(self) -> int:
        """The number of records from which the noise and sampling error of all others follow."""
        if self.assumed.group_size is not None:
            return SIMULATION.most_groups
        return max(
            SIMULATION.most_groups,
            min(SIMULATION.most_rows, SIMULATION.most_entries // len(self.variances)),
        )

    @property
    def n_records(self) -> int:
        """Number of simulated records."""
        return round(max(2, min(self.n_samples, self._most_records)))

    @property
    def n_rows(self) -> int:
        """Number of simulated rows."""
        return self.n_records * self.assumed.rows_a_record

    @property
    def is_whole(self) -> bool:
        """True if as many records are simulated as are planned."""
        return self.n_samples < self._most_records + 0.5

    def budget(self, n_records: int) -> dict[str, Any]:
        """Return the parameters under which `n_records` records meet the planned noise."""
        mu = self.n_mu / n_records
        if self.delta == 0:
            return {"epsilon": mu, "delta": 0.0, "adjacency": self.adjacency}
        delta = min(self.delta, mu / 100)  # a larger delta would cover a tiny mu by itself
        return {"epsilon": epsilon_of(mu, delta), "delta": delta, "adjacency": self.adjacency}

    def draw(self, rng: np.random.Generator) -> SyntheticRows:
        """Draw records; if they are fewer than planned, with the covariance of all."""
        variances = self.variances if self.is_whole else self._sample_variances(rng)
        return self.assumed.draw(variances, self.n_records, rng, exact=not self.is_whole)

    def _sample_variances(self, rng: np.random.Generator) -> np.ndarray:
        """Draw the eigenvalues of the covariance of n records, by Bartlett's triangle."""
        d = len(self.variances)
        degrees = max(self.n_samples * self.assumed.worth - 1, d)
        triangle = np.tril(rng.standard_normal((d, d)), -1)
        triangle[np.diag_indices(d)] = np.sqrt(rng.chisquare(degrees - np.arange(d)))
        factor = np.sqrt(self.variances)[:, None] * triangle
        return linalg.svdvals(factor) ** 2 / degrees


def predict(problem: Problem, effort: Effort, tick: Tick) -> dict[str, Any]:
    """Predict what a method captures of all planned records, as fields of an `Expectation`."""
    problem = problem.lumped()
    losses: list[float] = []
    sampling: list[float] = []
    lost: list[bool] = []
    noise: list[tuple[str, float, float]] = []
    draw = 0
    entries = problem.n_rows * len(problem.variances)
    most = min(effort.most, SIMULATION.most_fitted_entries // entries)
    while len(losses) < effort.least or (len(losses) < most and _error(losses) > effort.precise):
        drawn = problem.draw(np.random.default_rng([SEED, draw]))
        fits = 1 if problem.is_whole else SIMULATION.fits_a_draw
        fitted = []
        for i in range(fits):
            fitted.append(_fit(problem, drawn, draw * SIMULATION.fits_a_draw + i))
            tick((len(losses) + i + 1) / max(effort.least, most))
        losses += [missed_share(pca.components_, drawn.values, drawn.vectors) for pca in fitted]
        lost += map(_is_lost, fitted)
        noise += [found for pca in fitted for found in _noise(problem, pca)]
        if not problem.is_whole:
            sampling.append(_sampling_loss(problem, drawn, fitted))
        draw += 1
    quartiles = np.quantile(losses, (0.25, 0.5, 0.75))
    if sampling:
        # the planned n records have less sampling error than the simulated ones
        better = 1 - problem.n_records / problem.n_samples
        quartiles -= better * np.minimum(max(float(np.mean(sampling)), 0.0), quartiles)
    high, median, low = (1 - quartiles).tolist()
    found = {"captured": median, "captured_low": low, "captured_high": high}
    found["lost"] = float(np.mean(lost))
    if not noise:
        return {**found, "clip": "clipped", "clip_norm": None, "noise_sd": None}
    clips, norms, sds = zip(*noise, strict=True)
    usual = max(set(clips), key=clips.count)
    return {
        **found,
        "clip": usual,
        "clip_norm": float(np.median(norms)),
        "noise_sd": float(np.median(sds)),
    }


def expected_components(problem: Problem, wanted: float | str) -> int:
    """Return the number of components chosen from a method's spectrum: the median over fits."""
    found = []
    for i in range(SIMULATION.count_fits):
        drawn = problem.draw(np.random.default_rng([SEED, i]))
        found.append(_fit(problem, drawn, i, n_components=wanted).n_components_)
    return int(np.median(found))


def _fit(problem: Problem, drawn: SyntheticRows, seed: int, **more: Any) -> BasePrivatePCA:
    assumed, method = problem.assumed, problem.method
    parameters = {
        "n_components": problem.n_components,
        **problem.budget(problem.n_records),
        "unit": "row" if drawn.groups is None else "record",
        "scale": assumed.scale,
        "missing": assumed.missing,
        **({} if problem.is_whole else method.standing_in),
        **(_told(drawn) if problem.delta == 0 else {}),
        **problem.settings,
        **more,
    }
    pca = method.estimator(random_state=seed, **parameters)
    with needs_no_accountant(seeded=True):
        try:
            return pca.fit(drawn.X, groups=drawn.groups)
        except ValueError as refused:  # in terms of the simulated rows' budget
            raise TooLittle(str(refused)) from refused


def _told(drawn: SyntheticRows) -> dict[str, Any]:
    """Return the public facts of a pure guarantee: the mean, which is 0, and a norm bound."""
    squares = np.nansum(drawn.X**2, axis=1)
    if drawn.groups is not None:
        squares = np.bincount(drawn.groups, squares)
    bound = math.sqrt(np.quantile(squares, SIMULATION.within_bound))
    return {"center": False, "norm_bound": bound}


def _error(losses: list[float]) -> float:
    """Relative standard error of the median."""
    logs = np.log(np.maximum(losses, np.finfo(float).eps))
    return float(MEDIAN_ERROR * np.std(logs, ddof=1) / math.sqrt(len(losses)))


def _sampling_loss(problem: Problem, drawn: SyntheticRows, fitted: list[BasePrivatePCA]) -> float:
    """Estimate the part of the loss that falls with the number of records at the same noise.

    It is what the fits to the same rows have in common. To first order the loss is a weighted
    square of the block B of the projector between wanted and other directions. B is sampling error
    plus noise, and the noise of different fits is independent. A method that leaves out random
    pairs of rows has sampling error that its fits do not share; without noise that error is its
    whole loss.
    """
    values, vectors = drawn.values, drawn.vectors
    if problem.method.unbiased and problem.delta > 0:
        exact = _fit(problem, drawn, 0, epsilon=math.inf)
        return missed_share(exact.components_, values, vectors)
    k = problem.n_components
    turned = [pca.components_ @ vectors.T for pca in fitted]
    blocks = np.array([u[:, :k].T @ u[:, k:] for u in turned])
    products = np.sum(blocks, axis=0) ** 2 - np.sum(blocks**2, axis=0)
    weights = values[:k, None] - values[None, k:]
    pairs = len(fitted) * (len(fitted) - 1)
    return float(np.sum(weights * products) / pairs / values[:k].sum())


def _is_lost(pca: BasePrivatePCA) -> bool:
    """Return whether the fit says that all of its components are noise, or finds no scale."""
    unscaled = pca.scale == "private" and bool(np.all(pca.scale_ == 1))
    return unscaled or bool(np.all(pca.privacy_.details.get("alignments", 1.0) <= 0))


def _noise(problem: Problem, pca: BasePrivatePCA) -> list[tuple[str, float, float]]:
    """Read off a report how records are clipped, to which norm, and the noise on all records.

    The query's sensitivity is that of one record's term, whose norm is at most the square of the
    clipping norm. Nothing is read where settings or absent entries change the noise, so that no
    single sum says all of it.
    """
    method = problem.method
    asked = [spent for spent in pca.privacy_.spendings if spent.name == method.query]
    if not asked or pca.missing == "mean":
        return []
    query = asked[-1]
    square = query.sensitivity / method.sensitivity(1.0, problem.adjacency)
    # the noise in an entry of the mean; a lumped feature took more than each of its features would
    sd = query.noise_sd / method.adds_up_to / math.sqrt(problem.spread)
    total = float(problem.variances.sum())
    if pca.privacy_.details.get("clip") in ("spherical", "nested"):
        return [("scaled", 1.0, sd / problem.n_records * (total / problem.unit))]
    # what a variance of the spectrum is to the features that are fitted
    scaled = problem.assumed.scale is not None
    units = problem.unit * len(problem.variances) / total if scaled else problem.unit
    return [("clipped", math.sqrt(square / units), sd / units / problem.n_rows)]
