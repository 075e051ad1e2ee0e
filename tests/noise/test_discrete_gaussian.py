"""The discrete Gaussian: exactly its law, however a comparison is decided."""

import hashlib
import sys

import mpmath
import numpy as np
import pytest
from scipy import stats

from skdppca.noise import MAX_SD, SAMPLER, KeyedWords, NoiseSource, discrete_gaussian
from skdppca.noise.discrete import _accepted, _geometric

MODULE = sys.modules[discrete_gaussian.__module__]
ORACLE = mpmath.mp.clone()
ORACLE.dps = 80
SDS = [0.3, 4.0, 1000.7, 2**20 / np.sqrt(2), MAX_SD]


def replay(stream):
    """Return words(n) that hands out the given words in order."""
    rest = iter(stream)
    return lambda n: np.array([next(rest) for _ in range(n)], dtype=np.uint64)


def probabilities(sd):
    k = np.arange(-int(12 * sd) - 12, int(12 * sd) + 13)
    weights = np.exp(-(k**2) / (2 * sd**2))
    return k, weights / weights.sum()


@pytest.mark.parametrize("sd", [0.1, 0.5, 1.0, 4.0, 17.3])
def test_small_draws_have_the_law(sd):
    # error 1e-6 each, fixed seed
    n = 200_000
    draws = NoiseSource(1).discrete_gaussian(sd, n)
    k, p = probabilities(sd)
    common = k[n * p > 10]
    seen = np.array([(draws == one).sum() for one in common] + [0])
    expected = np.append(n * p[n * p > 10], 0.0)
    seen[-1], expected[-1] = n - seen.sum(), n - expected.sum()
    kept = expected > 1
    square = np.sum((seen[kept] - expected[kept]) ** 2 / expected[kept])
    assert square < stats.chi2.ppf(1 - 1e-6, max(kept.sum() - 1, 1))


@pytest.mark.parametrize("sd", [500.0, 2**20 / np.sqrt(2), MAX_SD])
def test_large_draws_are_normal_but_for_their_grid(sd):
    # error 1e-6 each, fixed seed; the grid moves a probability by at most 1 / (2 sd sqrt(2 pi))
    draws = NoiseSource(2).discrete_gaussian(sd, 100_000)
    moved = 0.2 / sd
    found = stats.kstest(draws / sd, "norm").statistic
    assert found - moved < stats.kstwo.ppf(1 - 1e-6, 100_000)
    square = np.sum((draws / sd) ** 2)
    low, high = stats.chi2.ppf([5e-7, 1 - 5e-7], 100_000)
    assert low < square < high


def test_every_entry_has_its_own_scale():
    # error 1e-6 each, fixed seed
    sd = np.array([[4.0], [400.0]])
    draws = NoiseSource(3).discrete_gaussian(sd, (2, 50_000))
    assert draws.shape == (2, 50_000) and draws.dtype == np.int64
    for row, scale in zip(draws, [4.0, 400.0], strict=True):
        low, high = stats.chi2.ppf([5e-7, 1 - 5e-7], 50_000)
        assert low < np.sum((row / scale) ** 2) < high


@pytest.mark.parametrize("sd", SDS)
def test_the_fast_decision_agrees_with_the_exact_one(sd, monkeypatch):
    fast = discrete_gaussian(np.random.PCG64(4).random_raw, sd, 500)
    monkeypatch.setattr(MODULE, "LOG_ERROR", 2.0)  # now nothing is decided in float64
    monkeypatch.setattr(MODULE, "EXPONENT_ERROR", 2.0)
    exact = discrete_gaussian(np.random.PCG64(4).random_raw, sd, 500)
    np.testing.assert_array_equal(fast, exact)


@pytest.mark.parametrize("sd", SDS)
def test_proposals_are_exact_at_their_boundaries(sd):
    for x in [1, 2, *(int(sd * z) + 1 for z in (0.01, 0.7, 3.0, 20.0, 40.0))]:
        edge = ORACLE.exp(-ORACLE.mpf(x) / ORACLE.mpf(sd))  # at least x if U < edge
        first, second = divmod(int(ORACLE.floor(edge * 2**128)), 2**64)
        if not 3 < second < 2**64 - 4:
            continue
        # the first word leaves it open, and the second one decides
        assert _geometric(replay([first, second - 3]), np.array([sd]))[0] >= x
        assert _geometric(replay([first, second + 3]), np.array([sd]))[0] < x


@pytest.mark.parametrize("sd", SDS)
def test_acceptance_is_exact_at_its_boundary(sd):
    for x in [0, 1, int(sd), *(int(sd * z) for z in (0.5, 2.5, 9.0))]:
        edge = ORACLE.exp(-((ORACLE.mpf(x) / ORACLE.mpf(sd) - 1) ** 2) / 2)
        first, second = divmod(int(ORACLE.floor(edge * 2**127)), 2**64)
        if not 3 < second < 2**64 - 4 or not first < 2**63:
            continue
        arguments = np.array([first], np.uint64), np.array([x]), np.array([sd])
        assert _accepted(replay([second - 3]), *arguments)[0]
        assert not _accepted(replay([second + 3]), *arguments)[0]


def test_a_word_of_zeros_is_no_end():
    # the smallest uniforms: 64 zero bits tell only that X is at least 64 log 2
    draws = _geometric(replay([0, 1, 2**63]), np.array([10.0]))
    assert draws[0] == int(ORACLE.floor(-10 * ORACLE.log(ORACLE.mpf(1.5) / 2**128)))


@pytest.mark.parametrize("sd", [0.0, -1.0, np.nan, 2.0**33 + 1])
def test_a_scale_out_of_range_is_refused(sd):
    with pytest.raises(ValueError, match="outside"):
        NoiseSource(0).discrete_gaussian(sd, 3)


def drawn_of_a_key():
    sds = np.tile([4.0, 100.3, 2.0**20, MAX_SD], 5000)
    return discrete_gaussian(KeyedWords(bytes(range(32))), sds, sds.shape)


def test_a_key_gives_the_draws_that_the_samplers_name_stands_for():
    # Sites draw the same noise again after an update. If this fails, other integers are drawn of
    # the same words: change SAMPLER, and then the digest.
    digest = hashlib.sha256(drawn_of_a_key().astype("<i8").tobytes()).hexdigest()
    assert (SAMPLER, digest) == (
        "discrete-gaussian/1",
        "fb36f43c763fa088b08a7568179c40a9bf06253e345bbe8e6e35bc70ee07001c",
    )


@pytest.mark.parametrize("ulps", [-4, 4])
def test_draws_do_not_depend_on_the_last_bits_of_a_logarithm(ulps, monkeypatch):
    expected, log = drawn_of_a_key(), np.log
    monkeypatch.setattr(np, "log", lambda x: log(x) + ulps * np.spacing(log(x)))
    np.testing.assert_array_equal(drawn_of_a_key(), expected)


def test_draws_do_not_depend_on_what_float64_decides(monkeypatch):
    words = KeyedWords(bytes(32))
    fast = discrete_gaussian(words, 1000.7, 500)
    taken = words(1)
    monkeypatch.setattr(MODULE, "LOG_ERROR", 2.0)
    monkeypatch.setattr(MODULE, "EXPONENT_ERROR", 2.0)
    words = KeyedWords(bytes(32))
    np.testing.assert_array_equal(discrete_gaussian(words, 1000.7, 500), fast)
    assert words(1) == taken  # nor how many words are read
