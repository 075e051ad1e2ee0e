"""Small linear algebra."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import Literal

import numpy as np
from scipy import linalg

# A d x d matrix of 1 GiB, and three times as much that LAPACK works with.
MOST_DENSE_FEATURES = 11_585

# From that size on, all eigenvectors are found by divide and conquer, and a few by themselves. Of a
# 2000 x 2000 matrix all took .92 s by the default and .52 s so; all values and 5 vectors .37 s.
# Of a smaller one a second call would take what is saved.
LARGE = 1000
# At most this share of the vectors are a few.
FEW = 1 / 8

# Steps of subspace iteration towards the top eigenvectors of a matrix that is mostly noise; round.
SPAN_STEPS = 4


def dense_fits(n_features: int) -> bool:
    """Return whether a d x d matrix is small enough to be decomposed; public."""
    return n_features <= MOST_DENSE_FEATURES


def upper_triangle(size: int) -> np.ndarray:
    """Where the upper triangle of a ``size x size`` matrix is, its diagonal included.

    Indexed by it, a matrix is read row by row, as by ``np.triu_indices`` but quicker.
    """
    return ~np.tri(size, k=-1, dtype=bool)


def symmetric_from_upper(values: np.ndarray, size: int) -> np.ndarray:
    """Fill a symmetric ``size x size`` matrix from its upper triangle, read row by row."""
    matrix = np.empty((size, size))
    upper = upper_triangle(size)
    matrix[upper] = values
    matrix.T[upper] = values
    return matrix


def decreasing_eigh(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues of a symmetric matrix from large to small, and the eigenvectors as rows."""
    driver: Literal["evd", "evr"] = "evd" if len(matrix) >= LARGE else "evr"
    try:
        values, vectors = linalg.eigh(matrix, driver=driver, check_finite=False)
    except linalg.LinAlgError:  # an error would tell of the matrix; QL iterations do not fail
        values, vectors = linalg.eigh(matrix, driver="ev", check_finite=False)
    return values[::-1], vectors.T[::-1]


class Eigenvectors:
    """The eigenvalues of a *released* symmetric matrix, and the eigenvectors that are asked for.

    For a large matrix, a few vectors are computed by themselves.

    Parameters
    ----------
    matrix : ndarray of shape (d, d)
        It is read as long as vectors are asked for, and must not change.
    wanted : int
        About as many vectors will be asked for.
    """

    def __init__(self, matrix: np.ndarray, wanted: int = 1) -> None:
        self._matrix = matrix
        self._wanted = wanted

    def _are_few(self, k: int) -> bool:
        return len(self._matrix) >= LARGE and k <= FEW * len(self._matrix)

    @cached_property
    def _all(self) -> tuple[np.ndarray, np.ndarray]:
        return decreasing_eigh(self._matrix)

    @cached_property
    def values(self) -> np.ndarray:
        """All eigenvalues, from large to small."""
        if self._are_few(self._wanted):
            with suppress(linalg.LinAlgError):
                values = linalg.eigh(self._matrix, eigvals_only=True, check_finite=False)
                return np.asarray(values[::-1])
        return self._all[0]

    def top(self, k: int) -> np.ndarray:
        """The eigenvectors of the k largest eigenvalues, as rows."""
        return self.at_least(k)[:k]

    def at_least(self, k: int) -> np.ndarray:
        """The eigenvectors of the k largest eigenvalues, or of more: of all of a small matrix."""
        return top_eigh(self._matrix, k)[1] if self._are_few(k) else self._all[1]


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


def leading_span(matrix: np.ndarray, k: int, half_width: float) -> np.ndarray:
    """Orthonormal rows that lean to the top eigenvectors of a *released* symmetric matrix.

    A fixed number of steps of subspace iteration from a fixed start. Between eigenvalues of noise
    there are no gaps, so it is not waited for convergence: the span holds more of an eigenvector
    the larger its eigenvalue.

    Parameters
    ----------
    matrix : ndarray of shape (d, d)
    k : int
        Rows.
    half_width : float
        About how far the eigenvalues are from their mean; those as far below it are suppressed.
    """
    d = len(matrix)
    shift = half_width / 2 - float(np.trace(matrix)) / d
    rows = np.random.default_rng(0).standard_normal((k, d))
    for _ in range(SPAN_STEPS):
        rows = linalg.qr((rows @ matrix + shift * rows).T, mode="economic", check_finite=False)[0].T
    return rows


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
