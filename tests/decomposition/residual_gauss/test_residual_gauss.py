"""ResidualGauss: exact without noise, and sharper than its start where the records agree."""

import math

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.decomposition import PCA

from skdppca import DPGauss, ResidualGauss
from skdppca.metrics import zeta_squared

from ..easy import BARE, fitted, names, share_spent, spiked


@pytest.mark.parametrize("k", [1, 2, 3, None])
@pytest.mark.parametrize("X", [load_iris().data, load_breast_cancer().data], ids=["iris", "cancer"])
def test_without_noise_it_is_pca(X, k):
    ours, theirs = ResidualGauss(k, epsilon=math.inf).fit(X), PCA(k, svd_solver="full").fit(X)
    large = theirs.explained_variance_ > 1e-6 * theirs.explained_variance_[0]
    cosines = np.abs(np.sum(ours.components_ * theirs.components_, axis=1))
    np.testing.assert_allclose(cosines[large], 1, rtol=1e-8)
    np.testing.assert_allclose(
        ours.explained_variance_,
        theirs.explained_variance_,
        rtol=1e-8,
        atol=1e-10 * theirs.explained_variance_[0],
    )
    np.testing.assert_allclose(ours.mean_, theirs.mean_, rtol=1e-10)


@pytest.mark.parametrize("n_iter", [1, 4])
def test_it_asks_for_the_matrix_once_and_refines_so_often(n_iter):
    pca = fitted(ResidualGauss, 2, n_iter=n_iter, **BARE)
    assert names(pca).count("Gram matrix") == 1
    assert names(pca).count("gradient") == n_iter
    assert 0.97 < share_spent(pca) <= 1


def test_where_records_agree_it_beats_the_matrix_alone():
    # On 40 seeds the ratio of the medians was below 0.005.
    losses = {
        factory: np.median(
            [
                zeta_squared(fitted(factory, 2, random_state=seed), spiked(2).covariance)
                for seed in range(10)
            ]
        )
        for factory in (ResidualGauss, DPGauss)
    }
    assert losses[ResidualGauss] < 0.1 * losses[DPGauss]


def test_a_start_that_sees_nothing_is_followed_by_the_power_iteration():
    # At this epsilon the noise of the matrix is above its eigenvalues.
    pca = fitted(ResidualGauss, 2, epsilon=0.01, **BARE)
    assert names(pca).count("gradient") == 4
    np.testing.assert_allclose(pca.components_ @ pca.components_.T, np.eye(2), atol=1e-10)
    assert 0.97 < share_spent(pca) <= 1


def test_a_low_learning_rate_leaves_the_start_nearly_as_it_is():
    def loss(rate):
        pcas = [fitted(ResidualGauss, 2, learning_rate=rate, random_state=s) for s in range(5)]
        return np.median([zeta_squared(pca, spiked(2).covariance) for pca in pcas])

    assert loss("auto") < 0.1 * loss(1e-3)
