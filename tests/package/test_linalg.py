"""Decompositions of which LAPACK's defaults fail."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg

from skdppca.linalg import (
    FEW,
    LARGE,
    Eigenvectors,
    decreasing_eigh,
    leading_span,
    qr_svd,
    symmetric_from_upper,
    top_eigh,
    upper_triangle,
)

from ..spectra_and_distances import clusters


def clustered(seed):
    q, values = clusters(seed)
    return (q * values) @ q.T


# On these `scipy.linalg.svd`'s divide and conquer did not converge (OpenBLAS 0.3, x86-64).
@pytest.mark.parametrize("seed", [63, 331, 682, 1190])
@pytest.mark.parametrize("columns", [None, 30])
def test_clustered_singular_values_are_found(seed, columns):
    matrix = clustered(seed)[:, :columns]
    left, values, right = qr_svd(matrix)
    np.testing.assert_allclose((left * values) @ right, matrix, atol=1e-13)
    np.testing.assert_allclose(left.T @ left, np.eye(len(values)), atol=1e-13)
    np.testing.assert_allclose(right @ right.T, np.eye(len(values)), atol=1e-13)


@pytest.mark.parametrize("large", [LARGE, 0])
def test_eigenvalues_that_lapack_does_not_find_are_found_by_another_way(monkeypatch, large):
    monkeypatch.setattr("skdppca.linalg.LARGE", large)
    matrix = clustered(0)
    matrix = matrix + matrix.T
    expected = decreasing_eigh(matrix)[0]
    honest = linalg.eigh

    def fails(a, driver="evr", **options):
        if driver != "ev":
            raise linalg.LinAlgError("did not converge")
        return honest(a, driver=driver, **options)

    monkeypatch.setattr(linalg, "eigh", fails)
    values, rows = decreasing_eigh(matrix)
    np.testing.assert_allclose(values, expected, atol=1e-13)
    np.testing.assert_allclose(rows @ matrix, values[:, None] * rows, atol=1e-13)


@pytest.mark.parametrize("k", [1, 3, 6])
def test_the_top_of_a_spectrum_is_that_of_all_of_it(k):
    matrix = np.random.default_rng(0).normal(size=(6, 6))
    matrix += matrix.T
    values, vectors = decreasing_eigh(matrix)
    top_values, top_vectors = top_eigh(matrix, k)
    np.testing.assert_allclose(top_values, values[:k])
    np.testing.assert_allclose(np.abs(np.sum(top_vectors * vectors[:k], axis=1)), 1)


@pytest.mark.parametrize("found", [0, 1, None])
def test_where_fewer_eigenvalues_are_found_all_are_sought(monkeypatch, found):
    eigh = linalg.eigh

    def few(matrix, subset_by_index=None, **more):
        values, vectors = eigh(matrix, **more)
        if subset_by_index is None:
            return values, vectors
        if found is None:
            raise linalg.LinAlgError
        return values[:found], vectors[:, :found]

    monkeypatch.setattr(linalg, "eigh", few)
    values, vectors = top_eigh(np.diag([1.0, 3.0, 2.0]), 2)
    np.testing.assert_array_equal(values, [3, 2])
    assert vectors.shape == (2, 3)


@pytest.mark.parametrize("wanted", [1, 90])
@pytest.mark.parametrize("k", [1, 2, 12, 90])
def test_eigenvectors_of_large_matrices_are_those_of_small_ones(monkeypatch, wanted, k):
    matrix = np.random.default_rng(0).normal(size=(100, 100))
    matrix += matrix.T
    small = Eigenvectors(matrix, wanted)
    values, vectors = small.values, small.top(k)
    monkeypatch.setattr("skdppca.linalg.LARGE", 0)
    large = Eigenvectors(matrix, wanted)
    np.testing.assert_allclose(large.values, values, atol=1e-12)
    found = large.top(k)
    np.testing.assert_allclose(found @ matrix, values[:k, None] * found, atol=1e-11)
    np.testing.assert_allclose(np.abs(np.sum(found * vectors, axis=1)), 1)
    np.testing.assert_array_equal(large.at_least(k)[:k], found)
    assert len(large.at_least(k)) == (k if k <= FEW * 100 else 100)


def test_eigenvalues_alone_that_lapack_does_not_find_are_found_with_their_vectors(monkeypatch):
    monkeypatch.setattr("skdppca.linalg.LARGE", 0)
    honest = linalg.eigh

    def fails(a, eigvals_only=False, **options):
        if eigvals_only:
            raise linalg.LinAlgError("did not converge")
        return honest(a, **options)

    monkeypatch.setattr(linalg, "eigh", fails)
    np.testing.assert_allclose(Eigenvectors(np.diag(np.arange(9.0))).values, np.arange(9.0)[::-1])


@pytest.mark.parametrize("size", [0, 1, 2, 7])
def test_upper_triangles_are_read_row_by_row(size):
    matrix = np.arange(size**2, dtype=float).reshape(size, size)
    values = matrix[upper_triangle(size)]
    np.testing.assert_array_equal(values, matrix[np.triu_indices(size)])
    symmetric = symmetric_from_upper(values, size)
    np.testing.assert_array_equal(symmetric, np.triu(matrix) + np.triu(matrix, 1).T)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
@pytest.mark.parametrize("shift", [0.0, 100.0])
def test_a_leading_span_leans_to_the_top_of_noise(scale, shift):
    noise = np.random.default_rng(1).standard_normal((300, 300))
    matrix = scale * ((noise + noise.T) / 2 + shift * np.eye(300))
    rows = leading_span(matrix, 10, scale * np.sqrt(2 * 300))
    np.testing.assert_allclose(rows @ rows.T, np.eye(10), atol=1e-12)
    values = np.diag(rows @ matrix @ rows.T) / scale - shift
    assert values.min() > 0.4 * np.sqrt(2 * 300)


def test_a_leading_span_holds_what_stands_out():
    noise = np.random.default_rng(1).standard_normal((300, 300))
    matrix = (noise + noise.T) / 2 + 3 * np.sqrt(600) * np.outer(np.eye(300)[0], np.eye(300)[0])
    rows = leading_span(matrix, 10, np.sqrt(600))
    first = top_eigh(matrix, 1)[1][0]
    assert np.linalg.norm(rows @ first) > 0.99
