"""What the noise adds to a spectrum is known, so it can be taken off again."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from skdppca.linalg import decreasing_eigh
from skdppca.mechanisms.spectrum import (
    NoisySpectrum,
    correlation,
    elliptical_variances,
    shares_behind,
)


def noisy(values, sd, seed):
    d = len(values)
    noise = np.random.default_rng(seed).normal(size=(d, d)) * sd
    return decreasing_eigh(np.diag(values) + (noise + noise.T) / 2)


@cache
def spiked(seed):
    return noisy(np.r_[60.0, 40.0, np.zeros(198)], 1.0, seed)


def test_spikes_are_debiased():
    # mean of 20 fixed seeds; the noise lifts the second spike from 40 to 42.5
    seen = [spiked(seed)[0] for seed in range(20)]
    debiased = np.mean([NoisySpectrum(values, 1.0).debiased[:2] for values in seen], axis=0)
    assert np.mean(seen, axis=0)[1] > 42
    np.testing.assert_allclose(debiased, [60, 40], atol=0.5)


def test_alignments_tell_the_squared_cosine():
    # mean of 20 fixed seeds
    results = [spiked(seed) for seed in range(20)]
    cosines = np.mean([np.diag(vectors)[:2] ** 2 for _, vectors in results], axis=0)
    told = np.mean([NoisySpectrum(values, 1.0).alignments[:2] for values, _ in results], axis=0)
    np.testing.assert_allclose(told, cosines, atol=0.01)


def test_noise_alone_stays_below_the_edge_by_more_than_a_percent():
    values = noisy(np.zeros(300), 1.0, 0)[0]
    assert values[0] < 1.01 * NoisySpectrum(values, 1.0).edge
    assert NoisySpectrum(values, 1.0).alignments[5:].max() == 0


def test_without_noise_nothing_changes():
    values = np.array([3.0, 2.0, 0.5, -1e-17])
    np.testing.assert_array_equal(NoisySpectrum(values, 0.0).debiased, [3.0, 2.0, 0.5, 0.0])


@pytest.mark.parametrize("others", [0.0, 5.0])
def test_the_total_is_the_trace_however_wide_the_noise_spreads(others):
    """Two of 200 eigenvalues are seen, or none; 20 fixed seeds, six standard errors."""
    exact = np.r_[60.0, 40.0, np.full(198, others)]
    seen = [NoisySpectrum(noisy(exact, 1.0, seed)[0], 1.0) for seed in range(20)]
    totals = [(one.debiased.sum(), one.pooled.sum()) for one in seen]
    slack = 6 * np.sqrt(200 / 20) + 198 / np.sqrt(200) * (others == 0)  # at least the noise's
    np.testing.assert_allclose(np.mean(totals, axis=0), exact.sum(), atol=slack)


@pytest.mark.parametrize("variances", [[8, 4, 2, 1, 1], [100, 1, 1], [1, 1, 1, 1], [5, 1e-3]])
def test_variances_are_found_back_from_the_sign_covariance(variances):
    # 400000 draws, fixed seed: standard error below 1e-3
    truth = np.array(variances, dtype=float) / np.sum(variances)
    rows = np.random.default_rng(0).normal(size=(400_000, len(truth))) * np.sqrt(truth)
    signs = rows**2 / np.sum(rows**2, axis=1, keepdims=True)
    found = elliptical_variances(signs.mean(axis=0))
    np.testing.assert_allclose(found, truth, rtol=0.03, atol=1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_features_that_noise_hides_do_not_outweigh_the_others_in_correlations(seed):
    # 8 features with a common part, 20 of which only noise is seen
    scatter = np.zeros((28, 28))
    scatter[:8, :8] = 50.0 * (1 + np.eye(8))
    noise = np.random.default_rng(seed).normal(size=(28, 28))
    every = np.ones(28, bool)
    matrix, _, scale = correlation(scatter + (noise + noise.T) / 2, 1.0, None, every)
    first = decreasing_eigh(matrix)[1][0]
    assert np.linalg.norm(first[:8]) > 0.95
    np.testing.assert_allclose(scale[:8] / scale[0], 1.0, atol=0.05)


@pytest.mark.parametrize("lengths", ["normal", "equal"])
def test_shares_follow_the_spread_of_the_lengths(lengths):
    # 100000 draws, fixed seed; a power of .8 of the normal law's part is within .9
    truth = np.array([8.0, 4, 2, 1, 1]) / 16
    rows = np.random.default_rng(0).normal(size=(100_000, 5)) * np.sqrt(truth)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    signs = np.mean((rows / norms) ** 2, axis=0)
    spread, exact = (np.log(norms).std(), truth) if lengths == "normal" else (0.001, signs)
    np.testing.assert_allclose(shares_behind(signs, spread), np.sort(exact)[::-1], rtol=0.12)
