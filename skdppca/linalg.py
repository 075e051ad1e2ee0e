"""Small linear algebra."""

from __future__ import annotations

import numpy as np
from scipy import linalg

__all__ = [
    "decreasing_eigh",
    "dense_fits",
    "fix_signs",
    "qr_svd",
    "symmetric_from_upper",
    "top_eigh",
]

# A d x d matrix of 1 GiB, and twice as much that LAPACK works with.
MOST_DENSE_FEATURES = 11_585


def dense_fits(n_features: int) -> bool:
    """Whether a d x d matrix is small enough to be decomposed; public."""
    return n_features <= MOST_DENSE_FEATURES


def symmetric_from_upper(values: np.ndarray, size: int) -> np.ndarray:
    """Fill a symmetric ``size x size`` matrix from its upper triangle, read row by row."""
    matrix = np.empty((size, size))
    upper = np.triu_indices(size)
    matrix[upper] = values
    matrix.T[upper] = values
    return matrix


def decreasing_eigh(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues of a symmetric matrix from large to small, and the eigenvectors as rows."""
    try:
        values, vectors = linalg.eigh(matrix, check_finite=False)
    except linalg.LinAlgError:  # an error would tell of the matrix; QL iterations do not fail
        values, vectors = linalg.eigh(matrix, driver="ev", check_finite=False)
    return values[::-1], vectors.T[::-1]


def top_eigh(matrix: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k largest eigenvalues of a *released* symmetric matrix, as `decreasing_eigh` has them.

    Quicker. LAPACK may find fewer than it is asked for; then all are found.
    """
    d = len(matrix)
    try:
        values, vectors = linalg.eigh(matrix, subset_by_index=(d - k, d - 1), check_finite=False)
    except linalg.LinAlgError:
        values, vectors = np.empty(0), np.empty((d, 0))
    if len(values) == k and vectors.shape[1] == k:
        return values[::-1], vectors.T[::-1]
    values, vectors = decreasing_eigh(matrix)
    return values[:k], vectors[:k]


def qr_svd(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Singular value decomposition of a matrix that is no wider than high, by QR iterations.

    LAPACK's default, divide and conquer, does not converge for one in a thousand matrices of some
    clustered singular values; after a charge such an error costs the release, and may tell of data.
    """
    q, r = linalg.qr(matrix, mode="economic", check_finite=False)
    left, values, right = linalg.svd(r, check_finite=False, lapack_driver="gesvd")
    return q @ left, values, right


def fix_signs(components: np.ndarray) -> np.ndarray:
    """Turn every row so that its entry of largest absolute value is positive.

    The sign of an eigenvector is arbitrary; this is scikit-learn's convention for ``PCA``.
    """
    largest = np.argmax(np.abs(components), axis=1)
    signs = np.sign(components[np.arange(len(components)), largest])
    return components * np.where(signs == 0, 1.0, signs)[:, None]
