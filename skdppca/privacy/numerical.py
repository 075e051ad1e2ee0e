"""Prices of mixed events by loss distributions, and of private selections by Renyi divergences."""

import math
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from .installing import how_to_install

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
