"""Lower bounds, by experiment, on the Gaussian-DP parameter of a release (doc/theory/audit.rst).

Two games. In one, the adversary sees one number of the release. In the other, the answers to all
queries of a run: it then knows every later question, so the exact sums of both data sets too, and
the log likelihood ratio is the best that there is to look at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import beta

from skdppca.linalg import symmetric_from_upper
from skdppca.mechanisms.base import Mechanism, Release
from skdppca.mechanisms.scales.private_scales import standardised
from skdppca.noise import GaussianQuery, NoiseSource
from skdppca.privacy import GaussianEvent, PrivacyEvent, PrivacyFilter
from skdppca.private_data import PrivateData, Public
from skdppca.records import Records

from ..covering import pairwise

# What releases something of rows, with that noise; and what it says that it asked.
Game = Callable[[np.ndarray, NoiseSource], tuple[Any, Sequence[Any]]]

# No data set that is audited has more.
MOST_RECORDS = 512

ADJACENCIES = ("add-remove", "replace-one")
on_both_adjacencies = pytest.mark.parametrize("adjacency", ADJACENCIES)


def mostly_slow(names: str, *values: Iterable[Any], quick: Sequence[tuple[Any, ...]]) -> Any:
    """Parametrise by the quick cases and, marked slow, by others in which all pairs meet."""
    cases = dict.fromkeys([*quick, *pairwise(*map(list, values))])
    return pytest.mark.parametrize(
        names, [pytest.param(*c, marks=() if c in quick else pytest.mark.slow) for c in cases]
    )


def mu_lower_bound(
    without: np.ndarray, with_record: np.ndarray, alpha: float, threshold: float | None = None
) -> float:
    """What a test that sees one number of the release proves of its mu.

    A threshold is chosen on the first half of the runs, unless it is given; on the other half, or
    on all, its false and true positive rates are bounded with one-sided Clopper-Pearson intervals
    at alpha / 2 each. For a mu-GDP release the result exceeds mu with probability at most `alpha`.
    """
    if threshold is not None:
        return _difference(without > threshold, with_record > threshold, alpha)
    half = len(without) // 2
    bounds = []
    for sign in (1, -1):
        a, b = sign * without, sign * with_record
        candidates = np.unique(
            np.quantile(np.concatenate([a[:half], b[:half]]), np.linspace(0, 1, 200))
        )
        powers = [_difference(a[:half] > t, b[:half] > t, 0.5) for t in candidates]
        best = candidates[int(np.argmax(powers))]
        bounds.append(_difference(a[half:] > best, b[half:] > best, alpha / 2))
    return max(bounds)


def _difference(false: np.ndarray, true: np.ndarray, alpha: float) -> float:
    """Phi^-1(TPR_low) - Phi^-1(FPR_high), Bonferroni over both rates."""
    n, x, y = len(false), int(false.sum()), int(true.sum())
    high = beta.ppf(1 - alpha / 2, x + 1, n - x) if x < n else 1.0
    low = beta.ppf(alpha / 2, y, n - y + 1) if y else 0.0
    return float(ndtri(low) - ndtri(high)) if 0 < low and high < 1 else -np.inf


def collect(release: Callable[[int], float], runs: int) -> np.ndarray:
    """The number that `release` shows, for as many seeds."""
    return np.array([release(seed) for seed in range(runs)])


def number_bound(
    game: Game,
    pair: Sequence[np.ndarray],
    number: Callable[[Any], float],
    runs: int,
    alpha: float,
    threshold: float | None = None,
) -> float:
    """A lower bound on mu from one number of each of `runs` releases a side.

    Ties are broken by a little noise, so that a threshold tells discrete outcomes apart too.
    """
    sides = [
        collect(lambda i, X=X, side=side: number(run(game, X, 2 * i + side).release), runs)
        for side, X in enumerate(pair)
    ]
    ties = 1e-9 * np.random.default_rng(0).random((2, runs))
    return mu_lower_bound(*(np.array(sides) + ties), alpha, threshold)


@dataclass(frozen=True)
class Audited:
    """What `fit` does with rows once it has charged."""

    method: Mechanism
    public: Public
    event: PrivacyEvent
    centre: np.ndarray
    norm_bound: float | None

    def __call__(self, X: np.ndarray, noise: NoiseSource) -> tuple[Release, Sequence[Any]]:
        data = PrivateData(
            source=Records.of(X),
            public=self.public,
            budget=PrivacyFilter.of(self.event),
            noise=noise,
            centre=self.centre,
            norm_bound=self.norm_bound,
        )
        return self.method(data), data.budget.queries


def build(estimator: Any, mu: float | None, n_records: int = 21, n_features: int = 2) -> Audited:
    """The estimator's mechanism for `n_features` features.

    Parameters
    ----------
    estimator : BasePrivatePCA
    mu : float or None
        The budget, whatever epsilon is; None for that of the estimator.
    n_records : int
        Told only where it is public.
    """
    n = estimator._public_count(Records.of(np.zeros((n_records, n_features))))
    public = Public(n_features, estimator.adjacency, n_records=n, in_memory=True)
    event = estimator._event(public) if mu is None else GaussianEvent(mu)
    method = estimator._mechanism(public)
    declared = estimator._declared_scales(n_features)
    if declared.private.any():
        method = standardised(method, event, estimator._finds_centre, declared.private)
    centre = estimator._public_centre(estimator.mean, declared.public, n_features)
    return Audited(method, public, event, centre, estimator.norm_bound)


def weaken_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """All Gaussian noise from now on is too small by the root of 2."""
    honest = GaussianQuery.noise_sd.func
    monkeypatch.setattr(GaussianQuery, "noise_sd", property(lambda q: honest(q) / math.sqrt(2)))


class Draws(NoiseSource):
    """Noise, and what is drawn without the data: the same whatever the data and the noise are.

    Neither changes a guarantee. The start may be any, so the adversary chooses it: the first unit
    vectors. The parts and the order of the records could be released too, so it knows them: records
    that both data sets have draw the same, and later draws do not depend on their number.
    """

    def __init__(self, seed: int) -> None:
        super().__init__([seed, 0])
        self.of_queries = NoiseSource([seed, 1])

    def rounded_gaussian(self, sd: float, size: tuple[int, int]) -> np.ndarray:
        return np.eye(*size) * sd

    def words(self, n: int) -> np.ndarray:
        return super().words(max(n, MOST_RECORDS))[:n]

    def labels(self, n: int, parts: int) -> np.ndarray:
        return super().labels(max(n, MOST_RECORDS), parts)[:n]


@dataclass
class Run:
    """What one run answered, query by query, and the exact sums behind that."""

    queries: list[GaussianQuery]
    totals: list[np.ndarray]
    answers: list[np.ndarray]
    release: Any = None
    reported: Sequence[Any] = ()


def run(game: Game, X: np.ndarray, seed: int, replay: Run | None = None) -> Run:
    """Run on X; with the answers of another run, to see the sums of X along its path."""
    seen = Run([], [], [])
    honest = GaussianQuery.release

    def release(query: GaussianQuery, total: Any, noise: Draws) -> np.ndarray:
        if replay is None:
            answer = honest(query, total, noise.of_queries)
        else:
            answer = replay.answers[len(seen.answers)]
        seen.queries.append(query)
        seen.totals.append(_whole(query, np.asarray(total, dtype=np.float64)))
        seen.answers.append(answer)
        return answer

    with patch.object(GaussianQuery, "release", release):
        seen.release, seen.reported = game(X, Draws(seed))
    return seen


def _whole(query: GaussianQuery, total: np.ndarray) -> np.ndarray:
    if not query.symmetric:
        return total
    return symmetric_from_upper(total[np.triu_indices(query.size)], query.size)


class Pair:
    """A run on one of two data sets, and the same path on the other one.

    Parameters
    ----------
    game : Game
    without, with_record : ndarray
        Neighbours.
    seen : bool
        Whether the run saw the second.
    seed : int
    """

    def __init__(
        self,
        game: Game,
        without: np.ndarray,
        with_record: np.ndarray,
        seen: bool,
        seed: int,
    ) -> None:
        data = (without, with_record)
        self.actual = run(game, data[seen], seed)
        self.other = run(game, data[not seen], seed, replay=self.actual)
        # Neighbours must be asked the same questions after the same answers.
        assert self.actual.queries == self.other.queries
        order = (self.other, self.actual) if seen else (self.actual, self.other)
        self._sums = list(zip(*(one.totals for one in order), strict=True))

    @property
    def path_mu(self) -> float:
        """What this path tells in all: the root of the sum of (moved / noise's sd)^2."""
        queries = self.actual.queries
        return math.hypot(
            *(
                np.linalg.norm(present - absent) / query.noise_sd
                for query, (absent, present) in zip(queries, self._sums, strict=True)
            )
        )

    def assert_told_by_answers(self) -> None:
        """All that is released is a function of the answers: the same for both data sets."""
        assert self.actual.reported == self.other.reported
        np.testing.assert_equal(_numbers(self.actual.release), _numbers(self.other.release))

    def evidence(self) -> dict[str, float]:
        """What the run shows of which data set it saw.

        transcript: the log likelihood ratio of all answers. gradient: of the last iterate's.
        component: the square of an entry of the first component released.
        """
        ratios, gradient = [], 0.0
        actual = self.actual
        for query, (absent, present), answer in zip(
            actual.queries, self._sums, actual.answers, strict=True
        ):
            surprise = np.vdot(present - absent, answer - (present + absent) / 2)
            ratios.append(float(surprise) / query.noise_sd**2)
            if query.name == "gradient":
                gradient = ratios[-1]
        component = float(actual.release.components[0, 1] ** 2)
        return {"transcript": math.fsum(ratios), "gradient": gradient, "component": component}


def _numbers(release: Release) -> dict[str, Any]:
    """All that is released, the matrix by its arrays."""
    found = dict(vars(release))
    matrix = found.pop("matrix")
    arrays = {} if matrix is None else matrix.to_arrays()
    return found | {f"matrix {name}": values for name, values in arrays.items()}


def bounds(
    game: Game, without: np.ndarray, with_record: np.ndarray, runs: int, alpha: float
) -> dict[str, float]:
    """A lower bound on mu from each piece of `Pair.evidence`, by `runs` runs a side."""
    sides = [
        [Pair(game, without, with_record, seen, 2 * i + seen).evidence() for i in range(runs)]
        for seen in (False, True)
    ]
    # A likelihood ratio of 1 tells the data sets apart best; of the component nothing is known.
    thresholds = {"transcript": 0.0, "gradient": 0.0, "component": None}
    return {
        name: mu_lower_bound(*(np.array([r[name] for r in side]) for side in sides), alpha, given)
        for name, given in thresholds.items()
    }
