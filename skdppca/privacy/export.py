"""The cost of a release as an event of the library dp-accounting."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

from .composition import Composition
from .events import PrivacyEvent, add_event
from .floats import float_up, number
from .installing import how_to_install

if TYPE_CHECKING:
    from dp_accounting import DpEvent

# Least mu that is exported: a Gaussian release that costs next to nothing keeps finite noise.
_LEAST_MU = 1e-100


def to_dp_event(event: PrivacyEvent, kept_back: float = 0.0) -> DpEvent:
    """Return an event of dp-accounting that costs as much as `event`.

    A Gaussian release is mu-GDP: its noise is ``1 / mu`` times the sensitivity, rounded down. Of a
    pure step only epsilon is known, so it costs as much as a randomised response between two
    answers. A discrete Laplace mechanism of sensitivity 1 and noise parameter epsilon has exactly
    its privacy loss: plus or minus epsilon, and epsilon with probability ``1 / (1 + e^-epsilon)``.
    (dp-accounting's own event for a randomised response is for other neighbours.)

    A step with a delta fails with that probability, and no event of dp-accounting does. An
    (epsilon, delta) step is a post-processing of a randomised response that fails with probability
    delta (Kairouz, Oh and Viswanath 2015). So what is (e, d)-private without failures is
    (e, d + `kept_back`)-private with them, if `kept_back` is at least the sum of their
    probabilities.

    Parameters
    ----------
    event : PrivacyEvent
    kept_back : float, default=0.0
        What the caller takes from the target delta for these failures.

    Returns
    -------
    dp_accounting.DpEvent

    Raises
    ------
    ValueError
        If `kept_back` does not cover the failures; of private searches beside pure or (epsilon,
        delta) steps.

    Examples
    --------
    >>> from skdppca.privacy import GaussianEvent
    >>> round(to_dp_event(GaussianEvent(0.5)).noise_multiplier, 6)
    2.0
    """
    try:
        from dp_accounting import dp_event as dp
    except ImportError as error:
        raise ImportError(
            "an event of dp-accounting was asked for, which is not installed; "
            f"install it with: {how_to_install('selection')}"
        ) from error

    total = add_event(Composition(), event)
    if not total.private or total.mu == math.inf:
        return dp.NonPrivateDpEvent()
    failing = float_up(min(total.failing, Fraction(1)))
    if number("kept_back", kept_back, 1.0) < failing:
        raise ValueError(
            f"kept_back={kept_back!r} is too small: this release may fail with probability "
            f"{failing!r}, and no event of dp-accounting can say so; use "
            f"to_dp_event(kept_back={failing!r}), and price it at your delta minus {failing!r}"
        )

    def gaussian(mu: float) -> dp.GaussianDpEvent:
        return dp.GaussianDpEvent(math.nextafter(1 / max(mu, _LEAST_MU), 0))

    epsilons = Counter(epsilon for epsilon, _ in total.steps if epsilon)
    if total.selections and epsilons:
        raise ValueError(
            "this holds private searches and pure or (epsilon, delta) charges, and no accountant "
            "of dp-accounting takes both; take the cost from the accountant's spent"
        )
    repeated: list[tuple[DpEvent, int]] = [
        *((gaussian(mu), 1) for mu in [total.mu] if mu),
        *((dp.DiscreteLaplaceDpEvent(epsilon, 1), n) for epsilon, n in sorted(epsilons.items())),
        *(
            (dp.RepeatAndSelectDpEvent(gaussian(mu), mean=mean, shape=0.0), n)
            for (mu, mean), n in sorted(Counter(total.selections).items())
        ),
    ]
    parts = [part if n == 1 else dp.SelfComposedDpEvent(part, n) for part, n in repeated]
    if not parts:
        return dp.NoOpDpEvent()
    return parts[0] if len(parts) == 1 else dp.ComposedDpEvent(parts)
