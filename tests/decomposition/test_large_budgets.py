"""More epsilon never makes a release worse, up to the release without noise."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from skdppca import GDPPCA
from skdppca.metrics import captured_variance

from ..estimators import on_all_estimators

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((3000, 8)) / np.sqrt(np.arange(1, 9)) + 20
EXACT = PCA(2).fit(ROWS)
SEEDS = range(3)


def errors(factory, epsilon):
    """Medians over the seeds: lost variance, error of the mean in sds, of the worst variance."""
    found = []
    for seed in SEEDS:
        pca = factory(2, epsilon=epsilon, delta=1e-6, random_state=seed).fit(ROWS)
        mean = np.linalg.norm(pca.mean_ - EXACT.mean_) / np.sqrt(ROWS.var(axis=0).sum())
        variances = np.abs(pca.explained_variance_ / EXACT.explained_variance_ - 1).max()
        # the medians of distances that GDPPCA has its variances from need no noise to be off
        variances = 0.0 if factory is GDPPCA else variances
        found.append((1 - captured_variance(pca, ROWS), mean, variances))
    return np.median(found, axis=0)


@on_all_estimators
def test_errors_fall_with_epsilon_until_they_are_those_without_noise(factory):
    small, large, largest, none = (errors(factory, e) for e in (10.0, 1e3, 1e6, np.inf))
    assert np.all(large <= small + 1e-3)
    assert np.all(largest <= large + 1e-3)
    assert np.all(np.abs(largest - none) < 2e-3)


@pytest.mark.parametrize("epsilon", [30.0, 1e4])
@on_all_estimators
def test_no_fit_runs_off_at_a_large_epsilon(factory, epsilon):
    for seed in SEEDS:
        pca = factory(2, epsilon=epsilon, delta=1e-6, random_state=seed).fit(ROWS)
        assert 1 - captured_variance(pca, ROWS) < 0.01
        assert np.linalg.norm(pca.mean_ - EXACT.mean_) < 0.05
