import math
import random
import threading

import mpmath
import numpy as np
import pytest
from dp_accounting import gaussian_mechanism

from skdppca.privacy import compose_mu, delta_of, epsilon_of, mu_of

EPSILONS = [1e-6, 1e-3, 0.1, 1.0, 10.0, 1e3]
DELTAS = [1e-15, 1e-9, 1e-5, 0.01, 0.5]
GRID = [(epsilon, delta) for epsilon in EPSILONS for delta in DELTAS]
COARSE_GRID = [(epsilon, delta) for epsilon in EPSILONS[::2] for delta in DELTAS[::2]]

EXACT = mpmath.mp.clone()
EXACT.dps = 40


def oracle(mu, epsilon):
    """delta as the integral of (p - e^epsilon q)+ over the densities, at 40 digits."""
    mp = EXACT
    mu, epsilon = mp.mpf(mu), mp.mpf(epsilon)
    start = epsilon / mu + mu / 2  # where p = e^epsilon q, with p = N(mu, 1) and q = N(0, 1)

    def excess(x):
        return mp.exp(-((x - mu) ** 2) / 2) * -mp.expm1(-mu * (x - start))

    # Steps around where the excess lies; less than 1e-30 of it lies beyond.
    first = max(mu - 12, start)
    points = [start, *(first + 2 * k for k in range(1, 13 if first < mu else 7))]
    return mp.quad(excess, points, method="gauss-legendre") / mp.sqrt(2 * mp.pi)


def above(x):
    return math.nextafter(x, math.inf)


def below(x):
    return math.nextafter(x, 0)


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_mu_of_is_the_last_float_that_keeps_the_promise(epsilon, delta):
    mu = mu_of(epsilon, delta)
    assert oracle(mu, epsilon) <= delta < oracle(above(mu), epsilon)


@pytest.mark.parametrize(("epsilon", "delta"), COARSE_GRID)
def test_epsilon_of_is_the_first_float_that_keeps_the_promise(epsilon, delta):
    mu = 0.9 * mu_of(epsilon, delta)
    first = epsilon_of(mu, delta)
    assert oracle(mu, first) <= delta
    assert first == 0 or oracle(mu, below(first)) > delta


@pytest.mark.parametrize(("epsilon", "delta"), COARSE_GRID)
def test_delta_of_is_the_oracle_rounded_up(epsilon, delta):
    mu = 1.1 * mu_of(epsilon, delta)
    rounded, exact = delta_of(mu, epsilon), oracle(mu, epsilon)
    assert below(rounded) < exact <= rounded


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.01])
def test_dp_accounting_agrees(epsilon, delta):
    sigma = gaussian_mechanism.get_sigma_gaussian(epsilon, delta)
    assert 1 / mu_of(epsilon, delta) == pytest.approx(sigma, rel=1e-9)
    priced = gaussian_mechanism.get_epsilon_gaussian(sigma, delta)
    assert epsilon_of(1 / sigma, delta) == pytest.approx(priced, rel=1e-9)


def test_random_round_trips_stay_on_the_private_side():
    draw = random.Random(0)
    for _ in range(30):
        epsilon, delta = 10 ** draw.uniform(-6, 3), 10 ** draw.uniform(-15, -0.31)
        mu = mu_of(epsilon, delta)
        assert epsilon_of(mu, delta) <= epsilon < epsilon_of(above(mu), delta)
        assert delta_of(mu, epsilon) <= delta < delta_of(above(mu), epsilon)


def test_epsilon_is_zero_where_delta_alone_is_enough():
    assert epsilon_of(1e-6, 1e-6) == 0.0


def test_epsilon_zero_leaves_the_total_variation():
    assert delta_of(0.5, 0.0) == pytest.approx(float(EXACT.erf(0.25 / EXACT.sqrt(2))), rel=1e-15)


def test_infinity_means_no_privacy_and_zero_means_no_release():
    assert mu_of(math.inf, 1e-6) == math.inf
    assert epsilon_of(math.inf, 1e-6) == math.inf
    assert delta_of(math.inf, 1.0) == 1.0
    assert delta_of(3.0, math.inf) == 0.0
    assert delta_of(0.0, 0.0) == epsilon_of(0.0, 0.0) == 0.0


