"""Deflation: what its oracle sees, what it may spend, and orthonormal directions."""

import math

import numpy as np
import pytest

from skdppca import KDPPCA
from skdppca.decomposition import Deflation
from skdppca.mechanisms.block_mean import BlockMean

from ...private_data_of import private_data

D, N = 6, 400
X = np.random.default_rng(0).normal(size=(N, D)) * np.arange(D, 0, -1)
SECOND_MOMENTS = X.T @ X / N

on_both_samplings = pytest.mark.parametrize("sampling", ["reuse", "split"])


def block_mean(mu=1.0):
    return BlockMean(private_data(X, mu, adjacency="replace-one", n=N))


class Exact:
    """The top eigenvector that is left, off the true one by a part of what was removed."""

    def __init__(self, leaning=0.0):
        self.leaning = leaning
        self.means = []

    def __call__(self, mean):
        self.means.append(mean)
        removed = np.zeros((0, D)) if mean.removed is None else mean.removed
        P = np.eye(D) - removed.T @ removed
        values, vectors = np.linalg.eigh(P @ SECOND_MOMENTS @ P)
        direction = vectors[:, -1] + self.leaning * removed.sum(axis=0)
        return direction / np.linalg.norm(direction), float(values[-1])


@on_both_samplings
@pytest.mark.parametrize("k", [1, 3, D])
def test_with_an_exact_oracle_it_finds_the_eigenvectors(k, sampling):
    found, core = Deflation(Exact(), k, sampling)(block_mean())
    values, vectors = np.linalg.eigh(SECOND_MOMENTS)
    np.testing.assert_allclose(np.abs(found @ vectors[:, ::-1]), np.eye(D)[:k], atol=1e-8)
    np.testing.assert_allclose(np.diag(core), values[::-1][:k], rtol=1e-10)


@pytest.mark.parametrize("leaning", [0.0, 1e-3, 1.0])
def test_directions_are_orthonormal_whatever_the_oracle_leans_on(leaning):
    found, _ = Deflation(Exact(leaning), D)(block_mean())
    np.testing.assert_allclose(found @ found.T, np.eye(D), atol=1e-10)


@on_both_samplings
def test_the_oracle_sees_records_without_what_was_found(sampling):
    oracle = Exact()
    found, _ = Deflation(oracle, 3, sampling)(block_mean())
    assert oracle.means[0].removed is None
    for i in (1, 2):
        np.testing.assert_array_equal(oracle.means[i].removed, found[:i])


def test_rounds_that_reuse_the_records_share_the_budget():
    oracle = Exact()
    Deflation(oracle, 3, "reuse")(block_mean(2.0))
    assert [mean.data.source.private_n for mean in oracle.means] == [N] * 3
    np.testing.assert_allclose(
        [mean.remaining for mean in oracle.means], 2 / math.sqrt(3), rtol=1e-9
    )
    assert math.fsum(mean.remaining**2 for mean in oracle.means) <= 4


def test_rounds_that_split_the_records_have_the_whole_budget_each():
    oracle = Exact()
    Deflation(oracle, 3, "split")(block_mean(2.0))
    assert [mean.remaining for mean in oracle.means] == [2.0] * 3
    sizes = [mean.data.source.private_n for mean in oracle.means]
    assert sum(sizes) == N
    assert min(sizes) > N / 5  # a third each, but for chance: 2e-9 to be below
    assert [mean.data.n for mean in oracle.means] == pytest.approx([N / 3] * 3)


@pytest.mark.parametrize("rank", [0, 1, 3])
@pytest.mark.parametrize("epsilon", [1.0, math.inf])
def test_directions_without_any_variance_are_orthonormal_too(rank, epsilon):
    rows = np.random.default_rng(0).normal(size=(50, D)) * (np.arange(D) < rank)
    pca = KDPPCA(strategy="deflation", epsilon=epsilon, center=False, random_state=0).fit(rows)
    np.testing.assert_allclose(pca.components_ @ pca.components_.T, np.eye(D), atol=1e-10)
