import math

import mpmath
import numpy as np
import pytest

from skdppca.privacy import (
    ApproximateEvent,
    ComposedEvent,
    GaussianEvent,
    NonPrivateEvent,
    PureEvent,
    SelectionEvent,
    coin,
    detection_rate,
    mu_of,
)

ALARMS = np.array([0.0, 1e-9, 1e-6, 1e-3, 0.01, 0.05, 0.3, 0.5, 0.9, 1.0])
MIXED = ComposedEvent((GaussianEvent(0.2), PureEvent(0.5)))
EVENTS = [
    GaussianEvent(0.3),
    GaussianEvent(0.3, 1e-7),
    PureEvent(1.0),
    ApproximateEvent(1.0, 1e-6),
    SelectionEvent(0.1, 10.0),
    MIXED,
]


def gaussian(mu, alarms):
    """Detection rate of the best test between N(0, 1) and N(mu, 1), with 50 digits."""
    with mpmath.workdps(50):
        quantile = -mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * mpmath.mpf(alarms))
        return mpmath.ncdf(quantile + mpmath.mpf(mu))


@pytest.mark.parametrize("mu", [1e-6, 0.237, 3.0, 9.0])
@pytest.mark.parametrize("alarms", [1e-12, 1e-4, 0.05, 0.5, 0.999])
def test_the_bound_of_gaussian_noise_is_exact_and_rounded_up(mu, alarms):
    bound, exact = detection_rate(GaussianEvent(mu), alarms), gaussian(mu, alarms)
    assert bound == 1 or exact <= bound <= exact * (1 + 1e-10)


@pytest.mark.parametrize("failure", [1e-7, 0.01])
@pytest.mark.parametrize("mu", [0.1, 2.0])
def test_gaussian_noise_that_may_fail_is_bounded_tightly(mu, failure):
    bounds = detection_rate(GaussianEvent(mu, failure), ALARMS)
    failed = detection_rate(GaussianEvent(mu), np.minimum(ALARMS + failure, 1))
    exact = np.minimum(np.minimum(detection_rate(GaussianEvent(mu), ALARMS) + failure, failed), 1)
    assert np.all(bounds >= exact * (1 - 1e-10))
    assert np.all(bounds <= exact * 1.003 + 1e-300)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_randomised_response_reaches_the_bound_of_a_pure_release(epsilon):
    odds = math.exp(epsilon)
    bound = detection_rate(PureEvent(epsilon), 1 / (1 + odds))
    assert odds / (1 + odds) <= bound <= odds / (1 + odds) * (1 + 1e-10)
    assert detection_rate(PureEvent(epsilon), 0.0) == 0.0


def test_where_only_delta_fails_detection_without_false_alarms_is_delta():
    assert detection_rate(ApproximateEvent(1.0, 0.01), 0.0) == pytest.approx(0.01, rel=1e-9)


@pytest.mark.parametrize("event", EVENTS)
def test_detection_grows_with_false_alarms_and_is_better_than_guessing(event):
    rates = detection_rate(event, ALARMS)
    assert np.all(np.diff(rates) >= 0)
    assert np.all(rates >= ALARMS)
    assert rates[-1] == 1.0


@pytest.mark.parametrize("part", [GaussianEvent(0.2), PureEvent(0.5)])
def test_a_composition_is_detected_more_easily_than_its_parts(part):
    whole, one = detection_rate(MIXED, ALARMS[1:-1]), detection_rate(part, ALARMS[1:-1])
    assert np.all(whole > one)


def test_a_composition_is_priced_below_the_sum_of_epsilons():
    summed = ApproximateEvent(0.5 + 1.0, 1e-6)
    event = ComposedEvent((GaussianEvent(mu_of(1.0, 1e-6)), PureEvent(0.5)))
    assert detection_rate(event, 0.05) < detection_rate(summed, 0.05)


@pytest.mark.parametrize("event", [*EVENTS, NonPrivateEvent()])
def test_a_number_is_treated_as_an_array_is(event):
    rates = detection_rate(event, ALARMS)
    assert [detection_rate(event, float(alarms)) for alarms in ALARMS] == rates.tolist()
    assert type(detection_rate(event, 0.05)) is float


@pytest.mark.parametrize("units", [1, 2, 7])
def test_the_coin_of_a_household_by_gaussian_noise(units):
    exact = mpmath.ncdf(mpmath.mpf(units) * 0.3 / 2)
    assert exact <= coin(GaussianEvent(0.3), units) <= exact * (1 + 1e-10)


@pytest.mark.parametrize(
    ("units", "exact"), [(1, 1 / (1 + math.exp(-0.5))), (2, 1 - math.exp(-0.5) / 2)]
)
def test_the_coin_of_a_household_by_a_pure_release(units, exact):
    # With two units, 1 / (e + e^2) false alarms become 1 / (1 + e), and these e / (1 + e).
    assert exact <= coin(PureEvent(0.5), units) <= exact * (1 + 1e-10)


@pytest.mark.parametrize("units", [1, 4])
def test_the_coin_of_gaussian_noise_that_hardly_fails_is_that_of_gaussian_noise(units):
    exact = coin(GaussianEvent(0.3), units)
    assert exact <= coin(GaussianEvent(0.3, 1e-12), units) <= exact + 1e-4


@pytest.mark.parametrize("event", EVENTS)
def test_the_coin_is_the_largest_advantage_of_a_test(event):
    alarms = np.linspace(0, 1, 1001)
    advantage = np.max(detection_rate(event, alarms) - alarms)
    assert 0.5 + advantage / 2 <= coin(event) * (1 + 1e-10)
    assert coin(event) <= 0.5 + advantage / 2 + 0.003
    assert coin(event) < coin(event, 2) < coin(event, 5)


@pytest.mark.parametrize("event", [NonPrivateEvent(), ApproximateEvent(0.0, 1.0)])
def test_nothing_bounds_attacks_on_what_is_not_private(event):
    assert detection_rate(event, 0.0) == coin(event) == coin(event, 3) == 1.0


@pytest.mark.parametrize("alarms", [-0.1, 1.1, math.nan, np.array([0.5, 2.0])])
def test_false_alarms_are_shares(alarms):
    with pytest.raises(ValueError, match=r"false_alarms=.* from 0 to 1"):
        detection_rate(PureEvent(1.0), alarms)


@pytest.mark.parametrize("units", [0, 1.5, -1])
def test_a_household_has_a_number_of_records(units):
    with pytest.raises(ValueError, match=r"units=.* give 1 or more"):
        coin(PureEvent(1.0), units)
