import itertools
import math
import re
from fractions import Fraction

import mpmath
import pytest

from skdppca.privacy import (
    ApproximateEvent,
    ComposedEvent,
    GaussianEvent,
    NonPrivateEvent,
    PrivacyAccountant,
    PureEvent,
    SelectionEvent,
    compose,
    compose_mu,
    epsilon_of,
    epsilon_of_event,
    is_affordable,
    mu_of,
)
from skdppca.privacy.installing import how_to_install

EXACT = mpmath.mp.clone()
EXACT.dps = 40


def exact_delta(mu, epsilon, count, at):
    """delta at `at` of a Gaussian release and `count` randomised responses: a binomial mixture."""
    mp = EXACT
    p = 1 / (1 + mp.exp(-mp.mpf(epsilon)))

    def gaussian(at):
        if mu == 0:
            return max(1 - mp.exp(at), mp.zero)
        half, shift = mp.mpf(mu) / 2, at / mp.mpf(mu)
        return mp.ncdf(half - shift) - mp.exp(at) * mp.ncdf(-half - shift)

    return sum(
        mp.binomial(count, k)
        * p**k
        * (1 - p) ** (count - k)
        * gaussian(mp.mpf(at) - (2 * k - count) * mp.mpf(epsilon))
        for k in range(count + 1)
    )


def test_gaussian_compositions_collapse_in_closed_form():
    events = [GaussianEvent(0.3, 1e-8), ComposedEvent((GaussianEvent(0.4), GaussianEvent(1.2)))]
    total = compose(events)
    assert total.mu == compose_mu([0.3, 0.4, 1.2])
    assert Fraction(total.failure) == Fraction(1e-8)


def test_failures_add_up_and_never_below_their_sum():
    failures = [0.1, 0.2, 0.3, 1e-17]
    total = compose(GaussianEvent(0.0, failure) for failure in failures)
    assert sum(map(Fraction, failures)) <= Fraction(total.failure)
    assert total.failure == math.nextafter(0.6, 1)


def test_the_order_of_events_cannot_change_the_total():
    events = [GaussianEvent(0.1), GaussianEvent(1e-9), GaussianEvent(7.3), GaussianEvent(1 / 3)]
    assert len({compose(order) for order in itertools.permutations(events)}) == 1


def test_composition_is_associative():
    first, second = [GaussianEvent(3.0), PureEvent(0.1)], [PureEvent(0.1), GaussianEvent(4.0)]
    together = compose([compose(first), compose(second)])
    assert together == ComposedEvent((GaussianEvent(5.0), PureEvent(0.1), PureEvent(0.1)))


def test_nothing_costs_nothing_and_no_privacy_spoils_everything():
    assert compose([]) == GaussianEvent(0.0)
    assert compose([GaussianEvent(0.1), NonPrivateEvent()]) == NonPrivateEvent()
    assert compose([GaussianEvent(1.7e308)] * 2) == NonPrivateEvent()


@pytest.mark.parametrize("event", [NonPrivateEvent(), compose([PureEvent(0.1), NonPrivateEvent()])])
def test_no_budget_affords_what_is_not_private(event):
    assert epsilon_of_event(event, 0.5) == math.inf
    assert not is_affordable(event, 1e300, 0.5)


def test_a_budget_affords_its_own_mu_and_nothing_more():
    mu = mu_of(1.0, 1e-6)
    assert is_affordable(GaussianEvent(mu), 1.0, 1e-6)
    assert not is_affordable(GaussianEvent(math.nextafter(mu, 2)), 1.0, 1e-6)


def test_a_failure_is_part_of_delta():
    failure = 1e-7
    mu = mu_of(1.0, 1e-6, failure)
    assert is_affordable(GaussianEvent(mu, failure), 1.0, 1e-6)
    assert not is_affordable(GaussianEvent(mu_of(1.0, 1e-6), failure), 1.0, 1e-6)
    assert epsilon_of_event(GaussianEvent(mu, failure), 1e-6) <= 1.0
    assert epsilon_of_event(GaussianEvent(0.0, 2e-6), 1e-6) == math.inf


def test_a_single_gaussian_event_is_priced_exactly():
    assert epsilon_of_event(GaussianEvent(0.7), 1e-6) == epsilon_of(0.7, 1e-6)


