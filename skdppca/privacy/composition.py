"""The running total of what was spent, kept exactly, and its price."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import Generic, TypeVar, overload

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from .gdp import epsilon_of, float_up, last_float, mu_of, root_up
from .installing import how_to_install

_BISECTIONS = 12  # in `room`, where each takes a numerical price
_FINEST = 1074  # every float64 is an integer times 2**-1074


T = TypeVar("T")


class Log(Sequence[T], Generic[T]):
    """An immutable sequence. A longer one shares its memory, so that appending is fast.

    Examples
    --------
    >>> short = Log("ab")
    >>> long, other = short.appended("c"), short.appended("d")
    >>> list(short), list(long), list(other)
    (['a', 'b'], ['a', 'b', 'c'], ['a', 'b', 'd'])
    """

    __slots__ = ("_items", "_length")

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items = list(items)  # longer logs append to it
        self._length = len(self._items)

    def appended(self, item: T) -> Log[T]:
        """Return a log with one more item."""
        items, place = self._items, self._length
        if len(items) == place:
            items.append(item)
        if items[place] is not item:  # another log, perhaps in another thread, took the place
            items = [*items[:place], item]
        longer: Log[T] = Log.__new__(Log)
        longer._items, longer._length = items, place + 1
        return longer

    def continues(self, shorter: Log[T]) -> bool:
        """Return whether the two share their memory, so that this one extends the shorter."""
        return self._items is shorter._items

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[T]:
        return islice(self._items, self._length)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        places = range(self._length)[index]
        if isinstance(places, int):
            return self._items[places]
        return tuple(self._items[place] for place in places)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Log) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Log({list(self)!r})"


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
        """True if a loss distribution could beat the plain sum."""
        if self.selections:
            return False
        return len(self.steps) + (self.squares > 0) > 1

    @property
    def is_slow(self) -> bool:
        """True if a price takes some tenths of a second, and the library dp-accounting."""
        return bool(self.selections) or self.mixed

    @property
    def kinds(self) -> int:
        """Number of kinds of steps and selections, of which each takes its time."""
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


# Cells of the discretised loss per unit of its scale: rounding up adds about 1e-6 to epsilon.
_CELLS = 4_000
# Smallest and largest scale: dp-accounting squares 1 / mu and takes exp of losses.
_LEAST_SCALE = 1e-100
_LARGEST_SCALE = 300.0
# Probability that one convolution of up to 1e6 float64 cells may lose; a generous bound.
_FFT_ERROR = 1e-11
# Relative error of dp-accounting's sums.
_FLOAT_ERROR = 1e-9  # relative error of dp-accounting's sums; also the part of delta kept back


def pld_epsilon(
    mu: float, steps: Mapping[tuple[float, float], int], failure: float, delta: float
) -> float:
    """Return an epsilon, rounded up, for a Gaussian release composed with (epsilon, delta) steps.

    Parameters
    ----------
    mu : float
        Gaussian-DP parameter: sensitivity over noise sd, whatever the adjacency. dp-accounting
        always prices its add-or-remove Gaussian with ``sd = 1 / mu``. Its own replace-one
        neighbours are not used, because its RDP accountant omits a factor of 2 there.
    steps : mapping of (epsilon, delta) to int
        The steps and how often each happened, all finite.
    failure : float
        Probability with which the rest may fail.
    delta : float
        The delta to price at.

    Returns
    -------
    float
        Infinity where the loss distribution is not accurate enough: for a `delta` close to its
        rounding errors, or an epsilon in the hundreds. The sum of epsilons still holds there.

    Examples
    --------
    Three steps of epsilon 0.5 and a Gaussian one cost much less than the sum of their epsilons:

    >>> price = pld_epsilon(0.5, {(0.5, 0.0): 3}, 0.0, 1e-6)
    >>> 3.59 < price < 3.6
    True
    """
    # A failure is priced as a step of epsilon 0 whose delta is the probability to fail.
    known = frozenset((step, count) for step, count in steps.items() if any(step))
    return _pld_epsilon(mu, known, failure, delta)


@lru_cache(maxsize=256)
def _pld_epsilon(
    mu: float, steps: frozenset[tuple[tuple[float, float], int]], failure: float, delta: float
) -> float:
    try:
        from dp_accounting.pld import common
        from dp_accounting.pld import privacy_loss_distribution as pld
    except ImportError as error:
        raise ImportError(
            "a composition that is not Gaussian only is priced by dp-accounting; "
            f"install it with: {how_to_install('selection')}"
        ) from error

    scale = sum(epsilon * count for (epsilon, _), count in steps) + mu * mu / 2 + 4 * mu
    convolutions = 1 + sum(count for _, count in steps)
    usable = delta * (1 - _FLOAT_ERROR) - convolutions * _FFT_ERROR
    if not _LEAST_SCALE < scale <= _LARGEST_SCALE or usable <= 0:
        return math.inf
    # Losses are rounded up to multiples of the cell. The cell divides the epsilon of the largest
    # step exactly, by a power of two; more kinds of steps need a smaller cell.
    largest = max((epsilon for (epsilon, _), _ in steps), default=0.0)
    cell = scale / (_CELLS * min(1 + len(steps), 10))
    if largest > cell:
        cell = largest / 2 ** math.ceil(math.log2(largest / cell))

    def step_loss(epsilon: float, broken: float) -> pld.PrivacyLossDistribution:
        promise = common.DifferentialPrivacyParameters(epsilon, broken)
        return pld.from_privacy_parameters(promise, cell)

    loss = step_loss(0.0, failure)
    if mu > 0:
        sd = math.nextafter(1 / max(mu, 1e-12 * scale), 0)
        loss = loss.compose(pld.from_gaussian_mechanism(sd, value_discretization_interval=cell))
    for (epsilon, broken), count in sorted(steps):
        loss = loss.compose(step_loss(epsilon, broken).self_compose(count))
    price = float(loss.get_epsilon_for_delta(usable))
    return price + _FLOAT_ERROR * (price + scale)


# Renyi orders: an optimum between two of them costs 0.2 % of epsilon.
_ORDERS = (1.0, *(1 + np.logspace(-1.8, 6.0, 156)))
_LEAST_DELTA = 1e-40  # from here to the next the error of the sampler of K is covered
_MOST_EPSILON = 500.0
_LEAST_MU = 1e-100  # dp-accounting squares 1 / mu


def rdp_epsilon(mu: float, selections: Mapping[tuple[float, float], int], delta: float) -> float:
    """Return an epsilon, rounded up, for a Gaussian release composed with private selections.

    A selection runs a mechanism K times and releases the best output only, K drawn from the
    logarithmic distribution (Papernot and Steinke 2022, Theorem 2 with eta = 0). One run is
    mu-GDP: a post-processing of N(0, 1) against N(mu, 1), so its Renyi divergence of order a is
    at most ``a mu^2 / 2``, whatever the adjacency. Divergences of one order add up.

    Parameters
    ----------
    mu : float
        Gaussian-DP parameter of what else was released. dp-accounting always prices its
        add-or-remove Gaussian with ``sd = 1 / mu``, because for replace-one neighbours it omits a
        factor of 2.
    selections : mapping of (mu, mean) to int
        How often each selection was made, by the Gaussian-DP parameter of one run and E[K].
    delta : float
        The delta to price at.

    Returns
    -------
    float
        Infinity for ``delta=0`` and outside of the range in the notes.

    Notes
    -----
    One part in 1e9 of `delta` is kept back for the sampler of K, whose total-variation error t is
    at most 2^-900. That error adds at most ``(1 + e^epsilon) t`` to delta, which is less than the
    part kept back for every delta above 1e-40 and epsilon below 500. Beyond these the price is
    infinite.

    Examples
    --------
    The best of 10 runs (their mean number) costs less than 4 runs that are all released:

    >>> price = rdp_epsilon(0.1, {(0.1, 10.0): 1}, 1e-6)
    >>> price < rdp_epsilon(0.2, {(0.1, 1.0): 1}, 1e-6)
    True
    """
    if delta < _LEAST_DELTA or mu == math.inf:
        return math.inf
    price = _rdp_epsilon(mu, frozenset(selections.items()), delta)
    return price if price < _MOST_EPSILON else math.inf


@lru_cache(maxsize=4096)
def _rdp_epsilon(
    mu: float, selections: frozenset[tuple[tuple[float, float], int]], delta: float
) -> float:
    try:
        from dp_accounting import dp_event
        from dp_accounting.privacy_accountant import NeighboringRelation
        from dp_accounting.rdp import RdpAccountant
    except ImportError as error:
        raise ImportError(
            "a composition that is not Gaussian only is priced by dp-accounting; "
            f"install it with: {how_to_install('selection')}"
        ) from error

    def gaussian(mu: float) -> dp_event.GaussianDpEvent:
        return dp_event.GaussianDpEvent(math.nextafter(1 / max(mu, _LEAST_MU), 0))

    accountant = RdpAccountant(_ORDERS, NeighboringRelation.ADD_OR_REMOVE_ONE)
    if mu:
        accountant.compose(gaussian(mu))
    for (run, mean), count in sorted(selections):
        event = dp_event.RepeatAndSelectDpEvent(gaussian(run), mean=mean, shape=0.0)
        accountant.compose(event, count)
    price = float(accountant.get_epsilon(delta * (1 - _FLOAT_ERROR)))
    return price * (1 + _FLOAT_ERROR) + _FLOAT_ERROR
