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

HALVINGS = 30  # of the bracket of mu: it ends within 1e-8 of the largest mu that is affordable


@dataclass(frozen=True)
class SearchConstants:
    """How a search divides its budget; round numbers."""

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
    """How one budget is divided.

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
