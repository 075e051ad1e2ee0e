import tracemalloc

import mpmath
import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtri

from skdppca.noise import MAX_SD, NoiseSource, discrete, rounded_gaussian, uniform_labels

ORACLE = mpmath.mp.clone()
ORACLE.dps = 80


def oracle_tail(z):
    return ORACLE.erfc(z / ORACLE.sqrt(2)) / 2


def oracle_density(z):
    return ORACLE.exp(-z * z / 2) / ORACLE.sqrt(2 * ORACLE.pi)


def oracle_z(u, steps=3):
    """Return z with P(N > z) = u: Newton's method doubles ndtri's 14 digits at each step."""
    z = ORACLE.mpf(-ndtri(float(u)))
    for _ in range(steps):
        z += (oracle_tail(z) - u) / oracle_density(z)
    return z


def oracle_draw(stream, sd):
    """Return the integer that the stream of words maps to, whatever words would follow."""
    bits = int(stream[0]) & (2**63 - 1)
    for word in stream[1:]:
        bits = bits << 64 | int(word)
    unit = ORACLE.mpf(2) ** (-64 * len(stream))
    z = oracle_z((bits + ORACLE.mpf(0.5)) * unit)
    width = unit / oracle_density(z)
    low, high = (int(ORACLE.nint(sd * end)) for end in (z - width, z + width))
    assert low == high
    return -low if stream[0] >= 2**63 else low


def replay(stream):
    """Return words(n) that hands out the given words in order."""
    rest = iter(stream)
    return lambda n: np.array([next(rest) for _ in range(n)], dtype=np.uint64)


def draw(stream, sd):
    return int(rounded_gaussian(replay(stream), sd, 1)[0])


def words_of(probability, n):
    """Return the first n words of a probability below 1/2, the first with a zero sign bit."""
    bits = int(ORACLE.floor(probability * 2 ** (64 * n)))
    return [bits >> 64 * (n - 1 - i) & (2**64 - 1) for i in range(n)]


def boundary(m, sd):
    """Return the uniform at which sd * z crosses m + 1/2."""
    return oracle_tail((m + ORACLE.mpf(0.5)) / ORACLE.mpf(sd))


SDS = [0.7, 41.3, 2**20 / np.sqrt(2), MAX_SD]
SIGN = 2**63


@pytest.mark.parametrize("sd", SDS)
@pytest.mark.parametrize("places", [19, pytest.param(91, marks=pytest.mark.slow)])
def test_exact_at_rounding_boundaries_up_to_z_of_9(places, sd):
    generator = np.random.PCG64(1)
    for z in np.linspace(0, 9, places):
        first, second = words_of(boundary(int(sd * z), sd), 2)
        low, high = generator.random_raw(2).tolist()
        streams = [[max(first - 1, 0), low, high], [first + 1, low, high], [first, low, high]]
        streams += [[first, max(second - 1, 0), low], [first, second, high]]
        for stream in streams:
            stream[0] = min(stream[0], SIGN - 1) | (low & SIGN)
            assert draw(stream, sd) == oracle_draw(stream, sd)


@pytest.mark.parametrize("sd", SDS)
def test_exact_at_the_smallest_and_largest_words(sd):
    generator = np.random.PCG64(2)
    ks = [*range(20), *(2**i for i in range(5, 63)), *range(SIGN - 20, SIGN)]
    for k in ks:
        stream = [k, *generator.random_raw(2).tolist()]
        assert draw(stream, sd) == oracle_draw(stream, sd)


def test_exact_on_random_words():
    generator = np.random.PCG64(3)
    for _ in range(1000):
        stream = generator.random_raw(3).tolist()
        assert draw(stream, MAX_SD) == oracle_draw(stream, MAX_SD)


def test_exact_where_the_first_two_words_are_zero():
    stream = [0, 0, 12345, 678]
    assert draw(stream, MAX_SD) == oracle_draw(stream, MAX_SD)


def test_words_are_appended_only_while_the_draw_is_open():
    m, sd = int(6.5 * MAX_SD), MAX_SD
    stream = words_of(boundary(m, sd), 4)
    stream[3] = stream[3] - 2**32  # below the boundary, as only the last word tells
    assert draw(stream, sd) == m + 1
    with pytest.raises(StopIteration):
        draw(stream[:3], sd)


def test_the_fast_decision_agrees_with_the_exact_one(monkeypatch):
    sd = 2.0**33 / np.arange(1, 1001)
    fast = rounded_gaussian(np.random.PCG64(4).random_raw, sd, 1000)
    monkeypatch.setattr(discrete, "NDTRI_ERROR", 1.0)  # now nothing is decided in float64
    exact = rounded_gaussian(np.random.PCG64(4).random_raw, sd, 1000)
    np.testing.assert_array_equal(fast, exact)


@pytest.mark.parametrize("places", [40, pytest.param(300, marks=pytest.mark.slow)])
def test_ndtri_keeps_far_below_its_error_bound(places):
    p = np.concatenate(
        [
            2.0 ** -np.linspace(1.001, 64, 5 * places),
            np.exp(-2) * np.linspace(0.9, 1.1, 5 * places),  # where its formulas change
            np.exp(-32) * np.linspace(0.99, 1.01, places),
            0.5 - 2.0 ** -np.linspace(2, 50, places),
        ]
    )
    for u, z in zip(p.tolist(), (-ndtri(p)).tolist(), strict=True):
        assert abs(z / oracle_z(u, steps=1) - 1) < discrete.NDTRI_ERROR / 4


