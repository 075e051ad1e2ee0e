"""A private search: what it spends on what, from public facts alone, and its runs."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed
from mpmath import libmp
from scipy.optimize import brentq

from ..noise import NoiseSource
from ..privacy import (
    GaussianEvent,
    PrivacyEvent,
    SelectionEvent,
    compose,
    delta_of,
    epsilon_of,
    is_affordable,
    mu_of,
)
from ..privacy.charging import needs_no_accountant

HALVINGS = 30  # of the bracket of mu: it ends within 1e-8 of the largest mu that is affordable


@dataclass(frozen=True)
class SearchConstants:
    """Division of a search's budget; round numbers."""

    # mu^2 of what all scores share, over that of one candidate: of the number of records alone;
    # with a centre and a radius, which, asked once and not K times, cost 8 % more noise at 10
    # candidates; and with private scales.
    count: float = 0.05
    preliminary: float = 0.25
    scaled: float = 0.5
    # The share of that for the number of records. A centre takes what it takes of a fit (up to a
    # third), and the radius gets all the rest.
    count_share: float = 0.1
    # The classifier's share of mu^2 of a fit, next to that of the private PCA.
    classifier_share: float = 0.5


SEARCH = SearchConstants()


@dataclass(frozen=True)
class SearchPlan:
    """Division of one budget among the runs of a search, their fits and their scores.

    Parameters
    ----------
    mu : float
        Gaussian-DP parameter of one candidate: its fit and its score.
    mean_runs : float
        How many candidates are tried, on average.
    score_share : float
        The score's share of the candidate's mu^2.
    preliminary_share : float
        mu^2 of what has to be found out before the first candidate is scored, over that of one
        candidate.
    """

    mu: float
    mean_runs: float
    score_share: float
    preliminary_share: float

    @property
    def mu_preliminary(self) -> float:
        """The mu of what is asked once."""
        return self.mu * math.sqrt(self.preliminary_share)

    @property
    def mu_score(self) -> float:
        """The mu of the score of one candidate."""
        return self.mu * math.sqrt(self.score_share)

    @property
    def mu_fit(self) -> float:
        """The mu of the fit of one candidate, rounded down."""
        left = math.sqrt(Fraction(self.mu) ** 2 - Fraction(self.mu_score) ** 2)
        return math.nextafter(left, 0)

    @property
    def event(self) -> PrivacyEvent:
        """The total."""
        selection = SelectionEvent(self.mu, self.mean_runs)
        return compose([GaussianEvent(self.mu_preliminary), selection])

    @property
    def mu_classifier(self) -> float:
        """The mu of the classifier of a fit, where there is one."""
        return self.mu_fit * math.sqrt(SEARCH.classifier_share)

    @property
    def mu_pca(self) -> float:
        """The mu of the private PCA beside a classifier, rounded down."""
        left = math.sqrt(Fraction(self.mu_fit) ** 2 - Fraction(self.mu_classifier) ** 2)
        return math.nextafter(left, 0)


def budget_of(mu: float, delta: float) -> tuple[float, float]:
    """An (epsilon, delta) for which `mu_of` is just below `mu`, delta at most `delta`."""
    delta = min(delta, delta_of(mu, 0.0) / 2)  # else epsilon would be 0
    return math.nextafter(epsilon_of(mu, delta), 0), delta


@lru_cache(maxsize=256)
def plan_search(
    epsilon: float, delta: float, mean_runs: float, score_share: float, preliminary_share: float
) -> SearchPlan:
    """The plan of the largest mu whose total is (epsilon, delta)-private, within 1e-8.

    Raises
    ------
    ValueError
        If there is none.
    """
    low, high = 0.0, mu_of(epsilon, delta)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        plan = SearchPlan(middle, mean_runs, score_share, preliminary_share)
        low, high = (middle, high) if is_affordable(plan.event, epsilon, delta) else (low, middle)
    if low == 0:
        raise ValueError(
            f"epsilon={epsilon}, delta={delta} cannot pay for the best of "
            f"mean_candidates={mean_runs}; raise them, or try fewer"
        )
    return SearchPlan(low, mean_runs, score_share, preliminary_share)


C = TypeVar("C")
F = TypeVar("F")

WORDS = 16  # of 64 bits, for one uniform
GUARD_BITS = 64