def test_without_delta_only_nothing_is_private():
    assert mu_of(1.0, 0.0) == 0.0
    assert epsilon_of(1e-9, 0.0) == math.inf


@pytest.mark.parametrize(
    ("mu", "epsilon"), [(1e-300, 0.0), (1e-300, 1.0), (1e-20, 1.0), (1e8, 1e6), (1e300, 1e3)]
)
def test_extreme_arguments_give_a_delta_in_the_unit_interval(mu, epsilon):
    assert 0 < delta_of(mu, epsilon) <= 1


@pytest.mark.parametrize("epsilon", [1e10, 1e300])
def test_enormous_epsilons_are_answered_on_the_private_side(epsilon):
    assert delta_of(mu_of(epsilon, 1e-6), epsilon) <= 1e-6


def test_a_failure_is_taken_from_delta_exactly():
    delta, failure = 1e-6, 1e-7
    mu = mu_of(1.0, delta, failure)
    rest = EXACT.mpf(delta) - EXACT.mpf(failure)
    assert oracle(mu, 1.0) <= rest < oracle(above(mu), 1.0)


def test_a_failure_beyond_delta_is_refused():
    with pytest.raises(ValueError, match=r"failure=2e-06 exceeds delta=1e-06; raise delta"):
        mu_of(1.0, 1e-6, 2e-6)


def test_the_largest_delta_below_one_is_answered():
    delta = below(1.0)
    assert delta_of(mu_of(1.0, delta), 1.0) <= delta


@pytest.mark.parametrize("mu", [5e-324, 1e-200, 0.1, 1 / 3, 2.0**0.5, 1e200])
def test_a_single_mu_composes_to_itself(mu):
    assert compose_mu([mu]) == mu


@pytest.mark.parametrize("count", [2, 3, 10, 1000])
def test_composition_is_the_root_rounded_up(count):
    draw = random.Random(count)
    mus = [draw.uniform(0, 1) for _ in range(count)]
    total = EXACT.sqrt(EXACT.fsum(EXACT.mpf(mu) ** 2 for mu in mus))
    assert below(compose_mu(mus)) < total <= compose_mu(mus)


def test_composition_of_nothing_and_of_everything():
    assert compose_mu([]) == 0.0
    assert compose_mu([1.0, math.inf]) == math.inf


@pytest.mark.parametrize("bad", [-1.0, math.nan, -math.inf])
def test_numbers_out_of_range_are_refused_by_name(bad):
    with pytest.raises(ValueError, match="epsilon="):
        mu_of(bad, 1e-6)
    with pytest.raises(ValueError, match="mu="):
        epsilon_of(bad, 1e-6)
    with pytest.raises(ValueError, match="mu="):
        compose_mu([bad])


@pytest.mark.parametrize("delta", [-1e-9, 1.0, 2.0, math.nan])
def test_a_delta_outside_its_range_is_refused(delta):
    with pytest.raises(ValueError, match="delta="):
        mu_of(1.0, delta)


@pytest.mark.parametrize("bad", [True, "1.0", None, 1j, np.bool_(True)])
def test_what_is_no_number_is_refused_even_when_an_equal_one_is_cached(bad):
    mu_of(1.0, 1e-6)
    with pytest.raises(TypeError, match="is not a number"):
        mu_of(bad, 1e-6)


@pytest.mark.parametrize("bad", [2**53 + 1, 10**400])
def test_a_number_that_float64_would_round_is_refused(bad):
    with pytest.raises(ValueError, match="not exactly a float64"):
        mu_of(bad, 1e-6)


@pytest.mark.parametrize("one", [1, np.float64(1), np.float32(1), np.int64(1)])
def test_other_kinds_of_numbers_are_taken(one):
    assert mu_of(one, 1e-6) == mu_of(1.0, 1e-6)


def test_results_do_not_depend_on_mpmath_precision_or_threads():
    expected = [mu_of(epsilon, delta) for epsilon, delta in GRID]
    results = []

    def work():
        # The cached function itself is what the threads must not disturb.
        from skdppca.privacy import gdp

        results.append([gdp._mu_of.__wrapped__(e, gdp._target(d, 0.0)) for e, d in GRID])

    with mpmath.workdps(5):
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == [expected] * 3
