"""The running total of what was spent, kept exactly, and its price."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from functools import lru_cache

from msgspec import Struct, field
from msgspec.structs import replace

from .floats import float_up, last_float, root_up
from .gdp import epsilon_of, mu_of
from .log import Log
from .numerical import pld_epsilon, rdp_epsilon

_BISECTIONS = 12  # in `room`, where each takes a numerical price
_FINEST = 1074  # every float64 is an integer times 2**-1074


class Composition(Struct, frozen=True):
    """The total cost of any number of releases.

    The sums are exact, so the order of the releases cannot change the total.

    Parameters
    ----------
    squares : int
        Sum of the squared Gaussian-DP parameters, in units of 2**-2148.
    failures : int
        Sum of the probabilities with which Gaussian steps may fail, in units of 2**-1074.
    steps : Log of (float, float)
        The (epsilon, delta) of every step that is neither Gaussian nor a selection.
    epsilons, deltas : int
        The sums over these steps, in units of 2**-1074.
    selections : Log of (float, float)
        The mu of one run, and the expected number of runs, of every private selection.
    private : bool
        False once anything was released without a guarantee.

    Examples
    --------
    >>> total = Composition().gaussian(3.0).gaussian(4.0)
    >>> total.mu
    5.0
    >>> total.fits(epsilon=1.0, delta=1e-6)
    False
    """

    squares: int = 0
    failures: int = 0
    steps: Log[tuple[float, float]] = field(default_factory=Log)
    epsilons: int = 0
    deltas: int = 0
    selections: Log[tuple[float, float]] = field(default_factory=Log)
    private: bool = True

    def gaussian(self, mu: float, failure: float = 0.0) -> Composition:
        """Add a Gaussian release that may fail."""
        return replace(
            self,
            squares=self.squares + _units(mu) ** 2,
            failures=self.failures + _units(failure),
        )

    def step(self, epsilon: float, delta: float) -> Composition:
        """Add an (epsilon, delta) release."""
        return replace(
            self,
            steps=self.steps.appended((epsilon, delta)),
            epsilons=self.epsilons + _units(epsilon),
            deltas=self.deltas + _units(delta),
        )

    def selection(self, mu: float, mean_runs: float) -> Composition:
        """Add the best of a random number of Gaussian releases."""
        return replace(self, selections=self.selections.appended((mu, mean_runs)))

    def broken(self) -> Composition:
        """Add a release without any guarantee."""
        return replace(self, private=False)

    @property
    def square(self) -> Fraction:
        """Sum of the squared Gaussian-DP parameters."""
        return Fraction(self.squares, 4**_FINEST)

    @property
    def failure(self) -> Fraction:
        """Sum of the probabilities with which Gaussian steps may fail."""
        return Fraction(self.failures, 2**_FINEST)

    @property
    def failing(self) -> Fraction:
        """Sum of the probabilities with which any step may fail, and of all deltas."""
        return Fraction(self.failures + self.deltas, 2**_FINEST)

    @property
    def mu(self) -> float:
        """Gaussian-DP parameter of the Gaussian part, rounded up."""
        return root_up(self.square)

    def epsilon(self, delta: float) -> float:
        """Return the smallest epsilon that can be proven at `delta`, rounded up.

        With selections, the steps first take their deltas out of `delta`. The Renyi divergences
        of the selections and the Gaussian releases give an epsilon at the rest of `delta`, and
        the epsilons of the steps are added to it.

        Proof. A step is a post-processing of a randomised response b that is drawn for it alone,
        whatever came before: with probability 1 - delta_i the odds of b move by at most
        e^epsilon_i (Kairouz, Oh and Viswanath 2015, Theorem 3.1). Given all b, what is left is an
        adaptive composition of selections and Gaussian releases, for which
        ``P_b(S) <= e^r Q_b(S) + d`` holds with its own (r, d). Averaged over b, that is
        ``P(S) <= e^(r + sum epsilon_i) Q(S) + d + sum delta_i``.
        """
        sum_epsilon, failure = self._sums()
        if not self.private or failure > delta:
            return math.inf
        if self.selections:
            left = -float_up(failure - Fraction(delta))
            gaussian = rdp_epsilon(self.mu, Counter(self.selections), left)
        else:
            gaussian = epsilon_of(self.mu, delta, failure)
        if gaussian == math.inf:
            return math.inf
        basic = float_up(sum_epsilon + Fraction(gaussian))
        return min(basic, self._pld(delta)) if self.mixed else basic

    def fits(self, epsilon: float, delta: float) -> bool:
        """Return whether the total is (epsilon, delta)-private; False where it cannot be shown."""
        if self.selections:
            return self.epsilon(delta) <= epsilon
        sum_epsilon, failure = self._sums()
        if not self.private or failure > delta:
            return False
        left = Fraction(epsilon) - sum_epsilon
        if left >= 0:
            # Rounded down: a budget never grants more than it has.
            mu = mu_of(max(-float_up(-left), 0.0), delta, failure)
            if self.squares <= _units(mu) ** 2:
                return True
        return self.mixed and self._pld(delta) <= epsilon

    def room(self, epsilon: float, delta: float) -> float:
        """Return the largest epsilon, at `delta`, of one more release that the budget grants.

        The release is Gaussian (``mu_of(epsilon, delta)``), or pure if ``delta=0``. After releases
        that were not Gaussian, the answer may be too small by up to ``epsilon / 4096``.
        """

        def grants(request: float) -> bool:
            if delta == 0:
                return self.step(request, 0.0).fits(epsilon, delta)
            return self.gaussian(mu_of(request, delta)).fits(epsilon, delta)

        if grants(epsilon):
            return epsilon
        if not grants(0.0):
            return 0.0
        if (self.steps or self.selections) and delta > 0:
            low, high = 0.0, epsilon
            for _ in range(_BISECTIONS):
                middle = (low + high) / 2
                low, high = (middle, high) if grants(middle) else (low, middle)
            return low
        if delta == 0:
            return last_float(grants, float(Fraction(epsilon) - self._sums()[0]))
        left = Fraction(mu_of(epsilon, delta, self.failure)) ** 2 - self.square
        return last_float(grants, epsilon_of(root_up(left), delta))

    @property
    def mixed(self) -> bool:
        """Whether a loss distribution could beat the plain sum."""
        if self.selections:
            return False
        return len(self.steps) + (self.squares > 0) > 1

    @property
    def is_slow(self) -> bool:
        """Whether a price takes some tenths of a second, and the library dp-accounting."""
        return bool(self.selections) or self.mixed

    @property
    def kinds(self) -> int:
        """How many kinds of steps and selections there are, of which each takes its time."""
        return len(set(self.steps)) + len(set(self.selections))

    def _sums(self) -> tuple[Fraction, Fraction]:
        """Return the sum of the steps' epsilons, and that of all deltas."""
        return Fraction(self.epsilons, 2**_FINEST), self.failing

    def _pld(self, delta: float) -> float:
        return pld_epsilon(self.mu, Counter(self.steps), float_up(self.failure), delta)


@lru_cache(maxsize=4096)
def _units(value: float) -> int:
    """Return a float64 as an exact number of units of 2**-1074."""
    numerator, denominator = value.as_integer_ratio()
    return numerator << (_FINEST + 1 - denominator.bit_length())
