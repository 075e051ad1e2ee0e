"""Rows drawn from a release: the released Gaussian, and nothing else."""

import math
import tracemalloc

import numpy as np
import pytest
from sklearn.datasets import load_iris

from skdppca import GDPPCA, DPGauss
from skdppca.decomposition import fitted
from skdppca.exceptions import NotReleasedError
from skdppca.releasing import store

from ..estimators import on_all_estimators

FRAME = load_iris(as_frame=True).data


class Basis(np.random.RandomState):
    """Draws unit vectors: the rows less the mean are then a square root of the covariance."""

    def standard_normal(self, size=None):
        assert size[0] == size[1]
        return np.eye(size[0])


def release(n_features, k, dtype=np.float64):
    """A fitted PCA of known numbers, for which nothing was computed."""
    found = {
        "components_": np.eye(k, n_features, dtype=dtype),
        "mean_": np.arange(n_features, dtype=dtype),
        "explained_variance_": np.arange(k, 0, -1, dtype=dtype),
        "noise_variance_": 0.25,
        "n_features_in_": n_features,
    }
    pca = DPGauss(k)
    store(pca, found)
    return pca


@on_all_estimators
@pytest.mark.parametrize("scale", [None, [1.0, 2.0, 3.0, 4.0], "private"])
def test_the_law_has_the_released_mean_and_covariance(factory, scale):
    pca = factory(2, epsilon=math.inf, scale=scale).fit(FRAME)
    root = pca.sample(2 + 4, Basis()) - pca.mean_
    np.testing.assert_allclose(root.T @ root, pca.get_covariance(), rtol=1e-9, atol=1e-9)


def test_a_seed_repeats_the_rows_and_none_does_not():
    pca = release(4, 2)
    np.testing.assert_array_equal(pca.sample(5, 0), pca.sample(5, 0))
    np.testing.assert_array_equal(pca.sample(5, 0), pca.sample(5, np.random.RandomState(0)))
    assert (pca.sample(5) != pca.sample(5)).any()


def test_the_first_rows_do_not_depend_on_how_many_follow(monkeypatch):
    pca = release(4, 2)
    monkeypatch.setattr(fitted, "BATCH_NUMBERS", 3 * (4 + 2))  # three rows at a time
    np.testing.assert_allclose(pca.sample(10, 0)[:4], pca.sample(4, 0))
    monkeypatch.undo()
    np.testing.assert_allclose(pca.sample(10, 0)[:4], pca.sample(4, 0))


def test_no_matrix_of_all_features_by_all_is_made():
    pca = release(20_000, 2)
    tracemalloc.start()
    pca.sample(200, 0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6  # the rows alone take 32 MB, and such a matrix 3.2 GB


def test_without_variances_there_is_no_law_and_the_error_says_why():
    pca = GDPPCA(2, variance_share=0).fit(FRAME)
    with pytest.raises(NotReleasedError, match="variance_share"):
        pca.sample(3)


@pytest.mark.parametrize("n_samples", [0, -1, 1.5, True, "3", None])
def test_what_is_no_number_of_rows_is_refused(n_samples):
    with pytest.raises(ValueError, match="integer of at least 1"):
        release(4, 2).sample(n_samples)
