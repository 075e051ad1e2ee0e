"""Decompositions of which LAPACK's defaults fail."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg

from skdppca.linalg import decreasing_eigh, qr_svd

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


def test_eigenvalues_that_lapack_does_not_find_are_found_by_another_way(monkeypatch):
    matrix = clustered(0)
    matrix = matrix + matrix.T
    expected = decreasing_eigh(matrix)[0]
    honest = linalg.eigh

    def fails(a, driver="evr", **options):
        if driver == "evr":
            raise linalg.LinAlgError("did not converge")
        return honest(a, driver=driver, **options)

    monkeypatch.setattr(linalg, "eigh", fails)
    values, rows = decreasing_eigh(matrix)
    np.testing.assert_allclose(values, expected, atol=1e-13)
    np.testing.assert_allclose(rows @ matrix, values[:, None] * rows, atol=1e-13)
