"""Price compositions that are not only Gaussian, with dp-accounting's loss distributions."""

import math
from collections.abc import Mapping
from functools import lru_cache

from .installing import how_to_install

# Cells of the discretised loss per unit of its scale: rounding up adds about 1e-6 to epsilon.
_CELLS = 4_000
# Smallest and largest scale: dp-accounting squares 1 / mu and takes exp of losses.
_LEAST_SCALE = 1e-100
_LARGEST_SCALE = 300.0
# Probability that one convolution of up to 1e6 float64 cells may lose; a generous bound.
_FFT_ERROR = 1e-11
# Relative error of dp-accounting's sums.
_FLOAT_ERROR = 1e-9


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
