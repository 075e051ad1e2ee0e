"""What KDPPCA, KDPOjas and ResidualGauss promise alike."""

import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA

from skdppca.exceptions import NotReleasedError
from skdppca.metrics import sin_theta
from skdppca.records import _records

from .spiked_fits import WAYS, N, fitted, names, spiked, variances_per_row

on_all_ways = pytest.mark.parametrize(("factory", "way", "right"), WAYS.values(), ids=WAYS)
on_both_numbers = pytest.mark.parametrize("k", [1, 2])

OF_THE_VARIANCES = [
    "explained_variance_",
    "explained_variance_ratio_",
    "singular_values_",
    "noise_variance_",
]
IRIS = load_iris().data


@on_all_ways
@on_both_numbers
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_it_finds_what_the_records_share(factory, way, right, k, adjacency):
    pca = fitted(factory, k, adjacency=adjacency, **way)
    assert sin_theta(pca, spiked(k).components) < right


@on_all_ways
@on_both_numbers
def test_explained_variances_are_those_of_the_rows(factory, way, right, k):
    # None of 40 seeds was off by more than 0.03, but for a few with one component whose search
    # took a radius that was far too large.
    pca = fitted(factory, k, **way)
    np.testing.assert_allclose(pca.explained_variance_, variances_per_row(k), rtol=0.15)
    assert 0.9 < pca.explained_variance_ratio_.sum() <= 1


@on_all_ways
def test_components_are_ordered_by_variance(factory, way, right):
    pca = fitted(factory, 2, **way)
    assert pca.explained_variance_[0] > pca.explained_variance_[1]
    cosines = np.abs(np.sum(pca.components_ * spiked(2).components, axis=1))
    assert cosines.min() > math.sqrt(1 - right**2)


@on_all_ways
def test_components_are_orthonormal(factory, way, right):
    V = factory(random_state=0, **way).fit(IRIS).components_
    np.testing.assert_allclose(V @ V.T, np.eye(4), atol=1e-10)


@on_all_ways
def test_replace_one_takes_the_public_number_of_records(factory, way, right):
    pca = fitted(factory, 2, adjacency="replace-one", **way)
    assert pca.n_samples_ == N
    assert "number of records" not in names(pca)


@on_all_ways
def test_a_norm_bound_saves_all_searches_for_a_radius(factory, way, right):
    bounded, free = (fitted(factory, 1, norm_bound=bound, **way) for bound in (5.0, None))
    assert not [name for name in names(bounded) if "radius" in name or name == "clipping norm"]
    assert {"radius of the gradient", "radius of the cross products"} & set(names(free))


@pytest.mark.slow
@on_all_ways
@pytest.mark.parametrize("name", OF_THE_VARIANCES)
def test_variances_that_are_not_paid_for_say_how_to_get_them(factory, way, right, name):
    pca = fitted(factory, 2, **way)
    assert hasattr(pca, name)
    pca.set_params(variance_share=0).fit(spiked(2).X, groups=spiked(2).groups)
    with pytest.raises(NotReleasedError, match=f"{name}: .* set variance_share=0.05"):
        getattr(pca, name)


@on_all_ways
def test_without_variances_it_still_transforms(factory, way, right):
    pca = fitted(factory, 2, variance_share=0, **way)
    scores = pca.transform(spiked(2).X)
    assert scores.shape == (len(spiked(2).X), 2)
    assert pca.inverse_transform(scores).shape == spiked(2).X.shape
    assert sin_theta(pca, spiked(2).components) < right
    assert "total variance" not in names(pca)


@on_all_ways
@on_both_numbers
def test_sparse_rows_give_what_dense_ones_give(factory, way, right, k):
    # Their radii and noise differ in the seventh digit, for the rounding that they allow for.
    dense, csr = (fitted(factory, k, f(spiked(k).X), **way) for f in (np.array, sparse.csr_array))
    assert names(dense) == names(csr)
    np.testing.assert_allclose(csr.components_, dense.components_, atol=1e-6)
    np.testing.assert_allclose(csr.explained_variance_, dense.explained_variance_, rtol=1e-5)


@on_all_ways
def test_float32_gives_what_float64_gives(factory, way, right):
    single, double = (fitted(factory, 2, spiked(2).X.astype(t), **way) for t in ("f4", "f8"))
    assert (single.components_.dtype, double.components_.dtype) == (np.float32, np.float64)
    np.testing.assert_allclose(single.components_, double.components_, atol=1e-4)
    np.testing.assert_allclose(single.explained_variance_, double.explained_variance_, rtol=1e-4)


@pytest.mark.slow
@on_all_ways
def test_groups_larger_than_a_block_count_like_all_others(factory, way, right, monkeypatch):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(300), np.r_[rng.integers(1, 6, 298), 40, 25])
    X = rng.normal(size=(len(groups), 6)) * [5, 3, 1, 1, 1, 1]
    pca = factory(2, unit="matrix", epsilon=4.0, random_state=0, **way)
    expected = pca.fit(X, groups=groups).components_, pca.privacy_.to_dict()
    large = []

    class Counted(_records.LargeGroup):
        def __init__(self, parts, size):
            large.append(size)
            super().__init__(parts, size)

    monkeypatch.setattr(_records, "LargeGroup", Counted)
    monkeypatch.setattr(_records, "BLOCK_ENTRIES", 60)
    monkeypatch.setattr(_records, "MIN_BLOCK_ROWS", 8)
    pca.fit(X, groups=groups)
    assert set(large) == {40, 25}
    np.testing.assert_allclose(pca.components_, expected[0], atol=1e-9)
    assert pca.privacy_.to_dict()["core"]["spendings"] == expected[1]["core"]["spendings"]


@on_all_ways
def test_all_components_without_noise_are_those_of_pca(factory, way, right):
    ours, theirs = factory(epsilon=math.inf, **way).fit(IRIS), PCA().fit(IRIS)
    cosines = np.abs(np.sum(ours.components_ * theirs.components_, axis=1))
    np.testing.assert_allclose(cosines, 1, rtol=1e-10)
    for name in ("mean_", "explained_variance_", "explained_variance_ratio_", "singular_values_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-10)