@pytest.mark.parametrize("event", [PureEvent(0.25), ApproximateEvent(0.25, 1e-7)])
def test_a_single_declared_event_costs_what_it_declares(event):
    assert epsilon_of_event(event, 1e-6) == 0.25
    assert is_affordable(event, 0.25, 1e-6)
    assert not is_affordable(event, math.nextafter(0.25, 0), 1e-6)


def test_without_delta_pure_events_alone_are_affordable_and_add_up():
    assert epsilon_of_event(compose([PureEvent(0.25)] * 3), 0.0) == 0.75
    assert is_affordable(compose([PureEvent(0.25)] * 4), 1.0, 0.0)
    assert not is_affordable(compose([PureEvent(0.25)] * 5), 1.0, 0.0)
    for event in (GaussianEvent(1e-9), ApproximateEvent(0.1, 1e-12), GaussianEvent(0.0, 1e-12)):
        assert epsilon_of_event(event, 0.0) == math.inf
        assert not is_affordable(event, 1e9, 0.0)
        assert not is_affordable(compose([event, PureEvent(0.1)]), 1e9, 0.0)


def test_sums_of_pure_epsilons_round_up():
    exact = 3 * Fraction(0.1)
    assert Fraction(epsilon_of_event(compose([PureEvent(0.1)] * 3), 0.0)) >= exact
    assert not is_affordable(compose([PureEvent(0.1)] * 3), 0.3, 0.0)


@pytest.mark.parametrize(
    ("mu", "epsilon", "count", "delta"),
    [
        (0.0, 0.01, 1000, 1e-6),
        (0.0, 0.5, 20, 1e-6),
        (0.5, 0.5, 3, 1e-6),
        (1.0, 1.0, 2, 1e-9),
        (0.2, 0.05, 100, 1e-6),
        (1e-3, 1e-4, 5, 1e-6),
        (5.0, 2.0, 10, 1e-6),
        (3.0, 0.1, 3, 1e-3),
        (0.1, 0.3, 3, 0.01),
    ],
)
def test_mixtures_are_priced_tightly_and_never_too_low(mu, epsilon, count, delta):
    event = compose([GaussianEvent(mu), *[PureEvent(epsilon)] * count])
    price = epsilon_of_event(event, delta)
    assert exact_delta(mu, epsilon, count, price) <= delta
    # Rounding errors of 1e-11 a convolution are granted to dp-accounting, hence the last term.
    slack = 1e-5 + 2e-11 * count / delta
    assert exact_delta(mu, epsilon, count, price * (1 - slack)) > delta


@pytest.mark.parametrize("count", [2, 10, 300])
def test_a_repeated_pure_event_is_counted_every_time(count):
    # dp-accounting's SelfComposedDpEvent of an exponential mechanism forgets its count.
    price = epsilon_of_event(compose([PureEvent(0.05)] * count), 1e-6)
    assert exact_delta(0, 0.05, count, price) <= 1e-6
    assert price > epsilon_of_event(compose([PureEvent(0.05)] * (count - 1)), 1e-6)


def test_steps_of_different_kinds_are_all_counted():
    parts = [GaussianEvent(0.3), PureEvent(0.2), PureEvent(0.1), ApproximateEvent(0.15, 1e-7)]
    whole = epsilon_of_event(compose(parts), 1e-6)
    for left_out in range(len(parts)):
        assert epsilon_of_event(compose(parts[:left_out] + parts[left_out + 1 :]), 1e-6) < whole


def test_an_approximate_step_brings_its_delta_and_its_epsilon():
    # dp-accounting takes it by from_privacy_parameters: the deltas are gone for good ...
    assert epsilon_of_event(compose([ApproximateEvent(0.1, 4e-7)] * 3), 1e-6) == math.inf
    event = compose([GaussianEvent(0.5), *[ApproximateEvent(0.1, 1e-7)] * 3])
    price = epsilon_of_event(event, 1e-6)
    # ... and with probability 1 - delta it is randomised response.
    whole = 1 - (1 - EXACT.mpf(1e-7)) ** 3
    assert whole + (1 - whole) * exact_delta(0.5, 0.1, 3, price) <= 1e-6
    assert whole + (1 - whole) * exact_delta(0.5, 0.1, 3, price * (1 - 1e-3)) > 1e-6