def stopping_probability(mean_runs: float) -> float:
    """Gamma of the logarithmic distribution whose mean is `mean_runs`, or a little less.

    The mean is ``(1 / gamma - 1) / log(1 / gamma)``: it grows with ``x = log(1 / gamma)``. The
    root is known to about 1e-15, and less is taken of it.
    """
    if mean_runs == 1:
        return 1.0
    most = 2 * math.log(mean_runs) + 2
    x = brentq(lambda x: math.expm1(x) / x - mean_runs, 1e-16, most, xtol=1e-16)
    return math.exp(-max(x * (1 - 1e-9) - 1e-14, 0.0))


def draw_runs(noise: NoiseSource, mean_runs: float) -> int:
    """Draw K, with ``P(K = k) = (1 - gamma)^k / (k log(1 / gamma))`` for k from 1.

    The smallest k whose cumulative probability exceeds a uniform of 1024 bits.

    Notes
    -----
    The draw is within 2^-900 of its distribution in total variation. In units of 2^-1088 a power
    is at most 2 k too small, so a quotient by k a few and a cumulative probability a few k; the
    uniform is known to 2^-1024. So each boundary between two values moves by less than 2^-1022;
    beyond ``k = 710 / gamma < 2^35`` there is less than 2^-1022 left, and the largest uniform is
    exceeded.

    Examples
    --------
    >>> from skdppca.noise import NoiseSource
    >>> [draw_runs(NoiseSource(seed), 10.0) for seed in range(8)]
    [1, 3, 6, 44, 2, 18, 13, 5]
    """
    gamma = stopping_probability(mean_runs)
    if gamma == 1:
        return 1
    bits = 64 * WORDS + GUARD_BITS
    uniform = int.from_bytes(noise.words(WORDS).tobytes(), "little") << GUARD_BITS
    log_gamma = libmp.to_fixed(libmp.mpf_log(libmp.from_float(gamma), bits + GUARD_BITS), bits)
    ratio = int((1 - Fraction(gamma)) * 2**bits)
    power = (ratio << bits) // -log_gamma
    k, cumulative = 1, power
    while uniform >= cumulative:
        k += 1
        power = power * ratio >> bits
        cumulative += power // k
    return k


def workers(n_jobs: int | None) -> Parallel:
    """Return the workers that fit the candidates, without progress: that would reveal how many.

    Raises
    ------
    ValueError
        If joblib's backend cannot hand on one fit after the other.
    """
    return Parallel(n_jobs=n_jobs, return_as="generator", verbose=0)


def best_run(
    candidates: Sequence[C],
    fit: Callable[[C], F],
    score: Callable[[F], float],
    fit_all: Parallel,
) -> tuple[float, int, F]:
    """Fit and score candidates one by one, and keep the best: its score, place and fit.

    One that fails is worse than all others, which is an output like any other. Nothing is warned
    of: that would tell of candidates that are not released.

    Among equal scores the first wins. The theorem of private selection assumes that no scores are
    equal, as a random tag on each would ensure. The runs are independent and of one law. So given
    which of them share the best score, these are exchangeable, and the first has the law of the one
    that a tag would choose ("Ties" in the theory of private selection).

    Parameters
    ----------
    candidates : sequence
    fit : callable
        Function that fits a candidate; workers receive it, so it can be pickled.
    score : callable
        Function that scores the fitted result. It runs here.
    fit_all : Parallel

    Raises
    ------
    RuntimeError
        If all fail.
    """
    best: tuple[float, int, F] | None = None
    # whatever the caller asked for: an error would tell of candidates that are not released
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits = fit_all(delayed(_silently)(fit, candidate) for candidate in candidates)
        for run, fitted in enumerate(fits):
            found = None if fitted is None else _run(score, fitted)
            if found is not None and (best is None or found > best[0]):
                best = found, run, fitted
    if best is None:
        raise RuntimeError(
            "no candidate could be fitted and scored; the search was charged and nothing is "
            "released. Fit the candidates of param_grid on public or synthetic data to see why"
        )
    return best


def _silently(fit: Callable[[Any], Any], candidate: Any) -> Any:
    # a worker has budgets of its own, and the search was charged for all of its candidates
    with np.errstate(all="ignore"), warnings.catch_warnings(), needs_no_accountant():
        warnings.simplefilter("ignore")
        return _run(fit, candidate)


def _run(f: Callable[[Any], Any], given: Any) -> Any:
    """``f(given)``, or None if it fails."""
    try:
        return f(given)
    except Exception:
        return None