def test_every_integer_is_reachable_at_z_of_6():
    start, length = int(6 * MAX_SD), 100
    k = np.arange(
        words_of(boundary(start + length, MAX_SD), 1)[0],
        words_of(boundary(start - 1, MAX_SD), 1)[0],
        dtype=np.uint64,
    )
    source = NoiseSource(5)
    tail = iter([k])
    window = np.arange(start, start + length)

    ours = rounded_gaussian(lambda n: next(tail, source.words(n)), MAX_SD, k.size)
    assert np.isin(window, ours).all()

    near_one = np.rint(MAX_SD * ndtri(1 - k * 2.0**-64))
    assert not np.isin(window, near_one).all()


def test_every_integer_is_reachable_at_z_of_8():
    # Here one word covers 90000 integers: the appended words choose among them.
    for m in range(int(8 * MAX_SD), int(8 * MAX_SD) + 50):
        middle = (boundary(m - 1, MAX_SD) + boundary(m, MAX_SD)) / 2
        assert draw(words_of(middle, 3), MAX_SD) == m


@pytest.mark.parametrize("sd", [0.3, 0.7, 3.3, 50.0])
def test_frequencies_are_those_of_the_rounded_gaussian(sd):
    # Chi-square: fails a correct sampler with probability 1e-6.
    n = 300_000
    noise = NoiseSource(6).rounded_gaussian(sd, n)
    edge = int(stats.norm.isf(20 / n) * sd)  # each outer cell expects about 20
    inner = np.arange(-edge, edge + 1)
    edges = np.concatenate([[-np.inf], inner - 0.5, [edge + 0.5, np.inf]])
    expected = n * np.diff(stats.norm.cdf(edges, scale=sd))
    observed = np.histogram(noise, bins=np.concatenate([[-1e9], edges[1:-1], [1e9]]))[0]
    assert stats.chisquare(observed, expected).pvalue > 1e-6


def test_large_noise_is_gaussian():
    # Kolmogorov-Smirnov: fails a correct sampler with probability 1e-6.
    noise = NoiseSource(7).rounded_gaussian(2.0**33, 100_000)
    assert stats.kstest(noise / 2.0**33, "norm").pvalue > 1e-6


@pytest.mark.parametrize("sd", [5e-324, 1e-300, 1e-3])
def test_noise_far_below_the_grid_is_zero(sd):
    # P(|N| > 1/2) is below exp(-125000).
    assert not NoiseSource(8).rounded_gaussian(sd, 10_000).any()
    assert draw([0, 5], sd) == 0


@pytest.mark.parametrize("sd", [0.0, -1.0, np.nan, np.inf, 2.0**34, [1.0, -2.0]])
def test_an_sd_outside_the_domain_is_refused(sd):
    with pytest.raises(ValueError, match=r"^sd=.* is outside \(0, 2\*\*33\].*; choose"):
        NoiseSource(11).rounded_gaussian(sd, 2)


def test_memory_beyond_the_result_is_bounded():
    source = NoiseSource()
    source.rounded_gaussian(1.0, 10)
    tracemalloc.start()
    noise = source.rounded_gaussian(1000.0, 1_000_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < noise.nbytes + 4e6


# The float lattice. Two neighbouring datasets have the sums 0 and 1; the noise has sd 1. An
# attacker looks at the low bits of the release, which no Gaussian density could tell apart.
SUMS = (0.0, 1.0)
GRID = 2.0**-33
RELEASES = 20_000
EVENTS = {
    "finer than 2**-54": lambda release: release % 2.0**-54 != 0,
    "off the grid": lambda release: release % GRID != 0,
    "an odd number of grid units": lambda release: release / GRID % 2 == 1,
    "a multiple of 8 grid units": lambda release: release % (8 * GRID) == 0,
}


def naive_release(exact_sum):
    return exact_sum + np.random.default_rng(12).normal(size=RELEASES)


def grid_release(exact_sum):
    noise = NoiseSource(12).rounded_gaussian(1 / GRID, RELEASES)
    return (np.rint(exact_sum / GRID) + noise) * GRID


def betraying_events(release):
    """Return the events whose frequencies under the two sums differ by more than 7 sd.

    No event of equal probabilities is listed but with probability 3e-12.
    """
    listed = []
    for name, event in EVENTS.items():
        frequencies = [event(release(exact_sum)).mean() for exact_sum in SUMS]
        pooled = np.mean(frequencies)
        sd = np.sqrt(2 * pooled * (1 - pooled) / RELEASES)
        if abs(frequencies[0] - frequencies[1]) > 7 * sd:
            listed.append(name)
    return listed


def test_naive_float_noise_betrays_the_sum_through_low_bits():
    assert "finer than 2**-54" in betraying_events(naive_release)


def test_grid_noise_betrays_nothing_through_low_bits():
    assert betraying_events(grid_release) == []


def test_labels_redraw_words_beyond_the_last_whole_cycle():
    # 2**64 = 1 modulo 3: the largest word is the only one to reject.
    np.testing.assert_array_equal(
        uniform_labels(replay([5, 2**64 - 1, 2**64 - 2, 4]), 3, 3), [2, 1, 2]
    )


@pytest.mark.parametrize("parts", [1, 2, 2**63])
def test_labels_accept_every_word_where_parts_divide_the_words(parts):
    labels = uniform_labels(replay([2**64 - 1, 0]), 2, parts)
    np.testing.assert_array_equal(labels, [parts - 1, 0])


@pytest.mark.parametrize("parts", [0, -1, 2**63 + 1])
def test_an_impossible_number_of_parts_is_refused(parts):
    with pytest.raises(ValueError, match=r"^parts=.* is outside \[1, 2\*\*63\]; choose"):
        NoiseSource(13).labels(3, parts)