def test_a_failure_counts_in_mixtures_too():
    steps = [PureEvent(0.1), PureEvent(0.1)]
    safe = epsilon_of_event(compose([GaussianEvent(0.5), *steps]), 1e-6)
    risky = epsilon_of_event(compose([GaussianEvent(0.5, 5e-7), *steps]), 1e-6)
    assert exact_delta(0.5, 0.1, 2, risky) <= 5e-7
    assert safe < risky


def test_the_gaussian_part_keeps_the_sensitivity_it_declares():
    # An RDP accountant asked for REPLACE_ONE prices as if the sensitivity were halved. We ask
    # for our own mu, so replacing costs what a mechanism of that mu costs.
    event = compose([GaussianEvent(1.0), PureEvent(1e-9)])
    assert epsilon_of_event(event, 1e-6) == pytest.approx(epsilon_of(1.0, 1e-6), rel=1e-6)
    assert epsilon_of_event(event, 1e-6) >= epsilon_of(1.0, 1e-6)


def test_a_mixture_never_costs_more_than_the_sum_of_its_parts():
    event = compose([GaussianEvent(0.5), PureEvent(1e-9)])
    assert epsilon_of_event(event, 1e-6) <= math.nextafter(epsilon_of(0.5, 1e-6) + 1e-9, math.inf)


@pytest.mark.parametrize("delta", [1e-15, 1e-12])
def test_where_convolutions_cannot_tell_the_sum_is_the_price(delta):
    event = compose([GaussianEvent(0.5, 0.0), PureEvent(0.25)])
    exact = Fraction(epsilon_of(0.5, delta)) + Fraction(0.25)
    assert 0 <= Fraction(epsilon_of_event(event, delta)) - exact < Fraction(1e-15)


@pytest.mark.parametrize(
    "event",
    [
        compose([GaussianEvent(1e-320), PureEvent(0.1), PureEvent(0.1)]),
        compose([GaussianEvent(1e150), PureEvent(0.1)]),
        compose([GaussianEvent(0.1), PureEvent(1e4)]),
        compose([PureEvent(5e-324), PureEvent(5e-324)]),
        compose([PureEvent(0.0), PureEvent(0.0), GaussianEvent(0.1)]),
        compose([PureEvent(1e-12), PureEvent(10.0)]),
    ],
    ids=repr,
)
def test_extreme_mixtures_have_a_price_too(event):
    price = epsilon_of_event(event, 1e-6)
    assert price >= 0
    assert price == math.inf or is_affordable(event, price, 1e-6)


@pytest.mark.parametrize(
    "event", [compose([GaussianEvent(0.1), *[PureEvent(0.05)] * 4]), SelectionEvent(0.1, 10.0)]
)
def test_affordable_is_what_the_price_says(event):
    price = epsilon_of_event(event, 1e-6)
    assert is_affordable(event, price, 1e-6)
    assert not is_affordable(event, price * (1 - 1e-9), 1e-6)


@pytest.mark.parametrize("delta", [-1e-9, 1.0, math.nan])
def test_prices_at_a_delta_outside_its_range_are_refused(delta):
    with pytest.raises(ValueError, match="delta="):
        epsilon_of_event(GaussianEvent(0.1), delta)
    with pytest.raises(ValueError, match="delta="):
        is_affordable(GaussianEvent(0.1), 1.0, delta)


@pytest.mark.usefixtures("without_dp_accounting")
def test_gaussian_and_single_events_need_no_dp_accounting():
    assert epsilon_of_event(compose([GaussianEvent(0.1)] * 5), 1e-6) > 0
    assert is_affordable(PureEvent(0.1), 1.0, 1e-6)


@pytest.mark.usefixtures("without_dp_accounting")
def test_other_events_without_dp_accounting_name_the_extra_and_charge_nothing():
    accountant = PrivacyAccountant(1.0, 1e-6)
    with pytest.raises(ImportError, match=re.escape(how_to_install("selection"))):
        epsilon_of_event(ComposedEvent((GaussianEvent(0.1), PureEvent(0.1))), 1e-6)
    with pytest.raises(ImportError, match=re.escape(how_to_install("selection"))):
        accountant.charge(SelectionEvent(0.1, 10.0), adjacency="add-remove", unit="row")
    assert accountant.receipts == ()
