"""What a private search spends on what, from public facts alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

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

__all__ = ["SearchPlan", "plan_search"]

# mu^2 of the count, centre and radius that all scores share, over that of one candidate: asked
# once and not K times, it costs 8 % more noise at 10 candidates.
PRELIMINARY_SHARE = 0.25

HALVINGS = 30  # of the bracket of mu: it ends within 1e-8 of the largest mu that is affordable


@dataclass(frozen=True)
class SearchPlan:
    """How one budget is divided.

    Parameters
    ----------
    mu : float
        Gaussian-DP parameter of one candidate: its fit and its score.
    mean_runs : float
        How many candidates are tried, on average.
    score_share : float
        The score's share of the candidate's mu^2.
    preliminary : bool
        Whether anything has to be found out before the first candidate is scored.
    """

    mu: float
    mean_runs: float
    score_share: float
    preliminary: bool

    @property
    def mu_preliminary(self) -> float:
        """Of what is asked once."""
        return self.mu * math.sqrt(PRELIMINARY_SHARE) if self.preliminary else 0.0

    @property
    def mu_score(self) -> float:
        """Of the score of one candidate."""
        return self.mu * math.sqrt(self.score_share)

    @property
    def mu_fit(self) -> float:
        """Of the fit of one candidate, rounded down."""
        left = math.sqrt(Fraction(self.mu) ** 2 - Fraction(self.mu_score) ** 2)
        return math.nextafter(left, 0)

    @property
    def event(self) -> PrivacyEvent:
        """The total."""
        selection = SelectionEvent(self.mu, self.mean_runs)
        return compose([GaussianEvent(self.mu_preliminary), selection])

    def fit_budget(self, delta: float) -> tuple[float, float]:
        """An (epsilon, delta) for which `mu_of` is just below `mu_fit`, delta at most `delta`."""
        delta = min(delta, delta_of(self.mu_fit, 0.0) / 2)  # else epsilon would be 0
        return math.nextafter(epsilon_of(self.mu_fit, delta), 0), delta


@lru_cache(maxsize=256)
def plan_search(
    epsilon: float, delta: float, mean_runs: float, score_share: float, preliminary: bool
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
        plan = SearchPlan(middle, mean_runs, score_share, preliminary)
        low, high = (middle, high) if is_affordable(plan.event, epsilon, delta) else (low, middle)
    if low == 0:
        raise ValueError(
            f"epsilon={epsilon}, delta={delta} cannot pay for the best of "
            f"mean_candidates={mean_runs}; raise them, or try fewer"
        )
    return SearchPlan(low, mean_runs, score_share, preliminary)
