"""The price of noise that several sites add: proven, and checked against exact sums."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from skdppca.noise import NoiseSource, SharedQuery
from skdppca.noise.gaussian import HALF_ROOT
from skdppca.privacy import delta_of

MU = [1e-5, 0.03, 1.0, 50.0]


def query(mu=0.3, **more):
    given = {"n_sites": 3, "honest": 2, "max_rows": 2**20, "size": 6, "rounding": 1e-9}
    return SharedQuery.at(mu, "sum", 2.5, **(given | more))


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("honest", [1, 2, 40])
@pytest.mark.parametrize("mu", MU)
def test_a_query_costs_what_is_asked_and_hardly_less(mu, honest, symmetric):
    made = query(mu, n_sites=50, honest=honest, symmetric=symmetric)
    assert mu * (1 - 1e-11) < made.mu <= mu
    assert replace(made).mu == made.mu  # the price follows from the fields


@pytest.mark.parametrize("mu", MU)
def test_the_price_is_that_of_the_theorem_rounded_up(mu):
    made = query(mu)
    steps = Fraction(made.widened_sensitivity) / Fraction(made.grid)
    square = made.honest * Fraction(made.site_sd) ** 2 - 16
    assert Fraction(made.mu) ** 2 >= steps**2 / square
    assert Fraction(made.mu) ** 2 <= steps**2 / square * (1 + Fraction(1, 2**46))


@pytest.mark.parametrize("mu", MU)
def test_more_than_half_of_the_noise_counts_for_the_price_of_all(mu):
    # the sd of all sites' noise is that of the Gaussian mechanism times the root of m / h
    made = query(mu)
    assert made.noise_sd == pytest.approx(made.sensitivity / mu * math.sqrt(3 / 2), rel=5e-3)


def test_counts_lie_on_the_grid_and_are_not_widened():
    made = query(rounding=0.0)
    assert made.grid < 1 and made.widened_sensitivity == made.sensitivity


@pytest.mark.parametrize("max_rows", [1, 2**20, 2**30])
@pytest.mark.parametrize("n_sites", [2, 50])
def test_a_query_fits_into_64_bits(max_rows, n_sites):
    made = query(1e-3, n_sites=n_sites, honest=n_sites - 1, max_rows=max_rows)
    assert made.fits(max_rows)
    finer = replace(made, grid_log2=made.grid_log2 - 70)
    assert not finer.fits(max_rows)


@pytest.mark.parametrize(
    "changed",
    [
        {"site_sd": 3.99},
        {"site_sd": 2.0**33 * 1.01},
        {"site_sd": math.nan},
        {"honest": 0},
        {"honest": 4},
        {"grid_log2": 2000},
        {"symmetric": True, "site_sd": 5.65},  # 4 sqrt 2 is 5.657
    ],
)
def test_noise_for_which_nothing_is_proven_is_refused(changed):
    with pytest.raises(ValueError, match=r"out of range|must lie between"):
        replace(query(), **changed)


def test_the_noise_drawn_is_that_of_the_fields():
    # error 4e-6, fixed seed
    made = query(0.7, size=60, symmetric=True)
    noise = NoiseSource(1)
    drawn = np.array([made.share(np.zeros((60, 60)), noise) for _ in range(40)])
    assert drawn.shape == (40, made.drawn) and drawn.dtype == np.int64
    row, column = np.triu_indices(60)
    for on, sd in ((row == column, made.site_sd), (row != column, made.site_sd * HALF_ROOT)):
        square = np.sum((drawn[:, on] / sd) ** 2)
        low, high = chi2.ppf([1e-6, 1 - 1e-6], drawn[:, on].size)
        assert low < square < high


def test_shares_open_to_the_sum():
    class Silent:
        def discrete_gaussian(self, sd, shape):
            return np.zeros(shape, dtype=np.int64)

    made = query(size=4, symmetric=True)
    tables = [np.arange(16.0).reshape(4, 4) + i for i in range(3)]
    total = made.value(sum(made.share(table, Silent()) for table in tables))
    upper = np.triu(sum(tables))
    np.testing.assert_allclose(total, upper + np.triu(upper, 1).T, atol=2 * made.grid)


# --- exact sums


def summed(sd, honest):
    """The probabilities of the sum of `honest` discrete Gaussians, by convolution."""
    half = int(20 * sd)
    one = np.exp(-(np.arange(-half, half + 1.0) ** 2) / (2 * sd**2))
    one /= one.sum()
    total = one
    for _ in range(honest - 1):
        total = np.convolve(total, one)
    return total


def hockey_stick(p, shift, epsilon):
    """What neighbours `shift` steps apart are told apart by."""
    a, b = np.pad(p, (0, shift)), np.pad(p, (shift, 0))
    return float(np.maximum(a - math.exp(epsilon) * b, 0).sum())


EPSILONS = np.linspace(0, 6, 61)


@pytest.mark.parametrize("shift", [1, 3, 10])
@pytest.mark.parametrize("sd, honest", [(4.0, 1), (4.0, 2), (4.0, 5), (9.3, 2), (40.0, 3)])
def test_exact_sums_cost_no_more_than_the_price(sd, honest, shift):
    p = summed(sd, honest)
    square = honest * sd**2 - 16
    if square <= 0:  # one site with 4 steps: no price is proven
        assert replace(query(rounding=0.0), honest=1, site_sd=4.0).mu == math.inf
        return
    mu = shift / math.sqrt(square)
    for epsilon in EPSILONS:
        assert hockey_stick(p, shift, epsilon) <= delta_of(mu, float(epsilon)) + 1e-15


def test_the_price_of_the_gaussian_mechanism_itself_would_be_wrong():
    # the discrete mechanism with S = 5.7 is less private than the continuous one
    p, scale = summed(4.0, 2), 4 * math.sqrt(2)
    worst = max(
        hockey_stick(p, 1, epsilon) / delta_of(1 / scale, float(epsilon)) for epsilon in EPSILONS
    )
    assert worst > 1.03


@pytest.mark.parametrize("shift", [(1, 1), (2, 1), (5, 3)])
@pytest.mark.parametrize("sds", [(4.0, 4.0), (6.0, 6.0 / math.sqrt(2))])
def test_exact_sums_of_two_entries_cost_no_more_than_the_price(shift, sds):
    # the second one as an entry off the diagonal, whose shift counts twice
    off = sds[0] != sds[1]
    p = [summed(sd, 2) for sd in sds]
    a = np.multiply.outer(np.pad(p[0], (0, shift[0])), np.pad(p[1], (0, shift[1])))
    b = np.multiply.outer(np.pad(p[0], (shift[0], 0)), np.pad(p[1], (shift[1], 0)))
    length = math.hypot(shift[0], shift[1] * (math.sqrt(2) if off else 1))
    mu = length / math.sqrt(2 * sds[0] ** 2 - 16)
    for epsilon in EPSILONS[::5]:
        found = float(np.maximum(a - math.exp(epsilon) * b, 0).sum())
        assert found <= delta_of(mu, float(epsilon)) + 1e-15


@pytest.mark.parametrize("honest", [2, 3])
def test_colluders_who_subtract_their_noise_are_paid_for(honest):
    # one of honest + 1 sites knows its noise: the price counts what is left of the noise
    mu, shift = 0.9, 32
    sd = math.sqrt(((shift / mu) ** 2 + 16) / honest)
    fields = {"n_sites": honest + 1, "honest": honest, "grid_log2": -5, "site_sd": sd}
    assert SharedQuery("sum", 1.0, **fields).mu == pytest.approx(mu)

    def is_covered(sd):
        p = summed(sd, honest)
        return all(
            hockey_stick(p, shift, epsilon) <= delta_of(mu, float(epsilon)) + 1e-12
            for epsilon in EPSILONS
        )

    assert is_covered(sd)
    # sites that count on the colluder's noise as well would add too little
    assert not is_covered(sd * math.sqrt(honest / (honest + 1)))
